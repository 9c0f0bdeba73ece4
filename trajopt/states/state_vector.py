"""State that is a plain vector."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import DuplicateNameError
from trajopt.states.parts import StateOfPartsAbstract
from trajopt.states.place_names import place_columns
from trajopt.states.sampling import random_generator, uniform_within
from trajopt.states.spaces import VectorSpace
from trajopt.types import Reals


class StateVector(StateOfPartsAbstract):
    """State in a vector space: x ⊕ dx = x + dx, x1 ⊖ x0 = x1 - x0.

    If coordinates are named "x" and "y", or "px" and "py", plots draw the path of a body; "z" and the heading "theta"
    are optional. With "x" and "z" alone the body is in the vertical plane y = 0. `trajopt.states.place_names` lists the
    names.

    Args:
        nx: Number of coordinates, > 0.
        lower: Lower bounds, shape (nx,), -inf for no bound; by default no bounds.
        upper: Upper bounds, shape (nx,), inf for no bound; by default no bounds.
        names: Name of each coordinate, for plots; by default x0, x1, ...
        units: Unit of each coordinate, for plots; by default "-".

    Raises:
        InvalidArgumentError: `nx` is not a positive integer, or bounds, names or units have a wrong size.
        DuplicateNameError: Two coordinates have the same name.
    """

    def __init__(
        self,
        nx: int,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
    ) -> None:
        super().__init__(nx, nx, names=names, units=units, lower=lower, upper=upper)
        if names is not None and len(set(self._names)) < nx:
            raise DuplicateNameError(f"names: expected a different name for each coordinate, got {list(self._names)}")

    @functools.cached_property
    def parts(self) -> list[tuple[VectorSpace, slice, slice]]:
        """One vector space."""
        return [(VectorSpace(self._names, self._units), slice(0, self.nx), slice(0, self.nx))]

    def zero(self) -> Reals:
        """Returns the origin, shape (nx,); a new array."""
        return np.zeros(self.nx)

    def rand(self, rng: np.random.Generator | int) -> Reals:
        """Returns a random state, uniform within the bounds, or in [-1, 1] without bounds, shape (nx,)."""
        return uniform_within(random_generator(rng), self.lower, self.upper)

    def normalize(self, x: npt.ArrayLike) -> Reals:
        """Returns a checked copy of x, shape (nx,); a vector needs no normalisation."""
        return self.check(x)

    def body_poses(self, xs: Reals) -> Reals | None:
        """Poses (n, 4, 4) from the position [m] and the heading [rad] in `place_columns`; None without a place."""
        columns = place_columns(self._names, self._units)
        if not columns:
            return None
        poses = np.tile(np.eye(4), (len(xs), 1, 1))
        for row, axis in enumerate("xyz"):
            poses[:, row, 3] = xs[:, columns[axis]] if axis in columns else 0.0
        theta = xs[:, columns["theta"]] if "theta" in columns else np.zeros(len(xs))
        poses[:, 0, 0] = poses[:, 1, 1] = np.cos(theta)
        poses[:, 1, 0], poses[:, 0, 1] = np.sin(theta), -np.sin(theta)
        return poses

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.nx, self.lower, self.upper, self._names, self._units)

    def __repr__(self) -> str:
        bounded = int(np.sum(np.isfinite(self.lower) | np.isfinite(self.upper)))
        named = self._names != tuple(f"x{i}" for i in range(self.nx))
        parts = [
            str(self.nx),
            *([f"{bounded} bounded"] if bounded else []),
            *([f"names={list(self._names)}"] if named else []),
        ]
        return f"StateVector({', '.join(parts)})"

    def integrate_unchecked(self, x: Reals, dx: Reals) -> Reals:
        return x + dx

    def difference_unchecked(self, x0: Reals, x1: Reals) -> Reals:
        return x1 - x0

    def _jintegrate(self, x: Reals, dx: Reals) -> tuple[Reals, Reals]:
        return np.eye(self.nx), np.eye(self.nx)

    def _jdifference(self, x0: Reals, x1: Reals) -> tuple[Reals, Reals]:
        return -np.eye(self.nx), np.eye(self.nx)

    def _check_rotations(self, x: Reals, argument: str) -> None:
        """Does nothing, since a vector has no rotations."""

    def _shape_hint(self) -> str:
        return f"a state of {self!r} is a vector of {self.nx} numbers"

    def _same_content(self, other: StateVector) -> bool:
        return True


def _rebuild(nx: int, lower: Reals, upper: Reals, names: tuple[str, ...], units: tuple[str, ...]) -> StateVector:
    return StateVector(nx, lower=lower, upper=upper, names=names, units=units)
