"""DDP and FDDP undo steps to where derivatives are not finite, as SolverSQP shortens them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.errors import ModelEvaluationError
from trajopt.solvers import SolverAbstract, SolverBoxDDP, SolverBoxFDDP, SolverDDP, SolverFDDP, SolverSQP

SOLVERS = [SolverDDP, SolverFDDP, SolverBoxDDP, SolverBoxFDDP]


class _Moved(trajopt.DifferentialActionModelSymbolic):
    def xdot(self, x: SX, u: SX) -> SX:
        return u


def _problem() -> trajopt.ShootingProblem:
    """A step from 1.5 to about 0.3. The first one overshoots 0, beyond which the derivative of a root is no number.

    ½ √x² is x / 2 to a compiler, so that the cost is a number there, and lower.
    """
    state = trajopt.StateVector(1)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=0.01)
    goal = trajopt.ResidualModelSymbolic(state, lambda x: ca.atan(3.0 * (x - 0.3)))
    end = trajopt.CostStack(state).add("goal", goal, weight=1.0)
    end.add("root", trajopt.ResidualModelSymbolic(state, lambda x: ca.sqrt(x)), weight=0.1)
    return trajopt.ShootingProblem([1.5], [trajopt.IntegratedActionModelEuler(_Moved(state, 1, effort), 1.0)], end)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_step_to_where_derivatives_are_not_finite_is_undone(solver: type[SolverAbstract]) -> None:
    reference = SolverSQP(_problem()).solve()
    solution = solver(_problem()).solve()
    assert reference.converged
    assert solution.converged
    assert solution.iterations < 20
    np.testing.assert_allclose(solution.xs, reference.xs, atol=1e-6)


def test_rows_of_batches_do_the_same() -> None:
    solutions = SolverDDP(_problem()).solve_batch(x0=np.array([[1.5], [1.4], [0.5]]))
    assert solutions.converged.all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_guess_without_derivatives_is_refused(solver: type[SolverAbstract]) -> None:
    with pytest.raises(ModelEvaluationError, match="knot 1: ActionModelTerminal gives a terminal"):
        solver(_problem()).solve([[1.5], [-1.0]])
