"""Rates of two driven wheels from the motion of the body, and hard limits of them."""

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
    """Rates φ̇1 = (v + L ω) / r of the right and φ̇2 = (v - L ω) / r of the left wheel (n, 2) [rad/s].

    With ω = κ v of a path of curvature κ that is φ̇ = (v / r) (1 ± κ L).

    Args:
        speeds: v (n,), or one number; negative when driving backwards [m/s].
        turn_rates: ω (n,) [rad/s].
        radius: r, radius of the wheels, > 0 [m].
        half_track: L, half of the distance between the wheels, > 0 [m].

    Returns:
        Rates (n, 2), or (2,) of one number each.
    """
    r, half = check_positive("radius", radius, unit="m"), check_positive("half_track", half_track, unit="m")
    v = as_numbers("speeds", speeds)
    v = check_array("speeds", v, v.shape)
    turn = check_array("turn_rates", turn_rates, v.shape, cure="one for each speed") * half
    return np.stack([v + turn, v - turn], axis=-1) / r


def limit_wheels(
    constraints: ConstraintStack, rate: float, *, acceleration: float | None = None, name: str = "wheels"
) -> ConstraintStack:
    """Adds |φ̇| <= `rate` of both wheels to the constraints of a differential drive, and returns them.

    Of `state_of_pose()` the rates are controls, of `state_of_wheels()` states.

    Args:
        constraints: Constraints of a knot of `DifferentialActionModelDiffDrive`.
        rate: Largest rate, > 0 [rad/s].
        acceleration: Largest |φ̈|, > 0, of `state_of_wheels()` [rad/s²]; none by default, and none at the last knot,
            which has no control.
        name: Name of the constraint; that of accelerations is "motors".
    """
    check_instance("constraints", constraints, ConstraintStack, "ConstraintStack(state) is one without rows")
    state, most = constraints.state, check_positive("rate", rate, unit="rad/s")
    if state == state_of_pose():
        if acceleration is not None:
            raise InvalidArgumentError(
                "acceleration: expected None where rates of wheels are controls; use state_of_wheels() for limits of "
                "accelerations"
            )
        return constraints.add(name, ResidualModelControl(state), lower=-most, upper=most)
    if state != state_of_wheels():
        raise InvalidArgumentError(
            f"constraints: expected those of state_of_pose() or state_of_wheels(), got those of {state!r}"
        )
    constraints.add(name, ResidualModelState(state, elements=["right", "left"]), lower=-most, upper=most)
    if acceleration is not None:
        force = check_positive("acceleration", acceleration, unit="rad/s²")
        constraints.add("motors", ResidualModelControl(state), lower=-force, upper=force)
    return constraints
