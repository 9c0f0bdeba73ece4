"""Comparison of a gait's targets for feet and centre of mass with a solution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.analysis.feet import normal_and_tangential
from trajopt.analysis.legs import LeggedMotion
from trajopt.checks import check_flag, check_instance, check_items
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits import ContactSchedule, Phase, Swing
    from trajopt.solution import Solution

JUMPS = ("onto", "off")
"""Profiles of swings whose heights are above the higher foothold."""
SOFT = 1e-4
"""Impulse, relative to the weight, below which a touch-down is soft [s]."""

_RISES = 0.85  # part of its height that a swing rises at least without advice; ready gaits rise 0.88 and more [-]
_SUNK = 3e-3  # depth of a foot below the ground that is worth advice; ready gaits have less than 1 mm [m]
_MOTION = "legged_motion(solution) returns one"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """One target of a gait phase, and the value that a solution reached.

    Attributes:
        what: "clearance", height of a swing above the line between its footholds, or in a jump onto or down from a
            platform above the higher one; "length", horizontal distance
            between them; "landing", height of the foot above its foothold when it lands; "lowest", smallest height of
            a foot's frame above the ground in the whole motion; "ball", that of the foot's collision sphere if its
            centre is not the frame: as high as the frame if the sphere is upright above it, lower if it tilts;
            "rise", height gain of the centre of mass in a jump.
        of: Name of the foot's frame, or "centre of mass".
        phase: Name of the phase; empty for "lowest" and "ball".
        knot: Knot at which the value is reached [-].
        asked: Target of the schedule; 0 for "landing", "lowest" and "ball" [m].
        reached: Value of the solution [m].
    """

    what: str
    of: str
    phase: str
    knot: int
    asked: float
    reached: float


def reached(solution: Solution, motion: LeggedMotion | None = None) -> tuple[Reached, ...]:
    """Compares a gait's targets with a solution, phase by phase; empty for a problem without a schedule.

    Args:
        solution: A solution of a problem from `gaits.gait_problem` or `gaits.GaitModels`, or loaded from its file.
        motion: The motion from `legged_motion`; None to compute it.
    """
    if motion is not None:
        check_instance("motion", motion, LeggedMotion, _MOTION)
    description = check_solution(solution).description
    if motion is None or description.schedule is None:
        return description.reached
    return gait_reached(description.schedule, motion)


def gait_reached(schedule: ContactSchedule, motion: LeggedMotion | None) -> tuple[Reached, ...]:
    """Compares a schedule's targets with a motion; empty if the motion is None."""
    if motion is None:
        return ()
    places = {foot.frame: foot.positions for foot in motion.feet}
    frames = {foot: (path, 0.0) for foot, path in places.items()}
    balls = {
        foot.frame: (foot.ball, float(np.linalg.norm(foot.ball[0] - foot.positions[0])))
        for foot in motion.feet
        if foot.ball is not None
    }
    lowest = [*_lowest(schedule, "lowest", frames), *_lowest(schedule, "ball", balls)]
    return (*_phases(schedule, places, motion.com), *lowest)


def friction_use(motion: LeggedMotion, *, impulses: bool = False) -> float:
    """Returns the largest ratio |f_t| / f_n of tangential to normal force over all feet in contact [-].

    Forces below a thousandth of the weight are ignored, and impulses of soft touch-downs, see `SOFT`. The ratio
    is inf if the ground pulls a foot.

    Args:
        motion: Motion of a legged robot, see `legged_motion`.
        impulses: Whether the ratio is that of the impulses at touch-downs [N s] instead of the forces [N].
    """
    check_instance("motion", motion, LeggedMotion, _MOTION)
    sudden = check_flag("impulses", impulses)
    largest, least = 0.0, motion.weight * (SOFT if sudden else 1e-3)
    for foot in motion.feet:
        pushes = foot.impulses if sudden else np.where(foot.stands[:, None], foot.forces, np.nan)
        loaded = np.linalg.norm(np.nan_to_num(pushes), axis=1) > least
        if sudden:
            normal, tangential = normal_and_tangential(pushes[loaded], foot.normals[loaded])
        else:
            normal, tangential = foot.normal_forces[loaded], foot.tangential_forces[loaded]
        ratios = np.where(normal > 0, tangential / np.where(normal > 0, normal, 1.0), np.inf)
        largest = max(largest, float(np.max(ratios, initial=0.0)))
    return largest


