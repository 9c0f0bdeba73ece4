"""Black boxes with constraints: rows and derivatives of compiled models, limits that hold, bounds at run time."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.contact_models import constrained_hopper
from tests.support.numpy_models import UnicycleNumpy
from trajopt.actions import ActionData, ActionModelAbstract
from trajopt.errors import ImmutableError, InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial
from trajopt.solvers import SolverFDDP, SolverIpopt, SolverSQP, SQPOptions

T = 20
COMPILED = trajopt.ActionModelUnicycle()
STATE = COMPILED.state


def limits() -> trajopt.ConstraintStack:
    """Speeds, a curved wall, and a row of both."""
    stack = trajopt.ConstraintStack(STATE).add("speeds", trajopt.ResidualModelControl(STATE), lower=-2.0, upper=2.0)
    wall = trajopt.ResidualModelSymbolic(STATE, lambda x: x[1] - 0.5 * x[0] - 0.1 * ca.sin(x[0]))
    stack.add("wall", wall, upper=0.1)
    return stack.add("both", trajopt.ResidualModelSymbolic(STATE, lambda x, u: u[0] * ca.cos(x[2])), upper=3.0)


def problem(make: Any) -> ShootingProblem:
    goal = trajopt.ConstraintStack(STATE).add("goal", trajopt.ResidualModelState(STATE), lower=-0.1, upper=0.1)
    return ShootingProblem([-1.0, -0.6, 0.3], [make(limits())] * T, make(goal))


def boxed(constraints: trajopt.ConstraintStack) -> UnicycleNumpy:
    return UnicycleNumpy(STATE, constraints=constraints)


def compiled(constraints: trajopt.ConstraintStack) -> trajopt.ActionModelUnicycle:
    return trajopt.ActionModelUnicycle(constraints=constraints)


def mixed(constraints: trajopt.ConstraintStack) -> ShootingProblem:
    """Compiled models with a black box in between, whose row comes alone."""
    alone = trajopt.ConstraintStack(STATE).add("speeds", trajopt.ResidualModelControl(STATE), lower=-2.0, upper=2.0)
    knots = [compiled(constraints)] * T
    knots[3] = boxed(alone)
    return ShootingProblem([-1.0, -1.0, 1.0], knots, trajopt.CostStack(STATE))


def trajectory() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(T + 1, 3)), rng.normal(size=(T, 2))


def test_rows_and_derivatives_are_those_of_a_compiled_model() -> None:
    box, twin = problem(boxed), problem(compiled)
    for each in (box, twin):
        each.set_parameter("speeds.upper", [1.0, np.inf], knots=3)
    one, other = (each.calc_diff(*trajectory()) for each in (box, twin))
    for field in ("rows", "lower", "upper", "Cx", "Cu"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=0, atol=1e-14, err_msg=field)
    assert np.abs(one.Cx[:T]).max() > 0.1
    np.testing.assert_array_equal(one.upper[3, :2], [1.0, np.inf])


def test_rows_of_rollouts() -> None:
    box = problem(boxed)
    e = Evaluator(box)
    e.xs[:], e.us[:], e.k[:] = 0.1, 0.2, -1.0
    trials = e.trials(8)
    trials.roll_out(box.x0, [1.0, 0.5], None)
    for lane in range(2):
        expected = box.calc(trials.xs[lane], trials.us[lane]).rows
        np.testing.assert_allclose(trials.c[lane], expected, rtol=0, atol=1e-14)


def test_rows_of_linear_trials() -> None:
    box, twin = problem(boxed), problem(compiled)
    found = []
    for each in (box, twin):
        e = Evaluator(each)
        e.xs[:], e.us[:] = trajectory()
        trial, rng = LinearTrial(e), np.random.default_rng(1)
        trial.dx[:], trial.du[:] = rng.normal(size=(T + 1, 3)), rng.normal(size=(T, 2))
        trial.go(0.5)
        np.testing.assert_allclose(trial.c, each.calc(trial.xs, trial.us).rows, rtol=0, atol=1e-14)
        found.append(trial.c.copy())
    np.testing.assert_allclose(*found, rtol=0, atol=1e-14)


def test_a_black_box_among_compiled_knots() -> None:
    one, (xs, us) = mixed(limits()), trajectory()
    d = one.calc_diff(xs, us)
    np.testing.assert_array_equal(d.rows[3], [*us[3], 0.0, 0.0])
    np.testing.assert_array_equal(d.Cu[3], [[1, 0], [0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(np.isfinite(d.upper[3]), [True, True, False, False])


@pytest.mark.parametrize("make", [boxed, compiled])
def test_limits_hold(make: Any) -> None:
    """With speeds at their limits, along the wall, and near the goal; IPOPT knows only the compiled model."""
    options = SQPOptions(tolerance=1e-4, relative_tolerance=1e-5)  # black boxes are Gauss-Newton
    solution = SolverSQP(problem(make), options).solve()
    assert solution.converged
    found = solution.violations()
    assert set(found) == {"speeds", "wall", "both", "goal"}
    assert max(float(v[1:].max()) for v in found.values()) < 1e-6
    assert np.abs(solution.us).max() > 2.0 - 1e-6
    assert np.all(np.abs(solution.us) <= 2.0 + 1e-12)
    best = SolverIpopt(problem(compiled)).solve(solution.xs, solution.us)
    assert solution.cost == pytest.approx(best.cost, rel=1e-5)


def test_bounds_are_run_time_parameters() -> None:
    box = problem(boxed)
    assert set(box.parameters) == set(problem(compiled).parameters) - {"dt", "weights"}
    solver = SolverSQP(box, SQPOptions(max_iterations=3))
    box.set_parameter("speeds.upper", [1.0, 1.5], knots="running")
    assert np.all(solver.solve().us <= np.array([1.0, 1.5]) + 1e-12)


def test_differences_keep_constraints() -> None:
    model = compiled(limits())
    differences = trajopt.ActionModelNumDiff(model)
    assert differences.constraints is model.constraints
    one, other = (
        ShootingProblem([0.0, 0.0, 0.3], [each] * T, trajopt.CostStack(STATE)).calc_diff(*trajectory())
        for each in (model, differences)
    )
    np.testing.assert_allclose(one.Cx, other.Cx, rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.Fx, other.Fx, rtol=0, atol=1e-8)


class Silent(ActionModelAbstract):
    """A black box that takes constraints of forces."""

    def __init__(self, constraints: trajopt.ConstraintStack) -> None:
        super().__init__(constraints.state, 2, constraints=constraints)

    def calc(self, data: ActionData, x: Any, u: Any = None) -> None:
        data.cost = 0.0


def test_unsupported_constraints_of_black_boxes_are_refused() -> None:
    with pytest.raises(
        InvalidArgumentError, match="constraint 'inside': foot: expected a cost with contact forces, got one without"
    ):
        Silent(constrained_hopper().constraints)
    with pytest.raises(InvalidArgumentError, match="terminal: constraints speeds, both depend on a control"):
        ShootingProblem(np.zeros(3), [boxed(limits())], boxed(limits()))
    with pytest.raises(
        InvalidArgumentError, match="SolverFDDP can't enforce constraints, .*: speeds, wall, both, goal"
    ):
        SolverFDDP(problem(boxed))
    three = trajopt.ConstraintStack(STATE).add("speeds", trajopt.ResidualModelControl(STATE), upper=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidArgumentError, match="constraint 'speeds': upper: expected a number or 2 numbers"):
        boxed(three)
    with pytest.raises(ImmutableError, match="constraints"):
        boxed(limits()).constraints = limits()
