"""Solver of inverse kinematics: compiled once for a robot and the structure of its tasks, then used for any target."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_count, check_flag, check_mapping, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.ik.causes import CausesOfBatch, causes_of
from trajopt.ik.collisions import with_collisions
from trajopt.ik.coordinates import coordinates
from trajopt.ik.fixed import fixed_joints, hold
from trajopt.ik.influence import acting
from trajopt.ik.residuals import Judge
from trajopt.ik.result import IKBatch, IKResult, IKStatus
from trajopt.ik.search import SAME, DescentEnds, Search
from trajopt.ik.starts import Starts
from trajopt.ik.targets import target_rows
from trajopt.ik.tasks import TaskModel
from trajopt.ik.turns import WholeTurns
from trajopt.ik.weights import REFERENCE, solver_model
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

TOGETHER = 2048
"""Number of targets of a batch that are solved at once; their memory fits the processor's cache."""
AT_ONCE = 8
"""Largest number of starts of a target in a round, and of descents of a `GROUP` that are polished if none solves it."""
GROUP = 32
"""Number of successive starts of which the best `AT_ONCE` are polished, so that more starts only add to them [-]."""
FIRST = 4
"""Starts of a target of a batch with costs in its first round [-]."""
ALIKE = 1e-3
"""Largest difference between the coordinates of equal configurations [rad, m]."""
CLOSE = 1e-9
"""Largest distance to an active limit [rad, m]."""


