"""Tables of gaits: default parameters of each robot's steps and jumps, and costs of known solutions."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

from trajopt.problems.case import CROCODDYL, TRAJOPT


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Parameters of a robot's steps.

    Attributes:
        step_length: Length of a step [m].
        step_height: Height of a swing [m].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-].
        profile: Path of a swinging foot, "smooth" or, as in Crocoddyl, "triangle"; see `trajopt.gaits.Swing`.
        dt: Time step [s]; half as long for quick steps, because integration errors of the feet grow with its square.
        cost: Cost of a known solution [cost]; None if no solution is known.
        source: Source of that cost.
    """

    step_length: float
    step_height: float
    step_knots: int = 25
    support_knots: int = 2
    profile: str = "smooth"
    dt: float = 1e-2
    cost: float | None = None
    source: str = TRAJOPT


@dataclass(frozen=True, kw_only=True)
class Leap:
    """Parameters of a robot's jump.

    Attributes:
        jump_height: Rise of the centre of mass [m].
        jump_length: Displacement of the feet (3,) [m].
        ground_knots: Number of knots on the ground before the jump [-].
        flying_knots: Number of knots of the rise, and of the fall [-]; None to compute it from the height.
        crouch: Distance by which the centre of mass is lower than in the robot's configuration, before and after the
            jump [m]. Bent knees lift it faster; straight legs would turn the robot in the air, or exceed the joints'
            speed limits.
        dt: Time step [s].
        flight: References in the air, "ballistic" or "crocoddyl"; see `trajopt.gaits.quadruped_jump`.
        cost: Cost of a known solution [cost]; None if no solution is known.
        source: Source of that cost.
    """

    jump_height: float
    jump_length: tuple[float, float, float]
    ground_knots: int = 60
    flying_knots: int | None = None
    crouch: float = 0.0
    dt: float = 5e-3
    flight: str = "ballistic"
    cost: float | None = None
    source: str = TRAJOPT


Row = TypeVar("Row", Steps, Leap)


def changed(row: Row, **values: Any) -> Row:
    """Row with new values in some fields; None keeps a value."""
    return dataclasses.replace(row, **{name: value for name, value in values.items() if value is not None})


def schedule_options(row: Steps | Leap) -> dict[str, Any]:
    """Fields of a row that the function which generates the schedule takes, by name."""
    return {name: value for name, value in vars(row).items() if name not in ("crouch", "cost", "source")}


def _published(length: float, height: float, cost: float, **more: Any) -> Steps:
    """Steps of a gait in Crocoddyl's example or benchmark."""
    row = Steps(step_length=length, step_height=height, profile="triangle", cost=cost, source=CROCODDYL)
    return changed(row, **more)


def _published_leap(cost: float, height: float, ground: int, flying: int, dt: float) -> Leap:
    """Jump in Crocoddyl's example or benchmark."""
    row = Leap(jump_height=height, jump_length=(0.0, 0.3, 0.0), flight="crocoddyl", cost=cost, source=CROCODDYL)
    return changed(row, ground_knots=ground, flying_knots=flying, dt=dt)


