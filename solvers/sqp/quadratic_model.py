"""The quadratic program of a step: a blend of the exact and the Gauss-Newton Hessian, rows hard or proximal."""

from __future__ import annotations

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.options import SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.sqp.inner import FirstState, InnerSolver
from trajopt.solvers.sqp.program import PROXIMAL, StepProgram
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import RowBounds, is_flat, moved_start
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

LEFT_OUT = 0.1  # first part of the exact Hessian that is left out where it is indefinite; it is doubled
FIRST_RIDGE, LARGEST_RIDGE = 1e-4, 1e12


class QuadraticModel:
    """Solves the quadratic program at the trajectory of an evaluator.

    Its Hessian is θ H + (1 - θ) H_GN + δ I on the controls, of the scaled cost, with H that of the Lagrangian at the
    multipliers of the last QP, if all models give it. As long as a pivot fails, 1 - θ is doubled; then δ grows.

    Args:
        evaluator: Evaluator with the trajectory.
        problem: The problem.
        options: Options of the solver, which choose the method for the program.

    Attributes:
        blend: Part θ of the exact Hessian in that of the last program [-].
    """

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem, options: SQPOptions) -> None:
        e, self._options = evaluator, options
        self._e, self.blend = e, 0.0
        self._gradient: Reals | None = None  # of the cost in the terminal residuals, where the last step led
        self._next_gradient: Reals | None = None
        self.exact = LagrangianHessian(e) if self._takes_exact(options) else None
        self._moved, self._bounded = moved_start(problem), not isinstance(problem.start, str)
        self._first: FirstState | None = None
        if (
            options.qp == "ipm"
            and e.nc == 0
            and self._bounded
            and self._moved is not None
            and is_flat(problem, self._moved)
        ):
            self._first, self._moved, self._bounded = (
                FirstState(self._moved),
                None,
                False,
            )  # the recursion alone finds it
        constrained = e.nc > 0 or self._bounded
        self._scaled = constrained and options.qp in ("ipm", "osqp")  # these begin as for costs of size 1
        self._simple = self.exact is None and self._moved is None and not self._scaled
        self._kept: dict[bool, tuple[StepProgram, InnerSolver]] = {}
        self._program, self._inner = self._pair(shared=self._simple)

    def _takes_exact(self, options: SQPOptions) -> bool:
        """Whether the exact Hessian is wanted; with "exact" a problem without one raises."""
        return options.hessian == "exact" or (options.hessian == "auto" and LagrangianHessian.available(self._e))

    def _pair(self, *, shared: bool) -> tuple[StepProgram, InnerSolver]:
        """The program with the evaluator's own Hessian or a copy of it, and its solver."""
        if shared not in self._kept:
            program = StepProgram(self._e, self.exact, moved=self._moved, bounded=self._bounded, shared=shared)
            inner = InnerSolver(program.qp, self._options.qp, self._options.qp_iterations, self._first)
            self._kept[shared] = program, inner
        return self._kept[shared]

    def prepare(self) -> None:
        """Compiles the code of the exact Hessian, if the model uses it."""
        if self.exact is not None:
            self.exact.prepare()

    def relate(self, units: Units) -> None:
        """Makes the tolerances of programs relative to units."""
        for program, _ in self._kept.values():
            program.qp.row_size[:], program.qp.typical_cost[:] = program.row_units(units), 1.0

    def take(self, run: SQPProgress, rows: RowBounds) -> None:
        """Copies derivatives, rows and gaps at the evaluator's trajectory to the program, for the scaled cost."""
        self._program, self._inner = self._pair(shared=self._simple)
        self._program.take(run.scale if self._scaled else 1.0, rows)
        if self._first is not None:
            state, moved = self._e.state, self._first.moved
            at = state.difference(state.zero(), self._e.xs[0])
            self._first.lower[:], self._first.upper[:] = (rows.start_lower - at)[moved], (rows.start_upper - at)[moved]

    def forget(self) -> None:
        """Begins an attempt, which knows nothing of earlier steps."""
        self._gradient = None

    def accept(self) -> None:
        """Takes note that the step of the last program has been taken."""
        self._gradient = self._next_gradient

    def solve(
        self, run: SQPProgress, rows: RowBounds, penalty: AugmentedLagrangian | None, *, exact: bool, ridge: float = 0.0
    ) -> tuple[QPSolution, float]:
        """Returns the step, and the δ that was added to the Hessian. The status is INDEFINITE if even a large δ fails.

        Args:
            run: State of the solve.
            rows: Bounds of the rows.
            penalty: Augmented Lagrangian of the rows that are no limits; None where all rows are hard.
            exact: Whether to begin with the Hessian of the Lagrangian, if there is one.
            ridge: First δ, relative to the sizes of controls and states.
        """
        blend, increased = 0.0, False
        if self.exact is not None and exact:
            np.divide(run.lam, run.scale, out=self.exact.lam)
            np.divide(run.y, run.scale, out=self.exact.y)
            self.exact.expect(self._gradient)
            self.exact()
            blend = 1.0
        self._set_rows(run, rows, penalty)
        while True:
            if ridge > 0.0 and self._program.shared:  # it can't be added to the evaluator's array
                self._leave_shared(run, rows, penalty)
            ratio, sizes = ridge / (run.scale / self._program.scale), run.units
            self._program.set_hessian(blend, ratio / sizes.controls**2, ratio / sizes.states**2)
            if self._first is not None:
                self._first.curvature[:] = PROXIMAL + (ratio / sizes.states**2)[self._first.moved]
            found = self._inner.solve(convex=blend == 0.0, hessian=self._program.hessian)
            if found.status is not QPStatus.INDEFINITE or ridge > LARGEST_RIDGE:
                self.blend = blend
                step = self._unpacked(run, found)
                self._next_gradient = None if self.exact is None else self.exact.gradient_after(step.dx[-1])
                return step, ridge
            if blend > 0.0:
                left_out = max(2.0 * (1.0 - blend), LEFT_OUT)
                blend = 1.0 - left_out if left_out < 1.0 else 0.0
            else:
                ridge = 8.0 * ridge if increased else max(FIRST_RIDGE, ridge / 3.0)
                increased = True

    def _leave_shared(self, run: SQPProgress, rows: RowBounds, penalty: AugmentedLagrangian | None) -> None:
        """Goes on with a program that has a Hessian of its own."""
        scale = self._program.scale
        self._program, self._inner = self._pair(shared=False)
        self._program.take(scale, rows)
        self._set_rows(run, rows, penalty)

    def _set_rows(self, run: SQPProgress, rows: RowBounds, penalty: AugmentedLagrangian | None) -> None:
        """Hands slacks and proximal rows to the program."""
        if not self._e.nc:
            return
        program = self._program
        ratio = run.scale / program.scale
        program.set_soft(rows)
        if penalty is not None:
            general = rows.general
            program.set_proximal(np.where(general, ratio / penalty.mu, 0.0), np.where(general, penalty.y / ratio, 0.0))
        else:
            program.set_proximal(0.0, 0.0)

    def corrected(self, run: SQPProgress, rows: RowBounds, step: QPSolution, f: Reals, c: Reals) -> QPSolution:
        """Solves again with a second-order correction, from the gaps f and rows c after the full step."""
        before = self._e.f.copy()
        try:
            self._program.correct(f, c, rows, step)
            return self._unpacked(run, self._inner.solve(convex=self.blend == 0.0))
        finally:
            self._program.restore(before, rows)

    def _unpacked(self, run: SQPProgress, found: QPSolution) -> QPSolution:
        """The solution in terms of the problem, with multipliers of the scaled cost; its arrays stay."""
        step, ratio = self._program.step(found), run.scale / self._program.scale
        if self._bounded or self._first is not None:
            run.start_y = self._program.start_multipliers(found.y, found.lam) * ratio
        return QPSolution(
            status=step.status,
            iterations=step.iterations,
            dx=step.dx.copy(),
            du=step.du.copy(),
            lam=step.lam * ratio,
            y=step.y * ratio,
            rows=step.rows,
            K=self._program.gains(self._inner.K),
            failed_knot=step.failed_knot,
        )

    def gradient(self, run: SQPProgress) -> tuple[Reals, Reals, Reals]:
        """Gradient of the Lagrangian of the scaled cost along controls (T, nu) and start, and costates (T + 1, ndx).

        After a change of one control later ones follow the gains of the last step: at an optimum that changes nothing;
        elsewhere, without them, an unstable system would multiply rounding errors by many powers of ten.
        """
        program, ratio = self._program, run.scale / self._program.scale
        along, costates = self._inner.adjoint(program.qp.lq.g, program.qp.lq.terminal_g, self._padded(run))
        controls, start = program.controls(along)
        if self._first is not None:
            start, moved = np.zeros(self._e.state.ndx), self._first.moved
            start[moved] = (costates[0] + run.start_y / ratio)[moved]
        return ratio * controls, ratio * start, ratio * costates

    def slope_of_violation(self, beyond: Reals, start: Reals) -> tuple[Reals, Reals]:
        """Gradient of ½ |v|² along controls and start, with v the violations of rows (T + 1, nc) and start (ndx,)."""
        lq, y = self._program.qp.lq, self._program.padded_rows(beyond, start)
        along, _ = self._inner.adjoint(np.zeros_like(lq.g), np.zeros_like(lq.terminal_g), y)
        return self._program.controls(along)

    def active_gains(self, run: SQPProgress) -> Reals | None:
        """Gains (T, nu, ndx) that keep the active rows of the trajectory; None if there are none.

        A row is active if its multiplier is larger than its distance from the bound, each relative to its size: of all
        others interior points leave multipliers above 0.
        """
        program, y = self._program, self._padded(run)
        distance = np.where(y > 0.0, program.qp.upper, -program.qp.lower)
        active = np.abs(y) * program.row_units(run.units) ** 2 > run.units.cost * program.scale * distance
        return program.gains(self._inner.K).copy() if self._inner.keep(np.where(active, y, 0.0)) else None

    def _padded(self, run: SQPProgress) -> Reals:
        """The last multipliers of all rows of the program."""
        ratio = run.scale / self._program.scale
        return self._program.padded_rows(run.y / ratio, run.start_y / ratio if self._bounded else run.start_y)
