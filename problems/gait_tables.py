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
        length: Length of a step [m].
        height: Height of a swing [m].
        knots: Number of knots of a swing [-].
        support: Number of knots with all feet on the ground between steps [-].
        dt: Time step [s]; half as long for quick steps, because integration errors of the feet grow with its square.
        profile: Path of a swinging foot, "smooth" or, as in Crocoddyl, "triangle"; see `trajopt.gaits.Swing`.
        cost: Cost of a known solution [cost]; None if no solution is known.
        source: Source of that cost.
    """

    length: float
    height: float
    knots: int = 25
    support: int = 2
    dt: float = 1e-2
    profile: str = "smooth"
    cost: float | None = None
    source: str = TRAJOPT


@dataclass(frozen=True, kw_only=True)
class Leap:
    """Parameters of a robot's jump.

    Attributes:
        height: Rise of the centre of mass [m].
        length: Displacement of the feet (3,) [m].
        ground: Number of knots on the ground before the jump [-].
        flying: Number of knots of the rise, and of the fall [-]; None to compute it from the height.
        crouch: Distance by which the centre of mass is lower than in the robot's configuration, before and after the
            jump [m]. Bent knees lift it faster; straight legs would turn the robot in the air, or exceed the joints'
            speed limits.
        dt: Time step [s].
        flight: References in the air, "ballistic" or "crocoddyl"; see `trajopt.gaits.quadruped_jump`.
        cost: Cost of a known solution [cost]; None if no solution is known.
        source: Source of that cost.
    """

    height: float
    length: tuple[float, float, float]
    ground: int = 60
    flying: int | None = None
    crouch: float = 0.0
    dt: float = 5e-3
    flight: str = "ballistic"
    cost: float | None = None
    source: str = TRAJOPT


Row = TypeVar("Row", Steps, Leap)


def changed(row: Row, **values: Any) -> Row:
    """Row with new values in some fields; None keeps a value."""
    return dataclasses.replace(row, **{name: value for name, value in values.items() if value is not None})


def _published(length: float, height: float, cost: float, support: int = 2) -> Steps:
    """Steps of a gait in Crocoddyl's example or benchmark."""
    return Steps(length=length, height=height, support=support, profile="triangle", cost=cost, source=CROCODDYL)


