"""Text reports of closed loops."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import HELD, ConstraintRows, constraint_rows
from trajopt.analysis.contradictions import EXCLUDE
from trajopt.analysis.touching import touching_distance
from trajopt.errors import TrajoptError
from trajopt.mpc.broken import broken_words, cure_of
from trajopt.mpc.estimates import late_estimate
from trajopt.mpc.stuck import stuck
from trajopt.mpc.tracking import with_targets
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop
    from trajopt.mpc.tracking import Tracked

OWN_MODEL = "the controller's own model"
"""Value of `ClosedLoop.plant` for a plant that is the controller's own model, without a model error."""
PERCENTILE = 99.0
"""Percentile of times in reports and plots [%]."""
_SLOW = 90.0
"""Percentile of times that advice is about [%]; other programs on the machine delay single steps of any loop."""

_AFTER = 0.5  # time after a push in which an error is said to be due to it, and longest push that is a moment [s]
_MOST = 4  # constraints, and reasons, that a report lists [-]
_PAIRS = 2  # pairs of bodies that a report names for one constraint [-]


def report(log: ClosedLoop) -> dict[str, str]:
    """Summarises a closed loop in text by keyword; see `ClosedLoop.report`."""
    words = {
        "loop": f"{log.times[-1]:g} s in {len(log)} steps of {1e3 * log.dt:g} ms, {log.solver}",
        "plant": log.plant
        + (f", delay {1e3 * log.delay:g} ms{', compensated' * log.delay_compensated}" if log.delay else ""),
        **({"sensors": log.sensing} if log.sensing else {}),
        "steps": log.outcome,
        "cost": f"{log.cost:.6g}, of the plant's motion by the controller's running costs",
    }
    if log.stopped:
        words["stopped"] = log.stopped
    if not len(log):
        return words
    pushes = [push for push in log.pushes if push.time < log.times[-1]]
    if pushes:
        words["pushes"] = ", ".join(map(str, pushes[:3])) + (", ..." if len(pushes) > 3 else "")
    for tracked in with_targets(log.tracked)[:_MOST]:
        key = tracked.name if tracked.name not in words else f"{tracked.name} [{tracked.unit}]"
        words[key] = _tracking(tracked, log)
    if log.estimated:
        words["estimates"] = _estimates(log)
    words["controls"] = _controls(log)
    words["constraints"] = _constraints(log)
    if bounds := _bounds(log):
        words["bounds"] = bounds
    words["times"] = _times(log)
    return words


def _tracking(tracked: Tracked, log: ClosedLoop) -> str:
    there = np.isfinite(tracked.errors)
    errors = tracked.errors[there]
    if not errors.size:
        return "no reference"
    unit = f" {tracked.unit}" if tracked.unit else ""
    rms = float(np.sqrt(np.mean(errors**2)))
    worst = float(log.sample_times[: len(there)][there][errors.argmax()])
    pushed = [push for push in log.pushes if push.time <= worst <= push.end + _AFTER and push.duration < _AFTER]
    after = f" after the push at {pushed[-1].time:g} s" if pushed else ""
    most, last = f"{errors.max():.3g}{unit} at most{after}", f"{errors[-1]:.3g}{unit} at the end"
    return f"{tracked.measure} {rms:.3g}{unit} rms, {most}, {last}"


def _estimates(log: ClosedLoop) -> str:
    late = {name: late_estimate(values) for name, values in log.estimated.items() if len(values)}
    parts = [
        f"{name} {value:.4g} ± {deviation:.2g} in the last quarter, {log.estimated[name][0, 0]:.4g} at first"
        for name, (value, deviation) in late.items()
    ]
    return "; ".join(parts[:_MOST]) + (f"; and {len(parts) - _MOST} more" if len(parts) > _MOST else "")


