"""Hessians of the Lagrangian along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.errors import UnsupportedOperationError
from trajopt.kernels import LANES, InTurn, KernelCall, Rows, blocks_of, compile_together, kernel, rows
from trajopt.shooting import programs
from trajopt.shooting.arrays import padded
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator


class LagrangianHessian:
    """Hessian of l + λᵀ f + yᵀ c at the trajectory of an evaluator.

    Args:
        evaluator: Whose trajectory it is.

    Attributes:
        lam: Multipliers λ of the dynamics (T + 1, ndx); set them before a call. Those of row t + 1 are of the step from
            knot t; row 0 is not read.
        y: Multipliers of the rows (T + 1, nc).
        H: Hessians (T, ndx + nu, ndx + nu).
        terminal_H: That of the end (ndx, ndx).
    """

    def __init__(self, evaluator: Evaluator) -> None:
        e = self.evaluator = evaluator
        n, s = e.state.ndx, e.state.ndx + e.nu
        self.lam, self.y = padded((e.T + 1, n)), padded((e.T + 1, e.nc))
        self.H, self.terminal_H = padded((e.T, s, s)), padded((n, n))
        kinds = [kind for kind in e.running if isinstance(kind, CompiledKind)]
        if not self.available(e, asked=True):
            raise UnsupportedOperationError(
                "a model of the problem has no Hessian of the Lagrangian, as Runge-Kutta steps with contacts; take "
                "hessian='auto', which then is Gauss-Newton's"
            )
        self._calls = [self._running(kinds)] if kinds else []
        end = e.terminal
        assert isinstance(end, CompiledKind)
        inputs = [rows(e.xs), rows(e.parameters), rows(self.y), Rows(self.terminal_H, 0)]
        program = programs.terminal_lagrangian(end.model, e.nc)
        self._calls.append(KernelCall([kernel(program, 1)], np.zeros(1, dtype=np.int64), np.full((1, 1), e.T), inputs))
        self._run = InTurn(self._calls)

    def _running(self, kinds: Sequence[CompiledKind]) -> KernelCall:
        e = self.evaluator
        kernels = [kernel(programs.lagrangian(kind.model, e.nu, e.nc), LANES) for kind in kinds]
        blocks = [blocks_of(kind.knots, LANES) for kind in kinds]
        numbers = np.concatenate([np.full(len(b), i) for i, b in enumerate(blocks)])
        inputs = [rows(e.xs), rows(e.us), rows(e.parameters), rows(self.lam, offset=1), rows(self.y)]
        return KernelCall(kernels, numbers, np.concatenate(blocks), [*inputs, rows(self.H, zeroed=True)])

    @staticmethod
    def available(evaluator: Evaluator, *, asked: bool = False) -> bool:
        """Whether all models give it.

        Args:
            evaluator: Whose models they are.
            asked: Whether it was asked for by hessian="exact": then also if it takes long to compile, as with contacts.
        """
        kinds = (*evaluator.running, evaluator.terminal)
        if not all(isinstance(kind, CompiledKind) and kind.model.has_lagrangian_hessian for kind in kinds):
            return False
        return asked or not any(isinstance(k, CompiledKind) and k.model.hessian_on_request for k in kinds)

    def prepare(self) -> None:
        """Compiles what it runs."""
        compile_together([each for call in self._calls for each in call.kernels])
        for call in self._calls:
            call.prepare()

    def __call__(self) -> None:
        """Fills the Hessians."""
        self._run()
