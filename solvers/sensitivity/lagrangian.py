"""First derivatives of the Lagrangian about one trajectory, and differences of them: what a KKT system consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.shooting.arrays import lifted
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.sensitivity.slope import FINER, Slope, Truth
from trajopt.states import StateAbstract
from trajopt.types import Reals

SMOOTH = 2e-5  # step of states and controls in differences of dynamics and rows; of controls relative beyond 1
KINKED = 1e-6  # largest one in differences of costs, whose barriers have kinks


@dataclass(frozen=True, kw_only=True)
class LagrangianDerivatives:
    """The Lagrangian L = Σ l + λᵀ (f ⊖ x̄⁺ - dx⁺) + yᵀ c and its derivatives, in coordinates (dx, du) at x̄, ū.

    Attributes:
        running: Gradients of l + λᵀ (f ⊖ x̄⁺) + yᵀ c (T, ndx + nu).
        end: That at the end (ndx,).
        gaps: f ⊖ x̄⁺, a row of zeros first (T + 1, ndx).
        rows: Constraint rows (T + 1, nc).
        lower: Lower bounds of the rows (T + 1, nc).
        upper: Upper bounds of the rows (T + 1, nc).
        linear: Linear weights of their slacks (T + 1, nc), inf of hard rows.
        quadratic: Quadratic weights of their slacks (T + 1, nc).
        cost: Σ l (1,) [cost].
    """

    running: Reals
    end: Reals
    gaps: Reals
    rows: Reals
    lower: Reals
    upper: Reals
    linear: Reals
    quadratic: Reals
    cost: Reals


def derivative(of: Callable[[float], LagrangianDerivatives], step: float) -> tuple[LagrangianDerivatives, Truth]:
    """Derivative of first-order values by a number at 0, and the mask of the knots (T + 1,) with a kink there.

    It is by central differences of fourth order. Rows of which a kink lies within the step take a smaller one, of
    second order. Bounds and weights that are infinite
    have derivative 0.
    """
    at, far = vars(of(0.0)), [vars(of(2.0 * sign * step)) for sign in (1.0, -1.0)]
    slopes = {name: Slope(value) for name, value in at.items()}
    for scale in (1.0, *FINER):
        near = [vars(of(sign * scale * step)) for sign in (1.0, -1.0)]
        for name, slope in slopes.items():
            (a, b), (c, d) = ([each[name] for each in pair] for pair in (near, far))
            if scale == 1.0:
                slope.add(2.0 * step, c, d)
                with np.errstate(invalid="ignore"):
                    fourth = (8.0 * (a - b) - (c - d)) / (12.0 * step)
                slope.add(step, a, b, fourth)
            else:
                slope.add(scale * step, a, b)
        if not any(slope.crossed for slope in slopes.values()):
            break
    values = {name: np.where(np.isfinite(at[name]), slope.values, 0.0) for name, slope in slopes.items()}
    return LagrangianDerivatives(**values), np.append(slopes["running"].at_kink, np.any(slopes["end"].at_kink))


class Lagrangian:
    """The Lagrangian of a problem about a trajectory, by an evaluator that it moves.

    Coordinates are dx and du of x̄ ⊕ dx, ū + du. Gradients that models give are those in the tangent space at x̄ ⊕ dx,
    and dynamics those at f: Jacobians of ⊕ and ⊖ lead back, so that differences are exact on manifolds, too.

    Args:
        evaluator: Evaluator of the problem, with the parameters of the solution.
        xs: x̄ (T + 1, nx).
        us: ū (T, nu).
        y: Multipliers of the rows (T + 1, nc).
        K: Feedback gains that costates are computed with (T, nu, ndx), see `Solution.stationarity`.

    Attributes:
        lam: Costates λ (T + 1, ndx).
        kinks: Mask (T + 1,) of the knots whose costs `hessians` saw at a kink.
    """

    def __init__(self, evaluator: Evaluator, xs: Reals, us: Reals, y: Reals, K: Reals) -> None:
        self.e, self.xs, self.us, self.y = evaluator, xs, us, y
        self.lam = np.zeros((evaluator.T + 1, evaluator.state.ndx))
        self.kinks = np.zeros(evaluator.T + 1, dtype=np.bool_)
        names = ("integrate", "difference", "jintegrate", "jdifference")
        self._of_states = {name: RowWise(evaluator.state, name) for name in names}
        self.move(0.0, 0.0)
        self.F, g, _ = evaluator.full()
        self.C, self.terminal_C = evaluator.C.copy(), evaluator.terminal_C.copy()
        self._find_costates(g, K)

    def _find_costates(self, g: Reals, K: Reals) -> None:
        """λ_t = Lx + Fxᵀ λ - Kᵀ (Lu + Fuᵀ λ), with gradients that rows are part of."""
        n, lam = self.e.state.ndx, self.lam
        lam[-1] = g[-1, :n] + self.terminal_C.T @ self.y[-1]
        for t in range(self.e.T - 1, -1, -1):
            q = g[t] + self.F[t].T @ lam[t + 1] + self.C[t].T @ self.y[t]
            lam[t] = q[:n] - K[t].T @ q[n:]

    def move(self, dx: Reals | float, du: Reals | float) -> None:
        """Moves the evaluator to x̄ ⊕ dx, ū + du and computes the derivatives of all knots there."""
        e = self.e
        moved = np.ndim(dx) > 0
        e.xs[:] = self._of_states["integrate"](self.xs, np.asarray(dx))[0][..., 0] if moved else self.xs
        np.add(self.us, du, out=e.us)
        e.expand(None)
        e.check_finite()

    def at(self) -> LagrangianDerivatives:
        """Gradients and rows of the Lagrangian at x̄, ū, for the current values of the parameters.

        Raises:
            ModelEvaluationError: A value is not finite there.
        """
        self.move(0.0, 0.0)
        e = self.e
        gaps = np.zeros_like(self.lam)
        gaps[1:] = self._of_states["difference"](self.xs[1:], e.xnext)[0][..., 0]
        (running, end), (lower, upper), (linear, quadratic) = self._of_constraints(), e.row_bounds(), e.row_softness()
        return LagrangianDerivatives(
            running=e.g + running,
            end=e.terminal_g + end,
            gaps=gaps,
            rows=e.c.copy(),
            lower=lower,
            upper=upper,
            linear=linear,
            quadratic=quadratic,
            cost=np.array([e.cost]),
        )

    def _of_constraints(self) -> tuple[Reals, Reals]:
        """Gradients of λᵀ (f ⊖ x̄⁺) + yᵀ c where the evaluator is."""
        e = self.e
        F = e.F if e.lift_size is None else lifted(e.F, e.dt, e.J0, e.J1dt)
        back = self._of_states["jdifference"](self.xs[1:], e.xnext)[1]
        pulled = np.einsum("tij,ti->tj", back, self.lam[1:])
        running = np.einsum("tij,ti->tj", F, pulled) + np.einsum("tij,ti->tj", e.C, self.y[:-1])
        return running, e.terminal_C.T @ self.y[-1]

    def hessians(self) -> tuple[Reals, Reals]:
        """Its Hessians by (dx, du) at each knot (T, ndx + nu, ndx + nu), and at the end (ndx, ndx), by differences.

        A knot's depends on that knot alone, so that all are found at once. Identity along controls that a knot lacks.
        Knots whose costs have a kink there are kept in `kinks`.
        """
        e, n = self.e, self.e.state.ndx
        H, end = np.zeros((e.T, n + e.nu, n + e.nu)), np.zeros((n, n))
        self.kinks[:] = False
        self.move(0.0, 0.0)
        at = self._of_costs(np.zeros_like(self.lam))
        for i in range(n + e.nu):
            rows = self._column(i, at)
            H[:, i] = rows[:-1]
            if i < n:
                end[i] = rows[-1, :n]
        for kind in e.running:
            missing = np.arange(n + kind.model.nu, n + e.nu)
            for t in kind.knots:
                H[t, missing, missing] = 1.0
        return (H + H.transpose(0, 2, 1)) / 2.0, (end + end.T) / 2.0

    def _column(self, i: int, at: Reals) -> Reals:
        """Derivative (T + 1, ndx + nu) of the gradients by coordinate i of all knots, by central differences.

        Args:
            i: Number of the coordinate of (dx, du).
            at: Gradients of the costs at x̄, ū.
        """
        e, n = self.e, self.e.state.ndx
        size = np.ones(e.T) if i < n else np.maximum(1.0, np.abs(self.us[:, i - n]))
        costs, others = Slope(at), np.zeros_like(at)
        for step in (SMOOTH, KINKED, *(KINKED * finer for finer in FINER)):
            sides = []
            for sign in (1.0, -1.0):
                dx, du = np.zeros_like(self.lam), np.zeros_like(self.us)
                if i < n:
                    dx[:, i] = sign * step
                else:
                    du[:, i - n] = sign * step * size
                self.move(dx if i < n else 0.0, du)
                sides.append(self._of_costs(dx))
                if step == SMOOTH:
                    others += sign / (2.0 * step) * self._pulled(dx, *self._of_constraints())
            costs.add(step, *sides)
            if step < SMOOTH and not costs.crossed:
                break
        self.kinks |= costs.at_kink
        found = costs.values + others
        found[:-1] /= size[:, None]
        return found

    def _of_costs(self, dx: Reals) -> Reals:
        """Gradients of the costs where the evaluator is, dx (T + 1, ndx) from x̄: (T + 1, ndx + nu)."""
        return self._pulled(dx, self.e.g, self.e.terminal_g)

    def _pulled(self, dx: Reals, running: Reals, end: Reals) -> Reals:
        """Gradients by (dx, du) at x̄, ū (T + 1, ndx + nu), of those in the tangent space at x̄ ⊕ dx."""
        n, there = self.e.state.ndx, self._of_states["jintegrate"](self.xs, dx)[1]
        rows = np.zeros((len(dx), running.shape[1]))
        rows[:-1], rows[-1, :n] = running, there[-1].T @ end
        rows[:-1, :n] = np.einsum("tij,ti->tj", there[:-1], running[:, :n])
        return rows


class RowWise:
    """A function of a state, such as "integrate", of many rows (k, ·) at once: (k, rows, columns) each.

    Args:
        state: The state.
        name: Name of the function.
    """

    def __init__(self, state: StateAbstract, name: str) -> None:
        function = state.functions[name]
        symbols = [SX.sym("a", function.numel_in(0)), SX.sym("b", function.numel_in(1))]
        self._dense = ca.Function(name, symbols, [ca.densify(each) for each in function.call(symbols)])
        self._maps: dict[int, ca.Function] = {}

    def __call__(self, a: Reals, b: Reals) -> list[Reals]:
        """Its results."""
        count = len(a)
        sizes = [self._dense.size_out(i) for i in range(self._dense.n_out())]
        results = [np.zeros((count, columns, rows)) for rows, columns in sizes]
        if count:
            if count not in self._maps:
                self._maps[count] = self._dense.map(count)
            buffers: Any = self._maps[count].buffer()
            buffer, run = buffers
            a, b = (np.ascontiguousarray(given, dtype=np.float64) for given in (a, b))
            for i, given in enumerate((a, b)):
                buffer.set_arg(i, given.data)
            for i, result in enumerate(results):
                buffer.set_res(i, result.data)
            run()
        return [result.transpose(0, 2, 1) for result in results]