CROCODDYL_WALK = {
    "anymal": _published(0.25, 0.15, 588.636806788914),
    "hyq": _published(0.25, 0.25, 1596.8183356032512),
    "solo12": _published(0.1, 0.05, 177.28190799832163),
    "go2": _published(0.1, 0.05, 146.6535197551702),
}
CROCODDYL_TROT = {
    "anymal": _published(0.15, 0.1, 231.7924777294141),
    "hyq": _published(0.15, 0.2, 864.1027376812725),
    "solo12": _published(0.1, 0.05, 187.05516584728588),
    "go2": _published(0.1, 0.05, 120.45571802353005),
}
CROCODDYL_PACE = {
    "anymal": _published(0.15, 0.1, 754.5215396300716, support_knots=5),
    "hyq": _published(0.15, 0.2, 2522.5512234575144),
}
CROCODDYL_BOUND = {
    "anymal": _published(0.15, 0.1, 1968.508491418044, support_knots=5),
    "hyq": _published(0.007, 0.05, 2104.1956082263496, support_knots=12),
}
CROCODDYL_JUMP = {
    "anymal": _published_leap(2950.2339928883607, height=0.15, ground=10, flying=20, dt=1e-2),
    "hyq": _published_leap(4657.640514201292, height=0.15, ground=10, flying=20, dt=1e-2),
}
CROCODDYL_BIPED_WALK = {"talos_legs": _published(0.6, 0.1, 5111.964479134185, step_knots=15, support_knots=4, dt=3e-2)}
CROCODDYL_BIPED_JUMP = {"talos_legs": _published_leap(23230.77547590909, height=0.1, ground=9, flying=6, dt=3e-2)}
WALK = {
    "anymal": Steps(step_length=0.25, step_height=0.15, cost=494.604409),
    "hyq": Steps(step_length=0.25, step_height=0.2, cost=502.102924),
    "solo12": Steps(step_length=0.1, step_height=0.05, cost=208.294002),
    "go2": Steps(step_length=0.1, step_height=0.05, cost=197.004709),
    "a1": Steps(step_length=0.1, step_height=0.05, cost=344.593577),
    "b1": Steps(step_length=0.2, step_height=0.1, cost=273.156363),
    "small-quadruped": Steps(step_length=0.1, step_height=0.05, cost=152.639494),
}
TROT = {
    "anymal": Steps(step_length=0.15, step_height=0.1, cost=214.828368),
    "hyq": Steps(step_length=0.15, step_height=0.1, cost=182.292446),
    "solo12": Steps(step_length=0.1, step_height=0.05, cost=172.945745),
    "go2": Steps(step_length=0.1, step_height=0.05, cost=148.190138),
    "a1": Steps(step_length=0.1, step_height=0.05, cost=209.932154),
    "b1": Steps(step_length=0.15, step_height=0.1, cost=190.688278),
    "small-quadruped": Steps(step_length=0.1, step_height=0.05, cost=125.258675),
}
PACE = {
    "anymal": Steps(step_length=0.15, step_height=0.1, support_knots=5, cost=541.664921),
    "hyq": Steps(step_length=0.15, step_height=0.1, support_knots=5, cost=832.674614),
    "solo12": Steps(step_length=0.1, step_height=0.05, step_knots=36, support_knots=10, dt=5e-3, cost=2458.95636),
    "go2": Steps(step_length=0.1, step_height=0.05, step_knots=15, support_knots=5, cost=390.273868),
    "a1": Steps(step_length=0.1, step_height=0.05, step_knots=15, support_knots=5, cost=479.439496),
    "b1": Steps(step_length=0.15, step_height=0.1, support_knots=5, cost=488.167118),
    "small-quadruped": Steps(step_length=0.1, step_height=0.05, step_knots=15, support_knots=5, cost=366.003064),
}
BOUND = {
    "anymal": Steps(step_length=0.1, step_height=0.05, step_knots=36, support_knots=10, dt=5e-3, cost=2034.08181),
    "hyq": Steps(step_length=0.1, step_height=0.05, step_knots=36, support_knots=10, dt=5e-3, cost=666.45954),
    "solo12": Steps(step_length=0.05, step_height=0.03, step_knots=24, support_knots=10, dt=5e-3, cost=1351.33398),
    "go2": Steps(step_length=0.05, step_height=0.03, step_knots=30, support_knots=10, dt=5e-3, cost=631.090692),
    "a1": Steps(step_length=0.05, step_height=0.03, step_knots=30, support_knots=10, dt=5e-3, cost=1325.58008),
    "b1": Steps(step_length=0.1, step_height=0.05, step_knots=36, support_knots=10, dt=5e-3, cost=1336.39487),
    "small-quadruped": Steps(
        step_length=0.05, step_height=0.03, step_knots=30, support_knots=10, dt=5e-3, cost=849.074935
    ),
}
JUMP = {
    "anymal": Leap(jump_height=0.15, jump_length=(0.2, 0.0, 0.0), cost=397.879683),
    "hyq": Leap(jump_height=0.15, jump_length=(0.2, 0.0, 0.0), cost=327.503288),
    "solo12": Leap(jump_height=0.1, jump_length=(0.1, 0.0, 0.0), cost=281.106212),
    "go2": Leap(jump_height=0.1, jump_length=(0.15, 0.0, 0.0), cost=257.934006),
    "a1": Leap(jump_height=0.1, jump_length=(0.15, 0.0, 0.0), cost=387.727784),
    "b1": Leap(jump_height=0.15, jump_length=(0.2, 0.0, 0.0), cost=386.267727),
    "small-quadruped": Leap(jump_height=0.1, jump_length=(0.15, 0.0, 0.0), cost=253.155425),
}
BIPED_WALK = {
    "talos_legs": Steps(step_length=0.4, step_height=0.1, step_knots=25, support_knots=6, dt=2e-2, cost=369.714852),
    "talos": Steps(step_length=0.4, step_height=0.1, step_knots=25, support_knots=6, dt=2e-2, cost=233.128028),
    "small-biped": Steps(step_length=0.2, step_height=0.05, step_knots=25, support_knots=6, dt=2e-2, cost=240.910619),
}
BIPED_JUMP = {
    # Talos' legs have no upper body to swing
    "talos_legs": Leap(jump_height=0.01, jump_length=(0.0, 0.0, 0.0), ground_knots=80, crouch=0.12, cost=108.900281),
    "small-biped": Leap(jump_height=0.04, jump_length=(0.05, 0.0, 0.0), ground_knots=120, crouch=0.1, cost=187.292087),
}

ROBOTS: dict[str, dict[str, Any]] = {
    "biped-jump": BIPED_JUMP,
    "biped-walk": BIPED_WALK,
    "quadruped-bound": BOUND,
    "quadruped-jump": JUMP,
    "quadruped-pace": PACE,
    "quadruped-trot": TROT,
    "quadruped-walk": WALK,
}
"""Table of the robots of each ready gait."""

PUBLISHED: dict[str, dict[str, Any]] = {
    "biped-jump": CROCODDYL_BIPED_JUMP,
    "biped-walk": CROCODDYL_BIPED_WALK,
    "quadruped-bound": CROCODDYL_BOUND,
    "quadruped-jump": CROCODDYL_JUMP,
    "quadruped-pace": CROCODDYL_PACE,
    "quadruped-trot": CROCODDYL_TROT,
    "quadruped-walk": CROCODDYL_WALK,
}
"""Table of the robots of each gait that is also one of Crocoddyl's exact problems."""
