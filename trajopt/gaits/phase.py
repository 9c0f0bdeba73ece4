"""Phase of a gait: which feet stand, which swing, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trajopt.checks import check_non_negative
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.foothold import Foothold, Vector3, as_point
from trajopt.gaits.profiles import PROFILES


@dataclass(frozen=True)
class Swing:
    """Swing of one foot from the ground to its next foothold.

    Attributes:
        foot: Name of the foot.
        to: The next foothold, or a point (3,) [m] or pinocchio.SE3 of a sole, which is converted to one.
        height: Height of the path above the straight line between the footholds, >= 0 [m]; None for a foot without a
            reference in the air, which is guided by its touch-down only.
        profile: Path over the N knots of the phase. "triangle", as in Crocoddyl, moves up and down at constant speed
            and ends 2/N of the height above the foothold; "smooth" begins and ends with zero velocity, at the foothold.

    Raises:
        InvalidArgumentError: The foothold has a wrong shape, or the height is negative.
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
    """Phase of a gait: consecutive knots with the same feet on the ground.

    Every foot is in `stance`, in `swings` or in `free`.

    Attributes:
        name: Name of the phase, for the table and the plot.
        knots: Number of knots that take time, >= 1 [-]; a touch-down at the end is one more knot, which takes none.
        stance: Names of the feet on the ground.
        swings: Swings of the feet that move to another foothold, where they touch down at the end of the phase.
        free: Names of the feet in the air without a reference.
        com: Reference of the centre of mass at the end of the phase [m], approached along a straight line; None for a
            phase without a reference.
        com_start: Start of that line [m]; by default the end of the line of an earlier phase.
        impulse: Whether the touch-down of the swinging feet is an impulse, which stops them at once. Otherwise their
            contacts begin with the velocity that the feet have, and the first knot of the next phase has the footholds
            as references.

    Raises:
        InvalidArgumentError: An attribute has a wrong value; the message names the phase.
    """

    name: str
    knots: int
    stance: tuple[str, ...] = ()
    swings: tuple[Swing, ...] = ()
    free: tuple[str, ...] = ()
    com: Vector3 | None = None
    com_start: Vector3 | None = None
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
                    f"{here}: swing of {swing.foot!r}: expected a height or impulse=True, got neither, so that nothing "
                    "moves the foot to its foothold; give one of them, or list the foot in free"
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
                    f"{here}: foot {foot!r} swings and is in stance too, where it carries force; take it out of one"
                )
        roles = [*self.stance, *swinging, *self.free]
        twice = next((foot for foot in roles if roles.count(foot) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(f"{here}: foot {twice!r} is listed twice; name it once")

    @property
    def swinging(self) -> tuple[str, ...]:
        """Names of the feet that swing."""
        return tuple(swing.foot for swing in self.swings)

    @property
    def touches_down(self) -> bool:
        """Whether the phase ends with the impulse of a touch-down."""
        return self.impulse and bool(self.swings)

    @property
    def total_knots(self) -> int:
        """Number of knots including that of the touch-down [-]."""
        return self.knots + self.touches_down

    def footholds(self) -> dict[str, Foothold]:
        """Next foothold of each swinging foot, by name."""
        return {swing.foot: swing.to for swing in self.swings}
