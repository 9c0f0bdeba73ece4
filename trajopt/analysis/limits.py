"""Use of the limits of a robot by a solution: torques, forces, velocities and positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.analysis.gaps import no_motion
from trajopt.analysis.lines import Line, panels_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

ROUNDING = 1e-6
"""Tolerance at a limit, relative to the limit's size: a value within it counts as at the limit [-]."""

PERCENTAGES = ("control", "force", "torque", "velocity")
"""Quantities that are reported as a percentage of their limit; the others are reported by the distance from it."""

_UNUSED, _HALF = 0.05, 0.5  # largest use of placeholders, and of those of angles [-]
_ROUND = {10.0**n for n in range(2, 10)}  # values of placeholders


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """Use of the limits of one coordinate, velocity or control.

    Attributes:
        quantity: "torque", "force", "velocity", "angle", "position", "control" or "state".
        name: Name of the joint, coordinate or control.
        unit: Unit of `value` and `limit`; empty if unknown.
        value: Value with the largest use.
        limit: Limit on that side.
        constrained: Whether `limit` is the bound of a constraint at that knot, at least as tight as the model's limit.
        bounded: Whether a constraint has a bound at that knot and side, which may be wider.
        partly: Whether a constraint has a bound on that side at other knots, but not at this one.
        single: Whether there is no limit on the other side. Then `use` is no share: words give the distance.
        use: Distance from the middle of both limits, divided by half their distance; |value| / limit for symmetric
            limits; 1 + excess for a single limit [-].
        knot: Knot of `value` [-].
        time: Time of the knot [s]; None if the problem has no times.
        knots: Number of knots beyond a limit; 0 if both limits hold [-].
    """

    quantity: str
    name: str
    unit: str
    value: float
    limit: float
    use: float
    knot: int
    time: float | None
    knots: int
    constrained: bool = False
    bounded: bool = False
    partly: bool = False
    single: bool = False

    @property
    def distance(self) -> str:
        """Distance of the value from the limit with its unit, such as "0.2 rad"; empty if it is rounding."""
        away = float(np.max(np.abs(self.value - self.limit)))
        rounding = away <= ROUNDING * max(1.0, float(np.max(np.abs(self.limit))))
        return "" if rounding else f"{away:.3g}{self.unit and ' '}{self.unit}"

    def __str__(self) -> str:
        where = f"at knot {self.knot}" + ("" if self.time is None else f" ({self.time:.3g} s)")
        unit = f" {self.unit}" if self.unit else ""
        side = "beyond" if self.knots else "within"
        place = f"{f'{self.distance} {side}' if self.distance else 'at'} the limit {self.limit:.4g}"
        if self.knots:
            place += f" ({self.knots} knot{'' if self.knots == 1 else 's'})"
        elif not self.single:
            place += f", use {100 * self.use:.0f} %"
        return f"{self.quantity} of {self.name}: {self.value:.4g}{unit} {where}, {place}"


def limit_uses(solution: Solution) -> list[LimitUse]:
    """Returns the use of each limit of states and controls, the most exceeded limit first.

    Limits are those of the robot's file (`problem.state.lower`, `upper`) and of the controls; both are reported, not
    enforced. Tighter bounds of constraints, as in the solve, replace them at their knots. A pair of limits without a
    range between them, such as zeros in a file or an equation, is ignored.

    Args:
        solution: A solution with its problem; without it the limits are unknown.
    """
    times = check_solution(solution).times
    lines = [line for panel in panels_of(solution) for line in panel]
    uses = [use for line in lines for use in _use(line, times)]
    return sorted(uses, key=lambda use: (use.knots == 0, -use.use))


def line_uses(line: Line) -> Reals:
    """Returns the use of a line's limits at each of its knots, (n,) [-], see `LimitUse.use`; -inf without a limit.

    Args:
        line: The line.
    """
    lower, upper = _in_force(line)
    beyond = np.maximum(line.values - upper, lower - line.values)  # > 0 where a limit is exceeded
    both = np.isfinite(lower) & np.isfinite(upper)
    half = np.where(both, np.where(both, upper, 1.0) - np.where(both, lower, -1.0), 2.0) / 2
    return np.asarray(1.0 + beyond / half)


def joint_uses(solution: Solution) -> dict[str, Reals]:
    """Returns the largest use of the limits of each joint at each knot, shape (T + 1,) [-], by joint name.

    It covers position, velocity, and torque or force. Joints without limits are left out. A knot without a limit has
    -inf.

    Args:
        solution: A solution of a robot.
    """
    robot, joint_use = solution.robot, dict[str, Reals]()
    names = () if robot is None else tuple(robot.model.names)
    for line in check_solution(solution).description.lines:
        label = line.owner or line.name
        joint = label if label in names else label.rpartition(".")[0]  # a part of a composite joint
        uses = line_uses(line)
        if joint in names and np.isfinite(uses).any():
            every = np.full(len(solution.xs), -np.inf)
            every[: len(uses)] = uses
            joint_use[joint] = np.maximum(joint_use.get(joint, -np.inf), every)
    return joint_use


