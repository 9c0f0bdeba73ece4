"""Evaluates a motion along a path: residuals of tasks, and where and why the motion left the path."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.constraints import Constraint
from trajopt.costs import CostTerm
from trajopt.ik.collisions import filled
from trajopt.ik.coordinates import SIMPLE, coordinate, coordinates
from trajopt.ik.path import Departure, IKPath, IKPathStatus
from trajopt.ik.residuals import Judge
from trajopt.ik.result import TaskResidual
from trajopt.ik.tasks import TaskModel, beyond
from trajopt.ik.tracker import Following
from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameTranslation
from trajopt.solution import Solution
from trajopt.states.joint_spaces import joint_spaces
from trajopt.types import Reals

AT_LIMIT = 1e-6
"""Relative distance to a limit at which it counts as reached [-]."""
NEAREST = 0.02
"""Largest slope of the distance at the nearest configuration, relative to |J| [-]."""
TARGETS = 9
"""Number of targets of a departure for which other configurations are looked for [-]."""

Truth = npt.NDArray[np.bool_]


def judged(
    following: Following,
    p: Reals,
    qs: Reals,
    vs: Reals,
    reached: Callable[[Reals], Truth],
    solution: Solution | None = None,
) -> IKPath:
    """Builds the result of following a path from the motion that was found.

    Args:
        following: Tasks and limits.
        p: Parameters at each time (T + 1, np).
        qs: Configurations (T + 1, nq).
        vs: Velocities (T + 1, nv).
        reached: Whether some configuration reaches the targets of each row of parameters (n, np).
        solution: Solution of the optimal-control problem, if there is one.
    """
    model = following.model
    targets, p = p, filled(model, qs, p)
    off, slopes, residuals = _evaluated(following, p, qs)
    distance = np.linalg.norm(off, axis=1)
    pressed = _pressed(following, qs, vs)
    departures = _departures(following, np.abs(off).max(axis=1, initial=0.0), distance, slopes, pressed)
    departures = tuple(each if each.reachable else _confirmed(each, targets, reached) for each in departures)
    wanted = _wanted(model, p)
    return IKPath(
        robot=following.robot,
        times=np.arange(len(qs)) * np.float64(following.dt),
        qs=qs,
        vs=vs,
        status=_status(departures, collisions=bool(model.collisions)),
        departures=departures,
        residuals=residuals,
        distance=distance,
        limits=following.bounds.copy(),
        frames=tuple(wanted),
        wanted=np.reshape(list(wanted.values()), (-1, len(qs), 3)),
        obstacles=model.obstacles(p),
        solution=solution,
    )


def _status(departures: tuple[Departure, ...], *, collisions: bool) -> IKPathStatus:
    if not departures:
        return IKPathStatus.FOLLOWED
    if not all(each.reachable for each in departures):
        return IKPathStatus.UNREACHABLE
    if any(each.elsewhere for each in departures):
        return IKPathStatus.OTHER_START
    limited = collisions or any(each.limits for each in departures)
    return IKPathStatus.LIMITED if limited else IKPathStatus.COARSE


def _confirmed(departure: Departure, targets: Reals, reached: Callable[[Reals], Truth]) -> Departure:
    """A departure that rests as near as it gets, which is out of reach only if no configuration reaches its targets."""
    knots = np.linspace(departure.first, departure.last, TARGETS).round().astype(int)
    if reached(targets[np.unique([*knots, departure.worst])]).all():
        return dataclasses.replace(departure, reachable=True)
    return dataclasses.replace(departure, elsewhere=False)


def _evaluated(following: Following, p: Reals, qs: Reals) -> tuple[Reals, Reals, dict[str, TaskResidual]]:
    """Violations of hard rows (T + 1, nc), slopes of the distance relative to |J| (T + 1,), and residuals by task."""
    model, t = following.model, following.model.expressions()
    off = SX(np.where(model.soft, 0.0, 1.0)) * beyond(t.rows, t.lower, t.upper)
    bounds, at = following.bounds, SX.zeros(model.state.nv)
    for joint in joint_spaces(model.state.model):
        if isinstance(joint.space, SIMPLE):
            at[joint.v] = coordinate(joint, t.q)
    slope = t.jacobian.T @ off
    for j in range(model.state.nv):
        if j not in following.moving:
            slope[j] = 0.0
        elif model.limited[j]:  # a position at its limit has no slope
            down = ca.logic_and(at[j] <= bounds[0, j] + AT_LIMIT, slope[j] > 0)
            up = ca.logic_and(at[j] >= bounds[1, j] - AT_LIMIT, slope[j] < 0)
            slope[j] = ca.if_else(ca.logic_or(down, up), 0.0, slope[j])
    size = ca.sqrt(ca.sumsqr(t.jacobian) * ca.sumsqr(off)) + 1e-12
    slopes = ca.Function("slopes", [t.q, model.layout.symbols], [ca.densify(off), ca.norm_2(slope) / size])
    values = [np.array(each).reshape(-1, len(qs)).T for each in slopes(qs.T, p.T)]
    residuals = Judge.of(model, model.residuals(), p)(qs)
    return values[0], values[1][:, 0], residuals


def _wanted(model: TaskModel, p: Reals) -> dict[str, Reals]:
    """Target points of the origins of frames, by frame, (T + 1, 3) each [m]."""
    points: dict[str, Reals] = {}
    items: list[Constraint | CostTerm] = [*model.constraints.constraints, *model.costs.terms]
    for item in items:
        residual, name = item.residual, f"{item.name}.reference"
        if isinstance(residual, ResidualModelFramePlacement | ResidualModelFrameTranslation):
            points.setdefault(str(residual.frame), model.values(name, p).reshape(len(p), 3, -1)[:, :, -1])
    return points


def _pressed(following: Following, qs: Reals, vs: Reals) -> dict[str, Truth]:
    """Whether each limit is reached at each time (T + 1, nv), by "q", "v" and "a"."""
    low, high, slowest, fastest, most = following.bounds
    limited, state = following.model.limited, following.model.state
    moving, q = np.isin(np.arange(state.nv), list(following.moving)), coordinates(state, qs)
    a = np.vstack([np.zeros((1, vs.shape[1])), np.diff(vs, axis=0) / following.dt])
    return {
        "q": limited & (_at(q, low, -1.0) | _at(q, high, 1.0)),
        "v": moving & (_at(vs, slowest, -1.0) | _at(vs, fastest, 1.0)),
        "a": _at(a, -most, -1.0) | _at(a, most, 1.0),
    }


def _at(values: Reals, limit: Reals, side: float) -> Truth:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(limit) & (side * (values - limit) >= -AT_LIMIT * (1.0 + np.abs(limit))))


def _departures(
    following: Following, violation: Reals, distance: Reals, slopes: Reals, pressed: dict[str, Truth]
) -> tuple[Departure, ...]:
    """Stretches of the path in which a row is violated."""
    off = np.concatenate([[False], violation > following.tolerance, [False]])
    edges = np.flatnonzero(np.diff(off.astype(int)))
    nv, names = following.model.state.nv, following.model.state.tangent_names
    near: Truth = (slopes <= NEAREST) & ~np.any(pressed["v"] | pressed["a"], axis=1)
    departures = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        knots = slice(first, end)
        nearest = near[knots] & (violation[knots] > 3.0 * following.tolerance)
        labels = [
            f"{kind}{names[j][1:]}"
            for kind in "qva"
            for j in range(nv)
            if j in following.moving and pressed[kind][knots, j].any()
        ]
        worst = int(first + np.argmax(distance[knots]))
        rests, too_slow = end == len(violation) and nearest[-1], bool(labels) and all(each[0] != "q" for each in labels)
        elsewhere = bool(nearest.any() and (rests or not too_slow))
        far, reachable = float(distance[worst]), not nearest.any()
        departures.append(Departure(int(first), int(end - 1), worst, far, reachable, tuple(labels), elsewhere))
    return tuple(departures)