def _published_leap(cost: float) -> Leap:
    """Jump in Crocoddyl's example or benchmark."""
    return Leap(
        height=0.15,
        length=(0.0, 0.3, 0.0),
        ground=10,
        flying=20,
        dt=1e-2,
        flight="crocoddyl",
        cost=cost,
        source=CROCODDYL,
    )


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
    "anymal": _published(0.15, 0.1, 754.5215396300716, support=5),
    "hyq": _published(0.15, 0.2, 2522.5512234575144),
}
CROCODDYL_BOUND = {
    "anymal": _published(0.15, 0.1, 1968.508491418044, support=5),
    "hyq": _published(0.007, 0.05, 2104.1956082263496, support=12),
}
CROCODDYL_JUMP = {
    "anymal": _published_leap(2950.2339928883607),
    "hyq": _published_leap(4657.640514201292),
}
CROCODDYL_BIPED_WALK = {
    "talos_legs": Steps(
        length=0.6,
        height=0.1,
        knots=15,
        support=4,
        dt=3e-2,
        profile="triangle",
        cost=5111.964479134185,
        source=CROCODDYL,
    ),
}
CROCODDYL_BIPED_JUMP = {
    "talos_legs": Leap(
        height=0.1,
        length=(0.0, 0.3, 0.0),
        ground=9,
        flying=6,
        dt=3e-2,
        flight="crocoddyl",
        cost=23230.77547590909,
        source=CROCODDYL,
    ),
}
WALK = {
    "anymal": Steps(length=0.25, height=0.15, cost=492.945056),
    "hyq": Steps(length=0.25, height=0.2, cost=529.880932),
    "solo12": Steps(length=0.1, height=0.05, cost=208.034609),
    "go2": Steps(length=0.1, height=0.05, cost=222.882188),
    "a1": Steps(length=0.1, height=0.05, cost=457.215429),
    "b1": Steps(length=0.2, height=0.1, cost=280.340569),
    "small-quadruped": Steps(length=0.1, height=0.05, cost=152.391056),
}
TROT = {
    "anymal": Steps(length=0.15, height=0.1, cost=214.477439),
    "hyq": Steps(length=0.15, height=0.1, cost=194.884126),
    "solo12": Steps(length=0.1, height=0.05, cost=172.68832),
    "go2": Steps(length=0.1, height=0.05, cost=150.719279),
    "a1": Steps(length=0.1, height=0.05, cost=395.322037),
    "b1": Steps(length=0.15, height=0.1, cost=205.644392),
    "small-quadruped": Steps(length=0.1, height=0.05, cost=125.015153),
}
PACE = {
    "anymal": Steps(length=0.15, height=0.1, support=5, cost=538.895924),
    "hyq": Steps(length=0.15, height=0.1, support=5, cost=879.732138),
    "solo12": Steps(length=0.1, height=0.05, knots=36, support=10, dt=5e-3, cost=2458.95636),
    "go2": Steps(length=0.1, height=0.05, knots=15, support=5, cost=394.781907),
    "a1": Steps(length=0.1, height=0.05, knots=15, support=5, cost=641.098007),
    "b1": Steps(length=0.15, height=0.1, support=5, cost=503.667898),
    "small-quadruped": Steps(length=0.1, height=0.05, knots=15, support=5, cost=364.379612),
}
BOUND = {
    "anymal": Steps(length=0.1, height=0.05, knots=36, support=10, dt=5e-3, cost=2039.38826),
    "hyq": Steps(length=0.1, height=0.05, knots=36, support=10, dt=5e-3, cost=653.771525),
    "solo12": Steps(length=0.05, height=0.03, knots=24, support=10, dt=5e-3, cost=1351.33398),
    "go2": Steps(length=0.05, height=0.03, knots=30, support=10, dt=5e-3, cost=652.737727),
    "a1": Steps(length=0.05, height=0.03, knots=30, support=10, dt=5e-3, cost=1462.75301),
    "b1": Steps(length=0.1, height=0.05, knots=36, support=10, dt=5e-3, cost=1297.94853),
    "small-quadruped": Steps(length=0.05, height=0.03, knots=30, support=10, dt=5e-3, cost=849.074935),
}
JUMP = {
    "anymal": Leap(height=0.15, length=(0.2, 0.0, 0.0), cost=398.196924),
    "hyq": Leap(height=0.15, length=(0.2, 0.0, 0.0), cost=394.818811),
    "solo12": Leap(height=0.1, length=(0.1, 0.0, 0.0), cost=281.106212),
    "go2": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=301.800443),
    "a1": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=587.171756),
    "b1": Leap(height=0.15, length=(0.2, 0.0, 0.0), cost=393.982903),
    "small-quadruped": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=253.155425),
}
BIPED_WALK = {
    "talos_legs": Steps(length=0.4, height=0.1, knots=25, support=6, dt=2e-2, cost=369.210953),
    "talos": Steps(length=0.4, height=0.1, knots=25, support=6, dt=2e-2, cost=232.671121),
    "small-biped": Steps(length=0.2, height=0.05, knots=25, support=6, dt=2e-2, cost=240.73881),
}
BIPED_JUMP = {
    "talos_legs": Leap(
        height=0.01, length=(0.0, 0.0, 0.0), ground=80, crouch=0.12, cost=108.900281
    ),  # no upper body to swing
    "small-biped": Leap(height=0.04, length=(0.05, 0.0, 0.0), ground=120, crouch=0.1, cost=187.292087),
}
