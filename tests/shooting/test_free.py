"""`ShootingProblem.free`: what it accepts, what its errors advise, and that other problems stay as they are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.free_problems import Pendulum, double_integrator
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.shooting import ShootingProblem


def pendulum(dt: float = 0.02) -> ShootingProblem:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), 1.0)
    costs.add("still", trajopt.ResidualModelState(state, [1.0, 0.0]), 1.0)
    rows = trajopt.CostStack(state).add("end", trajopt.ResidualModelState(state, [1.0, 0.0]), 1.0)
    return ShootingProblem([0.0, 0.0], [trajopt.IntegratedActionModelEuler(Pendulum(costs), dt=dt)] * 5, rows)


def test_free_parameter_keeps_its_value_as_the_guess() -> None:
    problem = pendulum()
    problem.free("dt", 0.01, 0.1)
    problem.free("mass", 0.5, np.inf, guess=2.0)
    problem.free("still.reference", [-1.0, 0.0], [1.0, 0.0])
    assert list(problem.unknowns) == ["dt", "mass", "still.reference"]
    assert problem.get_parameter("dt", "running") == 0.02
    assert problem.get_parameter("mass", "running") == 2.0
    assert "free: dt from 0.01 to 0.1 s, mass from 0.5 to inf kg, still.reference from" in repr(problem)
    np.testing.assert_array_equal(problem.unknowns["still.reference"].upper, [1.0, 0.0])
    freed = problem.freed()
    assert freed is not None
    whole = freed.follow()
    assert whole.state.coordinate_names[2:] == [
        f"unknown.{name}" for name in ("dt", "mass", "still.reference[0]", "still.reference[1]")
    ]
    np.testing.assert_array_equal(whole.x0, [0.0, 0.0, 0.02, 2.0, 1.0, 0.0])
    assert problem.freed() is freed


def test_problem_without_unknowns_is_what_solvers_see() -> None:
    problem = pendulum()
    assert problem.freed() is None
    assert trajopt.solvers.SolverSQP(problem).whole is problem


def test_copies_have_unknowns_of_their_own() -> None:
    problem = double_integrator()[0]
    other = copy.copy(problem)
    other.free("dt", 0.02, 0.03, guess=0.02)
    assert problem.unknowns["dt"].upper == pytest.approx(0.5)
    assert other.unknowns["dt"].upper == 0.03
    problem = unicycle()
    problem.free("dt", 0.05, 0.2)
    assert pickle.loads(pickle.dumps(problem)).unknowns["dt"].upper == 0.2


def unicycle() -> ShootingProblem:
    model = trajopt.ActionModelUnicycle(dt=0.1)
    return ShootingProblem([1.0, 0.0, 0.0], [model] * 5, model)


WRONG: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    (("dtt", 0.01, 0.1), UnknownNameError, r"'dtt' not found; did you mean 'dt'\?"),
    (("torque.weight", 0.0, 1.0), InvalidArgumentError, r"weights and bounds say what is wanted.*free a time step"),
    (("dt", 0.1, 0.01), InvalidArgumentError, r"lower <= upper for dt, got 0.1 and 0.01; swap the two"),
    (("dt", 0.0, 0.1), InvalidArgumentError, r"time step > 0 \[s\], got 0.0.*write for example lower=1e-3"),
    (("dt", -np.inf, 0.1), InvalidArgumentError, r"time step > 0 \[s\]"),
    (("mass", 2.0, 3.0), InvalidArgumentError, r"mass from 2 to 3 kg, got \[1\]; widen them, or pass guess"),
    (("mass", 0.5, 3.0, 4.0), InvalidArgumentError, r"got \[4\]; widen them"),
    (("mass", [0.5, 0.6], 3.0), InvalidArgumentError, r"lower: expected one number or shape \(\)"),
    (("mass", np.nan, 3.0), InvalidArgumentError, r"lower: expected one number"),
    (("mass", "light", 3.0), InvalidArgumentError, r"lower: expected one number"),
    (("dt", 0.01, 0.1, -1.0), InvalidArgumentError, r"guess: expected a number > 0 \[s\]"),
]


@pytest.mark.parametrize(("arguments", "error", "words"), WRONG)
def test_errors_name_the_cure(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    problem = pendulum()
    with pytest.raises(error, match=words):
        problem.free(*arguments)
    assert problem.unknowns == {}


def test_values_that_differ_between_knots_need_a_guess() -> None:
    problem = pendulum()
    problem.set_parameter("mass", [1.0, 1.0, 1.0, 1.0, 2.0], knots="running")
    with pytest.raises(InvalidArgumentError, match=r"one value of mass for all knots, .* pass guess="):
        problem.free("mass", 0.5, 3.0)
    problem.free("mass", 0.5, 3.0, guess=1.5)
    assert problem.get_parameter("mass") == 1.5


def test_parameter_that_nothing_reads() -> None:
    class Idle(Pendulum):
        def __init__(self, costs: trajopt.CostStack) -> None:
            super().__init__(costs)
            self.colour = self.parameter("colour", 1.0)

    problem = ShootingProblem(
        [0.0, 0.0],
        [trajopt.IntegratedActionModelEuler(Idle(trajopt.CostStack(trajopt.StateVector(2))))],
        pendulum().terminal,
    )
    with pytest.raises(InvalidArgumentError, match=r"'colour', which no dynamics, cost or constraint"):
        problem.free("colour", 0.0, 1.0)


def test_bounds_of_constraints_and_rotations_cannot_be_free() -> None:
    problem = double_integrator()[0]
    with pytest.raises(InvalidArgumentError, match="weights and bounds say what is wanted"):
        problem.free("limit.upper", 0.0, 1.0)
    arm = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    costs = trajopt.CostStack(arm).add("tool", trajopt.ResidualModelFramePlacement(arm, "tool", np.eye(4)), 1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(arm, trajopt.ActuationModelFull(arm), costs)
    problem = ShootingProblem(arm.zero(), [trajopt.IntegratedActionModelEuler(model, 0.01)], costs)
    with pytest.raises(InvalidArgumentError, match="independent elements, got 'tool.reference'"):
        problem.free("tool.reference", -1.0, 1.0)