def friction_words(motion: LeggedMotion) -> str:
    """Largest use of friction in text, such as "tangential at most 0.31 of the normal force, 0.4 at touch-downs"."""
    hit = friction_use(motion, impulses=True)
    lands = any(np.isfinite(foot.impulses).any() for foot in motion.feet)
    more = f", {hit:.3g} at touch-downs" if hit else ", without touch-downs, as they are soft" if lands else ""
    return f"tangential at most {friction_use(motion):.3g} of the normal force{more}"


def reached_words(rows: Iterable[Reached]) -> dict[str, str]:
    """Summarises targets and reached values in text, by the keys "clearance", "length", "rise", "landing", "lowest".

    ```python
    words = reached_words(reached(solution))
    ```

    Args:
        rows: Result of `reached(solution)`; without rows the text is empty.

    Raises:
        InvalidArgumentError: `rows` are not Reached objects, for example a solution.
    """
    words, cure = {}, "write reached_words(reached(solution))"
    rows = check_items("rows", rows, "Reached", cure=cure)
    for i, row in enumerate(rows):
        check_instance(f"rows[{i}]", row, Reached, cure)
    for what in ("clearance", "length", "rise"):
        chosen = [row for row in rows if row.what == what]
        if chosen:
            shares = [100 * row.reached / row.asked for row in chosen]
            targets = _span([row.asked for row in chosen], ".4g")
            words[what] = f"{_span(shares, '.1f')} % of the {targets} m asked for"
    landings = [1e3 * row.reached for row in rows if row.what == "landing"]
    if landings:
        words["landing"] = f"{_span(landings, '+.2f')} mm above the footholds"
    frames, balls = ([row for row in rows if row.what == what] for what in ("lowest", "ball"))
    if frames:
        words["lowest"] = _depth(balls, "ball of ") + "; frames of feet " + _depth(frames) if balls else _depth(frames)
    return words


def _depth(rows: Sequence[Reached], what: str = "") -> str:
    """Smallest height in text, such as "0.11 mm below the ground (LF_FOOT, knot 3)"."""
    deepest = min(rows, key=lambda row: row.reached)
    side, height = "above" if deepest.reached >= 0.0 else "below", abs(1e3 * deepest.reached)
    return f"{height:.2f} mm {side} the ground ({what}{deepest.of}, knot {deepest.knot})"


def _span(values: list[float], form: str) -> str:
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def _phases(schedule: ContactSchedule, places: dict[str, Reals], com: Reals) -> Iterator[Reached]:
    """Yields the rows of all phases."""
    first, stances, begins = 0, schedule.stances, list[int]()
    for i, phase in enumerate(schedule.phases):
        last = min(first + phase.knots, schedule.T)
        begins.append(first)
        for swing in phase.swings:
            start = np.array(stances[i].feet[swing.foot].position)
            yield from _swing(phase, swing, start, places[swing.foot], (begins[i - swing.earlier], last))
        if phase.rise is not None:
            end = _flight_end(schedule, i, first)
            top = first + int(np.argmax(com[first : end + 1, 2]))
            excess = com[top, 2] - np.nanmax(schedule.com_references[first:last, 2])
            yield Reached(what="rise", of="centre of mass", phase=phase.name, knot=top, asked=phase.rise,
                          reached=float(phase.rise + excess))  # fmt: skip
        first += phase.total_knots


