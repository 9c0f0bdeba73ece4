"""The quadratic program of a step: a blend of the exact and the Gauss-Newton Hessian, rows hard or proximal."""

from __future__ import annotations

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.options import SQPOptions
from trajopt.solvers.qp import Conic, InteriorPoint, InteriorPointOptions, Osqp, QPSolution, QPStatus, StageQP
from trajopt.solvers.qp.feedback import Policy
from trajopt.solvers.qp.recursion import FirstState, Recursion
from trajopt.solvers.qp.sparse import is_convex
from trajopt.solvers.qp.stage_qp import QPSolverAbstract
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.solvers.sqp.merit import Merit
from trajopt.solvers.sqp.program import PROXIMAL, StepProgram
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import RowBounds, is_flat, moved_start
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

LEFT_OUT = 0.1  # first part of the exact Hessian that is left out where it is indefinite; it is doubled
FAR = 0.15  # step length below which the next Hessian does not use the gradients by running residuals ahead
FIRST_RIDGE, LARGEST_RIDGE = 1e-4, 1e12


class QuadraticModel:
    """Solves the quadratic program at the trajectory of an evaluator.

    Its Hessian is θ H + (1 - θ) H_GN + δ I on the controls, of the scaled cost, with H that of the Lagrangian at the
    multipliers of the last QP, if all models give it. As long as a pivot fails, 1 - θ is doubled; then δ grows from a
    third of the last one, so that it falls as far as steps permit where the cost has no curvature (Wächter and Biegler,
    2006, section 3.1). If the first one does not mend H_GN, because the cost itself is not convex, it grows on H.

    Args:
        evaluator: Evaluator with the trajectory.
        problem: The problem.
        options: Options of the solver, which choose the method for the program.

    Attributes:
        exact: The Hessian of the Lagrangian; None without it.
        program: The program.
        blend: Part θ of it in the Hessian of the last program [-].
        ridge: δ in the Hessian of the last program.
        last: δ of the last step that was taken with one; 0 if there was none in this attempt.
    """

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem, options: SQPOptions) -> None:
        e = self._e = evaluator
        self.blend, self.ridge, self.last = 0.0, 0.0, 0.0
        self._gradient: tuple[Reals, Reals | None] | None = None  # of the cost in residuals, where the last step led
        self._next_gradient: tuple[Reals, Reals] | None = None
        exact = options.hessian == "exact" or (options.hessian == "auto" and LagrangianHessian.available(e))
        self.exact = LagrangianHessian(e, running=True) if exact else None  # where there is none, "exact" raises
        moved, self._bounded = moved_start(problem), not isinstance(problem.start, str)
        kept = None if moved is None or problem.start_sum is None else problem.start_sum[moved]
        self._first: FirstState | None = None
        if moved is not None and self._bounded and options.qp == "ipm" and not e.nc and is_flat(problem, moved):
            self._first, moved, self._bounded = FirstState(moved, kept), None, False  # the recursion finds it
        self.program = StepProgram(e, self.exact, moved=moved, bounded=self._bounded, kept=kept)
        self._policy, self._foreign = Policy(self.program.qp), options.qp != "ipm"
        self._solver = _solver_of(self.program.qp, options, self._policy.riccati, self._first)

    def prepare(self) -> None:
        """Compiles the code of the exact Hessian, if the model uses it."""
        if self.exact is not None:
            self.exact.prepare()

    def relate(self, units: Units) -> None:
        """Makes the tolerances of programs relative to units."""
        self.program.qp.row_size[:], self.program.qp.typical_cost[:] = self.program.row_units(units), 1.0

    def take(self, run: SQPProgress, rows: RowBounds) -> None:
        """Copies derivatives, rows and gaps at the evaluator's trajectory to the program, for the scaled cost."""
        self._rows = rows
        self.program.take(run.scale, rows)
        if self._first is not None:
            self._first.lower[:], self._first.upper[:] = (room[self._first.moved] for room in rows.start_room())

    def forget(self) -> None:
        """Begins an attempt, which knows nothing of earlier steps."""
        self._gradient, self.last = None, 0.0

    def accept(self, length: float) -> None:
        """Takes note that so much of the last program's step has been taken [-]; 0 if only its multipliers are."""
        ahead, self.last = self._next_gradient, self.ridge or self.last
        self._gradient = None if ahead is None else (ahead[0], ahead[1] if length >= FAR else None)

    def solve(self, run: SQPProgress, merit: Merit | None, *, exact: bool = True, ridge: float = 0.0) -> QPSolution:
        """Returns the step. The status is INDEFINITE if even a large δ fails.

        Args:
            run: State of the solve.
            merit: Penalties of the general rows, which are proximal then; None where all rows are hard.
            exact: Whether to begin with the Hessian of the Lagrangian, if there is one.
            ridge: First δ, relative to the sizes of controls and states.
        """
        blend, begun, increased = 0.0, 0.0, False
        if self.exact is not None and exact:
            np.divide(run.lam, run.scale, out=self.exact.lam)
            np.divide(run.y, run.scale, out=self.exact.y)
            self.exact.expect(self._gradient)
            self.exact()
            blend = begun = 1.0
        self._set_rows(merit)
        while True:
            self.program.set_hessian(blend, ridge / run.units.controls**2, ridge / run.units.states**2)
            self.program.hessian.write()
            if self._first is not None:
                self._first.curvature[:] = PROXIMAL * run.scale + (ridge / run.units.states**2)[self._first.moved]
            found = self._solved(convex=blend == 0.0)
            if found.status is not QPStatus.INDEFINITE or ridge > LARGEST_RIDGE:
                self.blend, self.ridge = blend, ridge
                step = self._unpacked(run, found)
                self._next_gradient = None if self.exact is None else self.exact.gradient_after(step.dx, step.du)
                return step
            if increased:
                ridge, blend = 8.0 * ridge, begun
            elif blend > 0.0:
                left_out = max(2.0 * (1.0 - blend), LEFT_OUT)
                blend = 1.0 - left_out if left_out < 1.0 else 0.0
            else:
                ridge, increased = max(ridge, self.last) / 3.0 or FIRST_RIDGE, True

    def _set_rows(self, merit: Merit | None) -> None:
        """Hands slacks and proximal rows to the program."""
        if not self._e.nc:
            return
        program, general = self.program, self._rows.general
        program.set_soft(self._rows)
        if merit is not None:
            program.set_proximal(np.where(general, 1.0 / merit.mu, 0.0), np.where(general, merit.y, 0.0))
        else:
            program.set_proximal(0.0, 0.0)

    def corrected(self, run: SQPProgress, step: QPSolution, f: Reals, c: Reals) -> QPSolution:
        """Solves again with a second-order correction, from the gaps f and rows c after the full step."""
        program, rows, before = self.program, self._rows, self._e.f.copy()
        program.set_gaps(before + f, c - step.rows, rows)
        found = self._unpacked(run, self._solved(convex=self.blend == 0.0))
        program.set_gaps(before, self._e.c, rows)
        return found

    def _solved(self, *, convex: bool) -> QPSolution:
        """Solves the program, and sets the policy's gains to those of the solution; no curvature of it is `convex`."""
        K = self._policy.K
        if self._foreign and not convex and not is_convex(self.program.qp):  # ours sees that along the dynamics
            return QPSolution.failed(self.program.qp, QPStatus.INDEFINITE)
        found = self._solver.solve()
        if found.K is None and found.status is not QPStatus.INDEFINITE:
            if not self._policy.keep(found.y, hard=False):
                K[:] = 0.0
        elif found.K is not None and found.K is not K:
            K[:] = found.K
        return found

    def _unpacked(self, run: SQPProgress, found: QPSolution) -> QPSolution:
        """The solution in terms of the problem; its arrays stay."""
        if self._bounded or self._first is not None:
            run.start_y = self.program.start_multipliers(found.y, found.lam)
        return self.program.solution(found, self._policy.K)

    def gradient(self, run: SQPProgress) -> tuple[Reals, Reals, Reals]:
        """Gradient of the Lagrangian of the scaled cost along controls (T, nu) and start, and costates (T + 1, ndx).

        After a change of one control later ones follow the gains of the last step: at an optimum that changes nothing;
        elsewhere, without them, an unstable system would multiply rounding errors by many powers of ten.
        """
        program = self.program
        along, costates = self._policy.adjoint(program.qp.lq.g, program.qp.lq.terminal_g, self._padded(run))
        controls, start = program.controls(along)
        if self._first is not None:
            start, moved = np.zeros(self._e.state.ndx), self._first.moved
            start[moved] = (costates[0] + run.start_y)[moved]
        return controls, start, costates

    def slope_of_violation(self, beyond: Reals, start: Reals) -> tuple[Reals, Reals]:
        """Gradient of ½ |v|² along controls and start, with v the violations of rows (T + 1, nc) and start (ndx,)."""
        lq, y = self.program.qp.lq, self.program.padded_rows(beyond, start)
        along, _ = self._policy.adjoint(np.zeros_like(lq.g), np.zeros_like(lq.terminal_g), y)
        return self.program.controls(along)

    def active_gains(self, run: SQPProgress) -> Reals | None:
        """Gains (T, nu, ndx) that keep the active rows of the trajectory; None if there are none.

        A row is active if its multiplier is larger than its distance from the bound, each relative to its size: of all
        others interior points leave multipliers above 0.
        """
        program, policy, y = self.program, self._policy, self._padded(run)
        distance = np.where(y > 0.0, program.qp.upper, -program.qp.lower)
        active = np.abs(y) * program.row_units(run.units) ** 2 > distance
        return program.gains(policy.K).copy() if policy.keep(np.where(active, y, 0.0), hard=True) else None

    def _padded(self, run: SQPProgress) -> Reals:
        """The last multipliers of all rows of the program."""
        return self.program.padded_rows(run.y, run.start_y)


def _solver_of(qp: StageQP, options: SQPOptions, riccati: Riccati, first: FirstState | None) -> QPSolverAbstract:
    """The solver of a program that the options name; `first` is what a program without rows chooses of its start."""
    iterations = options.qp_iterations
    if options.qp == "ipm" and qp.nc == 0:
        return Recursion(qp, riccati, first)
    if options.qp == "ipm":
        return InteriorPoint(qp, InteriorPointOptions(max_iterations=iterations) if iterations else None)
    if options.qp == "osqp":
        return Osqp(qp, **({} if iterations is None else {"max_iter": iterations}))
    return Conic(qp, options.qp)
