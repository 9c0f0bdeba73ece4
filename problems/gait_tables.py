"""Tables of gaits: default parameters of each robot's steps and jumps, with the costs of known solutions."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

from trajopt.problems.case import CROCODDYL, TRAJOPT


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Steps of a robot.

    Attributes:
        length: Length of a step [m].
        height: Height of a swing [m].
        knots: Number of knots of a swing [-].
        support: Number of knots with all feet on the ground between steps [-].
        profile: Path of a swinging foot, "smooth" or, as in Crocoddyl, "triangle"; see `trajopt.gaits.Swing`.
        inner: Whether forces are kept in a pyramid inside the friction cone; otherwise around it, as in Crocoddyl's
            gaits of quadrupeds, where a foot may slide a little.
        cone: Weight of a force outside of the pyramid [cost/N²].
        hold: Whether feet in contact are pulled back to their footholds, see `trajopt.gaits.holding_gains`; otherwise
            only their velocity is damped, as in Crocoddyl's gaits.
        cost: Cost of a known solution; None if none is known [cost].
        source: Source of that cost.
    """

    length: float
    height: float
    knots: int = 25
    support: int = 2
    profile: str = "smooth"
    inner: bool = True
    cone: float = 10.0
    hold: bool = True
    cost: float | None = None
    source: str = TRAJOPT


@dataclass(frozen=True, kw_only=True)
class Leap:
    """Jump of a robot.

    Attributes:
        height: Rise of the centre of mass [m].
        length: Displacement of the feet (3,) [m].
        ground: Number of knots on the ground before the jump [-].
        flying: Number of knots on the way up, and on the way down [-].
        dt: Time step [s].
        inner: As in `Steps`.
        cone: As in `Steps` [cost/N²].
        hold: As in `Steps`.
        cost: Cost of a known solution; None if none is known [cost].
        source: Source of that cost.
    """

    height: float
    length: tuple[float, float, float]
    ground: int = 20
    flying: int = 14
    dt: float = 1e-2
    inner: bool = True
    cone: float = 10.0
    hold: bool = True
    cost: float | None = None
    source: str = TRAJOPT


Row = TypeVar("Row", Steps, Leap)


def changed(row: Row, **values: Any) -> Row:
    """A row with other values in some fields; None keeps the value of the row."""
    return dataclasses.replace(row, **{name: value for name, value in values.items() if value is not None})


def _published(length: float, height: float, cost: float, support: int = 2) -> Steps:
    """Steps of a gait in Crocoddyl's example or benchmark."""
    return Steps(
        length=length,
        height=height,
        support=support,
        profile="triangle",
        inner=False,
        hold=False,
        cost=cost,
        source=CROCODDYL,
    )


def _published_leap(cost: float) -> Leap:
    """Jump in Crocoddyl's example or benchmark."""
    return Leap(
        height=0.15,
        length=(0.0, 0.3, 0.0),
        ground=10,
        flying=20,
        inner=False,
        hold=False,
        cost=cost,
        source=CROCODDYL,
    )


WALK = {
    "anymal": _published(0.25, 0.15, 588.636806788914),
    "hyq": _published(0.25, 0.25, 1596.8183356032512),
    "solo12": _published(0.1, 0.05, 177.28190799832163),
    "go2": _published(0.1, 0.05, 146.6535197551702),
    "a1": Steps(length=0.1, height=0.05, cost=309.724412),
    "b1": Steps(length=0.2, height=0.1, cost=752.266185),
    "small-quadruped": Steps(length=0.1, height=0.05, cost=133.614481),
}
TROT = {
    "anymal": _published(0.15, 0.1, 231.7924777294141),
    "hyq": _published(0.15, 0.2, 864.1027376812725),
    "solo12": _published(0.1, 0.05, 187.05516584728588),
    "go2": _published(0.1, 0.05, 120.45571802353005),
    "a1": Steps(length=0.1, height=0.05, cost=234.768248),
    "b1": Steps(length=0.15, height=0.1, cost=465.798902),
    "small-quadruped": Steps(length=0.1, height=0.05, cost=133.866638),
}
PACE = {
    "anymal": _published(0.15, 0.1, 754.5215396300716, support=5),
    "hyq": _published(0.15, 0.2, 2522.5512234575144),
    "solo12": Steps(length=0.1, height=0.05, knots=15, support=5, cone=1e2, cost=753.811464),
    "go2": Steps(length=0.1, height=0.05, knots=15, support=5, cone=1e2, cost=350.280953),
    "a1": Steps(length=0.1, height=0.05, knots=15, support=5, cone=1e2, cost=430.135519),
    "b1": Steps(length=0.15, height=0.1, support=5, cost=1136.7152),
    "small-quadruped": Steps(length=0.1, height=0.05, knots=15, support=5, cone=1e2, cost=283.363649),
}
BOUND = {
    "anymal": _published(0.15, 0.1, 1968.508491418044, support=5),
    "hyq": _published(0.007, 0.05, 2104.1956082263496, support=12),
    "solo12": Steps(length=0.05, height=0.03, knots=15, support=5, cone=1e2, cost=1060.89734),
    "go2": Steps(length=0.05, height=0.03, knots=15, support=5, cone=1e2, cost=480.17176),
    "a1": Steps(length=0.05, height=0.03, knots=15, support=5, cone=3e2, cost=1353.72093),
    "b1": Steps(length=0.1, height=0.05, support=5, cost=2673.17515),
    "small-quadruped": Steps(length=0.05, height=0.03, knots=15, support=5, cone=1e2, cost=708.359216),
}
JUMP = {
    "anymal": _published_leap(2950.2339928883607),
    "hyq": _published_leap(4657.640514201292),
    "solo12": Leap(height=0.1, length=(0.1, 0.0, 0.0), cost=1014.28236),
    "go2": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=1108.00969),
    "a1": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=1083.34823),
    "b1": Leap(height=0.15, length=(0.2, 0.0, 0.0), flying=17, cost=2197.21604),
    "small-quadruped": Leap(height=0.1, length=(0.15, 0.0, 0.0), cost=1067.25696),
}
BIPED_WALK = {
    "talos_legs": Steps(
        length=0.6,
        height=0.1,
        knots=15,
        support=4,
        profile="triangle",
        hold=False,
        cost=5111.964479134185,
        source=CROCODDYL,
    ),
    "talos": Steps(length=0.4, height=0.1, knots=15, support=4, cost=1849.76029),
    "small-biped": Steps(length=0.2, height=0.05, knots=15, support=4, cone=1e2, cost=429.355162),
}
BIPED_JUMP = {
    "talos_legs": Leap(
        height=0.1,
        length=(0.0, 0.3, 0.0),
        ground=9,
        flying=6,
        dt=3e-2,
        hold=False,
        cost=23230.77547590909,
        source=CROCODDYL,
    ),
    "small-biped": Leap(height=0.04, length=(0.1, 0.0, 0.0), ground=30, flying=9, cone=1e2, cost=1637.37499),
}
