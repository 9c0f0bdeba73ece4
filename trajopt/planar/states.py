"""States of mobile robots: a pose in the plane, and rates of wheels or speeds of the body beside it."""

from __future__ import annotations

from trajopt.checks import check_instance
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.states import StateVector

NAMES, UNITS = ("x", "y", "theta"), ("m", "m", "rad")


def state_of_pose() -> StateVector:
    """Pose (x, y, θ) [m, m, rad]; θ counts full turns."""
    return StateVector(3, names=list(NAMES), units=list(UNITS))


def state_of_wheels() -> StateVector:
    """Pose and rates of the right and the left wheel, (x, y, θ, φ̇1, φ̇2) [m, m, rad, rad/s, rad/s]."""
    return StateVector(5, names=[*NAMES, "right", "left"], units=[*UNITS, "rad/s", "rad/s"])


def state_of_twist() -> StateVector:
    """Pose, speed and turning rate, (x, y, θ, v, ω) [m, m, rad, m/s, rad/s]."""
    return StateVector(5, names=[*NAMES, "v", "omega"], units=[*UNITS, "m/s", "rad/s"])


def state_of_costs(costs: CostStack, moving: StateVector) -> StateVector:
    """The state of costs, a pose or a pose with rates.

    Raises:
        InvalidArgumentError: It is neither `state_of_pose()` nor `moving`.
    """
    state = check_instance("costs", costs, CostStack, "CostStack(state_of_pose()) is one without terms").state
    if state == state_of_pose() or state == moving:
        assert isinstance(state, StateVector)
        return state
    name = "state_of_wheels" if moving == state_of_wheels() else "state_of_twist"
    raise InvalidArgumentError(
        f"costs: expected those of trajopt.planar.state_of_pose() or of {name}(), got those of {state!r}; make the "
        "CostStack from one of these"
    )
