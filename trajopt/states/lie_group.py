"""States that are elements of one Lie group with a quaternion: rotations and poses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import all_finite, check_array
from trajopt.errors import InvalidArgumentError
from trajopt.lie.quaternions import quaternion_to_rotation
from trajopt.robots.placements import NORM_TOLERANCE
from trajopt.states.base import check_columns
from trajopt.states.parts import StateOfPartsAbstract
from trajopt.states.sampling import random_generator
from trajopt.states.spaces import PoseSpace, RotationSpace
from trajopt.types import Reals


class StateLieGroup(StateOfPartsAbstract):
    """State on a Lie group with x ⊕ dx = x exp(dx); its coordinates end with a unit quaternion (x, y, z, w)."""

    space: ClassVar[RotationSpace | PoseSpace]

    def __init__(self) -> None:
        space = self.space
        self._quaternion = space.rotation
        super().__init__(
            space.nq,
            space.nv,
            names=space.coordinates,
            tangent_names=space.tangents,
            units=space.units,
            coordinate_units=space.coordinate_units,
        )

    @property
    def parts(self) -> list[tuple[RotationSpace | PoseSpace, slice, slice]]:
        """One group."""
        return [(self.space, slice(0, self.nx), slice(0, self.ndx))]

    def zero(self) -> Reals:
        """The identity, shape (nx,); a new array."""
        return np.eye(1, self.nx, self.nx - 1)[0]

    def rand(self, rng: np.random.Generator | int) -> Reals:
        """Returns a random state, shape (nx,): a uniform rotation, and a position uniform in [-1, 1] m."""
        generator = random_generator(rng)
        x = generator.uniform(-1.0, 1.0, self.nx)
        direction = generator.standard_normal(4)
        x[self._quaternion] = direction / np.linalg.norm(direction)
        return x

    def normalize(self, x: npt.ArrayLike) -> Reals:
        """Returns the state with its quaternion scaled to norm 1, shape (nx,); a new array."""
        result = check_array("x", x, (self.nx,), cure=self._shape_hint)
        norm = np.linalg.norm(result[self._quaternion])
        if norm == 0:
            raise InvalidArgumentError("x: expected a nonzero quaternion, got zeros; the identity is state.zero()")
        result[self._quaternion] /= norm
        return result

    def sx_rotation(self, x: SX) -> SX:
        """Rotation matrix from the body frame to the world frame, shape (3, 3)."""
        check_columns({"x": (x, self.nx)})
        return quaternion_to_rotation(x[self._quaternion])

    def are_states(self, xs: Reals) -> bool:
        norms = np.linalg.norm(xs[:, self._quaternion], axis=1)
        return bool(all_finite(xs) and np.all(np.abs(norms - 1) <= NORM_TOLERANCE))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _check_rotations(self, x: Reals, argument: str) -> None:
        norm, start = float(np.linalg.norm(x[self._quaternion])), self.nx - 4
        if abs(norm - 1) > NORM_TOLERANCE:
            raise InvalidArgumentError(
                f"{argument}: expected the quaternion xyzw (indices {start} to {start + 3}) to have norm 1 within "
                f"{NORM_TOLERANCE}, got {norm:.9g}; normalise it, or use state.normalize(x)"
            )

    def _shape_hint(self) -> str:
        return f"a state of {self!r} is ({', '.join(self.coordinate_names)})"

    def _same_content(self, other: StateLieGroup) -> bool:
        return True
