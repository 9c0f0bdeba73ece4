"""The arrays of a problem and the calls that fill them: what a solver works with.

All knots of expressions run in compiled code, in blocks; knots of black boxes run one by one in Python, on the same
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trajopt import knot_programs
from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.black_box import BlackBoxKnot
from trajopt.errors import ModelEvaluationError
from trajopt.kernels import LANES, KernelCall, ParallelCalls, Rows, blocks_of, compile_together, kernel, lane_rows, rows
from trajopt.knots import Kind
from trajopt.states.base import StateAbstract

Reals = npt.NDArray[np.float64]


def padded(shape: tuple[int, ...]) -> Reals:
    """Zeros of this shape with room behind them, so that vector reads may run past the end."""
    size = int(np.prod(shape))
    return np.zeros(size + 32)[:size].reshape(shape)


class Evaluator:
    """Values and derivatives of a problem along one trajectory.

    Attributes:
        xs: States (T + 1, nx); set them before a call.
        us: Controls (T, nu).
        xnext: f(x, u) of each running knot (T, nx).
        costs: Cost of each knot, the terminal last (T + 1,) [cost].
        gaps: x0 ⊖ xs[0], then xnext[t] ⊖ xs[t + 1] (T + 1, ndx).
        F: (Fx, Fu) of each running knot (T, ndx, ndx + nu).
        g: (Lx, Lu) (T, ndx + nu).
        H: Hessian of the cost in (x, u) (T, ndx + nu, ndx + nu).
        terminal_Lx: Gradient of the terminal cost (ndx,).
        terminal_Lxx: Its Hessian (ndx, ndx).
        k: Feed-forward of the feedback law of rollouts (T, nu).
        K: Its gains (T, nu, ndx).
    """

    def __init__(self, state: StateAbstract, kinds: Sequence[Kind], T: int, nu: int, parameters: Reals) -> None:
        self.state, self.T, self.nu = state, T, nu
        self.kinds, self.parameters = list(kinds), parameters
        n, s = state.ndx, state.ndx + nu
        self.xs, self.us, self.xnext = padded((T + 1, state.nx)), padded((T, nu)), padded((T, state.nx))
        self.costs, self.gaps = padded((T + 1,)), padded((T + 1, n))
        self.F, self.g, self.H = padded((T, n, s)), padded((T, s)), padded((T, s, s))
        self.terminal_Lx, self.terminal_Lxx = padded((n,)), padded((n, n))
        self.k, self.K = padded((T, nu)), padded((T, nu, n))
        self.running = [k for k in kinds if not k.terminal]
        self.terminal = kinds[-1]
        self._boxes = [BlackBoxKnot(k.model, t, self) for k in self.running if not k.compiled for t in k.knots]
        self._end = self._terminal_call()
        self._linearize = ParallelCalls(self._linearization_calls())
        self._trials: dict[int, Trials] = {}

    @property
    def arrays(self) -> dict[str, Reals]:
        """What the Riccati recursion reads, and where it writes the feedback law."""
        names = ("F", "g", "H", "gaps", "terminal_Lx", "terminal_Lxx", "k", "K")
        return {name: getattr(self, name) for name in names}

    def _linearization_calls(self) -> list[KernelCall]:
        """The end; knots in lanes; impulses, of which a horizon has few, one by one: a block's lanes would be idle."""
        compiled = [k for k in self.running if k.compiled]
        groups = {
            LANES: [k for k in compiled if not k.model.instantaneous],
            1: [k for k in compiled if k.model.instantaneous],
        }
        end = [] if isinstance(self._end, BlackBoxKnot) else [self._end]
        return end + [self._linearization_call(kinds, width) for width, kinds in groups.items() if kinds]

    def _linearization_call(self, compiled: list[Kind], width: int) -> KernelCall:
        kernels = [kernel(knot_programs.linearization(expression(k.model), self.nu), width) for k in compiled]
        blocks = [blocks_of(k.knots, width) for k in compiled]
        kinds = np.concatenate([np.full(len(b), i) for i, b in enumerate(blocks)])
        inputs = [rows(self.xs), rows(self.us), rows(self.parameters), rows(self.xs, offset=1)]
        outputs = [
            rows(self.xnext),
            rows(self.costs),
            rows(self.gaps, offset=1),
            rows(self.F),
            rows(self.g),
            rows(self.H),
        ]
        return KernelCall(kernels, kinds, np.concatenate(blocks), inputs + outputs)

    def _terminal_call(self) -> KernelCall | BlackBoxKnot:
        if not self.terminal.compiled:
            return BlackBoxKnot(self.terminal.model, self.T, self)
        program = knot_programs.terminal_expansion(expression(self.terminal.model))
        arguments = [
            *(rows(self.xs), rows(self.parameters), rows(self.costs)),
            *(Rows(self.terminal_Lx, 0), Rows(self.terminal_Lxx, 0)),
        ]
        return KernelCall([kernel(program, 1)], np.zeros(1, dtype=np.int64), np.array([[self.T]]), arguments)

    def linearize(self, x0: Reals) -> None:
        """Fills everything at `xs`, `us`."""
        self._linearize()
        for box in self._boxes:
            box.linearize()
        if isinstance(self._end, BlackBoxKnot):
            self._end.expand()
        self.gaps[0] = 0.0 if np.array_equal(self.xs[0], x0) else self.state.difference(self.xs[0], x0)

    def prepare(self) -> None:
        """Compiles, or loads from the cache, all that a solve needs, so that nothing is compiled during it."""
        every = (*self._linearize.calls, self._end, *self.trials(1).calls, *self.trials(LANES).calls)
        calls = [call for call in every if isinstance(call, KernelCall)]
        compile_together([each for call in calls for each in call.kernels])
        for call in calls:
            call.prepare()

    def trials(self, width: int) -> Trials:
        """Room for rollouts with `width` step lengths at once, 1 or 8."""
        if width not in self._trials:
            self._trials[width] = Trials(self, width)
        return self._trials[width]

    def check_finite(self) -> None:
        """Raises ModelEvaluationError if a value or a derivative is not finite; the message names knot and array."""
        running = {
            "next state": self.xnext,
            "cost": self.costs,
            "F": self.F,
            "cost gradient": self.g,
            "cost Hessian": self.H,
        }
        ends = {"terminal gradient": self.terminal_Lx, "terminal Hessian": self.terminal_Lxx}
        for name, array in running.items():
            if np.isfinite(array.sum()):  # a sum of finite numbers may overflow, and then they are looked at one by one
                continue
            bad = np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))
            if len(bad):
                kind = next(k for k in self.kinds if int(bad[0]) in k.knots)
                raise ModelEvaluationError(
                    f"knot {bad[0]}: {type(kind.model).__name__} gives a {name} that is not finite at x = "
                    f"{self.xs[bad[0]]}; is an expression undefined there (sqrt, log, division)?"
                )
        for name, array in ends.items():
            if not np.all(np.isfinite(array)):
                raise ModelEvaluationError(
                    f"knot {self.T} (terminal): the {name} is not finite at x = {self.xs[self.T]}"
                )


