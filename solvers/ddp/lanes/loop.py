"""The iterations of DDP and FDDP on many problems side by side, as in `RolloutSolverAbstract`, one number a lane."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.shooting.trials import LARGEST
from trajopt.solution import SolverStatus
from trajopt.solvers.ddp import curvature, searches
from trajopt.solvers.ddp.lanes.exact import ExactLanes
from trajopt.solvers.ddp.lanes.memory import ACCEPTED, GUESS, LaneMemory
from trajopt.solvers.ddp.lanes.numbers import SEARCH, rule_numbers
from trajopt.solvers.ddp.lanes.queue import Queue
from trajopt.solvers.ddp.lanes.records import LaneRecords
from trajopt.solvers.ddp.lanes.rules import STATUSES
from trajopt.solvers.ddp.lanes.state import LaneState
from trajopt.solvers.options import DDPOptions
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.solve import Watch

Flags = npt.NDArray[np.bool_]


class LaneLoop:
    """Solves rows side by side; those that need what lanes do not have are left to the solver alone.

    Args:
        problem: The problem.
        options: Options of the solver.
        groups: Number of groups of lanes [-].
        gaps: Whether a step of length α closes the part α of gaps, as in FDDP.
        exact: Whether the models have exact Hessians, to which solves may turn.
        varied: Whether parameters differ between rows.

    Attributes:
        left: Rows that the solver solves alone, from their beginning.
        records: Records of all iterations.
    """

    def __init__(
        self,
        problem: ShootingProblem,
        options: DDPOptions,
        groups: int,
        *,
        gaps: bool,
        exact: bool,
        varied: bool,
    ) -> None:
        self._problem, self._options, self._gaps, self._exact = problem, options, gaps, exact
        lengths = options.step_lengths
        self._memory = LaneMemory(problem, 2 * groups, gaps=gaps, varied=varied, lengths=lengths)  # half are extra ones
        self._memory.rules[0] = np.reshape(rule_numbers(options, exact=exact), (-1, 1))
        self._main, self._W = groups * self._memory.W, self._memory.W
        self._staged = np.arange(self._main, 2 * self._main)
        self._values, self._varied = problem.table.values, varied
        self._directions_exact: ExactLanes | None = None

    def fits(self, problem: ShootingProblem, groups: int, *, varied: bool) -> bool:
        """True if these are lanes of the problem's models, with enough groups and room for such parameters."""
        enough = self._main >= groups * self._W
        return self._values is problem.table.values and varied == self._varied and enough

    def run(self, queue: Queue, results: BatchResults, watch: Watch) -> None:
        """Solves the rows of a queue."""
        self.state, self._results = LaneState(self._memory, self._main), results
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
            self._iterate(self._memory.groups_of(lanes))
            self.state.seconds[lanes] += (time.perf_counter() - begun) / len(lanes)
            if watch.over:
                self._stop(SolverStatus.TIME_LIMIT)
                self._results.unfinished = SolverStatus.TIME_LIMIT
                return
            self._fill(queue)
            watch.tell(int(self._results.done.sum()))
            queue.check()

    def _stop(self, status: SolverStatus) -> None:
        """Ends all rows that have begun."""
        lanes = self.state.active
        begun = lanes[self.state["iterations"][lanes] > 0]
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
        s["feasible"][idle] = rolls[fine]
        s["rolled_cost"][idle] = np.where(inside, cost, np.inf)[fine]
        s["rolled_scale"][idle] = scale[fine]
        if self._options.relative_regularization:
            s["unit"][idle] = unit[fine]

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

    def _iterate(self, groups: Ints) -> None:
        """One iteration of all rows in some groups; Python sees to what is rare."""
        s, m, plain = self.state, self._memory, groups
        engaged = self._engaged(groups) if self._exact else groups[:0]
        if engaged.size:
            apart = m.groups_of(engaged)
            self._iterate_exactly(apart, engaged)
            plain = np.setdiff1d(groups, apart)
        m.iterate(plain)
        failed, lost = self._flagged("failed", groups), self._flagged("lost", groups)
        if failed.size:
            self._leave(failed)
        if lost.size:
            self._roll_guess(lost)
            m.end(m.groups_of(lost))
        self._note(groups)
        ended = self._flagged("code", groups)
        if ended.size:
            self._finish(ended, np.array(STATUSES, dtype=object)[s["code"][ended].astype(np.int64)])

    def _iterate_exactly(self, groups: Ints, engaged: Ints) -> None:
        """The iteration of groups in which some lanes (m,) turn to exact Hessians."""
        m = self._memory
        if self._directions_exact is None:  # compiled when the first lane turns to them
            first = self._main // self._W
            self._directions_exact = ExactLanes(self._problem, m, self._options, first)
        m.directions(groups)
        self._directions_exact.directions(self.state, engaged[self.state["failed"][engaged] == 0.0])
        m.search(groups)
        self._choose_directions(self._directions_exact, groups)
        m.finish(groups)

    def _flagged(self, name: str, groups: Ints) -> Ints:
        """Lanes that solve a row and have a number other than 0, in some groups."""
        s = self.state
        where, lane = np.nonzero(s[name].array[groups])
        if not len(where):
            return lane
        lanes = groups[where] * self._W + lane
        return lanes[s["active"][lanes] != 0.0]

    def _engaged(self, groups: Ints) -> Ints:
        """Lanes that turn to exact Hessians: those with a rollout, and with many short or poor steps."""
        s = self.state
        flags = (s["crawled"].array[groups] >= curvature.ENOUGH) & (s["feasible"].array[groups] != 0.0)
        where, lane = np.nonzero(flags & (s["active"].array[groups] != 0.0))
        return groups[where] * self._W + lane

    def _choose_directions(self, exact: ExactLanes, groups: Ints) -> None:
        """Tries Gauss-Newton's direction too where the step along the exact one is short, and takes the cheaper one."""
        s, m = self.state, self._memory
        lanes = self._flagged("blend", groups)
        steps = dict(zip(SEARCH, m.numbers("search", lanes)))
        short = (steps["accepted"] == 0.0) | (steps["length"] <= searches.SHORT)
        lanes = lanes[short]
        if not len(lanes):
            return
        before, blend = m.numbers("search", lanes), s["blend"][lanes]
        exact.put_aside(lanes)
        s["searches"].array[:] = 0.0
        s["searches"][lanes], s["blend"][lanes] = 1.0, 0.0
        m.search(m.groups_of(lanes))
        other, steps = dict(zip(SEARCH, m.numbers("search", lanes))), dict(zip(SEARCH, before))
        better = (steps["accepted"] != 0.0) & (steps["cost"] <= other["cost"])
        dearer = (other["accepted"] == 0.0) | better
        back = lanes[dearer]
        exact.take_back(back)
        s["blend"][back] = blend[dearer]
        m.put("search", back, before[:, dearer])
        m.promise(m.groups_of(lanes))

    def _roll_guess(self, lost: Ints) -> None:
        """Goes on from the rollout of the guess's controls where no step from a guess with gaps was accepted."""
        s, m = self.state, self._memory
        for part in np.array_split(lost, -(-len(lost) // len(self._staged))):
            staged = self._staged[: len(part)]
            m.copy(GUESS, part, staged)
            cost, _, inside = self._rolled(staged)
            gone, staged = part[inside], staged[inside]
            m.copy(ACCEPTED, staged, gone)
            s["feasible"][gone], s["fresh"][gone], s["cost"][gone] = 1.0, 1.0, cost[inside]
            if self._gaps:
                s["rho"][gone] = self._options.initial_regularization

    # Outcomes

    def _note(self, groups: Ints) -> None:
        """Adds the records of an iteration, also those of idle lanes, which belong to no row."""
        lanes = (groups[:, None] * self._W + np.arange(self._W)).ravel()
        numbers = self._memory.arrays["record"][groups, 0]
        self.records.add(self.state.row[lanes], numbers, self.state.seconds[lanes])

    def _finish(self, lanes: Ints, status: Any) -> None:
        """Writes the results of lanes (m,), which are idle then."""
        if not len(lanes):
            return
        s, r, m, T = self.state, self._results, self._memory, self._problem.T
        rows = s.row[lanes]
        r.xs[rows], r.us[rows] = m.read("xs", lanes, T + 1), m.read("us", lanes, T + 1)[:, :T]
        gains = m.read("K", lanes, T + 1)[:, :T].reshape(len(lanes), T, self._problem.nu, -1)
        r.more(rows, {"K": gains, "k": m.read("k", lanes, T + 1)[:, :T]})
        r.cost[rows], r.iterations[rows], r.seconds[rows] = s["cost"][lanes], s["iterations"][lanes], s.seconds[lanes]
        r.status[rows] = [each.name for each in status]
        r.done[rows] = True
        s.leave(lanes)

    def _leave(self, lanes: Ints) -> None:
        """Leaves rows to the solver alone, from their beginning."""
        self.left.update(self.state.row[lanes].tolist())
        self.state.leave(lanes)
