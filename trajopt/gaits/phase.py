"""Phase of a gait: the feet that stand and swing, and its duration."""

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
"""Largest number of knots of a schedule: 1000 s at 10 ms [-]."""


@dataclass(frozen=True)
class Swing:
    """Swing of one foot from the ground to its next foothold.

    Attributes:
        foot: Name of the foot.
        to: Next foothold; a point (3,) [m], or a pinocchio.SE3 for a sole, is converted.
        height: Height of the path above the straight line between the footholds, >= 0 [m]; None for a foot without a
            reference in the air, which only its touch-down guides.
        profile: Path over the N knots of the phase. "smooth" starts and ends at zero velocity, and ends at the
            foothold. "steep" does too, and starts and ends upright. "triangle", as in Crocoddyl, moves up and down at
            constant speed; its last knot is 2/N of the height above the foothold, and for odd N it stays 1/N lower.
            "onto" and "off" are for jumps onto a platform and down from one: they first rise beside it, and have their
            height above the higher foothold.
        earlier: Number of phases before this one in which the foot is in the air, too, and in their `free`: it leaves
            the ground at the beginning of the first of them, and its path is over the knots of all [-].

    Raises:
        InvalidArgumentError: The foothold has a wrong shape, or a number is negative.
        UnknownNameError: `profile` is unknown.
    """

    foot: str
    to: Foothold
    height: float | None = 0.1
    profile: str = "smooth"
    earlier: int = 0

    def __post_init__(self) -> None:
        check_text("foot", self.foot, such_as="LF_FOOT")
        object.__setattr__(self, "to", Foothold.of(self.to, f"swing of {self.foot!r}: to"))
        if self.height is not None:
            height = check_non_negative(f"swing of {self.foot!r}: height", self.height, unit="m")
            object.__setattr__(self, "height", height)
        check_known(f"swing of {self.foot!r}: profile", self.profile, PROFILES)
        check_count(f"swing of {self.foot!r}: earlier", self.earlier, least=0, most=MOST_KNOTS)

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
        knots: Number of knots with a duration, >= 1 [-]; a touch-down at the end is a further knot without one.
        stance: Names of the feet on the ground.
        swings: Swings of the feet that move to another foothold and touch down there at the end of the phase.
        free: Names of the feet in the air without a reference.
        com: Reference of the centre of mass at the end of the phase [m], approached along a straight line; None for no
            reference: then nothing holds the height of the body, also where all feet stand.
        com_start: Start of that line [m]; by default the end of the line of an earlier phase.
        com_velocities: Velocities of the reference at the first knot, where it is at `com_start`, and at the knot
            after the last one, where it is at `com` [m/s]. The reference is then a cubic, or a parabola if they fit
            one. Without them it is a line, one step ahead at the first knot as in Crocoddyl, with a constant speed. It
            begins or ends at rest beside a phase that holds the centre of mass, and at an end of the schedule if all
            feet stand in the phase.
        rise: Requested rise of the centre of mass at the apex of a jump [m], for reports.
        impulse: Whether swinging feet touch down with an impulse, which stops them at once. If not, their contacts
            begin with the feet's current velocity, and the first knot of the next phase has the footholds as
            references.

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
            raise InvalidArgumentError(f"{here}: knots: expected an integer >= 1, got {self.knots!r}; remove the phase")
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
                    f"{here}: swing of {swing.foot!r}: expected a height or impulse=True, got neither, so nothing "
                    "moves the foot to its foothold; set one of them, or list the foot in free"
                )
        for name in ("com", "com_start"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_point(f"{here}: {name}", getattr(self, name)))
        if self.com_velocities is not None:
            pair = check_array(
                f"{here}: com_velocities", self.com_velocities, (2, 3), cure="pass those at start and end"
            )
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
                    f"{here}: foot {foot!r} is in swings and in stance; remove it from one of them"
                )
        roles = [*self.stance, *swinging, *self.free]
        twice = next((foot for foot in roles if roles.count(foot) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(f"{here}: foot {twice!r} is listed twice; remove one")

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
