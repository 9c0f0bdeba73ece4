"""State that is composed of several states."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.states.arguments import check_coordinates, check_names
from trajopt.states.base import StateAbstract, check_columns
from trajopt.states.parts import StateOfPartsAbstract
from trajopt.states.sampling import random_generator
from trajopt.types import Reals

Value = TypeVar("Value", SX, Reals)


class StateProduct(StateOfPartsAbstract):
    """Product of several states: x = (a, b, ...), dx = (da, db, ...); each part moves independently.

    A second-order system starts with its positions. Their velocities follow as a StateVector in the tangent space of
    the positions. For example, `StateProduct(StateSE3(), StateVector(6))` is a rigid body with its twist. A
    `DifferentialActionModelSymbolic` with `acceleration(x, u)`, shape (6,), then takes the same symplectic Euler step
    q⁺ = q ⊕ dt v⁺ as a robot. Two bodies are `StateProduct(StateSE3(), StateSE3(), StateVector(12))`.

    Args:
        states: The parts, at least one; nested products are not flattened.
        labels: Name of each part; prefixes the names of its coordinates, as in "body.x". By default there is no prefix
            if these names differ, and 0, 1, ... otherwise.

    Attributes:
        states: The parts.

    Raises:
        InvalidArgumentError: A part is not a state, or the number of labels differs from the number of parts.
    """

    prefix = "sx_"

    def __init__(self, *states: StateAbstract, labels: Sequence[str] | None = None) -> None:
        if not states:
            raise InvalidArgumentError(
                "states: expected one or more, got none; write StateProduct(StateSE3(), StateVector(6))"
            )
        for i, state in enumerate(states):
            if not isinstance(state, StateAbstract):
                cure = f"; call it: {state.__name__}(...)" if isinstance(state, type) else ""
                cure = (
                    "; pass the parts one by one: StateProduct(a, b, ...)" if isinstance(state, (list, tuple)) else cure
                )
                raise InvalidArgumentError(
                    f"states[{i}]: expected a state such as StateSE3() or StateVector(n), got {state!r}{cure}"
                )
        self.states = states
        self.labels = None if labels is None else check_names("labels", labels, [""] * len(states), each="part")
        if self.labels is not None and len(set(self.labels)) < len(states):
            raise InvalidArgumentError(f"labels: expected different names, got {list(self.labels)}; rename one")
        self._x, self._dx = _places([s.nx for s in states]), _places([s.ndx for s in states])
        super().__init__(
            sum(s.nx for s in states),
            sum(s.ndx for s in states),
            names=self._prefixed([s.coordinate_names for s in states]),
            tangent_names=self._prefixed([s.tangent_names for s in states]),
            units=[unit for s in states for unit in s.tangent_units],
            coordinate_units=[unit for s in states for unit in s.coordinate_units],
            lower=np.concatenate([s.lower for s in states]),
            upper=np.concatenate([s.upper for s in states]),
        )

    @property
    def parts(self) -> list[tuple[StateAbstract, slice, slice]]:
        """The parts with the indices of their coordinates and tangent vectors."""
        return list(zip(self.states, self._x, self._dx))

    def split(self, x: Value) -> list[Value]:
        """Splits coordinates into those of each part; takes an expression (nx, 1) or an array (..., nx).

        Raises:
            InvalidArgumentError: The size is wrong.
        """
        if isinstance(x, SX):
            check_columns({"x": (x, self.nx)})
            return [x[place] for place in self._x]
        array = check_coordinates("x", x, self.nx)
        return [array[..., place] for place in self._x]

    def zero(self) -> Reals:
        """Returns the neutral state of all parts, shape (nx,); a new array."""
        return np.concatenate([s.zero() for s in self.states])

    def rand(self, rng: np.random.Generator | int) -> Reals:
        """Returns a random state of all parts, shape (nx,)."""
        generator = random_generator(rng)
        return np.concatenate([s.rand(generator) for s in self.states])

    def at_rest(self, x: npt.ArrayLike) -> Reals:
        """Returns the state with zero velocities in its parts, shape (nx,); a StateVector part stays as it is."""
        parts = self.split(check_coordinates("x", x, self.nx))
        return np.concatenate([s.at_rest(part) for s, part in zip(self.states, parts)])

    def normalize(self, x: npt.ArrayLike) -> Reals:
        """Returns the state with each part normalised, shape (nx,); a new array."""
        checked = check_array("x", x, (self.nx,), cure=self._shape_hint)
        return np.concatenate([s.normalize(part) for s, part in zip(self.states, self.split(checked))])

    def are_states(self, xs: Reals) -> bool:
        return all(s.are_states(part) for s, part in zip(self.states, self.split(xs)))

    def body_poses(self, xs: Reals) -> Reals | None:
        """Poses (n, 4, 4) [-, m] of the first part that describes a body; None if none does."""
        by_part = (s.body_poses(part) for s, part in zip(self.states, self.split(xs)))
        return next((poses for poses in by_part if poses is not None), None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.states, self.labels)

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={list(self.labels)}"
        return f"StateProduct({', '.join(map(repr, self.states))}{labels})"

    def _prefixed(self, names: list[list[str]]) -> list[str]:
        plain = [name for part in names for name in part]
        labels = self.labels
        if labels is None:
            if len(set(plain)) == len(plain):
                return plain
            labels = tuple(str(i) for i in range(len(names)))
        return [f"{label}.{name}" for label, part in zip(labels, names) for name in part]

    def integrate_unchecked(self, x: Reals, dx: Reals) -> Reals:
        return np.concatenate(self._each("integrate_unchecked", x=x, dx=dx))

    def difference_unchecked(self, x0: Reals, x1: Reals) -> Reals:
        return np.concatenate(self._each("difference_unchecked", x0=x0, x1=x1))

    def _jintegrate(self, x: Reals, dx: Reals) -> tuple[Reals, Reals]:
        return self._diagonal(self._each("_jintegrate", x=x, dx=dx))

    def _jdifference(self, x0: Reals, x1: Reals) -> tuple[Reals, Reals]:
        return self._diagonal(self._each("_jdifference", x0=x0, x1=x1))

    def _diagonal(self, pairs: list[tuple[Reals, Reals]]) -> tuple[Reals, Reals]:
        first, second = np.zeros((self.ndx, self.ndx)), np.zeros((self.ndx, self.ndx))
        for place, (a, b) in zip(self._dx, pairs):
            first[place, place], second[place, place] = a, b
        return first, second

    def _check_rotations(self, x: Reals, argument: str) -> None:
        for state, place in zip(self.states, self._x):
            state._check_rotations(x[place], f"{argument}[{place.start}:{place.stop}]")

    def _shape_hint(self) -> str:
        sizes = ", ".join(f"{s!r} with {s.nx}" for s in self.states)
        return f"a state of this product concatenates {sizes} coordinates"

    def _same_content(self, other: StateProduct) -> bool:
        return self.states == other.states


def _places(sizes: list[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(start), int(stop)) for start, stop in itertools.pairwise(ends)]


def _rebuild(states: tuple[StateAbstract, ...], labels: tuple[str, ...] | None) -> StateProduct:
    return StateProduct(*states, labels=labels)
