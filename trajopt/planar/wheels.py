"""Rates of two driven wheels from the motion of the body, and hard limits on them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_instance, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.planar.states import state_of_pose, state_of_wheels
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.types import Reals


def wheel_rates(speeds: npt.ArrayLike, turn_rates: npt.ArrayLike, *, radius: float, half_track: float) -> Reals:
    """Wheel rates φ̇1 = (v + L ω) / r (right) and φ̇2 = (v - L ω) / r (left), (n, 2) [rad/s].

    On a path of curvature κ, ω = κ v and φ̇ = (v / r) (1 ± κ L).

    Args:
        speeds: v (n,), or one number; negative if driving backwards [m/s].
        turn_rates: ω (n,), or one number [rad/s].
        radius: Radius r of the wheels, > 0 [m].
        half_track: Half of the distance between the wheels, L > 0 [m].

    Returns:
        Rates (n, 2), or (2,) for numbers.
    """
    r, half = check_positive("radius", radius, unit="m"), check_positive("half_track", half_track, unit="m")
    v = as_numbers("speeds", speeds)
    v = check_array("speeds", v, v.shape)
    turn = check_array("turn_rates", turn_rates, v.shape, cure="one rate for each speed") * half
    return np.stack([v + turn, v - turn], axis=-1) / r


def limit_wheels(
    constraints: ConstraintStack, rate: float, *, acceleration: float | None = None, name: str = "wheels"
) -> ConstraintStack:
    """Adds |φ̇| <= `rate` of both wheels to the constraints of a differential drive, and returns the constraints.

    The rates are controls with `state_of_pose()`, and states with `state_of_wheels()`.

    Args:
        constraints: Constraints of a knot of `DifferentialActionModelDiffDrive`.
        rate: Largest rate, > 0 [rad/s].
        acceleration: Largest |φ̈|, > 0 [rad/s²], only with `state_of_wheels()`; no limit by default. The last knot has
            no control, so omit it there.
        name: Name of the constraint on the rates; that on the accelerations is "motors".
    """
    check_instance("constraints", constraints, ConstraintStack, "pass ConstraintStack(state) for no rows")
    state, most = constraints.state, check_positive("rate", rate, unit="rad/s")
    if state == state_of_pose():
        if acceleration is not None:
            raise InvalidArgumentError(
                "acceleration: expected None, because the wheel rates are controls of state_of_pose(); to limit "
                "accelerations use state_of_wheels()"
            )
        return constraints.add(name, ResidualModelControl(state), lower=-most, upper=most)
    if state != state_of_wheels():
        raise InvalidArgumentError(
            f"constraints: expected constraints of state_of_pose() or state_of_wheels(), got constraints of {state!r}"
        )
    constraints.add(name, ResidualModelState(state, elements=["right", "left"]), lower=-most, upper=most)
    if acceleration is not None:
        force = check_positive("acceleration", acceleration, unit="rad/s²")
        constraints.add("motors", ResidualModelControl(state), lower=-force, upper=force)
    return constraints