class IKSolver(Immutable):
    """Solver of inverse kinematics for one structure of tasks: min f(q) with lower <= c(q) <= upper, at rest.

    It runs Levenberg-Marquardt from several starts, up to eight in parallel, within joint limits. Targets, bounds and
    weights are run-time values; new ones need no compilation.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both; their values are the defaults of later solves.
        limits: Whether to respect the robot's joint limits.
        tolerance: Largest violation of a row of the constraints [unit of the row].
        fixed: Joints that do not move: the coordinates of each by its name, such as {"panda_joint4": -2.0} [m, rad];
            a start that has others is moved there.
        weights: How dear the motion of joints is: adds the cost "motion", ½ Σ wᵢ (q ⊖ start)ᵢ², with weights > 0 by
            name, such as {"panda_joint4": 10.0}, and 1 for all others [cost / rad², cost / m²]. Without a start, the
            motion begins at the neutral configuration; "motion.reference" is that of each target. None for no cost.
        collisions: Whether to keep links apart from each other, or obstacles from which to keep them apart as well: a
            constraint "collisions", see `ResidualModelCollisions`. A descent begins without them; where it ends, it
            chooses the nearest bodies, and goes on until these are far enough apart.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].

    Raises:
        UnknownNameError: `fixed` or `weights` name no joint.
        InvalidArgumentError: There is no task; or a task needs a control, or has another robot; or a fixed
            joint is beyond its limits, or nothing is left to move; or a weight is not > 0 or that of a fixed joint.

    Source: Bertsekas, Projected Newton methods (1982), for limits; Nocedal and Wright, Numerical Optimization (2006),
    algorithm 17.4, for costs under constraints.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Any,
        *,
        limits: bool = True,
        tolerance: float = 1e-6,
        fixed: Mapping[str, Any] | None = None,
        weights: Mapping[str, Any] | None = None,
        collisions: bool | Scene = False,
        margin: float = 0.01,
    ) -> None:
        self.robot = robot
        tasks = with_collisions(robot, tasks, collisions, margin)
        self.limits = check_flag("limits", limits)
        model = TaskModel.of(robot, tasks)
        self._tasks = tuple(stack for stack in (model.constraints, model.costs) if stack.names)
        self._fixed = fixed_joints(model.state, fixed, limits=self.limits)
        self._weights = weights
        self._model = solver_model(model, self._fixed, weights)
        self.tolerance = check_positive("tolerance", tolerance)
        lower, upper = self._model.bounds
        if not self.limits:
            lower, upper = np.full_like(lower, -np.inf), np.full_like(upper, np.inf)
        self._bounds = lower, upper
        moving = self._model.moving
        self._bounded = moving[self._model.limited[moving]]
        self._first = self._model.layout.column()
        self._starts = Starts(self._model, *self._model.bounds, self._fixed)
        self._search = Search(self._model, lower, upper, self.tolerance)
        self._values = self._model.residuals()
        self._turns = WholeTurns(self._model, self._values, lower, upper)

    def __repr__(self) -> str:
        tasks = ", ".join((*self._model.constraints.names, *self._model.costs.names))
        return f"IKSolver({self.robot.name!r}, {tasks}, limits={self.limits}, tolerance={self.tolerance:g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.robot, self._tasks, self.limits, self.tolerance, self._fixed, self._weights)

    def solve(
        self, targets: Any = None, *, starts: int = 32, seed: int = 0, start: npt.ArrayLike | None = None
    ) -> IKResult:
        """Computes the best configuration for one target.

        Args:
            targets: Values of parameters by name, such as {"tool.reference": pinocchio.SE3}; by default those of the
                tasks.
            starts: Largest number of starts [-].
            seed: Seed of the random starts, which follow those near the target.
            start: Configuration (nq,) of the first start; one beyond limits is moved inside. Of the solutions of equal
                cost that are found, and its descent's is among them, the best is nearest to it. For the least motion
                from there, pass `weights=` to the solver.

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: A value does not fit its parameter.
        """
        first = None
        if start is not None:
            first = hold(self._model.state, self._fixed, self._model.configuration("start", start))
        p = self._column(targets)
        if first is not None and self._weights is not None and REFERENCE not in (targets or {}):
            p = p.copy()
            p[self._model.layout.slices[REFERENCE]] = self._model.state.at_rest(first)
        return self._solve(p, starts, seed, first)

    def _solve(self, p: Reals, starts: int, seed: int, first: Reals | None) -> IKResult:
        begun = self._search.passes
        ends, tried = self._ends(p[None], starts, seed, first, AT_ONCE)
        best = self._ranked(ends, first)
        if best.violation[0] <= self.tolerance and self._model.nc:
            best = self._search.sharpened(p, best)
        q = best.q[0]
        distance = float(np.sqrt(2.0 * best.merit[0])) if best.violation[0] > self.tolerance else 0.0
        causes = self.causes_of(p, q, seed) if distance else ()
        return IKResult(
            q=q,
            configurations=best.q,
            status=self._status(best),
            cost=float(best.cost[0]),
            distance=distance,
            iterations=self._search.passes - begun,
            starts=int(tried[0]),
            active_limits=self._active_limits(best.q[:1])[0],
            causes=causes,
            tolerance=self.tolerance,
            judge=Judge.of(self._model, self._values, p),
        )

    def solve_batch(
        self,
        targets: Any,
        *,
        starts: int = 32,
        seed: int = 0,
        first: Mapping[str, Any] | None = None,
        start: npt.ArrayLike | None = None,
    ) -> IKBatch:
        """Computes the best configuration for each of many targets.

        Args:
            targets: Values of parameters by name, one row for each target: {"tool.reference": (n, 4, 4)}.
            starts: Largest number of starts for each target [-]. With costs, a target ends when three starts have led
                to the same least cost.
            seed: Seed of the random starts, which follow those near the target.
            first: Values of parameters by name that all targets share.
            start: Configuration of the first start, one for all targets (nq,) or one for each (n, nq); one beyond
                limits is moved inside.

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: A value does not fit its parameter, or `start` has another shape.
        """
        p = target_rows(self._model.layout, self._column(first, "first", "tool.upper"), targets)
        begun = None if start is None else self._first_rows(start, len(p))
        if begun is not None and self._weights is not None and not {REFERENCE} & {*targets, *(first or {})}:
            p[:, self._model.layout.slices[REFERENCE]] = [self._model.state.at_rest(q) for q in begun]
        parts = []
        for i in range(0, len(p), TOGETHER):
            count, part = FIRST if self._model.has_costs else 1, slice(i, i + TOGETHER)
            own = None if begun is None else begun[part]
            ends, tried = self._ends(p[part], starts, seed, own, count, one_is_enough=True)
            order = self._order(ends)
            places = np.unique(ends.target[order], return_index=True)[1]
            parts.append((ends.where(order[places]), tried))
        best, tried = DescentEnds.joined([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        solved = best.violation <= self.tolerance
        if self._model.has_costs:
            solved &= best.settled
        return IKBatch(
            q=best.q,
            solved=solved,
            violation=best.violation,
            cost=best.cost,
            starts=tried,
            tolerance=self.tolerance,
            active_limits=self._active_limits(best.q),
            unchecked=self.robot.collision_shapes.unchecked if self._model.collisions else "",
            names=tuple(self._model.state.coordinate_names[: self._model.state.nq]),
            units=tuple(self._model.state.coordinate_units[: self._model.state.nq]),
            judge=Judge.of(self._model, self._values, p),
            blame=CausesOfBatch(self, self.__reduce__(), p, seed),
        )

    def _first_rows(self, start: npt.ArrayLike, n: int) -> Reals:
        """Checked first starts (n, nq) of a batch, with fixed joints where they are held."""
        array = as_numbers("start", start, f"a configuration ({self._model.state.nq},) or one for each target")
        if array.ndim == 2 and len(array) != n:
            raise InvalidArgumentError(
                f"start: expected one configuration or {n}, one for each target, got {len(array)}"
            )
        rows = array if array.ndim == 2 else array[None]
        names = [f"start[{i}]" if array.ndim == 2 else "start" for i in range(len(rows))]
        checked = np.array([self._model.configuration(name, row) for name, row in zip(names, rows)])
        return np.tile(hold(self._model.state, self._fixed, checked), (n // len(rows), 1))

    def first_start(self, targets: Any = None) -> Reals:
        """Configuration (nq,) in the seed table that is nearest to a target; a batch starts from it."""
        return np.array(self._starts.candidates(self._column(targets)[None], 0, 1, 0)[0, 0])

    def _column(self, targets: Any, argument: str = "targets", such_as: str = "tool.reference") -> Reals:
        """Values of all parameters, with those that replace the initial ones."""
        cure = f'pass {{"{such_as}": value}}'
        values = {} if targets is None else check_mapping(argument, targets, cure)
        return self._model.layout.column(values) if values else self._first

    def _ends(
        self, p: Reals, starts: int, seed: int, start: Reals | None, first: int, *, one_is_enough: bool = False
    ) -> tuple[DescentEnds, npt.NDArray[np.int64]]:
        """Final points of descents for each target (n, np), and the number of starts of each (n,).

        Each round works on the targets not solved yet; rounds grow from `first` starts to eight. With costs, a target
        takes all starts, or if `one_is_enough`, as many as lead to the least cost several times.
        """
        starts, seed = check_count("starts", starts, least=1), check_count("seed", seed)
        parts, cheap = list[DescentEnds](), list[DescentEnds]()
        about = self._model.state.zero()[: self._model.state.nq] if start is None else start
        about = np.broadcast_to(about, (len(p), self._model.state.nq))
        left, tried, count, done = np.arange(len(p)), np.zeros(len(p), np.int64), first, 0
        while len(left) and done < starts:
            q = self._starts.candidates(p[left], done, count, seed)  # also of a round cut short: more starts add to it
            count = min(count, starts - done)
            with_start = start is not None and done == 0
            near = slice(None, None, 2 if self._model.has_costs else 1)  # costs may prefer other turns
            q[:, near] = self._turns.nearest(q[:, near], about[left, None])
            if with_start:
                q = np.concatenate([about[left, None], q], axis=1)
            part = self._search.attempt(p[left], q, count, with_start=with_start)
            solved = part.target[part.violation <= self.tolerance]
            part = dataclasses.replace(part, target=left[part.target])
            parts.append(part)
            done += count
            tried[left] = done
            if not self._model.has_costs:
                left = np.delete(left, solved)
            elif one_is_enough:
                cheap.append(self._search.polished(p, part.where(part.violation <= self.tolerance), 1.0))
                left = np.setdiff1d(left, DescentEnds.joined(cheap).agreeing(self.tolerance))
            count = min(AT_ONCE, 3 * count)
        return self._turns.ended(p, self._finished(p, DescentEnds.joined(parts), cheap), about), tried

    def _finished(self, p: Reals, ends: DescentEnds, cheap: list[DescentEnds]) -> DescentEnds:
        """Final points after polishing: nearest configurations of unsolved targets, least costs of solved ones.

        Args:
            p: Parameters of each target (n, np).
            ends: Final points.
            cheap: Least costs from those that satisfy the constraints, if they are known; empty if not.
        """
        feasible = ends.violation <= self.tolerance
        hit = np.zeros(len(p), np.bool_)
        hit[ends.target[feasible]] = True
        missed = np.flatnonzero(~hit)
        parts = [ends.where(feasible)]
        if len(missed):
            ends = ends.where(np.isin(ends.target, missed))
            group = ends.target * len(ends.q) + _places(ends.target) // GROUP
            order = np.lexsort((ends.merit, group))
            nearest = order[_places(group[order]) < AT_ONCE]
            parts.append(self._search.polished(p, ends.where(nearest), 0.0))
        joined = DescentEnds.joined(parts)
        if not self._model.has_costs:
            return joined
        left = DescentEnds.joined(parts[1:] if cheap and len(parts) > 1 else parts)
        if not cheap or len(parts) > 1:
            cheap = [*cheap, self._search.polished(p, left.where(left.violation <= self.tolerance), 1.0)]
        cheapest = DescentEnds.joined(cheap)
        kept = np.isin(joined.target, cheapest.target[cheapest.violation <= self.tolerance], invert=True)
        return DescentEnds.joined([cheapest, joined.where(kept)])

    def causes_of(self, p: Reals, q: Reals, seed: int) -> tuple[str, ...]:
        """Returns the hard constraints without any one of which all others hold, left out one at a time.

        Args:
            p: Parameters (np,).
            q: The nearest configuration (nq,), from which each search starts.
            seed: Seed of the random starts.
        """
        return causes_of(self._model, self._starts, self._search, self.tolerance, p, q, seed)

    def _order(self, ends: DescentEnds) -> npt.NDArray[np.int64]:
        """Order of final points by target, the best of each first.

        Without costs it is that with the least Φ. With costs Φ has multipliers of each descent, so costs compare; of
        those with the same least cost, settled ones come first.
        """
        feasible = ends.violation <= self.tolerance
        if not self._model.has_costs:
            return np.lexsort((ends.merit, ~feasible, ends.target))
        least = np.full(ends.target.max(initial=0) + 1, np.inf)
        np.minimum.at(least, ends.target[feasible], ends.cost[feasible])
        lowest = least[ends.target]
        same = feasible & (ends.cost - lowest <= (SAME - 1.0) * np.abs(lowest))
        value = np.where(feasible, np.where(same, lowest, ends.cost), ends.merit)
        return np.lexsort((ends.cost, ~ends.settled, value, ~feasible, ends.target))

    def _ranked(self, ends: DescentEnds, start: Reals | None) -> DescentEnds:
        """Distinct configurations of one target that satisfy the constraints, best first; or else the nearest one.

        Of those of equal cost the best is nearest to the start, or without one farthest from limits.
        """
        feasible = ends.violation <= self.tolerance
        if not feasible.any():
            return ends.where(np.argsort(ends.merit)[:1])
        ends = ends.where(feasible)
        far = -np.min(self._margins(ends.q), axis=1, initial=np.inf) if start is None else self._ways(start, ends.q)
        order = np.lexsort((far, np.round(ends.cost, 9)))
        q = ends.q[order]
        alike = np.max(np.abs(q[:, None] - q[None]), axis=2) <= ALIKE
        first = [i for i in range(len(q)) if not alike[i, :i].any()]
        return ends.where(order[first])

    def _ways(self, start: Reals, q: Reals) -> Reals:
        """Distances (n,) of configurations (n, nq) from a start."""
        at, begun = (coordinates(self._model.state, each) for each in (q, start[None]))
        return np.asarray(np.linalg.norm(at - begun, axis=1))

    def _margins(self, q: Reals) -> Reals:
        """Distances (n, m) of moving coordinates to the nearer limit; inf without limits."""
        lower, upper = self._bounds
        at, bounded = coordinates(self._model.state, q)[:, self._bounded], self._bounded
        return np.minimum(at - lower[bounded], upper[bounded] - at)

    def _active_limits(self, q: Reals) -> tuple[tuple[str, ...], ...]:
        """Names of the coordinates at limits at configurations (n, nq), as in `IKResult.active_limits`; n tuples."""
        pressed = (self._margins(q) <= CLOSE) & np.isin(self._bounded, self._model.led)
        if pressed.any():
            pressed &= self._acting[self._bounded]
        names = self._model.state.tangent_names
        limits: list[tuple[str, ...]] = [()] * len(q)
        for i in np.flatnonzero(pressed.any(axis=1)).tolist():
            limits[i] = tuple(names[j] for j in self._bounded[pressed[i]])
        return tuple(limits)

    @functools.cached_property
    def _acting(self) -> npt.NDArray[np.bool_]:
        """Whether each tangent coordinate moves a task noticeably (nv,)."""
        return acting(self._model, self._values, self._first)

    def _status(self, best: DescentEnds) -> IKStatus:
        if best.violation[0] > self.tolerance:
            return IKStatus.UNREACHABLE
        if self._model.has_costs and not best.settled[0]:
            return IKStatus.MAX_ITERATIONS
        return IKStatus.SOLVED


def _places(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Place of each element among those with the same label, in their order (n,)."""
    order = np.argsort(labels, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
    return places


def _rebuilt(
    robot: Robot,
    tasks: Any,
    limits: bool,
    tolerance: float,
    fixed: Mapping[str, Any],
    weights: Mapping[str, Any] | None = None,
) -> IKSolver:
    return IKSolver(robot, tasks, limits=limits, tolerance=tolerance, fixed=fixed, weights=weights)
