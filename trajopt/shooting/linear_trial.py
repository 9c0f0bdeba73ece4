"""A trial along a straight line: all knots are evaluated independently."""

from __future__ import annotations

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import KernelCall, ParallelCalls, Reduction, compile_together, lane_count, rows
from trajopt.shooting import programs
from trajopt.shooting.arrays import padded
from trajopt.shooting.compiled import call_at
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.kinds import by_class
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class Interpolation:
    """Interpolates between states: x0 ⊕ part (x1 ⊖ x0), for many pairs at once.

    Args:
        state: The state manifold.
        end: The terminal model, whose state is compiled; states of a black box are interpolated one by one.
        count: Number of pairs.

    Attributes:
        first: States x0 (count, nx); set by the caller.
        second: States x1 (count, nx); set by the caller.
        part: Fractions of the way (count, 1) [-]; set by the caller.
        states: Interpolated states (count, nx).
    """

    def __init__(self, state: StateAbstract, end: ActionModelAbstract, count: int) -> None:
        self._state = state
        self.first, self.second, self.states = (padded((count, state.nx)) for _ in range(3))
        self.part, self._call = padded((count, 1)), None
        if isinstance(end, ActionModelExpression):
            arguments = [rows(array) for array in (self.first, self.second, self.part, self.states)]
            self._call = call_at([(programs.interpolation(end), range(count))], lane_count(), arguments)

    def prepare(self) -> None:
        """Compiles the code that a call runs."""
        if self._call is not None:
            self._call.prepare()

    def __call__(self) -> None:
        """Computes `states`."""
        if self._call is not None:
            self._call()
            return
        state = self._state
        for first, second, part, between in zip(self.first, self.second, self.part, self.states):
            between[:] = state.integrate_unchecked(first, part * state.difference_unchecked(first, second))


class LinearTrial:
    """Costs, gaps and constraint rows at xs ⊕ α dx, us + α du, with xs and us from the trajectory of an evaluator.

    Args:
        evaluator: Evaluator of the trajectory.

    Attributes:
        evaluator: The evaluator.
        alpha: Step length α (1,).
        dx: Direction of the states (T + 1, ndx); set by the caller.
        du: Direction of the controls (T, nu); set by the caller.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        costs: Costs (T + 1,) [cost].
        f: Gaps (T + 1, ndx); the caller sets the first one.
        c: Constraint rows (T + 1, nc).
    """

    def __init__(self, evaluator: Evaluator) -> None:
        e, T, n = evaluator, evaluator.T, evaluator.state.ndx
        self.evaluator, self.alpha = e, padded((1,))
        self.dx, self.du = padded((T + 1, n)), padded((T, e.nu))
        self.xs, self.us = padded((T + 1, e.state.nx)), padded((T, e.nu))
        self.costs, self.f, self.c = padded((T + 1,)), padded((T + 1, n)), padded((T + 1, e.nc))
        self._cost, self._sum_of_gaps = Reduction(self.costs[None]), Reduction(self.f.reshape(1, -1), "sum of sizes")
        families = by_class(e.running).items()
        running = [call for family, kinds in families for call in family.points(kinds, self)]
        self.calls = [*running, e.terminal.terminal_point(self)]
        compiled = [call for call in self.calls if isinstance(call, KernelCall)]
        self._compiled = ParallelCalls(compiled, then=[self._cost, self._sum_of_gaps])
        self._others = [call for call in self.calls if not isinstance(call, KernelCall)]

    def prepare(self) -> None:
        """Compiles the code that `go` runs."""
        compile_together([each for call in self.calls for each in call.kernels])
        for call in self.calls:
            call.prepare()

    def state(self, t: int) -> Reals:
        """Returns the state xs ⊕ α dx of knot t (nx,), with `alpha` and `dx` as they are now."""
        state = self.evaluator.state
        return state.integrate(self.evaluator.xs[t], self.alpha[0] * self.dx[t])

    def go(self, length: float) -> float:
        """Evaluates the trial for a step length [-] and returns its cost [cost]."""
        self.alpha[0] = length
        for call in self._others:
            call()
        self._compiled()
        return self._cost.latest()[0]

    @property
    def sum_of_gaps(self) -> float:
        """Sum Σ |f| of all absolute gaps of the last trial [-]."""
        return self._sum_of_gaps.latest()[0]