class Trials:
    """Rollouts with feedback along a direction, one step length a lane.

    Attributes:
        alphas: Step lengths (width, 1).
        xs: States (width, T + 1, nx); row 0 is set by the caller.
        us: Controls (width, T, nu).
        costs: Costs (width, T + 1) [cost].
        dx: xs ⊖ the evaluator's xs (width, T + 1, ndx).
        gaps: Gaps of which a step of length α closes the part α (T + 1, ndx); set by the caller.
    """

    def __init__(self, evaluator: Evaluator, width: int) -> None:
        e, state, T = evaluator, evaluator.state, evaluator.T
        self._e, self.width = e, width
        self.alphas = padded((width, 1))
        self.xs, self.us = padded((width, T + 1, state.nx)), padded((width, T, e.nu))
        self.costs, self.dx = padded((width, T + 1)), padded((width, T + 1, state.ndx))
        self.gaps = padded((T + 1, state.ndx))
        self._kind_at = np.zeros(T, dtype=np.int64)
        compiled = [k for k in e.running if k.compiled]
        for i, kind in enumerate(compiled):
            self._kind_at[list(kind.knots)] = i
        self._kernels = [kernel(knot_programs.step(expression(k.model)), width) for k in compiled]
        self._boxes = {t: BlackBoxKnot(k.model, t, e) for k in e.running if not k.compiled for t in k.knots}
        self._call = self._running_call() if self._kernels else None
        self._end = self._terminal_call()

    @property
    def calls(self) -> tuple[KernelCall | BlackBoxKnot | None, ...]:
        """What a rollout runs: the running knots, and the end."""
        return self._call, self._end

    def _running_call(self) -> KernelCall:
        e, T = self._e, self._e.T
        inputs = [
            *(lane_rows(self.xs), rows(e.xs), rows(e.us), rows(e.k), rows(e.K), rows(self.gaps, offset=1)),
            *(Rows(self.alphas, 0, self.alphas.strides[0]), rows(e.parameters)),
        ]
        outputs = [lane_rows(self.xs, offset=1), lane_rows(self.us), lane_rows(self.costs), lane_rows(self.dx)]
        indices = np.repeat(np.arange(T)[:, None], self.width, axis=1)
        return KernelCall(self._kernels, self._kind_at, indices, inputs + outputs)

    def _terminal_call(self) -> KernelCall | BlackBoxKnot:
        e = self._e
        if not e.terminal.compiled:
            return BlackBoxKnot(e.terminal.model, e.T, e)
        program = knot_programs.terminal_step(expression(e.terminal.model))
        arguments = [lane_rows(self.xs), rows(e.xs), rows(e.parameters), lane_rows(self.costs), lane_rows(self.dx)]
        return KernelCall(
            [kernel(program, self.width)], np.zeros(1, dtype=np.int64), np.full((1, self.width), e.T), arguments
        )

    def run(self) -> None:
        """Rolls out from row 0 of `xs` in every lane."""
        first, T = 0, self._e.T
        for t in [*sorted(self._boxes), T]:
            if self._call is not None and first < t:
                self._call(first, t)
            if t < T:
                for lane in range(self.width):
                    self._boxes[t].step(self, lane)
            first = t + 1
        if isinstance(self._end, BlackBoxKnot):
            for lane in range(self.width):
                self._end.finish(self, lane)
        else:
            self._end()


def expression(model: ActionModelAbstract) -> ActionModelExpression:
    """The model as one that is compiled."""
    assert isinstance(model, ActionModelExpression)
    return model
