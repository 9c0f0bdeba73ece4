"""States of mobile robots: a pose in the plane, alone or with wheel rates or body speeds."""

from __future__ import annotations

from trajopt.checks import check_instance
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.states import StateVector

NAMES, UNITS = ("x", "y", "theta"), ("m", "m", "rad")


def state_of_pose() -> StateVector:
    """Returns the vector space of poses x = (x, y, θ) in the plane [m, m, rad], a StateVector; θ is not wrapped."""
    return StateVector(3, names=list(NAMES), units=list(UNITS))


def state_of_wheels() -> StateVector:
    """State of a pose and the rates of right and left wheel, (x, y, θ, φ̇1, φ̇2) [m, m, rad, rad/s, rad/s]."""
    return StateVector(5, names=[*NAMES, "right", "left"], units=[*UNITS, "rad/s", "rad/s"])


def state_of_twist() -> StateVector:
    """State of a pose, speed and turning rate, (x, y, θ, v, ω) [m, m, rad, m/s, rad/s]."""
    return StateVector(5, names=[*NAMES, "v", "omega"], units=[*UNITS, "m/s", "rad/s"])


def state_of_costs(costs: CostStack, moving: StateVector) -> StateVector:
    """Returns the state of costs, which is a pose or a pose with rates.

    Raises:
        InvalidArgumentError: The state is neither `state_of_pose()` nor `moving`.
    """
    state = check_instance("costs", costs, CostStack, "pass CostStack(state_of_pose()) for no costs").state
    if state == state_of_pose() or state == moving:
        assert isinstance(state, StateVector)
        return state
    name = "state_of_wheels" if moving == state_of_wheels() else "state_of_twist"
    raise InvalidArgumentError(
        f"costs: expected costs of trajopt.planar.state_of_pose() or of {name}(), got costs of {state!r}; build "
        "the CostStack from one of these states"
    )
