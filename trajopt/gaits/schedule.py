"""Contact schedule: a gait as plain data."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_count, check_items, check_positive, is_integer
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.gaits.foothold import as_point
from trajopt.gaits.lip import GRAVITY
from trajopt.gaits.phase import MOST_KNOTS, Phase
from trajopt.gaits.references import Flags, KnotReferences, knot_references, stances_of
from trajopt.gaits.stance import Stance
from trajopt.objects.lazy import above
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_SAME_PLACE = 1e-3  # footholds this close are the same [m]
_FLIGHT_TOLERANCE = 0.05  # largest difference of a flight time from that of its velocities [-]


@dataclass(frozen=True, kw_only=True)
class ContactSchedule:
    """Contact schedule of a gait: an initial stance and the phases that follow it.

    Its knots are those of all phases in turn; a touch-down with an impulse is a knot of its own, which takes no time.
    The last knot is the end of the horizon, which has a cost and no control: a schedule of n knots becomes a problem
    with T = n - 1.

    A schedule is immutable; methods that edit it return another one. `print` shows it as a table, `plot` draws it.

    Attributes:
        start: Initial stance: places of the feet, and centre of mass.
        phases: The phases, in order.
        dt: Time step [s].

    Raises:
        InvalidArgumentError: There are fewer than two knots, a foot has no role in a phase, or an attribute has a wrong
            value.
        UnknownNameError: A phase names a foot that is not in `start`.
    """

    start: Stance
    phases: tuple[Phase, ...]
    dt: float

    def __post_init__(self) -> None:
        if isinstance(self.start, Mapping):
            object.__setattr__(self, "start", Stance(self.start))
        if not isinstance(self.start, Stance):
            raise InvalidArgumentError(f"start: expected a Stance, such as Stance.of(robot, feet), got {self.start!r}")
        phases = (self.phases,) if isinstance(self.phases, Phase) else check_items("phases", self.phases, "phases")
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "dt", check_positive("dt", self.dt, unit="s"))
        for phase in phases:
            _check_phase(phase, self.start)
        check_count("phases: number of knots", sum(phase.total_knots for phase in phases), most=MOST_KNOTS)
        if sum(phase.total_knots for phase in phases) < 2:
            raise InvalidArgumentError(
                f"phases: expected at least two knots, the last one is the end, got {[p.name for p in phases]}; add a "
                "Phase(name=..., knots=..., stance=...)"
            )
        self._check_com()

    def _check_com(self) -> None:
        """Raises InvalidArgumentError if the centre of mass has a reference and no start."""
        for phase, stance in zip(self.phases, stances_of(self.start, self.phases)):
            if phase.com is not None and phase.com_start is None and stance.com is None:
                raise InvalidArgumentError(
                    f"phase {phase.name!r}: com: the line to it has no start; give the schedule's start a com, or the "
                    "phase a com_start"
                )
            if phase.com_velocities is not None and not phase.stance:
                _check_flight(phase, self.dt)

    # Knot by knot

    @functools.cached_property
    def references(self) -> KnotReferences:
        """All arrays below in one value."""
        return knot_references(self.start, self.phases, self.dt)

    @property
    def T(self) -> int:
        """Number of knots before the end [-]."""
        return sum(phase.total_knots for phase in self.phases) - 1

    @property
    def feet(self) -> tuple[str, ...]:
        """Names of the feet."""
        return self.start.names

    @property
    def times(self) -> Reals:
        """Time of each knot, starting at 0 (T + 1,) [s]."""
        return self.references.times

    @property
    def duration(self) -> float:
        """Time of the last knot [s]."""
        return float(self.times[-1])

    @property
    def phase_of_knot(self) -> npt.NDArray[np.int64]:
        """Number of each knot's phase (T + 1,) [-]."""
        return self.references.phase

    @property
    def active(self) -> Flags:
        """Whether the contact of each foot, or its impulse at a touch-down, is active (T + 1, feet)."""
        return self.references.active

    @property
    def touchdowns(self) -> Flags:
        """Whether each knot is the impulse of a touch-down (T + 1,)."""
        return self.references.touchdown

    @property
    def foot_references(self) -> Reals:
        """Reference rotation and position of each foot (T + 1, feet, 3, 4) [-, m]; NaN where it has none."""
        return self.references.feet

    @property
    def com_references(self) -> Reals:
        """Reference of the centre of mass (T + 1, 3) [m]; NaN where it has none."""
        return self.references.com

    @property
    def soft(self) -> bool:
        """Whether some feet land without an impulse."""
        return any(phase.swings and not phase.impulse for phase in self.phases)

    @property
    def stances(self) -> list[Stance]:
        """Stances before each phase and after the last one; a foot in the air has the foothold that it left."""
        return list(stances_of(self.start, self.phases))

    @property
    def end(self) -> Stance:
        """Stance after the last phase, from which another gait may start."""
        return self.stances[-1]

    # Editing

    def append(self, *phases: Phase) -> ContactSchedule:
        """The schedule with further phases at its end."""
        return dataclasses.replace(self, phases=(*self.phases, *phases))

    def replace(self, phase: int | str, **changes: Any) -> ContactSchedule:
        """The schedule with one phase changed.

        Args:
            phase: Number of the phase, or its name if no other phase has it.
            **changes: New values of attributes of the phase, such as knots=30.
        """
        i, names = self._number(phase), [f.name for f in dataclasses.fields(Phase)]
        for name in changes:
            if name not in names:
                raise unknown_name("attribute of a phase", name, names)
        new = dataclasses.replace(self.phases[i], **changes)
        return dataclasses.replace(self, phases=(*self.phases[:i], new, *self.phases[i + 1 :]))

    def _number(self, phase: int | str) -> int:
        names, count = [p.name for p in self.phases], len(self.phases)
        if isinstance(phase, str):
            found = [i for i, name in enumerate(names) if name == phase]
            if not found:
                raise unknown_name("phase", phase, names)
            if len(found) > 1:
                raise InvalidArgumentError(
                    f"phase: expected a unique name, got {phase!r} of phases {found}; give a number"
                )
            return found[0]
        if not is_integer(phase) or not -count <= phase < count:
            raise InvalidArgumentError(f"phase: expected a name, or a number from 0 to {count - 1}, got {phase!r}")
        return int(phase) % count

    def __add__(self, other: ContactSchedule) -> ContactSchedule:
        """Both schedules in a row; the second one has to start where the first one ends, see `after`."""
        if not isinstance(other, ContactSchedule):
            return NotImplemented
        self._check_follows(other)
        return self.append(*other.phases)

    def _check_follows(self, other: ContactSchedule) -> None:
        if set(other.feet) != set(self.feet) or other.dt != self.dt:
            raise InvalidArgumentError(
                f"+: expected the same feet and time step, got {', '.join(self.feet)} at {self.dt:g} s and "
                f"{', '.join(other.feet)} at {other.dt:g} s"
            )
        for name, place in self.end.feet.items():
            distance = float(np.linalg.norm(np.subtract(other.start.feet[name].position, place.position)))
            if distance > _SAME_PLACE:
                raise InvalidArgumentError(
                    f"+: the second schedule starts with {name!r} {distance:.3g} m from where the first one ends; make "
                    "it from first.end, or move it there: first + second.after(first)"
                )

    def after(self, other: ContactSchedule | Stance) -> ContactSchedule:
        """The schedule moved as a whole, by a turn about the vertical and a translation, to the end of another one.

        Args:
            other: The schedule to follow, or the stance to start from. Where the feet do not fit exactly, they start
                from this stance and step to the moved footholds.
        """
        stance = other.end if isinstance(other, ContactSchedule) else other
        if not isinstance(stance, Stance) or set(stance.feet) != set(self.feet):
            raise InvalidArgumentError(
                f"other: expected a schedule or stance of {', '.join(self.feet)}, got {shown(stance)}"
            )
        motion = self.start.motion_to(stance)
        phases = [_moved(phase, motion) for phase in self.phases]
        com = self.start.com and as_point("com", motion.act(np.array(self.start.com)))
        start = Stance({name: stance.feet[name] for name in self.feet}, stance.com or com)
        return ContactSchedule(start=start, phases=tuple(phases), dt=self.dt)

    def repeated(self, times: int) -> ContactSchedule:
        """The schedule several times in a row, each from the end of the one before."""
        last, phases = self, [*self.phases]
        for _ in range(check_count("times", times, least=1, most=MOST_KNOTS // (self.T + 1)) - 1):
            last = self.after(last)
            phases += last.phases
        return dataclasses.replace(self, phases=tuple(phases))

    def scaled(self, factor: float) -> ContactSchedule:
        """The schedule with the duration of each phase multiplied by `factor` [-], rounded to at least one knot."""
        factor = check_positive("factor", factor)
        if factor * (self.T + 1) > 2 * MOST_KNOTS:  # rounding to one knot at least aside
            raise InvalidArgumentError(
                f"factor: expected at most {MOST_KNOTS} knots, got {factor:g} times {self.T + 1}"
            )
        phases = [dataclasses.replace(p, knots=max(1, round(p.knots * factor))) for p in self.phases]
        return dataclasses.replace(self, phases=tuple(phases))

    # Showing

    def plot(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws a Gantt chart: which foot stands, swings and touches down when.

        Args:
            figure: Figure or subfigure to draw into; by default a new one.
        """
        return above("plotting.schedule.plot_schedule")(self, figure=figure)

    def __str__(self) -> str:
        from trajopt.gaits.table import table

        return table(self)

    def _repr_html_(self) -> str:
        return above("plotting.schedule.html_of_schedule")(self)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.phases[:8]) + (", ..." if len(self.phases) > 8 else "")
        return f"ContactSchedule({len(self.feet)} feet, T={self.T}, {self.duration:.4g} s; {names})"


def _check_phase(phase: Phase, start: Stance) -> None:
    """Raises if a phase names an unknown foot, leaves a foot without a role, or gives a point foot an orientation."""
    if not isinstance(phase, Phase):
        raise InvalidArgumentError(f"phases: expected Phase(name=..., knots=..., stance=...), got {phase!r}")
    here, roles = f"phase {phase.name!r}", [*phase.stance, *phase.swinging, *phase.free]
    for foot in roles:
        if foot not in start.feet:
            raise unknown_name(f"{here}: foot", foot, start.feet)
    without = [foot for foot in start.feet if foot not in roles]
    if without:
        raise InvalidArgumentError(
            f"{here}: {', '.join(without)} neither in stance nor swinging; list feet without a reference in free=(...)"
        )
    for swing in phase.swings:
        if swing.to.sole and not start.feet[swing.foot].sole:
            raise InvalidArgumentError(
                f"{here}: swing of {swing.foot!r}: to: expected a point (3,) for a point foot, got a placement; "
                "Stance.of(robot, feet, soles=True) makes feet with an orientation"
            )


def _check_flight(phase: Phase, dt: float) -> None:
    """Raises InvalidArgumentError if gravity does not change the velocity of a flight as its references do."""
    assert phase.com_velocities is not None
    (_, _, up), (_, _, down) = phase.com_velocities
    time, fits = phase.knots * dt, (up - down) / GRAVITY
    if abs(time - fits) > _FLIGHT_TOLERANCE * fits:
        raise InvalidArgumentError(
            f"phase {phase.name!r}: knots: expected a flight of {fits:.3g} s for a vertical velocity from {up:.3g} to "
            f"{down:.3g} m/s, got {phase.knots} knots of {dt:g} s = {time:.3g} s; make the jump with this dt"
        )


def _moved(phase: Phase, motion: pin.SE3) -> Phase:
    """A phase with its footholds and its centre of mass moved by a rigid motion."""
    swings = [dataclasses.replace(swing, to=swing.to.moved(motion)) for swing in phase.swings]
    com, start = (None if c is None else as_point("com", motion.act(np.array(c))) for c in (phase.com, phase.com_start))
    speeds = None
    if phase.com_velocities is not None:
        first, last = (as_point("v", motion.rotation @ np.array(v)) for v in phase.com_velocities)
        speeds = (first, last)
    return dataclasses.replace(phase, swings=tuple(swings), com=com, com_start=start, com_velocities=speeds)