def _swing(phase: Phase, swing: Swing, start: Reals, path: Reals, knots: tuple[int, int]) -> Iterator[Reached]:
    """Yields the rows of one swing from the foothold `start` (3,), with the path of the foot (T + 1, 3)."""
    (first, last), goal = knots, np.array(swing.to.position)
    move, travelled = goal - start, path[first : last + 1] - start
    length = float(np.linalg.norm(move[:2]))
    if swing.height:
        progress = np.clip(travelled @ move / (move @ move), 0.0, 1.0) if np.any(move) else np.zeros(len(travelled))
        line = max(move[2], 0.0) if swing.profile in JUMPS else progress * move[2]
        above = travelled[:, 2] - line
        top = int(above.argmax())
        yield Reached(what="clearance", of=swing.foot, phase=phase.name, knot=first + top, asked=swing.height,
                      reached=float(above[top]))  # fmt: skip
    if length > 0:
        came = float(travelled[-1, :2] @ move[:2]) / length
        yield Reached(what="length", of=swing.foot, phase=phase.name, knot=last, asked=length, reached=came)
    height = float(path[last, 2] - goal[2])
    yield Reached(what="landing", of=swing.foot, phase=phase.name, knot=last, asked=0.0, reached=height)


def _flight_end(schedule: ContactSchedule, phase: int, first: int) -> int:
    """Last knot of the flight that begins with a phase."""
    last = first
    for other in schedule.phases[phase:]:
        if other.stance:
            break
        last += other.total_knots
    return min(last, schedule.T)


def sunk_words(rows: Iterable[Reached]) -> list[str]:
    """Advice for the foot that is deepest below the ground, which costs alone keep above it; empty if none is."""
    deepest = min((row for row in rows if row.what == "lowest"), key=lambda row: row.reached, default=None)
    if deepest is None or deepest.reached > -_SUNK:
        return []
    return [
        f"-> {deepest.of} is {-1e3 * deepest.reached:.3g} mm below the ground at knot {deepest.knot}: feet follow "
        "their swings at a cost, whose weight is gaits.GaitOptions(foot=2e6) by default; take ten times that"
    ]


def low_words(rows: Iterable[Reached]) -> list[str]:
    """Advice for the swing that rises least of its height, which costs alone make it do; empty if all rise enough."""
    swings = [row for row in rows if row.what == "clearance"]
    least = min(swings, key=lambda row: row.reached / row.asked, default=None)
    if least is None or least.reached > _RISES * least.asked:
        return []
    rises = f"rises {1e3 * least.reached:.3g} of {1e3 * least.asked:.3g} mm: feet follow their swings at a cost"
    return [
        f"-> the swing of {least.of} in phase {least.phase!r} {rises}, whose weight is "
        "gaits.GaitOptions(foot=2e6) by default; with 2e8 ready gaits take 3 % more iterations"
    ]


def _lowest(schedule: ContactSchedule, what: str, places: dict[str, tuple[Reals, float]]) -> Iterator[Reached]:
    """Yields the smallest height of each foot above the ground.

    On terrain it is the distance from it, besides that at the start. Elsewhere the ground is that of the foothold, and
    in a swing that of the lower one of both.

    Args:
        schedule: The gait.
        what: Name of these heights.
        places: Positions (T + 1, 3) of a point of each foot, and its height above an upright foot's frame [m].
    """
    stances, number = schedule.stances, schedule.phase_of_knot
    for foot, (path, height) in places.items():
        if schedule.terrain is not None:
            start = np.array([stances[0].feet[foot].position])
            above = schedule.terrain.distances(path) - schedule.terrain.distances(start) - height
        else:
            ground = [min(stances[i].feet[foot].position[2], stances[i + 1].feet[foot].position[2]) for i in number]
            above = path[:, 2] - np.array(ground) - height
        knot = int(above.argmin())
        yield Reached(what=what, of=foot, phase="", knot=knot, asked=0.0, reached=float(above[knot]))
