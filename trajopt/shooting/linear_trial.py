"""A trial along a straight line: all knots at once, none after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import LANES, KernelCall, ParallelCalls, Reduction, blocks_of, compile_together, kernel, rows
from trajopt.shooting import programs
from trajopt.shooting.arrays import padded
from trajopt.shooting.kinds import by_class
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.evaluator import Evaluator


class Retraction:
    """Moves the trajectory of an evaluator by a step, all knots at once.

    Args:
        evaluator: Whose trajectory it is.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        e, model = evaluator, evaluator.terminal.model
        assert isinstance(model, ActionModelExpression)
        self._e, self._dx = e, padded((e.T + 1, e.state.ndx))
        blocks = blocks_of(range(e.T + 1), LANES)
        arguments = [rows(e.xs), rows(self._dx), rows(e.xs)]
        kernels = [kernel(programs.retraction(model), LANES)]
        self._call = KernelCall(kernels, np.zeros(len(blocks), dtype=np.int64), blocks, arguments)

    @staticmethod
    def available(evaluator: Evaluator) -> bool:
        """Whether the end is an expression, so that it is known how to compile its state."""
        return isinstance(evaluator.terminal.model, ActionModelExpression)

    def prepare(self) -> None:
        """Compiles what it runs."""
        self._call.prepare()

    def move(self, dx: Reals, du: Reals) -> None:
        """xs := xs ⊕ dx, us := us + du."""
        self._dx[:] = dx
        self._call()
        self._e.us += du


class LinearTrial:
    """Costs, gaps and constraint rows at xs ⊕ α dx, us + α du, with xs and us the trajectory of an evaluator.

    Args:
        evaluator: Whose trajectory it starts from.

    Attributes:
        evaluator: The evaluator.
        alpha: Step length α (1,).
        dx: Direction of the states (T + 1, ndx); set by the caller.
        du: Direction of the controls (T, nu); set by the caller.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        costs: Costs (T + 1,) [cost].
        f: Gaps (T + 1, ndx); the first one is left to the caller.
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
        """Compiles what it runs."""
        compile_together([each for call in self.calls for each in call.kernels])
        for call in self.calls:
            call.prepare()

    def state(self, t: int) -> Reals:
        """xs ⊕ α dx of knot t (nx,)."""
        state = self.evaluator.state
        return state.integrate(self.evaluator.xs[t], self.alpha[0] * self.dx[t])

    def go(self, length: float) -> float:
        """Fills everything for a step length, and gives the cost [cost]."""
        self.alpha[0] = length
        for call in self._others:
            call()
        self._compiled()
        return self._cost.latest()[0]

    @property
    def sum_of_gaps(self) -> float:
        """Σ |f| of the last trial [-]."""
        return self._sum_of_gaps.latest()[0]