def _controls(log: ClosedLoop) -> str:
    limited = np.isfinite(log.lower).any(axis=0) | np.isfinite(log.upper).any(axis=0)
    if not limited.any():
        return "no limits"
    excess = float(log.control_excess.max(initial=0.0))
    if excess > HELD:
        return f"beyond their limits by {excess:.3g} at {log.times[int(log.control_excess.argmax())]:.4g} s"
    with np.errstate(invalid="ignore"):
        at = np.minimum(log.us - log.lower, log.upper - log.us) <= touching_distance(log.us, log.lower, log.upper)
    counts = dict(zip(log.control_names, np.count_nonzero(at, axis=0).tolist()))
    kept = f"within their limits to {excess:.0e}" if excess else "within their limits"
    if not any(counts.values()):
        return f"{kept}; none is at a limit"
    most = sorted((name for name in counts if counts[name]), key=counts.__getitem__, reverse=True)
    more = f", and {len(most) - _MOST} more" if len(most) > _MOST else ""
    return f"{kept}; at a limit: {', '.join(f'{n} in {_share(counts[n], len(log))}' for n in most[:_MOST])}{more}"


def _share(count: int, n: int, of: str = "steps") -> str:
    """Text such as "11 of 500 steps (2.2 %)"."""
    share = 100.0 * count / n
    return f"{count} of {n} {of} ({share:.{0 if share >= 10.0 else 1 if share >= 1.0 else 2}f} %)"


def _bounds(log: ClosedLoop) -> str:
    """Text for how often each constraint was beyond a bound or at one, at the samples of the motion; empty for never.

    Constraints on controls alone are left out, as `_controls` tells it.
    """
    words = []
    for rows in _rows(log):
        if all(control >= 0 for control in rows.controls):
            continue
        n = int(np.isfinite(rows.values[:-1]).any(axis=1).sum())
        beyond = rows.violated[:-1].any(axis=1)
        at = (rows.active & ~rows.equations)[:-1].any(axis=1) & ~beyond
        counts = {"beyond": int(beyond.sum()), "at": int(at.sum())}
        parts = [f"{side} a bound in {_share(count, n, 'samples')}" for side, count in counts.items() if count]
        words += [f"{rows.name}{_touching(rows)} {' and '.join(parts)}"] if parts else []
    return "; ".join(words[:_MOST]) + (f"; and {len(words) - _MOST} more" if len(words) > _MOST else "")


def _rows(log: ClosedLoop) -> tuple[ConstraintRows, ...]:
    """Constraints at the samples of the motion; empty if they are unknown."""
    try:
        return () if log.motion is None else constraint_rows(log.motion)
    except TrajoptError:  # a state that is not finite
        return ()


def _touching(rows: ConstraintRows) -> str:
    """Names of the bodies that were at a bound or beyond, the most frequent first; empty for other constraints."""
    if not rows.bodies:
        return ""
    pairs = [name for name, _ in Counter(np.array(rows.bodies)[rows.active | rows.violated].tolist()).most_common()]
    more = f", and {len(pairs) - _PAIRS} more" if len(pairs) > _PAIRS else ""
    return f"[{', '.join(pairs[:_PAIRS])}{more}]"


def _constraints(log: ClosedLoop) -> str:
    if not log.violations:
        return "none"
    violated = log.violated
    between = f"; {words}" if (words := _between(log)) else ""
    if not violated:
        return (
            f"hold{' at measurements' * bool(between)} to {HELD:g}: {', '.join(list(log.violations)[:_MOST])}{between}"
        )
    hard = {name: size for name, size in violated.items() if name not in log.soft}
    soft = {name: size for name, size in violated.items() if name in log.soft}
    parts = [(hard, "violated"), (soft, "hold, except soft ones" if not hard else "soft ones violated")]
    return "; ".join(f"{words}: {_sizes(log, sizes)}" for sizes, words in parts if sizes) + between


def _between(log: ClosedLoop, *, margins: bool = True) -> str:
    """Text for constraints that hold at two measurements and are violated between them; empty if there are none.

    Args:
        log: The closed loop; where `motion` lacks some periods, nothing is known.
        margins: Whether to name obstacles that keep a part of their margin.
    """
    if log.motion is None or log.every > 1:
        return ""
    found = [each for each in log.motion.description.between if margins or not each.excess < each.margin]
    times = log.sample_times
    words = [
        f"{each.title} by {each.size} from {times[each.knot]:.4g} to {times[each.knot + 1]:.4g} s"
        for each in found[:_MOST]
    ]
    return f"violated between measurements: {', '.join(words)}" if words else ""