def limits_report(solution: Solution) -> dict[str, str]:
    """Summarises the use of limits in one line of text, under the key "limits"; empty without limits.

    Limits are kept by a motion only, see `no_motion`.
    """
    uses = limit_uses(solution)
    if not uses:
        return {}
    over = [use for use in uses if use.knots]
    if over:
        more = f"; and {len(over) - 1} more, listed by explain" if len(over) > 1 else ""
        return {"limits": f"exceeded: {over[0]}{more}"}
    if nothing := no_motion(solution):
        return {"limits": nothing}
    largest = largest_shares(uses)
    shares = [f"{name} {100 * largest[name]:.0f} %" for name in sorted(largest) if name in PERCENTAGES]
    near = [
        f"{use.quantity} of {use.name} {f'within {use.distance} of' if use.distance else 'at'} its limit"
        for use in nearest(uses)
    ]
    words = [*([f"at most {', '.join(shares)}"] if shares else []), *near]
    doubts = [f"{words}, which look like placeholders of its file" for words in placeholders(uses)]
    return {"limits": "; ".join(["kept", *([", ".join(words)] if words else []), *doubts])}


def largest_shares(uses: Sequence[LimitUse]) -> dict[str, float]:
    """Returns the largest use of each quantity [-]; those of single limits are no shares."""
    return {use.quantity: use.use for use in reversed(uses) if not use.single}  # the first use is the largest


def placeholders(uses: Sequence[LimitUse]) -> list[str]:
    """Returns words such as "torque limits of 1000 N m" for limits that look like placeholders of a robot's file.

    They are the same power of ten from 100 on for all joints, and the motion uses less than a twentieth. Of angles it
    is the same for all joints from 10 rad on, more than a turn and a half, and the motion uses less than a half.
    """
    words = []
    turns = [use for use in uses if use.quantity == "angle"]
    sizes = {abs(use.limit) for use in turns}
    if len(sizes) == 1 and sizes <= _ROUND | {10.0} and not any(use.single or use.use >= _HALF for use in turns):
        words.append(f"angle limits of {abs(turns[0].limit):g} rad")
    for quantity in ("force", "torque", "velocity"):
        own = [use for use in uses if use.quantity == quantity]
        sizes = {abs(use.limit) for use in own}
        if len(sizes) == 1 and sizes <= _ROUND and max(use.use for use in own) < _UNUSED:
            words.append(f"{quantity} limits of {abs(own[0].limit):g} {own[0].unit}")
    return words


def nearest(uses: Sequence[LimitUse]) -> list[LimitUse]:
    """Returns the use nearest to its limit of each quantity and unit whose limits are not all given in per cent."""
    apart = [use for use in uses if use.single or use.quantity not in PERCENTAGES]
    kinds = dict.fromkeys((use.quantity, use.unit) for use in apart)
    return [
        min((use for use in apart if (use.quantity, use.unit) == kind), key=lambda use: abs(use.limit - use.value))
        for kind in kinds
    ]


def _use(line: Line, times: Reals | None) -> Iterator[LimitUse]:
    """Yields the use of a line's limits; nothing without limits."""
    lower, upper = _in_force(line)
    beyond, uses = np.maximum(line.values - upper, lower - line.values), line_uses(line)
    if not np.isfinite(uses).any():
        return
    knot = int(np.argmax(uses))
    value, low, high = float(line.values[knot]), float(lower[knot]), float(upper[knot])
    above = value - high >= low - value
    bounds = line.most if above else line.least
    sizes = np.maximum(*(np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (lower, upper)))
    yield LimitUse(
        quantity=line.quantity,
        name=f"{line.owner} {line.name}" if line.owner else line.name,
        unit=line.unit,
        value=value,
        limit=high if above else low,
        use=float(uses[knot]),
        knot=knot,
        time=None if times is None else float(times[knot]),
        knots=int(np.count_nonzero(beyond > ROUNDING * np.maximum(1.0, sizes))),
        constrained=_constrained(line, knot, above=above),
        bounded=bounds is not None and bool(np.isfinite(bounds[knot])),
        partly=bounds is not None and bool(np.isfinite(bounds).any() and not np.isfinite(bounds[knot])),
        single=not (np.isfinite(low) and np.isfinite(high)),
    )


def _constrained(line: Line, knot: int, *, above: bool) -> bool:
    """Whether the active upper or lower limit at a knot is the bound of a constraint."""
    if line.least is None or line.most is None or not line.least[knot] <= line.most[knot]:
        return False
    if line.lower >= line.upper:
        return bool(np.isfinite((line.most if above else line.least)[knot]))
    wider = line.most[knot] - line.upper if above else line.lower - line.least[knot]
    return bool(wider <= ROUNDING * max(1.0, abs(line.upper if above else line.lower)))


def _in_force(line: Line) -> tuple[Reals, Reals]:
    """Lower and upper limit of each value: the tighter of the line's own limit and the bounds of constraints."""
    room = line.lower < line.upper
    lower = np.full(line.values.shape, line.lower if room else -np.inf)
    upper = np.full(line.values.shape, line.upper if room else np.inf)
    if line.least is not None and line.most is not None:
        bounded = line.least < line.most
        lower = np.where(bounded, np.maximum(lower, line.least), lower)
        upper = np.where(bounded, np.minimum(upper, line.most), upper)
    return lower, upper
