"""The solver of the quadratic programs, by name, with the gains and costates that go with its solution."""

from __future__ import annotations

from trajopt.solvers.qp import Conic, InteriorPoint, InteriorPointOptions, Osqp, QPSolution, QPStatus, StageQP
from trajopt.solvers.qp.recursion import FirstState, Recursion
from trajopt.solvers.qp.sparse import is_convex
from trajopt.solvers.sqp.feedback import Policy


class InnerSolver:
    """Solver of the quadratic program of an SQP step, with feedback gains for the solution.

    Args:
        qp: The program.
        name: "ipm", "osqp", or a solver that comes with CasADi.
        iterations: Largest number of its iterations; its default if None.
        first: What a program without rows chooses of the first state; nothing by default.

    Attributes:
        policy: The policy of the last solution.
    """

    def __init__(self, qp: StageQP, name: str, iterations: int | None, first: FirstState | None = None) -> None:
        self._qp, self._foreign, self.policy = qp, name != "ipm", Policy(qp)
        self._solver: InteriorPoint | Recursion | Osqp | Conic
        if name == "ipm" and qp.nc == 0:
            self._solver = Recursion(qp, self.policy.riccati, first)
        elif name == "ipm":
            self._solver = InteriorPoint(qp, InteriorPointOptions(max_iterations=iterations) if iterations else None)
        elif name == "osqp":
            self._solver = Osqp(qp, **({} if iterations is None else {"max_iter": iterations}))
        else:
            self._solver = Conic(qp, name)

    def solve(self, *, convex: bool) -> QPSolution:
        """Solves the program with the current content of its arrays, and sets the policy's gains to the solution's.

        Args:
            convex: Whether the Hessian is known to have no negative curvature.
        """
        K = self.policy.K
        if self._foreign and not convex and not is_convex(self._qp):  # ours sees that along the dynamics
            return QPSolution.failed(self._qp, QPStatus.INDEFINITE)
        found = self._solver.solve()
        if found.K is None and found.status is not QPStatus.INDEFINITE:
            if not self.policy.keep(found.y, hard=False):
                K[:] = 0.0
        elif found.K is not None and found.K is not K:
            K[:] = found.K
        return found
