"""Contact schedule: a gait as plain data."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_count, check_instance, check_items, check_positive, is_integer
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.gaits.foothold import as_point
from trajopt.gaits.on_terrain import on_terrain
from trajopt.gaits.phase import MOST_KNOTS, Phase
from trajopt.gaits.references import Flags, KnotReferences, knot_references, stances_of
from trajopt.gaits.speed import mean_speed
from trajopt.gaits.stance import Stance
from trajopt.gaits.terrain import Terrain
from trajopt.objects.lazy import above
from trajopt.objects.read import Read
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution.solution import Solution

_SAME_PLACE = 1e-3  # largest distance between equal footholds [m]
_FLIGHT_TOLERANCE = 0.05  # largest relative difference between a flight's time and that of its velocities [-]


@dataclass(frozen=True, kw_only=True)
class ContactSchedule:
    """Contact schedule of a gait: an initial stance and the phases that follow it.

    Its knots are those of all phases in turn. A touch-down with an impulse is a knot of its own without duration. The
    last knot is the end of the horizon, which has a cost and no control: a schedule of n knots becomes a problem with
    T = n - 1.

    A schedule is immutable; methods that edit it return a new one. `print` shows it as a table, `plot` draws it.

    Attributes:
        start: Initial stance: footholds and centre of mass.
        phases: The phases, in order.
        dt: Time step [s].
        terrain: Terrain that the footholds are on, see `on`; None for ground at the feet.

    Raises:
        InvalidArgumentError: There are fewer than two knots, a foot has no role in a phase, or an attribute has a
            wrong value.
        UnknownNameError: A phase names a foot that is not in `start`.
        feet: Names of the feet.
        times: Time of each knot, starting at 0 (T + 1,) [s].
        phase_of_knot: Index of each knot's phase (T + 1,) [-].
        active: Whether the contact of each foot, or its impulse at a touch-down, is active (T + 1, feet).
        touchdowns: Whether each knot is the impulse of a touch-down (T + 1,).
        foot_references: Reference rotation and position of each foot (T + 1, feet, 3, 4) [-, m]; NaN for no reference.
        com_references: Reference of the centre of mass (T + 1, 3) [m]; NaN for no reference.
        end: Stance after the last phase, from which another gait can start.
    """

    start: Stance
    phases: tuple[Phase, ...]
    dt: float
    terrain: Terrain | None = None

    feet = Read[tuple[str, ...]](lambda schedule: schedule.start.names)
    times = Read[Reals](lambda schedule: schedule.references.times)
    phase_of_knot = Read[npt.NDArray[np.int64]](lambda schedule: schedule.references.phase)
    active = Read[Flags](lambda schedule: schedule.references.active)
    touchdowns = Read[Flags](lambda schedule: schedule.references.touchdown)
    foot_references = Read[Reals](lambda schedule: schedule.references.feet)
    com_references = Read[Reals](lambda schedule: schedule.references.com)
    end = Read[Stance](lambda schedule: schedule.stances[-1])

    def __post_init__(self) -> None:
        if isinstance(self.start, Mapping):
            object.__setattr__(self, "start", Stance(self.start))
        if not isinstance(self.start, Stance):
            raise InvalidArgumentError(f"start: expected a Stance, such as Stance.of(robot, feet), got {self.start!r}")
        phases = (self.phases,) if isinstance(self.phases, Phase) else check_items("phases", self.phases, "phases")
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "dt", check_positive("dt", self.dt, unit="s"))
        if self.terrain is not None:
            check_instance("terrain", self.terrain, Terrain, "use Terrain.stairs(...)")
        for i, phase in enumerate(phases):
            _check_phase(phase, self.start)
            _check_swings(phase, phases[:i])
        check_count("phases: number of knots", sum(phase.total_knots for phase in phases), most=MOST_KNOTS)
        if sum(phase.total_knots for phase in phases) < 2:
            raise InvalidArgumentError(
                f"phases: expected at least two knots, of which the last is the end, got {[p.name for p in phases]}; "
                "add a Phase(name=..., knots=..., stance=...)"
            )
        self._check_com()

    def _check_com(self) -> None:
        """Raises InvalidArgumentError if the centre of mass has a reference but no initial position."""
        for phase, stance in zip(self.phases, stances_of(self.start, self.phases)):
            if phase.com is not None and phase.com_start is None and stance.com is None:
                raise InvalidArgumentError(
                    f"phase {phase.name!r}: com: expected a start of the line to com, got none; set the com of the "
                    "schedule's start, or the phase's com_start"
                )
            if phase.com_velocities is not None and not phase.stance:
                _check_flight(phase, self.dt, self.start.gravity)

    # Knot by knot

    @functools.cached_property
    def references(self) -> KnotReferences:
        """Contacts, touch-downs and references of all knots in one object."""
        return knot_references(self.start, self.phases, self.dt)

    @property
    def T(self) -> int:
        """Number of knots before the end [-]."""
        return sum(phase.total_knots for phase in self.phases) - 1

    @property
    def duration(self) -> float:
        """Time of the last knot [s]."""
        return float(self.times[-1])

    @property
    def speed(self) -> float:
        """Speed of the middle of the feet over the ground [m/s].

        It is the way between the landings of the foot that lands last, over the time from the first to the last one:
        whole strides. If this foot lands once, it is the mean over the schedule; 0 if a foot does not step.
        """
        return mean_speed(self)

    @property
    def soft(self) -> bool:
        """Whether any foot lands without an impulse."""
        return any(phase.swings and not phase.impulse for phase in self.phases)

    @property
    def stances(self) -> list[Stance]:
        """Stances before each phase and after the last one; a foot in the air has the foothold that it left."""
        return list(stances_of(self.start, self.phases))

    # Editing

    def append(self, *phases: Phase) -> ContactSchedule:
        """Returns the schedule with further phases at its end."""
        return dataclasses.replace(self, phases=(*self.phases, *phases))

    def replace(self, phase: int | str, **changes: Any) -> ContactSchedule:
        """Returns the schedule with one phase changed.

        Args:
            phase: Index of the phase, or its name if it is unique.
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
            matches = [i for i, name in enumerate(names) if name == phase]
            if not matches:
                raise unknown_name("phase", phase, names)
            if len(matches) > 1:
                raise InvalidArgumentError(
                    f"phase: expected a unique name, got {phase!r} of phases {matches}; pass an index"
                )
            return matches[0]
        if not is_integer(phase) or not -count <= phase < count:
            raise InvalidArgumentError(f"phase: expected a name, or an index from 0 to {count - 1}, got {phase!r}")
        return int(phase) % count

    def __add__(self, other: ContactSchedule) -> ContactSchedule:
        """Concatenates two schedules; the second must start where the first ends, see `after`."""
        if not isinstance(other, ContactSchedule):
            return NotImplemented
        self._check_follows(other)
        return self.append(*other.phases)

    def _check_follows(self, other: ContactSchedule) -> None:
        if set(other.feet) != set(self.feet) or other.dt != self.dt:
            raise InvalidArgumentError(
                f"+: expected the same feet and time step in both, got {', '.join(self.feet)} at {self.dt:g} s and "
                f"{', '.join(other.feet)} at {other.dt:g} s"
            )
        for name, place in self.end.feet.items():
            distance = float(np.linalg.norm(np.subtract(other.start.feet[name].position, place.position)))
            if distance > _SAME_PLACE:
                raise InvalidArgumentError(
                    f"+: expected {name!r} to start where the first schedule ends, got a distance of {distance:.3g} "
                    "m; generate the second from first.end, or move it: first + second.after(first)"
                )

    def after(self, other: ContactSchedule | Stance) -> ContactSchedule:
        """Returns the schedule moved to the end of another one, by a turn about the vertical and a translation.

        Args:
            other: Schedule to follow, or stance to start from. Feet that do not fit exactly start from this stance and
                step to the moved footholds.
        """
        stance = other.end if isinstance(other, ContactSchedule) else other
        if not isinstance(stance, Stance) or set(stance.feet) != set(self.feet):
            raise InvalidArgumentError(
                f"other: expected a schedule or stance of {', '.join(self.feet)}, got {shown(stance)}"
            )
        motion = self.start.motion_to(stance)
        phases = [_moved(phase, motion) for phase in self.phases]
        com = self.start.com and as_point("com", motion.act(np.array(self.start.com)))
        start = dataclasses.replace(stance, feet={name: stance.feet[name] for name in self.feet}, com=stance.com or com)
        return ContactSchedule(start=start, phases=tuple(phases), dt=self.dt)

    def repeated(self, times: int) -> ContactSchedule:
        """Returns the schedule several times in a row, each from the end of the previous one."""
        last, phases = self, [*self.phases]
        for _ in range(check_count("times", times, least=1, most=MOST_KNOTS // (self.T + 1)) - 1):
            last = self.after(last)
            phases += last.phases
        return dataclasses.replace(self, phases=tuple(phases))

    def scaled(self, factor: float) -> ContactSchedule:
        """Returns the schedule with the duration of each phase times `factor` [-], rounded to at least one knot."""
        factor = check_positive("factor", factor)
        if factor * (self.T + 1) > 2 * MOST_KNOTS:  # twice, because phases are rounded up to one knot
            raise InvalidArgumentError(
                f"factor: expected a factor for at most {MOST_KNOTS} knots, got {factor:g} times {self.T + 1}"
            )
        phases = [dataclasses.replace(p, knots=max(1, round(p.knots * factor))) for p in self.phases]
        return dataclasses.replace(self, phases=tuple(phases))

    def with_times(self, solution: Solution) -> ContactSchedule:
        """Returns the schedule with durations that a solver chose, rounded such that phases end at whole time steps.

        A phase of another duration loses the velocities of its centre of mass, which belong to the former one.

        Args:
            solution: Solution of a problem of this schedule, see `FreeTime`.

        Raises:
            InvalidArgumentError: The solution has no times, or another number of knots.
        """
        times = getattr(solution, "times", None)
        if not isinstance(times, np.ndarray) or len(times) != self.T + 1:
            got = f"T = {len(times) - 1}" if isinstance(times, np.ndarray) else "none"
            raise InvalidArgumentError(
                f"solution: expected times of the schedule's {self.T} knots and the end, got {got}; pass a solution "
                "of gait_problem(robot, schedule, timing=FreeTime(...))"
            )
        ends = np.cumsum([phase.total_knots for phase in self.phases])
        after = np.round(np.append(times, times[-1] + (0.0 if self.touchdowns[-1] else self.dt))[ends] / self.dt)
        knots = np.maximum(np.diff(after.astype(int), prepend=0), 1)
        kept = [phase.com_velocities if n == phase.knots else None for phase, n in zip(self.phases, knots)]
        phases = [dataclasses.replace(p, knots=int(n), com_velocities=v) for p, n, v in zip(self.phases, knots, kept)]
        return dataclasses.replace(self, phases=tuple(phases))

    def on(self, terrain: Terrain, *, clearance: float = 0.02, edge: float | None = None) -> ContactSchedule:
        """Returns the schedule on terrain, which its start is on already.

        Footholds move up or down onto the ground, and away from edges. Feet keep the distance from it that they have
        at the start, such as the radius of round feet. Swings become as high as they need to be. The centre of mass
        moves by the mean displacement of the feet. Cones of contact forces follow the normal of the ground. Jumps are
        planned anew for the heights of lift-off and landing, and their feet get paths.

        Args:
            terrain: The terrain.
            clearance: Distance of swinging feet from the ground besides that of standing feet, less near footholds,
                >= 0 [m].
            edge: Distance from footholds up to which the ground must not have a step, >= 0 [m]. By default 0.05 m;
                of round feet at least the height of their frame and the clearance, so that they can rise straight up.
                For soles pass half of their length, `GaitOptions.sole`.

        Raises:
            InvalidArgumentError: A foot starts below the ground, has no ground for a foothold, or no swing to it that
                is not much higher than the ground rises below it.
        """
        return on_terrain(self, terrain, clearance=clearance, edge=edge)

    # Showing

    def plot(self, path: str | PathLike[str] | None = None, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Plots a Gantt chart that shows when each foot stands, swings and touches down.

        Args:
            path: File to write (.png, .pdf or .svg).
            figure: Figure or subfigure for the plot; by default a new one.
        """
        return above("plotting.saved.saved")(above("plotting.schedule.plot_schedule"), path, self, figure=figure)

    def __str__(self) -> str:
        from trajopt.gaits.table import table

        return table(self)

    def _repr_html_(self) -> str:
        return above("plotting.schedule.html_of_schedule")(self)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.phases[:8]) + (", ..." if len(self.phases) > 8 else "")
        return f"ContactSchedule({len(self.feet)} feet, T={self.T}, {self.duration:.4g} s; {names})"


def _check_phase(phase: Phase, start: Stance) -> None:
    """Raises an error if a phase has an unknown foot, omits a foot, or gives a point foot an orientation."""
    if not isinstance(phase, Phase):
        raise InvalidArgumentError(f"phases: expected Phase(name=..., knots=..., stance=...), got {phase!r}")
    here, roles = f"phase {phase.name!r}", [*phase.stance, *phase.swinging, *phase.free]
    for foot in roles:
        if foot not in start.feet:
            raise unknown_name(f"{here}: foot", foot, start.feet)
    without = [foot for foot in start.feet if foot not in roles]
    if without:
        raise InvalidArgumentError(
            f"{here}: expected a role for {', '.join(without)}, got none; list it in stance, swings or free=(...)"
        )
    for swing in phase.swings:
        if swing.to.sole and not start.feet[swing.foot].sole:
            raise InvalidArgumentError(
                f"{here}: swing of {swing.foot!r}: to: expected a point (3,) for a point foot, got a placement; "
                "for feet with an orientation use Stance.of(robot, feet, soles=True)"
            )


def _check_swings(phase: Phase, before: Sequence[Phase]) -> None:
    """Raises InvalidArgumentError if a foot is not free in the phases before its landing in which it is in the air."""
    for swing in phase.swings:
        away = before[len(before) - swing.earlier :] if swing.earlier <= len(before) else ()
        if len(away) < swing.earlier or not all(swing.foot in each.free for each in away):
            raise InvalidArgumentError(
                f"phase {phase.name!r}: swing of {swing.foot!r}: earlier: expected a number of phases before this one "
                f"with {swing.foot!r} in their free=(...), got {swing.earlier} after {[each.name for each in before]}"
            )


def _check_flight(phase: Phase, dt: float, gravity: float) -> None:
    """Raises InvalidArgumentError if the velocities of a flight do not fit gravity and its duration."""
    assert phase.com_velocities is not None
    (_, _, up), (_, _, down) = phase.com_velocities
    time, fits = phase.knots * dt, (up - down) / gravity
    if abs(time - fits) > _FLIGHT_TOLERANCE * fits:
        raise InvalidArgumentError(
            f"phase {phase.name!r}: knots: expected a flight of {fits:.3g} s for a vertical velocity from {up:.3g} to "
            f"{down:.3g} m/s, got {phase.knots} knots of {dt:g} s = {time:.3g} s; generate the jump with this dt"
        )


def _moved(phase: Phase, motion: pin.SE3) -> Phase:
    """Returns a phase with its footholds and centre of mass moved by a rigid motion."""
    swings = [dataclasses.replace(swing, to=swing.to.moved(motion)) for swing in phase.swings]
    com, start = (None if c is None else as_point("com", motion.act(np.array(c))) for c in (phase.com, phase.com_start))
    speeds = None
    if phase.com_velocities is not None:
        first, last = (as_point("v", motion.rotation @ np.array(v)) for v in phase.com_velocities)
        speeds = (first, last)
    return dataclasses.replace(phase, swings=tuple(swings), com=com, com_start=start, com_velocities=speeds)