def _sizes(log: ClosedLoop, violated: Mapping[str, float]) -> str:
    shown, units, bodies = list(violated.items())[:_MOST], _units(log), _deepest(log)
    words = [
        f"{name}{bodies.get(name, '')} by {size:.3g}{units.get(name, '')} at {_time_of(log, log.violations[name])}"
        for name, size in shown
    ]
    return ", ".join(words) + (f", and {len(violated) - _MOST} more" if len(violated) > _MOST else "")


def _deepest(log: ClosedLoop) -> dict[str, str]:
    """Names of the two bodies of the largest violation, such as "[hand and ball]", by constraint; empty for others."""
    words = {}
    for rows in _rows(log):
        knot, row, _ = rows.largest(rows.violations)
        words[rows.name] = f"[{rows.bodies[knot][row]}]" if rows.bodies else ""
    return words


def _units(log: ClosedLoop) -> dict[str, str]:
    """Unit of each constraint after a space, if it has one."""
    units = {} if log.motion is None else log.motion.description.constraint_units
    return {name: f" {unit}" for name, unit in units.items()}


def _time_of(log: ClosedLoop, values: Reals) -> str:
    return f"{log.times[int(values.argmax())]:.4g} s"


def _times(log: ClosedLoop) -> str:
    whole, feedback = (1e3 * float(np.percentile(t, PERCENTILE)) for t in (log.step_times, log.feedback_times))
    median, misses = 1e3 * float(np.median(log.step_times)), int(np.count_nonzero(log.deadline_misses))
    return (
        f"median of steps {median:.3g} ms, {PERCENTILE:.0f} % of steps below {whole:.3g} ms, of feedback phases below "
        f"{feedback:.3g} ms; {misses} of "
        f"{len(log)} steps took longer than {1e3 * log.dt:g} ms; first solve {log.first_solve:.2f} s"
    )


def explain(log: ClosedLoop) -> str:
    """Explains the outcome of a closed loop: what went wrong and when, and which setting to change."""
    if not len(log):
        return f"closed loop without a step{': ' + log.stopped if log.stopped else ''}"
    lines = [f"{key}: {text}" for key, text in report(log).items()]
    return "\n".join(lines + advice(log))


def advice(log: ClosedLoop) -> list[str]:
    """Lines on what went wrong and when, and which setting to change; empty if all went well."""
    return [*_reasons(log), *(f"-> {cure}" for cure in _cures(log))] if len(log) else []


