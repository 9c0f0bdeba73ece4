"""The iterations of DDP and FDDP on many problems side by side, as in `RolloutSolverAbstract`, one number a lane."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.shooting.trials import LARGEST
from trajopt.solution import SolverStatus
from trajopt.solvers.ddp import curvature, scales
from trajopt.solvers.ddp.lanes.exact import ExactDirections, ExactLanes
from trajopt.solvers.ddp.lanes.memory import ACCEPTED, GUESS, LaneMemory
from trajopt.solvers.ddp.lanes.queue import Queue
from trajopt.solvers.ddp.lanes.records import LaneRecords
from trajopt.solvers.ddp.lanes.rules import Flags, Promises, Rules
from trajopt.solvers.ddp.lanes.search import LaneSearch, LaneSteps
from trajopt.solvers.ddp.lanes.state import LaneState
from trajopt.solvers.ddp.searches import EXCESS
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.solve import Watch

FALLEN = scales.FALLEN


@dataclass
class Direction:
    """Directions of lanes (m,).

    Attributes:
        decrease, slope, bend, scale, gap: Sums of the backward pass, see `riccati.lanes.SUMS`.
        failed: Whether a lane has no direction, for any regularisation that is allowed.
    """

    decrease: Reals
    slope: Reals
    bend: Reals
    scale: Reals
    gap: Reals
    failed: Flags

    def take(self, chosen: Flags) -> Direction:
        """Returns the directions of chosen lanes."""
        own = self.decrease[chosen], self.slope[chosen], self.bend[chosen], self.scale[chosen]
        return Direction(*own, self.gap[chosen], self.failed[chosen])

    def with_decrease(self, decrease: Reals) -> Direction:
        """Returns the directions with another Σ Qu · k (m,) [cost]."""
        return Direction(decrease, self.slope, self.bend, self.scale, self.gap, self.failed)


class LaneLoop:
    """Solves rows side by side; those that need what lanes do not have are left to the solver alone.

    Args:
        problem: The problem.
        rules: Options and rules of the solver.
        groups: Number of groups of lanes [-].
        exact: Whether the models have exact Hessians, to which solves may turn.
        varied: Whether parameters differ between rows.
        threads: Number of threads that share the groups [-].

    Attributes:
        left: Rows that the solver solves alone, from their beginning.
        records: Records of all iterations.
    """

    def __init__(
        self, problem: ShootingProblem, rules: Rules, groups: int, *, exact: bool, varied: bool, threads: int
    ) -> None:
        extra = groups
        self._problem, self._rules, self._options, self._exact = problem, rules, rules.options, exact
        about = {"gaps": rules.gaps, "varied": varied, "threads": threads}
        self._memory = LaneMemory(problem, groups + extra, lengths=rules.options.step_lengths, **about)  # type: ignore[arg-type]
        self._main, self._W = groups * self._memory.W, self._memory.W
        self._staged = np.arange(self._main, (groups + extra) * self._W)
        self._values, self._varied = problem.table.values, varied
        self._directions_exact: ExactLanes | None = None
        self._search = LaneSearch(self._memory, rules)

    def fits(self, problem: ShootingProblem, groups: int, *, varied: bool, threads: int) -> bool:
        """True if these are lanes of the problem's models, with enough groups and room for such parameters."""
        enough = self._main >= groups * self._W and self._memory.threads == threads
        return self._values is problem.table.values and varied == self._varied and enough

    def run(self, queue: Queue, results: BatchResults, watch: Watch) -> None:
        """Solves the rows of a queue."""
        self.state, self._results = LaneState.idle(self._main), results
        self.left = set[int]()
        self.records = LaneRecords()
        try:
            with np.errstate(all="ignore"):
                self._solve(queue, watch)
        except KeyboardInterrupt:
            self._stop(SolverStatus.INTERRUPTED)
            raise

    def _solve(self, queue: Queue, watch: Watch) -> None:
        """Iterates until no row is left, or the time is used up."""
        self._fill(queue)
        while len(lanes := self.state.active):
            begun = time.perf_counter()
            self._iterate(lanes)
            self.state.seconds[lanes] += (time.perf_counter() - begun) / len(lanes)
            if watch.over:
                self._stop(SolverStatus.TIME_LIMIT)
                self._results.unfinished = SolverStatus.TIME_LIMIT
                return
            self._fill(queue)
            watch.tell(int(self._results.done.sum()))

    def _stop(self, status: SolverStatus) -> None:
        """Ends all rows that have begun."""
        lanes = self.state.active
        begun = lanes[self.state.iterations[lanes] > 0]
        self._finish(begun, np.full(len(begun), status, dtype=object))

    # Rows that enter and leave

    def _fill(self, queue: Queue) -> None:
        """Gives idle lanes new rows, a group's worth at once; without more rows, the others move together."""
        idle = np.flatnonzero(self.state.row < 0)
        while len(idle) and not queue.empty and (len(idle) >= self._W or len(self.state.active) == 0):
            count = min(len(idle), len(self._staged))
            self._enter(queue, idle[: count - count % self._W or count])
            idle = np.flatnonzero(self.state.row < 0)
        if queue.empty:
            self._gather()

    def _gather(self) -> None:
        """Moves the last active lanes to idle ones before them, as far as that frees groups."""
        lanes = self.state.active
        needed = -(-len(lanes) // self._W) * self._W
        beyond = lanes[lanes >= needed]
        if len(beyond):
            idle = np.flatnonzero(self.state.row[:needed] < 0)[: len(beyond)]
            self._memory.copy(GUESS, beyond, idle)
            self.state.move(beyond, idle)

    def _enter(self, queue: Queue, idle: Ints) -> None:
        """Rows enter idle lanes: guesses are rolled out and measured in the extra groups, as many at once as fit."""
        portion, m = queue.take(len(idle)), self._memory
        rows = portion.rows
        idle, staged = idle[: len(rows)], self._staged[: len(rows)]
        if not len(rows):
            return
        for name, values in portion.arrays.items():
            m.load(name, values, staged)
        cost, scale, inside = self._rolled(staged)
        groups = m.groups_of(staged)
        rolls = np.full(len(rows), portion.rolls)
        m.copy(ACCEPTED[:1], staged[rolls], staged[rolls])
        unit, fine = self._measured(groups, (staged // self._W - groups[0], staged % self._W))
        fine &= inside | ~rolls
        self.left.update(rows[~fine].tolist())
        rows, idle, staged = rows[fine], idle[fine], staged[fine]
        m.copy(GUESS, staged, idle)
        s = self.state
        s.begin(idle, rows, self._options.initial_regularization)
        s.feasible[idle] = rolls[fine]
        s.rolled_cost[idle] = np.where(inside, cost, np.inf)[fine]
        s.rolled_scale[idle] = scale[fine]
        if self._options.relative_regularization:
            s.unit[idle] = unit[fine]

    def _rolled(self, staged: Ints) -> tuple[Reals, Reals, Flags]:
        """Rolls out the controls of extra lanes (m,): cost and Σ|l_t| [cost], and whether they are in range."""
        m = self._memory
        for name in ("K", "k", "f", "Vf"):
            m.clear(name, staged)
        m.set("alpha", staged, np.ones(len(staged)))  # no gap is left open
        m.roll_out(m.groups_of(staged))
        cost, scale, _, square = m.numbers("trial", staged)
        return cost, scale, (np.abs(cost) < LARGEST) & (square < LARGEST**2)

    def _measured(self, groups: Ints, at: tuple[Ints, Ints]) -> tuple[Reals, Flags]:
        """Unit h of the regularisation in lanes (m,), as `scales.curvature`, and whether all derivatives are finite."""
        m, n, nu = self._memory, self._problem.state.ndx, self._problem.nu
        m.measure(groups)
        numbers = m.scales[groups]
        along = numbers[:, :, : n + nu].sum(axis=1)
        kinds = self._problem.kinds[:-1]
        controls = sum(len(kind.knots) * kind.model.nu for kind in kinds)
        Luu = (along[:, n:].sum(axis=1) - (self._problem.T * nu - controls)) / controls
        Lxx = along[:, :n].sum(axis=1) / n
        largest = numbers[:, :, n + nu].max(axis=1)
        other = np.where(Luu != 0, Luu, np.where(Lxx != 0, Lxx, np.where(largest != 0, largest, 1.0)))
        unit = np.where((Luu != 0) & (Lxx != 0), np.sqrt(Luu * Lxx), other)
        fine: Flags = np.logical_and.reduce(np.isfinite(numbers[:, :, n + nu + 1]), axis=1)[at]
        return unit[at], fine

    # An iteration

    def _iterate(self, lanes: Ints) -> None:
        s = self.state
        s.iterations[lanes] += 1
        direction = self._directions(lanes)
        if direction.failed.any():
            self._leave(lanes[direction.failed])
            lanes, direction = lanes[~direction.failed], direction.take(~direction.failed)
        if not len(lanes):
            return
        used, gap = s.rho[lanes], np.where(s.feasible[lanes], 0.0, direction.gap)
        steps, stop, found = self._along(lanes, direction)
        self._judge(lanes, steps, stop, found)
        self._accept(lanes, steps)
        self._regularize(lanes, steps)
        self._note(lanes, steps, stop=stop, regularization=used, gap_norm=gap, blend=found.blend)
        status = self._status(lanes, steps, stop, direction.scale)
        ended = status != None  # noqa: E711  # an array of objects
        self._finish(lanes[ended], status[ended])

    def _along(self, lanes: Ints, direction: Direction) -> tuple[LaneSteps, Reals, ExactDirections]:
        """Steps along exact directions where there are some, along those of Gauss-Newton, or the cheaper of both."""
        s, n = self.state, len(lanes)
        cost, feasible, plain = s.cost[lanes], s.feasible[lanes], self._promises(lanes, direction)
        found = ExactDirections(np.zeros(n, np.bool_), np.zeros(n), np.zeros(n))
        exact, promises = self._exact_lanes(lanes), plain
        if exact is not None:
            found = exact.directions(s, lanes, s.rho[lanes] * s.unit[lanes])
            decrease = np.where(found.blend > 0.0, found.decrease, direction.decrease)
            promises = self._promises(lanes, direction.with_decrease(decrease))
        eager = self._exact & (s.crawled[lanes] >= curvature.ENOUGH)
        excess = np.where(eager, curvature.EAGER, EXCESS)
        steps, stop = self._search.along(lanes, promises, cost, feasible, excess), promises.stop
        short = np.flatnonzero((found.blend > 0.0) & (~steps.accepted | (steps.length <= curvature.SHORT)))
        if len(short):
            assert exact is not None
            exact.put_aside(lanes[short])
            other = self._search.along(lanes[short], plain.take(short), cost[short], feasible[short], excess[short])
            cheaper = other.accepted & ~(steps.accepted[short] & (steps.cost[short] <= other.cost))
            exact.take_back(lanes[short[~cheaper]])
            steps.put(short, other, cheaper)
            found.blend[short[cheaper]], stop[short[cheaper]] = 0.0, plain.stop[short[cheaper]]
        return steps, stop, found

    def _exact_lanes(self, lanes: Ints) -> ExactLanes | None:
        """Exact directions, compiled when the first lane turns to them; None as long as none does."""
        if not self._exact or (self._directions_exact is None and self.state.crawled[lanes].max() < curvature.ENOUGH):
            return None
        if self._directions_exact is None:
            first = self._main // self._W
            self._directions_exact = ExactLanes(self._problem, self._memory, self._rules, first)
        return self._directions_exact

    def _directions(self, lanes: Ints) -> Direction:
        """Backward passes, with more regularisation until all lanes have a direction, as in `_backward`."""
        s, o, m = self.state, self._options, self._memory
        m.set("with_gaps", lanes, ~s.feasible[lanes])
        begins = s.iterations[lanes] == 1
        fresh, lowered = s.fresh[lanes].copy(), np.zeros(len(lanes), np.bool_)
        todo, failed = np.ones(len(lanes), np.bool_), np.zeros(len(lanes), np.bool_)
        while todo.any():
            m.regularize(lanes, s.rho[lanes] * s.unit[lanes], on_value=o.regularize_value)
            m.backward(m.groups_of(lanes[todo]))
            cost, scale, decrease, slope, bend, gap = m.totals()[:, lanes]
            s.cost[lanes[begins]] = cost[
                begins
            ]  # later that of the trial, whose sum rounds as those it is compared with
            good = todo & (np.abs(decrease) < LARGEST) & (np.abs(bend) < LARGEST)
            promised = 0.5 * decrease
            new = good & (s.loose[lanes] < 0) & s.feasible[lanes]
            first = scale + promised
            s.first_scale[lanes[new]] = first[new]
            s.loose[lanes[new]] = o.tolerance + o.relative_tolerance * scales.at_most(first[new])
            s.confirmed[lanes] = np.where(
                good, fresh & (lowered | (s.rho[lanes] <= o.min_regularization)), s.confirmed[lanes]
            )
            again = good & fresh & ~s.confirmed[lanes] & o.confirm_gradient
            again &= s.small(lanes, promised, scale, o.tolerance, o.relative_tolerance)
            s.rho[lanes[again]], lowered[again] = o.min_regularization, True
            bad = todo & ~good
            s.rho[lanes[bad]] = self._grown(s.rho[lanes[bad]])
            failed |= bad & ((s.rho[lanes] >= o.max_regularization) | ~np.isfinite(cost))
            todo = again | (bad & ~failed)
        return Direction(decrease, slope, bend, scale, gap, failed)

    def _grown(self, rho: Reals) -> Reals:
        """Larger regularisation."""
        o = self._options
        return np.minimum(np.maximum(rho * o.regularization_increase, o.min_regularization), o.max_regularization)

    def _promises(self, lanes: Ints, d: Direction) -> Promises:
        """Predicted decreases, as in `promise` of DDP and FDDP."""
        s, o, n = self.state, self._options, len(lanes)
        feasible, cost = s.feasible[lanes], s.cost[lanes]
        scale = np.minimum(np.abs(cost), s.first_scale[lanes])
        never = np.full(n, -np.inf)
        if not self._rules.gaps:
            rolled = s.rolled_cost[lanes]
            least = np.where(np.isfinite(rolled), cost - rolled - o.rollout_margin * s.rolled_scale[lanes], -np.inf)
            least = np.where(feasible | (not o.rollout_on_failure), never, least)
            return Promises(d.decrease, -d.decrease, scale, least, np.zeros(n, np.bool_))
        d0 = np.where(feasible, d.decrease, d.decrease - d.slope)
        d1 = np.where(feasible, -d.decrease, -d.decrease + d.bend)
        return Promises(d0, d1, np.where(feasible, scale, 0.0), never, ~feasible)

    def _judge(self, lanes: Ints, steps: LaneSteps, stop: Reals, found: ExactDirections) -> None:
        """Counts steps that call for exact Hessians, as in `Curvature.judge`."""
        s = self.state
        cut = ~steps.accepted | (steps.length < 1.0)
        s.crawled[lanes] += cut | (steps.decrease < curvature.POOR * steps.expected)
        before, loose = s.promised[lanes], s.loose[lanes]
        falls = (loose > 0.0) & (loose < stop) & (stop < before) & (before < np.inf) & ~(cut | (found.blend > 0.0))
        left = np.where(falls, np.log(stop / loose) / np.log(before / stop), 0.0)
        s.steady[lanes] = np.where(left > curvature.FAR, s.steady[lanes] + 1, 0)
        s.promised[lanes] = stop
        s.crawled[lanes[s.steady[lanes] >= curvature.STEADY]] = curvature.ENOUGH
        if self._directions_exact is not None:
            self._directions_exact.judge(s, lanes, steps, found)

    def _accept(self, lanes: Ints, steps: LaneSteps) -> None:
        s, good = self.state, steps.accepted
        moved = lanes[good]
        self._memory.accept(moved)
        s.was_feasible[moved], s.cost[moved], s.fresh[moved] = s.feasible[moved], steps.cost[good], True
        s.feasible[moved] |= (steps.length[good] == 1.0) | (not self._rules.gaps)
        stays = lanes[~good]
        s.fresh[stays] = False
        self._roll_guess(stays)

    def _roll_guess(self, lanes: Ints) -> None:
        """Goes on from the rollout of the guess's controls where no step from a guess with gaps was accepted."""
        s, o, m = self.state, self._options, self._memory
        lost = lanes[~s.feasible[lanes]] if o.rollout_on_failure else lanes[:0]
        if self._rules.gaps:
            lost = lost[s.rho[lost] >= 1.0]
        for part in np.array_split(lost, max(1, -(-len(lost) // len(self._staged)))):
            staged = self._staged[: len(part)]
            m.copy(GUESS, part, staged)
            cost, _, inside = self._rolled(staged)
            gone, staged = part[inside], staged[inside]
            m.copy(ACCEPTED, staged, gone)
            s.feasible[gone], s.fresh[gone], s.cost[gone] = True, True, cost[inside]
            if self._rules.gaps:
                s.rho[gone] = o.initial_regularization

    def _regularize(self, lanes: Ints, steps: LaneSteps) -> None:
        s, o = self.state, self._options
        engaged = self._exact & (s.crawled[lanes] >= curvature.ENOUGH)
        rho = s.rho[lanes]
        good = steps.accepted & (steps.length > o.good_step)
        rho = np.where(good, np.maximum(rho / o.regularization_decrease, o.min_regularization), rho)
        bad_step = np.where(engaged, max(curvature.BAD, o.bad_step), o.bad_step)
        bad = ~steps.accepted | (steps.length <= bad_step)
        s.rho[lanes] = np.where(bad, self._grown(rho), rho)

    def _status(self, lanes: Ints, steps: LaneSteps, stop: Reals, scale: Reals) -> Any:
        """Status of lanes that have ended, None for the others (m,), as in `_check` and `_check_limits`."""
        s, o = self.state, self._options
        first, cost = s.first_scale[lanes], s.cost[lanes]
        confirmed = s.confirmed[lanes] | (not o.confirm_gradient)
        small = s.small(lanes, stop, scale, o.tolerance, o.relative_tolerance)
        at_limit = s.rho[lanes] >= o.max_regularization
        stuck = at_limit & (~steps.accepted | (steps.length <= o.bad_step))
        spent = s.iterations[lanes] >= o.max_iterations
        fallen = (stuck | spent) & (cost < -FALLEN * first) & (first > 0)
        status = np.full(len(lanes), None, dtype=object)
        status[spent] = SolverStatus.MAX_ITERATIONS
        status[stuck] = SolverStatus.LINE_SEARCH_FAILED
        status[steps.unbounded | fallen] = SolverStatus.UNBOUNDED
        status[small & s.was_feasible[lanes] & confirmed] = SolverStatus.CONVERGED
        return status

    # Outcomes

    def _note(self, lanes: Ints, steps: LaneSteps, **columns: Any) -> None:
        s = self.state
        own = {"iteration": s.iterations[lanes], "cost": s.cost[lanes], "seconds": s.seconds[lanes]}
        own |= {"feasible": s.feasible[lanes], "accepted": steps.accepted, "step_length": steps.length}
        own |= {"expected_decrease": steps.expected, "decrease": steps.decrease}
        self.records.add(s.row[lanes], {**own, **columns})

    def _finish(self, lanes: Ints, status: Any) -> None:
        """Writes the results of lanes (m,), which are idle then."""
        if not len(lanes):
            return
        s, r, m, T = self.state, self._results, self._memory, self._problem.T
        rows = s.row[lanes]
        r.xs[rows], r.us[rows] = m.read("xs", lanes, T + 1), m.read("us", lanes, T + 1)[:, :T]
        gains = m.read("K", lanes, T + 1)[:, :T].reshape(len(lanes), T, self._problem.nu, -1)
        r.more(rows, {"K": gains, "k": m.read("k", lanes, T + 1)[:, :T]})
        r.cost[rows], r.iterations[rows], r.seconds[rows] = s.cost[lanes], s.iterations[lanes], s.seconds[lanes]
        r.status[rows] = [each.name for each in status]
        r.done[rows] = True
        s.row[lanes] = -1

    def _leave(self, lanes: Ints) -> None:
        """Leaves rows to the solver alone, from their beginning."""
        self.left.update(self.state.row[lanes].tolist())
        self.state.row[lanes] = -1
