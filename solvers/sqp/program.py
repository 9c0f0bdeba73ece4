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
from trajopt.types import Ints, Reals

PROXIMAL = 1e-8  # curvature along a start that nothing else holds


class StepProgram:
    """Quadratic program of an SQP step.

    Coordinates of a start that are to be chosen are the controls of a stage before the first: dx_0 = du_{-1}, within
    their bounds; the others stay. Stages have as many controls then as the larger of nu and the number of these
    coordinates; those that a stage does not have are held at 0.

    The program's cost is that of the problem times `scale`.

    Args:
        evaluator: Evaluator with the trajectory from which the step starts.
        exact: The Hessian of the Lagrangian there, H; None without it, then θ is 0.
        moved: Coordinates of the start that are to be chosen, see `moved_start`; None for a fixed start, the default.
        bounded: Whether the start has bounds; by default it has none.
        kept: Weights (k,) of a sum of these coordinates that stays; None for none.

    Attributes:
        qp: The program.
        scale: Factor of the cost [1/cost].
        hessian: Computes the Hessian.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        exact: LagrangianHessian | None,
        *,
        moved: Ints | None = None,
        bounded: bool = False,
        kept: Reals | None = None,
    ) -> None:
        e, chosen = evaluator, moved is not None
        self._e, self._moved = e, np.zeros(0, dtype=np.int64) if moved is None else moved
        self.scale, self.chosen = 1.0, chosen
        s, first = e.state.ndx + e.nu, int(chosen)
        own = self._own_controls = slice(e.state.ndx, e.state.ndx + len(self._moved))
        lq = self._extended(own) if chosen else self._own(e)
        self._kept = kept if bounded else None
        nc = max(e.nc, len(self._moved) + (self._kept is not None) if bounded else 0)
        qp = self.qp = StageQP.zeros(lq, nc)
        if self._kept is not None:  # the row behind the bounds of the start
            at = len(self._moved)
            qp.C[0, at, own], qp.lower[0, at], qp.upper[0, at] = self._kept, 0.0, 0.0
        if not chosen:
            qp = self.qp = replace(qp, C=e.C, terminal_C=e.terminal_C)
        self._bounded, self._first = bounded, first
        self._g = lq.g[first:, :s]
        self._f = lq.f[first:]
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

    def _extended(self, own: slice) -> LinearQuadratic:
        """A program with a stage before the first, whose own controls are these of z."""
        e, n = self._e, self._e.state.ndx
        m, k = max(e.nu, len(self._moved)), e.constant
        if k and np.array_equal(self._moved, np.arange(n - k, n)):  # unknowns alone
            lq = LinearQuadratic.zeros(e.T + 1, n, m, nb=e.lift_size, k=k, starts=True)
        else:
            lq = LinearQuadratic.zeros(e.T + 1, n, m)
            lq.F[0, :, own] = np.eye(n)[:, self._moved]
        padding = np.einsum("tii->ti", lq.H)
        padding[0, n:], padding[0, own], padding[1:, n + e.nu :] = 1.0, PROXIMAL, 1.0
        return lq

    def take(self, scale: float, rows: RowBounds) -> None:
        """Copies gradients, rows and gaps from the evaluator, with the cost times `scale`."""
        e, qp = self._e, self.qp
        self.scale = scale
        np.multiply(e.g, scale, out=self._g)
        np.multiply(e.terminal_g, scale, out=qp.lq.terminal_g)
        if self.chosen:
            self._take_dynamics(LinearQuadratic.of(e))
            self._C[:], self._end[:] = e.C, e.terminal_C
        self.set_gaps(e.f, e.c, rows)
        if self._bounded:
            moved, k = self._moved, len(self._moved)
            qp.C[0, :k, self._own_controls] = self._start_slopes()[np.ix_(moved, moved)]
            qp.lower[0, :k], qp.upper[0, :k] = (room[moved] for room in rows.start_room())

    def _take_dynamics(self, of: LinearQuadratic) -> None:
        """Copies derivatives of the dynamics behind the stage before the first."""
        lq = self.qp.lq
        if lq.E is None:
            lq.F[1:, :, : of.n + of.m] = of.full_F()
            return
        lq.F[1:, :, : of.n - of.k + of.m], lq.E[1:] = of.F, of.E
        if lq.second_order is not None and of.second_order is not None:
            for name in ("dt", "J0", "J1dt"):
                getattr(lq.second_order, name)[1:] = getattr(of.second_order, name)

    def _start_slopes(self) -> Reals:
        """Derivative of the coordinates of the start by its tangent vectors (ndx, ndx)."""
        state = self._e.state
        return state.jdifference(state.zero(), self._e.xs[0], "second")

    def set_gaps(self, f: Reals, c: Reals, rows: RowBounds) -> None:
        """Sets the gaps f (T + 1, ndx) and the rows c (T + 1, nc) from which the program starts."""
        self._f[:] = f
        np.subtract(rows.lower, c, out=self._lower)
        np.subtract(rows.upper, c, out=self._upper)

    def set_hessian(self, blend: float, ridge: Reals | float, start: Reals | float = 0.0) -> None:
        """Sets the Hessian to θ H + (1 - θ) H_GN + δ I with θ = blend and δ = ridge; `hessian` computes it."""
        self.hessian.blend(blend, self.scale, ridge)
        if self.chosen:
            added = np.broadcast_to(start, self._e.state.ndx)[self._moved]
            np.einsum("ii->i", self.qp.lq.H[0])[self._own_controls] = PROXIMAL + added

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
        lower = self.padded_rows(rows.lower, rows.start_lower, -np.inf)
        upper = self.padded_rows(rows.upper, rows.start_upper, np.inf)
        if self._kept is not None:
            lower[0, len(self._moved)] = upper[0, len(self._moved)] = 0.0
        return lower, upper

    def row_units(self, units: Units) -> Reals:
        """Sizes of all rows of the program; 1 of padded ones."""
        return self.padded_rows(units.rows, units.states, 1.0)

    def diagonal(self, units: Units) -> Reals:
        """1 / size² of states and controls of the running knots (T, n + m), 0 of padded ones."""
        found = np.zeros(self.qp.lq.g.shape)
        found[self._first :, : self._e.state.ndx + self._e.nu] = np.concatenate([units.states, units.controls]) ** -2.0
        if self.chosen:
            found[0, self._own_controls] = units.states[self._moved] ** -2.0
        return found

    def row_values(self, c: Reals, x: Reals) -> Reals:
        """Values of all rows of the program, from the problem's rows c (T + 1, nc) and the start x (nx,)."""
        state = self._e.state
        return self.padded_rows(c.copy(), state.difference(state.zero(), x) if self._bounded else x)

    def padded_rows(self, y: Reals, start: Reals, others: float = 0.0) -> Reals:
        """Values of all rows of the program, from those of the problem (T + 1, nc) and of the start (ndx,)."""
        if not self.chosen:
            return y
        found = np.full(self.qp.lower.shape, others)
        found[self._first :, : self._e.nc] = y
        if self._bounded:
            found[0, : len(self._moved)] = start[self._moved]
        return found

    def solution(self, found: QPSolution, K: Reals) -> QPSolution:
        """Returns a solution in terms of the problem, without padded stages and controls, with the gains of K."""
        e, o = self._e, self._first
        return QPSolution(
            status=found.status,
            iterations=found.iterations,
            dx=found.dx[o:].copy(),
            du=found.du[o:, : e.nu].copy(),
            lam=found.lam[o:].copy(),
            y=found.y[o:, : e.nc].copy(),
            rows=found.rows[o:, : e.nc],
            K=self.gains(K),
            failed_knot=found.failed_knot,
        )

    def controls(self, along: Reals) -> tuple[Reals, Reals]:
        """Splits values (T, m) of the program into those of controls (T, nu) and of a chosen start (ndx,) or (0,)."""
        o, start = self._first, np.zeros(self._e.state.ndx if self._first else 0)
        if o:
            start[self._moved] = along[0, : len(self._moved)]
        return along[o:, : self._e.nu], start

    def gains(self, K: Reals) -> Reals:
        """Returns the gains (T, nu, ndx) of the problem's controls, from the gains K of the program's controls."""
        return K[self._first :, : self._e.nu]

    def start_multipliers(self, y: Reals, lam: Reals) -> Reals:
        """Returns the multipliers of the start's bounds (ndx,), from those of the program's rows and dynamics.

        With them is that of a sum that stays, times the weights.
        Those of coordinates that stay balance the gradient of the cost to go, λ_0.
        """
        held, k = np.linalg.solve(self._start_slopes().T, -lam[self._first]), len(self._moved)
        held[self._moved] = y[0, :k] + (0.0 if self._kept is None else self._kept * y[0, k])
        return held
