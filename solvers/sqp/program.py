"""The arrays of the quadratic program of a step, from those of an evaluator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.qp import QPSolution, StageQP
from trajopt.solvers.riccati.blended_hessian import BlendedHessian
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

PROXIMAL = 1e-8  # curvature along a start that nothing else holds


class StepProgram:
    """Quadratic program of an SQP step.

    A start that is to be chosen is the control of a stage before the first: dx_0 = du_{-1}, within its bounds. Stages
    have as many controls then as the larger of nu and ndx; those that a stage does not have are held at 0.

    The program's cost is that of the problem times `scale`.

    Args:
        evaluator: Evaluator with the trajectory from which the step starts.
        exact: The Hessian of the Lagrangian there, H; None without it, then θ is 0.
        chosen: Whether the start is to be chosen.
        bounded: Whether the start has bounds.

    Attributes:
        qp: The program.
        scale: Factor of the cost [1/cost].
        hessian: Computes the Hessian.
    """

    def __init__(self, evaluator: Evaluator, exact: LagrangianHessian | None, *, chosen: bool, bounded: bool) -> None:
        e = self._e = evaluator
        self.scale, self.chosen = 1.0, chosen
        n, s, first = e.state.ndx, e.state.ndx + e.nu, int(chosen)
        lq = self._extended() if chosen else self._own(e)
        nc = max(e.nc, n if bounded else 0)
        qp = self.qp = StageQP.zeros(lq, nc)
        if not chosen:
            qp = self.qp = replace(qp, C=e.C, terminal_C=e.terminal_C)
        self._bounded, self._first = bounded, first
        self._g = lq.g[first:, :s]
        self._F, self._f = lq.F[first:, :, :s], lq.f[first:]
        self._C, self._end = qp.C[first:, : e.nc, :s], qp.terminal_C[: e.nc]
        stages = slice(first, None), slice(None, e.nc)
        self._lower, self._upper = qp.lower[stages], qp.upper[stages]
        self._delta, self._y_ref = qp.delta[stages], qp.y_ref[stages]
        self._soft, self._any_soft = (qp.soft_linear[stages], qp.soft_quadratic[stages]), False
        self.hessian = BlendedHessian(e, exact, lq, first)

    def _own(self, e: Evaluator) -> LinearQuadratic:
        """The evaluator's program with a cost of its own."""
        lq = LinearQuadratic.of(e)
        return replace(lq, **{name: getattr(lq, name).copy() for name in ("g", "terminal_g", "H", "terminal_H")})

    def _extended(self) -> LinearQuadratic:
        """A program with a stage before the first."""
        e, n = self._e, self._e.state.ndx
        m = max(e.nu, n)
        lq = LinearQuadratic.zeros(e.T + 1, n, m)
        lq.F[0, :, n : 2 * n] = np.eye(n)
        padding = np.einsum("tii->ti", lq.H)
        padding[0, n:], padding[0, n : 2 * n], padding[1:, n + e.nu :] = 1.0, PROXIMAL, 1.0
        return lq

    def take(self, scale: float, rows: RowBounds) -> None:
        """Copies gradients, rows and gaps from the evaluator, with the cost times `scale`."""
        e, qp = self._e, self.qp
        self.scale = scale
        np.multiply(e.g, scale, out=self._g)
        np.multiply(e.terminal_g, scale, out=qp.lq.terminal_g)
        if self.chosen:
            self._F[:] = LinearQuadratic.of(e).full_F()
            self._C[:], self._end[:] = e.C, e.terminal_C
        self.set_gaps(e.f, e.c, rows)
        if self._bounded:
            n = e.state.ndx
            zero, x = e.state.zero(), e.xs[0]
            at = e.state.difference(zero, x)
            qp.C[0, :n, n : 2 * n] = e.state.jdifference(zero, x, "second")
            qp.lower[0, :n], qp.upper[0, :n] = rows.start_lower - at, rows.start_upper - at

    def set_gaps(self, f: Reals, c: Reals, rows: RowBounds) -> None:
        """Sets the gaps f (T + 1, ndx) and the rows c (T + 1, nc) from which the program starts."""
        self._f[:] = f
        np.subtract(rows.lower, c, out=self._lower)
        np.subtract(rows.upper, c, out=self._upper)

    def set_hessian(self, blend: float, ridge: Reals | float, start: Reals | float = 0.0) -> None:
        """Sets the Hessian to θ H + (1 - θ) H_GN + δ I with θ = blend and δ = ridge; `hessian` computes it."""
        self.hessian.blend(blend, self.scale, ridge)
        if self.chosen:
            n = self._e.state.ndx
            np.einsum("ii->i", self.qp.lq.H[0])[n : 2 * n] = PROXIMAL + start

    def set_proximal(self, delta: Reals | float, y_ref: Reals | float) -> None:
        """Sets δ and the reference multipliers of proximal rows, (T + 1, nc) each, or one number for all rows."""
        self._delta[:], self._y_ref[:] = delta, y_ref

    def set_soft(self, rows: RowBounds) -> None:
        """Sets the slack weights of soft rows, times the scale of the cost."""
        if not (rows.any_soft or self._any_soft):  # they are those of hard rows
            return
        linear, quadratic = self._soft
        self._any_soft = rows.any_soft
        np.multiply(rows.soft_linear, self.scale, out=linear)
        np.multiply(rows.soft_quadratic, self.scale, out=quadratic)

    def row_bounds(self, rows: RowBounds) -> tuple[Reals, Reals]:
        """Lower and upper bounds of all rows of the program; infinite where a row has no bound."""
        lower, upper = np.full(self.qp.lower.shape, -np.inf), np.full(self.qp.lower.shape, np.inf)
        lower[self._first :, : self._e.nc], upper[self._first :, : self._e.nc] = rows.lower, rows.upper
        if self._bounded:
            n = self._e.state.ndx
            lower[0, :n], upper[0, :n] = rows.start_lower, rows.start_upper
        return lower, upper

    def row_units(self, units: Units) -> Reals:
        """Sizes of all rows of the program; 1 of padded ones."""
        sizes = self.padded_rows(units.rows, units.states)
        return np.where(sizes > 0.0, sizes, 1.0)

    def diagonal(self, units: Units) -> Reals:
        """1 / size² of states and controls of the running knots (T, n + m), 0 of padded ones."""
        n, s = self._e.state.ndx, self._e.state.ndx + self._e.nu
        found = np.zeros(self.qp.lq.g.shape)
        found[self._first :, :s] = np.concatenate([units.states, units.controls]) ** -2.0
        if self.chosen:
            found[0, n : 2 * n] = units.states**-2.0
        return found

    def row_values(self, c: Reals, x: Reals) -> Reals:
        """Values of all rows of the program, from the problem's rows c (T + 1, nc) and the start x (nx,)."""
        if not self.chosen:
            return c.copy()
        state = self._e.state
        return self.padded_rows(c, state.difference(state.zero(), x) if self._bounded else x)

    def padded_rows(self, y: Reals, start: Reals) -> Reals:
        """Multipliers of all rows of the program, from those of the problem (T + 1, nc) and of the start (ndx,)."""
        if not self.chosen:
            return y
        found = np.zeros(self.qp.lower.shape)
        found[self._first :, : self._e.nc] = y
        if self._bounded:
            found[0, : len(start)] = start
        return found

    def step(self, found: QPSolution) -> QPSolution:
        """Removes from a solution the entries of padded stages and controls. Its gains stay as they are."""
        if not self.chosen:
            return found
        e, o = self._e, self._first
        return replace(
            found,
            dx=found.dx[o:],
            du=found.du[o:, : e.nu],
            lam=found.lam[o:],
            y=found.y[o:, : e.nc],
            rows=found.rows[o:, : e.nc],
        )

    def controls(self, along: Reals) -> tuple[Reals, Reals]:
        """Splits values (T, m) of the program into those of controls (T, nu) and of a chosen start (ndx,) or (0,)."""
        e, o = self._e, self._first
        return along[o:, : e.nu], along[0, : e.state.ndx] if o else np.zeros(0)

    def gains(self, K: Reals) -> Reals:
        """Returns the gains (T, nu, ndx) of the problem's controls, from the gains K of the program's controls."""
        return K[self._first :, : self._e.nu]

    def start_multipliers(self, found: QPSolution) -> Reals:
        """Returns the multipliers of the start's bounds (ndx,), from the solution of the program."""
        return found.y[0, : self._e.state.ndx].copy()
