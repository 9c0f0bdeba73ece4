"""A phase of a gait: which feet stand, which swing, for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trajopt.checks import check_non_negative
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.foothold import Foothold, Point, as_point
from trajopt.gaits.profiles import PROFILES


@dataclass(frozen=True)
class Swing:
    """A foot leaves the ground and comes down at its next foothold.

    Attributes:
        foot: Name of the foot.
        to: The foothold; a point (3,) [m] or a sole's pinocchio.SE3 becomes one.
        height: Top of the foot's path above the straight line, >= 0 [m]; None if nothing guides the foot in the air,
            only its touch-down.
        profile: "triangle", which is Crocoddyl's: straight up and down at constant speed, touching down 2/N of the
            height above the foothold; or "smooth": it leaves and touches down at rest, at the foothold.

    Raises:
        InvalidArgumentError: The foothold has another shape, or the height is negative.
        UnknownNameError: There is no such profile.
    """

    foot: str
    to: Foothold
    height: float | None = 0.1
    profile: str = "triangle"

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", Foothold.of(self.to, f"swing of {self.foot!r}: to"))
        if self.height is not None:
            height = check_non_negative(f"swing of {self.foot!r}: height", self.height, unit="m")
            object.__setattr__(self, "height", height)
        if self.profile not in PROFILES:
            raise unknown_name(f"swing of {self.foot!r}: profile", self.profile, PROFILES)

    @property
    def guided(self) -> bool:
        """Whether the foot has a reference in the air."""
        return self.height is not None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Some knots during which the same feet stand. Every foot is in `stance`, in `swings` or in `free`.

    Attributes:
        name: Its name, for the table and the plot.
        knots: Number of knots, >= 1 [-]; each takes the schedule's time step. A touch-down is a knot of its own.
        stance: Names of the feet on the ground.
        swings: Feet that move to another foothold, where they touch down at the end of the phase.
        free: Names of feet in the air that nothing guides.
        com: Where the centre of mass is to be at the end [m], reached along a straight line; None if it is free.
        com_start: Where that line starts [m]; by default where the line of an earlier phase ended.
        impulse: Whether the swinging feet hit the ground at the end, which stops them at once, in a knot of its own;
            else their contacts take over with the speed they have, and the first of them asks for the footholds.

    Raises:
        InvalidArgumentError: A value does not fit; the message names the phase.
    """

    name: str
    knots: int
    stance: tuple[str, ...] = ()
    swings: tuple[Swing, ...] = ()
    free: tuple[str, ...] = ()
    com: Point | None = None
    com_start: Point | None = None
    impulse: bool = field(default=True)

    def __post_init__(self) -> None:
        knots, here = self.knots, f"phase {self.name!r}"
        if isinstance(knots, bool) or not isinstance(knots, (int, np.integer)) or knots < 1:
            raise InvalidArgumentError(f"{here}: knots: expected an integer >= 1, got {knots!r}; leave the phase out")
        for name in ("stance", "free"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        swings = (self.swings,) if isinstance(self.swings, Swing) else tuple(self.swings)
        object.__setattr__(self, "swings", swings)
        for swing in swings:
            if not isinstance(swing, Swing):
                raise InvalidArgumentError(f"{here}: swings: expected Swing(foot, to), got {swing!r}")
            if not swing.guided and not self.impulse:
                raise InvalidArgumentError(
                    f"{here}: swing of {swing.foot!r}: with height None only the impulse of its touch-down asks for "
                    "its foothold; give a height, impulse=True, or list the foot in free"
                )
        for name in ("com", "com_start"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_point(f"{here}: {name}", getattr(self, name)))
        self._check_feet(here)

    def _check_feet(self, here: str) -> None:
        """Raises InvalidArgumentError if a foot has two roles."""
        swinging = self.swinging
        for foot in swinging:
            if foot in self.stance:
                raise InvalidArgumentError(
                    f"{here}: foot {foot!r} swings and is in stance too, where it would carry force; take it out of one"
                )
        roles = [*self.stance, *swinging, *self.free]
        twice = next((foot for foot in roles if roles.count(foot) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(f"{here}: foot {twice!r} is there twice; name it once")

    @property
    def swinging(self) -> tuple[str, ...]:
        """Names of the feet that swing."""
        return tuple(swing.foot for swing in self.swings)

    @property
    def touches_down(self) -> bool:
        """Whether it ends with a knot for an impulse."""
        return self.impulse and bool(self.swings)

    @property
    def nodes(self) -> int:
        """Number of its knots with that of the touch-down [-]."""
        return self.knots + self.touches_down

    def footholds(self) -> dict[str, Foothold]:
        """Where its swinging feet come down."""
        return {swing.foot: swing.to for swing in self.swings}
