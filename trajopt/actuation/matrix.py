"""Actuation by a constant matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import as_numbers, check_array, check_limits, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelMatrix(ActuationModelAbstract):
    """Actuation tau = B u with any constant matrix B, such as gears and motors that drive several joints.

    A motor behind a gear of ratio g has a column with the single entry g; its torque limit is that of the joint over
    |g|. Two motors on a differential drive pitch and roll with [[g, g], [g, -g]], a cable over two joints both with
    [r_1, r_2]; their limits are arguments. Inertia of rotors, g² times their own, is the armature of the robot's
    joints.

    Args:
        state: State of a robot.
        matrix: B, shape (nv, nu) [-]. A column with a single entry drives one joint and has its effort limit.
        lower: Lower limits of the controls (nu,) [N m, N]; by default as above, and -inf for motors on several joints.
        upper: Upper limits of the controls (nu,) [N m, N], likewise.
        names: Name of each control, for plots.

    Raises:
        InvalidArgumentError: `matrix` has another shape or an entry that is not finite, or limits or names do not fit.
    """

    def __init__(
        self,
        state: StateAbstract,
        matrix: npt.ArrayLike,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        state = check_robot_state(type(self).__name__, state)
        shape = as_numbers("matrix", matrix).shape
        if len(shape) != 2 or shape[0] != state.nv:
            raise InvalidArgumentError(
                f"matrix: expected shape ({state.nv}, nu) with one row for each joint velocity, got {shape}"
            )
        super().__init__(state, check_array("matrix", matrix, shape))
        own = [getattr(self, name) if limit is None else limit for name, limit in (("lower", lower), ("upper", upper))]
        self.lower, self.upper = check_limits(own[0], own[1], self.nu)
        if names is not None:
            self.names = _names(names, self.nu)


def _names(names: Sequence[str], count: int) -> list[str]:
    """Names as a list; raises InvalidArgumentError unless they are so many different texts."""
    listed = list(check_texts("names", names))
    if len(listed) != count or len(set(listed)) < count:
        raise InvalidArgumentError(f"names: expected {count} different names, one for each control, got {listed}")
    return listed
