"""`ShootingProblem.free`: what it accepts, what its errors advise, and that other problems stay as they are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.free_problems import Pendulum, double_integrator
from tests.support.model_list import ACTIONS
from trajopt import problems
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


def test_quantity_that_the_robot_does_not_declare() -> None:
    problem, robot = problems.load("arm-reach", "planar-2r").problem, trajopt.load_robot("planar-2r")
    for name in ("robot.link_1.mass", "link_1.mass"):
        with pytest.raises(UnknownNameError, match=r"with_parameters\('link_1.mass'\), then it is 'robot.link_1.mass'"):
            problem.free(name, 0.5, 2.0)
    with pytest.raises(UnknownNameError, match="Known: dt"):
        problem.free("robot.link_9.mass", 0.5, 2.0)
    problem = problems.load("arm-reach", robot.with_parameters("link_1.mass")).problem
    problem.free("robot.link_1.mass", 0.5, 2.0, guess=1.0)
    for lower in (-1.0, 0.0):
        with pytest.raises(InvalidArgumentError, match="lower: expected a number > 0, got"):
            problem.free("robot.link_1.mass", lower, 2.0)


def test_switch_of_a_contact_cannot_be_free() -> None:
    model = ACTIONS["euler-contact-hopper"]()
    problem = ShootingProblem(model.state.zero(), [model] * 2, trajopt.CostStack(model.state))
    (name,) = (each for each in problem.parameters if each.endswith(".active"))
    with pytest.raises(InvalidArgumentError, match=r"foot.active', which is 0 or 1; free the time steps.*FreeTime"):
        problem.free(name, 0.0, 1.0)


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


def test_phases_have_values_of_their_own() -> None:
    problem = pendulum()
    problem.free("dt", 0.01, [0.1, 0.2], knots=[range(2), [2, 3, 4]], guess=[0.02, 0.15])
    np.testing.assert_array_equal(problem.get_parameter("dt", "running"), [0.02, 0.02, 0.15, 0.15, 0.15])
    np.testing.assert_array_equal(problem.unknowns["dt"].upper, [0.1, 0.2])
    assert problem.unknowns["dt"].phases == ((0, 1), (2, 3, 4))
    assert repr(problem.unknowns["dt"]) == "dt from [0.01 0.01] to [0.1 0.2] s at knots 0..1 and knots 2..4"
    problem.free("still.reference", -1.0, 2.0, knots=[slice(0, 3), [4]])
    problem.free("mass", 0.5, 2.0, knots=range(1, 4), guess=1.5)
    np.testing.assert_array_equal(problem.get_parameter("mass"), [1.0, 1.5, 1.5, 1.5, 1.0])
    assert problem.unknowns["mass"].shape == ()
    freed = problem.freed()
    assert freed is not None
    names = freed.whole.state.coordinate_names[2:]
    labels = ["dt[0]", "dt[1]", *(f"still.reference[{i}]" for i in ("0, 0", "1, 0", "0, 1", "1, 1")), "mass"]
    assert names == [f"unknown.{name}" for name in labels]
    np.testing.assert_array_equal(freed.follow().x0[2:], [0.02, 0.15, 1.0, 1.0, 0.0, 0.0, 1.5])
    values = freed.parameters_at(np.arange(1.0, 8.0))
    np.testing.assert_array_equal(values["dt"][:5], [1.0, 1.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(values["mass"], [1.0, 7.0, 7.0, 7.0, 1.0])
    np.testing.assert_array_equal(values["still.reference"][:, 0], [3.0, 3.0, 3.0, 1.0, 4.0])
    np.testing.assert_array_equal(values["still.reference"][:, 1], [5.0, 5.0, 5.0, 0.0, 6.0])
    assert pickle.loads(pickle.dumps(problem.unknowns["dt"])).phases == ((0, 1), (2, 3, 4))


def test_programs_depend_on_the_number_of_phases_only() -> None:
    problem = pendulum()
    problem.free("dt", 0.01, 0.1, knots=[range(2), range(2, 5)])
    first = problem.freed()
    problem.free("dt", 0.02, 0.2, knots=[range(1), range(3, 5)])
    second = problem.freed()
    assert first is not None
    assert second is not None
    assert first.whole.running[0] is second.whole.running[0]


WRONG_PHASES: list[tuple[dict[str, Any], str]] = [
    ({"knots": [range(3), range(2, 5)]}, r"knots\[1\]: .*knot 2 in phases 0 and 1; end phase 0 before it"),
    ({"knots": [range(3), range(3, 3)]}, r"knots\[1\]: expected one or more knots, got range\(3, 3\).*leave the phase"),
    ({"knots": []}, r"knots: expected one or more knots, got \[\]"),
    ({"knots": [range(3), [5]]}, r"dt does not exist at knot 5; it exists at knots 0..4"),
    ({"knots": [range(3), [9]]}, r"numbers from 0 to 5"),
    ({"knots": range(3), "lower": [0.01, 0.02]}, r"lower: expected one number or shape \(\), ±inf"),
    ({"knots": [range(3), [3]], "lower": [0.01] * 3}, r"lower: expected one number or shape \(\) or \(2,\)"),
    ({"knots": [range(3), [3]], "upper": [0.1, 0.001]}, r"lower <= upper for dt.*swap the two"),
    ({"knots": [range(3), [3]], "lower": [0.01, 0.0]}, r"time step > 0 \[s\].*could stand still"),
    ({"knots": [range(3), [3]], "guess": [0.02, 0.5]}, r"within the bounds.*got \[0.5\]; widen"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG_PHASES)
def test_errors_about_phases_name_the_cure(arguments: dict[str, Any], words: str) -> None:
    problem = pendulum()
    with pytest.raises(InvalidArgumentError, match=words):
        problem.free("dt", **({"lower": 0.01, "upper": 0.1} | arguments))
    assert problem.unknowns == {}
    assert problem.get_parameter("dt", "running") == 0.02


def test_phase_whose_values_differ_needs_a_guess() -> None:
    problem = pendulum()
    problem.set_parameter("dt", [0.02, 0.02, 0.03, 0.03, 0.04], knots="running")
    with pytest.raises(InvalidArgumentError, match=r"one value of dt for knots 2..4, .* pass guess="):
        problem.free("dt", 0.01, 0.1, knots=[range(2), range(2, 5)])
    problem.free("dt", 0.01, 0.1, knots=[range(2), range(2, 4)])
    freed = problem.freed()
    assert freed is not None
    np.testing.assert_array_equal(freed.guess(), [0.02, 0.03])
