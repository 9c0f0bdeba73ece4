"""Phase of a gait: which feet stand, which swing, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from trajopt.checks import (
    check_array,
    check_count,
    check_flag,
    check_items,
    check_known,
    check_non_negative,
    check_positive,
    check_text,
    check_texts,
    is_integer,
)
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.foothold import Foothold, Vector3, as_point
from trajopt.gaits.profiles import PROFILES

MOST_KNOTS = 100_000
"""Knots of a schedule, at most: 1000 s at 10 ms [-]."""


@dataclass(frozen=True)
class Swing:
    """Swing of one foot from the ground to its next foothold.

    Attributes:
        foot: Name of the foot.
        to: The next foothold, or a point (3,) [m] or pinocchio.SE3 of a sole, which is converted to one.
        height: Height of the path above the straight line between the footholds, >= 0 [m]; None for a foot without a
            reference in the air, which is guided by its touch-down only.
        profile: Path over the N knots of the phase. "smooth" begins and ends with zero velocity, at the foothold;
            "triangle", as in Crocoddyl, moves up and down at constant speed and ends 2/N of the height above it.

    Raises:
        InvalidArgumentError: The foothold has a wrong shape, or the height is negative.
        UnknownNameError: There is no such profile.
    """

    foot: str
    to: Foothold
    height: float | None = 0.1
    profile: str = "smooth"

    def __post_init__(self) -> None:
        check_text("foot", self.foot, such_as="LF_FOOT")
        object.__setattr__(self, "to", Foothold.of(self.to, f"swing of {self.foot!r}: to"))
        if self.height is not None:
            height = check_non_negative(f"swing of {self.foot!r}: height", self.height, unit="m")
            object.__setattr__(self, "height", height)
        check_known(f"swing of {self.foot!r}: profile", self.profile, PROFILES)

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
        com_velocities: Velocities of the reference at the first knot and at the knot after the last one, where it is
            at `com_start` and `com` [m/s]. The reference then is the cubic between them, a parabola if they belong to
            one. Without them it is a line, one step ahead at the first knot as in Crocoddyl.
        rise: Rise of the centre of mass at the top of these references that a jump is asked for [m], for reports.
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
    com_velocities: tuple[Vector3, Vector3] | None = None
    rise: float | None = None
    impulse: bool = field(default=True)

    def __post_init__(self) -> None:
        here = f"phase {check_text('name', self.name)!r}"
        if is_integer(self.knots) and self.knots < 1:
            raise InvalidArgumentError(
                f"{here}: knots: expected an integer >= 1, got {self.knots!r}; leave the phase out"
            )
        check_count(f"{here}: knots", self.knots, least=1, most=MOST_KNOTS)
        object.__setattr__(self, "impulse", check_flag(f"{here}: impulse", self.impulse))
        for name in ("stance", "free"):
            value = getattr(self, name)
            feet = (value,) if isinstance(value, str) else check_texts(f"{here}: {name}", value)
            object.__setattr__(self, name, feet)
        swings = self.swings
        swings = (swings,) if isinstance(swings, Swing) else check_items(f"{here}: swings", swings, "Swing(foot, to)")
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
        if self.com_velocities is not None:
            pair = check_array(f"{here}: com_velocities", self.com_velocities, (2, 3), cure="at the start, at the end")
            object.__setattr__(self, "com_velocities", tuple(as_point("com_velocities", row) for row in pair))
        if self.rise is not None:
            object.__setattr__(self, "rise", check_positive(f"{here}: rise", self.rise, unit="m"))
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