def _reasons(log: ClosedLoop) -> list[str]:
    """Steps that were not solved, grouped by reason, the most frequent first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for k, text in log.reasons.items():
        groups.setdefault((str(log.statuses[k]), text.split(":")[0] or "no reason given"), []).append(k)
    lines = []
    for (status, _), steps in sorted(groups.items(), key=lambda item: (item[0][0] != "failed", -len(item[1])))[:_MOST]:
        first = steps[0]
        count = f"{len(steps)} step{'s' if len(steps) > 1 else ''} {status}"
        lines.append(f"  {count}, the first at {log.times[first]:.4g} s: {log.reasons[first] or 'no reason given'}")
    return lines


def _rounded_up(number: float) -> float:
    """The next number of two digits, so that advice to raise a value never names one that it has already."""
    step = 10.0 ** (math.floor(math.log10(number)) - 1)
    return step * math.ceil(number / step)


def _named(constraint: str) -> Callable[[str], bool]:
    """Whether a reason is about a row of a constraint, such as "rail[0] at knot 49: violated by 6.33"."""
    row = re.compile(rf"(^|\W){re.escape(constraint)}(\[[^]]*\])? at knot ")
    return lambda reason: row.search(reason) is not None


def _cures(log: ClosedLoop) -> list[str]:
    stands = stuck(log)
    cures = [] if stands is None else [stands.cure]
    slow = float(np.percentile(log.step_times, _SLOW))
    if slow > log.dt:
        needed, median = _rounded_up(1e3 * slow), 1e3 * float(np.median(log.step_times))
        mode = "" if log.solver.startswith("real-time") else "mode 'real-time', "
        cures.append(
            f"steps take longer than the control period, {median:.3g} ms in the median and up to {1e3 * slow:.3g} ms "
            f"in {_SLOW:.0f} % of the steps: use a period of {needed:g} ms or more (MPCOptions.dt), "
            f"fewer knots, {mode}or a time_budget"
        )
    budget = np.inf if log.time_budget is None else log.time_budget
    late = (log.statuses != "solved") & (log.feedback_times > budget)
    if late.any():
        cures.append(
            f"{_share(int(late.sum()), len(log))} used up the time_budget of {1e3 * budget:g} ms before they "
            "were solved: raise it (MPCOptions.time_budget), or take fewer knots or constraints"
        )
    if log.biased:
        cures.append(
            "the plant has a constant disturbance that the controller's model lacks: in each second it changes "
            f"{log.biased} more than predicted; {log.bias_cure or 'MPCOptions(offset_free=True) estimates it'}"
        )
    failed = [log.reasons.get(int(k), "") for k in np.flatnonzero((log.statuses == "failed") & ~late)]
    failed = [reason for reason in failed if EXCLUDE not in reason]
    if failed:
        hard = [name for name in log.violations if name not in log.soft and any(map(_named(name), failed))]
        soften = f"soften {', '.join(hard)} (soft=(linear, quadratic)), " if hard else ""
        cures.append(f"steps fail: {soften}start closer to a feasible motion, or allow more iterations")
    if set(log.violated) - set(log.soft) and not np.any(log.statuses == "failed"):
        cures.append(
            "the plant violates hard constraints: leave a margin in their bounds for noise, delay and model error, or "
            "allow more iterations (MPCOptions.iterations)"
        )
    if words := cure_of(log, _rows(log)):
        cures.append(words)
    if words := _between(log, margins=False):
        cures.append(f"{words}: measure more often (MPCOptions.dt), or leave a margin in their bounds")
    if log.delay > 0.2 * log.dt and not log.delay_compensated:
        cures.append(
            "the delay is a large part of the control period: in Python, simulate(..., compensate_delay=True) starts "
            "each plan from the predicted state after the delay"
        )
    if stands is None and (missed := missed_goal(log)):
        cures.append(
            f"the plant does not come where plans end, it misses {missed} (median of the last half). So the goal is"
            f" not reached although steps are solved: {_why_missed(log)}"
        )
    return cures


def unreached(log: ClosedLoop) -> str:
    """Text on a plant that is stuck at an obstacle, breaks constraints, or misses its goal; empty for others."""
    if (stands := stuck(log)) is not None:
        return str(stands)
    if words := broken_words(log, _rows(log)):
        return words
    missed = missed_goal(log)
    return f"the plant does not come where plans end, it misses {missed}" if missed else ""


def missed_goal(log: ClosedLoop) -> str:
    """Coordinates by which plans' ends are missed; empty if they come true, or if a reference moves: errors tell it."""
    return "" if any(tracked.moves for tracked in log.tracked) else log.missed


def _why_missed(log: ClosedLoop) -> str:
    """Possible reasons why plans do not come true.

    Parameters are right if the plant is the controller's own model, or if estimates leave no constant difference. Plans
    may then end where the plant cannot rest, such as upright in wind for a terminal cost.
    """
    others = f"the horizon {{}}too short, or the limits too tight{' (see bounds)' if _bounds(log) else ''}"
    if (log.plant == OWN_MODEL and not log.pushes) or (log.estimated and not log.biased):
        return others.format("may be ")
    return f"the model's parameters may be wrong (MPCOptions(estimate=..., offset_free=True)), {others.format('')}"
