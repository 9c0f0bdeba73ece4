"""Riccati recursion on a StageQP whose rows are weights in the Hessian."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.solvers.qp.residual import Iterate
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati import Riccati, RiccatiOutcome
from trajopt.types import Reals


class CondensedRiccati:
    """Minimises ½ zᵀ(H + CᵀDC + σI) z + gᵀz along the dynamics, for one D and many g.

    Args:
        qp: The program; its arrays must not move.

    Attributes:
        riccati: The recursion, with the gains of the last solution.
    """

    def __init__(self, qp: StageQP) -> None:
        self._qp = qp
        own = {name: getattr(qp.lq, name).copy() for name in ("f", "g", "H", "terminal_g", "terminal_H")}
        self._lq = replace(qp.lq, **own)
        self.riccati = Riccati(self._lq)

    def __reduce__(self) -> tuple[Any, ...]:
        return CondensedRiccati, (self._qp,)  # machine code points into its arrays: a copy has its own

    def factor(self, weights: Reals, proximal: float = 0.0) -> RiccatiOutcome:
        """Factors with D = diag(weights), (T + 1, nc), and σ = proximal."""
        qp, T, lq = self._qp, self._qp.lq.T, self._lq
        np.matmul(np.swapaxes(qp.C, 1, 2) * weights[:T, None, :], qp.C, out=lq.H)
        np.add(lq.H, qp.lq.H, out=lq.H)
        lq.terminal_H[:] = qp.lq.terminal_H + (qp.terminal_C.T * weights[T]) @ qp.terminal_C
        if proximal > 0.0:
            np.einsum("tii->ti", lq.H)[:] += proximal
            np.einsum("ii->i", lq.terminal_H)[:] += proximal
        return self.riccati.factor()

    def solve(self, running: Reals, end: Reals, f: Reals, h: Reals) -> Iterate:
        """The minimiser.

        Args:
            running: Gradients along z (T, n + m).
            end: Gradient at the end (n,).
            f: Gaps (T + 1, n).
            h: Weights of the rows (T + 1, nc) in further gradients Cᵀh.
        """
        qp, T, lq = self._qp, self._qp.lq.T, self._lq
        lq.f[:] = f
        np.add(running, (h[:T, None, :] @ qp.C)[:, 0], out=lq.g)
        lq.terminal_g[:] = end + h[T] @ qp.terminal_C
        self.riccati.solve()
        step = self.riccati.forward()
        return Iterate(step.dx.copy(), step.du.copy(), step.lam.copy())
