"""Run-time parameters of a problem: names, shapes, units, values by knot; setting one compiles nothing."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import TIP, Pendulum, reference_of, state_of
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.kernels import compilations
from trajopt.shooting import cost_terms
from trajopt.shooting.inspection import with_values

Reals = npt.NDArray[np.float64]
T = 5


def arm_problem() -> trajopt.ShootingProblem:
    """A planar arm; "goal" is a placement at running knots and at the end, "x_reg" only at running knots."""
    state = state_of("planar-2r")
    goal = trajopt.ResidualModelFramePlacement(state, "tool", pin.SE3.Identity())
    running = trajopt.CostStack(state).add("goal", goal, 1.0)
    running.add("x_reg", trajopt.ResidualModelState(state), 0.1, trajopt.ActivationModelWeightedQuad([1, 2, 3, 4]))
    running.add("turn", trajopt.ResidualModelFrameRotation(state, "tool", np.eye(3)), 0.1)
    running.add("speed", trajopt.ResidualModelFrameVelocity(state, "tool"), 0.1)
    bounds = trajopt.ActivationModelQuadraticBarrier([-1, -np.inf, -1, -1], [1, 1, np.inf, 1])
    running.add("limits", trajopt.ResidualModelState(state), 2.0, bounds)
    running.add("u_reg", trajopt.ResidualModelControl(state), 1e-3)
    terminal = trajopt.CostStack(state).add("goal", goal, 100.0)
    differential = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    node = trajopt.IntegratedActionModelEuler(differential, dt=0.01)
    return trajopt.ShootingProblem(reference_of("planar-2r"), [node] * T, terminal)


def trajectory(problem: trajopt.ShootingProblem) -> tuple[Reals, Reals]:
    rng = np.random.default_rng(0)
    return np.array([problem.state.rand(rng) for _ in range(problem.T + 1)]), rng.normal(size=(problem.T, problem.nu))


def test_names_shapes_units_and_knots() -> None:
    infos = arm_problem().parameters
    running, everywhere = tuple(range(T)), tuple(range(T + 1))
    expected: dict[str, tuple[Any, ...]] = {
        "dt": ((), "s", running),
        "goal.weight": ((), "cost / unit²", everywhere),
        "goal.reference": ((3, 4), "-, m", everywhere),
        "x_reg.reference": ((4,), "rad, rad/s", running),
        "x_reg.weights": ((4,), "-", running),
        "turn.reference": ((3, 3), "-", running),
        "speed.reference": ((6,), "m/s, rad/s", running),
        "limits.lower": ((4,), "unit of the residual", running),
        "u_reg.reference": ((2,), "N m, N", running),
    }
    for name, (shape, unit, knots) in expected.items():
        assert (infos[name].shape, infos[name].unit, infos[name].knots) == (shape, unit, knots), name
    assert repr(infos["goal.reference"]) == "ParameterInfo('goal.reference', shape=(3, 4), unit='-, m', knots 0..5)"


@pytest.mark.parametrize(
    ("knots", "numbers"),
    [
        (2, [2]),
        (-1, [5]),
        (-2, [4]),
        (np.int64(3), [3]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2, 4]),
        (slice(-2, None), [4, 5]),
        (range(3, 5), [3, 4]),
        ([0, 4], [0, 4]),
        ((1,), [1]),
        (np.array([1, 2]), [1, 2]),
        ({5}, [5]),
        ("running", [0, 1, 2, 3, 4]),
        ("terminal", [5]),
        ("all", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_knots(knots: Any, numbers: list[int]) -> None:
    problem = arm_problem()
    problem.set_parameter("goal.weight", 7.0, knots=knots)
    changed = [t for t in range(T + 1) if problem.get_parameter("goal.weight", t) == 7.0]
    assert changed == numbers
    assert problem.get_parameter("goal.weight", knots) == 7.0


@pytest.mark.parametrize(
    ("knots", "error", "message"),
    [
        (6, InvalidArgumentError, r"knots: expected numbers from 0 to 5 \(the terminal, also -1\), .*, got 6"),
        (-7, InvalidArgumentError, "knots: expected numbers .* got -7"),
        (1.0, InvalidArgumentError, "knots: expected numbers .* got 1.0"),
        ([3, 1, 3], InvalidArgumentError, "knots: expected each knot once, got 3 twice"),
        ([-1, 5], InvalidArgumentError, "knots: expected each knot once, got 5 twice"),
        (True, InvalidArgumentError, "knots: expected numbers .* got True"),
        ([1, 2.5], InvalidArgumentError, "knots: expected numbers .* got 2.5"),
        ([], InvalidArgumentError, r"knots: goal.weight does not exist at any of \[\]; it exists at knots 0..5"),
        (slice(3, 3), InvalidArgumentError, "goal.weight does not exist at any of slice"),
        ("runing", UnknownNameError, "knots: 'runing' not found; did you mean 'running'"),
    ],
)
def test_knots_that_are_refused(knots: Any, error: type[Exception], message: str) -> None:
    problem = arm_problem()
    for call in (
        lambda: problem.set_parameter("goal.weight", 1.0, knots),
        lambda: problem.get_parameter("goal.weight", knots),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_parameter_that_only_some_knots_have() -> None:
    problem = arm_problem()
    problem.set_parameter("dt", 0.02)  # no knots: the terminal has none
    assert problem.get_parameter("dt") == 0.02
    problem.set_parameter("dt", 0.03, "all")  # those that have it
    assert problem.get_parameter("dt", "running") == 0.03
    for knots, where in ((5, "knot 5"), ([0, 5], "knot 5"), ("terminal", "any of 'terminal'")):
        with pytest.raises(InvalidArgumentError, match=f"knots: dt does not exist at {where}; it exists at knots 0..4"):
            problem.set_parameter("dt", 0.02, knots)


def test_a_value_that_differs_at_the_end_needs_knots() -> None:
    problem = arm_problem()
    message = "goal.weight differs between running and terminal knots .1 at knot 0, 100 at the end.*knots='running'"
    with pytest.raises(InvalidArgumentError, match=message):
        problem.set_parameter("goal.weight", 2.0)
    problem.set_parameter("goal.weight", 2.0, "running")
    assert list(problem.get_parameter("goal.weight")) == [2, 2, 2, 2, 2, 100]
    problem.set_parameter("goal.weight", 3.0, "all")
    assert problem.get_parameter("goal.weight") == 3.0
    problem.set_parameter("goal.weight", 4.0)  # now it does not differ
    assert problem.get_parameter("goal.weight") == 4.0
    problem.set_parameter("goal.reference", np.eye(4))
    problem.set_parameter("goal.weight", 5.0, knots=2)
    with pytest.raises(InvalidArgumentError, match="5 at knot 2, 4 at the end"):
        problem.set_parameter("goal.weight", 1.0)


PLACE = pin.SE3(pin.exp3(np.array([0.1, 0.2, 0.3])), np.array([1.0, 2.0, 3.0]))
TURN = pin.Quaternion(PLACE.rotation)


@pytest.mark.parametrize(
    "value", [PLACE, PLACE.homogeneous, PLACE.homogeneous[:3], np.r_[PLACE.translation, TURN.coeffs()]]
)
def test_a_placement_in_every_form(value: Any) -> None:
    problem = arm_problem()
    problem.set_parameter("goal.reference", value)
    found = problem.get_parameter("goal.reference")
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found, PLACE.homogeneous[:3], atol=1e-15)
    problem.set_parameter("goal.reference", [value, pin.SE3.Identity()], knots=[1, 3])
    problem.set_parameter("goal.reference", np.eye(4), knots=5)
    np.testing.assert_allclose(problem.get_parameter("goal.reference", 1), PLACE.homogeneous[:3], atol=1e-15)
    np.testing.assert_array_equal(problem.get_parameter("goal.reference", 3), np.eye(4)[:3])
    assert problem.get_parameter("goal.reference").shape == (T + 1, 3, 4)


def test_rotations_and_twists_in_every_form() -> None:
    problem = arm_problem()
    for value in (PLACE.rotation, TURN, TURN.coeffs(), list(TURN.coeffs())):
        problem.set_parameter("turn.reference", value)
        np.testing.assert_allclose(problem.get_parameter("turn.reference"), PLACE.rotation, atol=1e-15)
    problem.set_parameter("speed.reference", pin.Motion(np.arange(6.0)))
    np.testing.assert_array_equal(problem.get_parameter("speed.reference"), np.arange(6.0))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("goal.reference", [PLACE * pin.SE3(np.eye(3), np.array([t, 0.0, 0.0])) for t in range(T + 1)]),
        ("goal.reference", np.array([pin.SE3(np.eye(3), np.array([t, 0.0, 0.0])).homogeneous for t in range(T + 1)])),
        ("goal.reference", [[t, 0, 0, 0, 0, 0, 1] for t in range(T + 1)]),
        ("goal.reference", np.array([[t, 0, 0, 0, 0, 0, 1] for t in range(T + 1)])),
        ("turn.reference", [pin.exp3(np.array([t, 0, 0.0])) for t in range(T)]),
        ("turn.reference", [pin.Quaternion(pin.exp3(np.array([t, 0, 0.0]))) for t in range(T)]),
        ("turn.reference", [[0, 0, 0, 1]] * T),
        ("x_reg.reference", np.arange(4.0 * T).reshape(T, 4)),
        ("x_reg.reference", [list(range(t, t + 4)) for t in range(T)]),
        ("x_reg.weights", np.arange(4.0 * T).reshape(T, 4)),
        ("speed.reference", [pin.Motion(t * np.ones(6)) for t in range(T)]),
        ("limits.lower", np.full((T, 4), -np.inf)),
        ("u_reg.reference", np.arange(2.0 * T).reshape(T, 2)),
        ("u_reg.weight", np.arange(1.0, T + 1)),
        ("u_reg.weight", [1, 2, 3, 4, 5]),
        ("u_reg.weight", tuple(range(T))),
        ("dt", 0.01 * np.arange(1, T + 1)),
    ],
)
def test_values_of_several_knots_can_be_set_at_once(name: str, values: Any) -> None:
    """The same as setting them one by one."""
    problem, expected = arm_problem(), arm_problem()
    problem.set_parameter(name, values, "all")
    for t, value in enumerate(values):
        expected.set_parameter(name, value, t)
    found = problem.get_parameter(name, range(len(values)))
    for t, row in zip(problem.parameters[name].knots, problem.parameter_values()[name], strict=True):
        np.testing.assert_array_equal(row, problem.get_parameter(name, t))
    np.testing.assert_array_equal(found, expected.get_parameter(name, range(len(values))))
    with pytest.raises(
        InvalidArgumentError, match=f"one value of {name}, or one for each of 2 knots, got {len(values)} values"
    ):
        problem.set_parameter(name, values, [1, 2])


def test_one_value_too_many_says_that_the_end_has_its_own_model() -> None:
    problem = arm_problem()
    with pytest.raises(InvalidArgumentError, match=rf"got {T + 1} values; .* exists at the running knots 0..4 only"):
        problem.set_parameter("u_reg.weight", np.arange(1.0, T + 2))
    with pytest.raises(InvalidArgumentError, match=rf"got {T + 2} values$"):
        problem.set_parameter("u_reg.weight", np.arange(1.0, T + 3))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("goal.weight", -1.0, "goal.weight: expected a number >= 0, got -1"),
        ("goal.weight", np.nan, "goal.weight: expected a finite number"),
        ("dt", 0.0, r"dt: expected a number > 0 \[s\], got 0"),
        ("goal.reference", np.eye(3), r"goal.reference: expected a pinocchio.SE3, .* got ndarray of shape \(3, 3\)"),
        ("goal.reference", [0, 0, 0, 1, 1, 1, 1], "quaternion xyzw of norm 1, got norm 2; divide"),
        ("goal.reference", 2 * np.eye(4), "goal.reference: expected a rotation matrix"),
        ("goal.reference", np.eye(4) + np.eye(4, k=-3), r"matrix \(4, 4\) with the last row .*; its position"),
        ("goal.reference", np.full((4, 4), np.nan), "goal.reference: expected finite numbers"),
        ("turn.reference", -np.eye(3), "turn.reference: expected a rotation matrix"),
        ("x_reg.reference", np.zeros(3), r"x_reg.reference: expected shape \(4,\), got \(3,\); a state of"),
        ("x_reg.weights", [1, 2, 3, -4], "x_reg.weights: expected weights >= 0, got -4"),
        ("x_reg.weights", 1.0, r"x_reg.weights: expected shape \(4,\), got \(\)"),
        ("limits.lower", [np.nan] * 4, r"limits.lower: expected 4 bounds, with ±inf for no bound, got \[nan"),
        ("u_reg.reference", [np.inf, 0], "u_reg.reference: expected finite numbers, got inf"),
        ("u_reg.weight", [1, 2, 3, 4, -5], "u_reg.weight at knot 4: expected a number >= 0, got -5"),
    ],
)
def test_values_that_are_refused_change_nothing(name: str, value: Any, message: str) -> None:
    problem = arm_problem()
    before = problem.parameter_values()
    with pytest.raises(InvalidArgumentError, match=message):
        problem.set_parameter(name, value, "all")
    for key, rows in problem.parameter_values().items():
        np.testing.assert_array_equal(rows, before[key])


def test_unknown_names_list_those_that_are_known() -> None:
    problem = arm_problem()
    for call in (lambda: problem.set_parameter("goal.wight", 1.0), lambda: problem.get_parameter("goal.wight")):
        with pytest.raises(
            UnknownNameError, match="parameter 'goal.wight' not found; did you mean 'goal.weight'.*u_reg.weight"
        ):
            call()


def test_values_reach_the_costs_of_their_knots_and_nothing_is_compiled() -> None:
    """Against the same problem built with these values as its first ones."""
    problem = arm_problem()
    xs, us = trajectory(problem)
    problem.calc_diff(xs, us)
    before = compilations()
    problem.set_parameter("goal.reference", PLACE)
    problem.set_parameter("goal.weight", 3.0, 2)
    problem.set_parameter("u_reg.weight", np.arange(T))
    problem.set_parameter("limits.upper", np.full(4, np.inf))
    problem.set_parameter("dt", 0.5, 4)
    d = problem.calc_diff(xs, us)
    terms = cost_terms(problem, xs, us)
    assert compilations() == before
    data, model = problem.state.model.createData(), problem.state.model
    for t in range(T + 1):
        pin.framesForwardKinematics(model, data, xs[t, :2])
        error = pin.log6(PLACE.actInv(data.oMf[model.getFrameId(TIP["planar-2r"])])).vector
        weight = {2: 3.0 * 0.01, 4: 0.5, 5: 100.0}.get(t, 0.01)
        assert terms["goal"][t] == pytest.approx(0.5 * weight * error @ error, rel=1e-12)
    np.testing.assert_allclose(
        terms["u_reg"][:T], 0.5 * np.array([0, 0.01, 0.02, 0.03, 2]) * (us**2).sum(axis=1), rtol=1e-12
    )
    np.testing.assert_allclose(np.nansum(list(terms.values()), axis=0), d.costs, rtol=1e-12)
    assert d.Luu[3][0, 0] == pytest.approx(0.03)
    np.testing.assert_allclose(problem.times, [0, 0.01, 0.02, 0.03, 0.04, 0.54])


def test_an_array_of_no_dimension_is_one_value() -> None:
    problem = arm_problem()
    with pytest.raises(InvalidArgumentError, match=r"goal.reference"):
        problem.set_parameter("goal.reference", np.array(1.0))
    problem.set_parameter("goal.weight", np.array(2.0), "all")
    np.testing.assert_array_equal(problem.parameter_values()["goal.weight"], np.full(T + 1, 2.0))


def test_values_survive_pickling() -> None:
    problem = arm_problem()
    problem.set_parameter("goal.reference", [PLACE] * T, "running")
    problem.set_parameter("goal.weight", 9.0, [1, 5])
    problem.x0 = np.array([0.1, 0.2, 0.3, 0.4])
    again = pickle.loads(pickle.dumps(problem))
    for name, rows in problem.parameter_values().items():
        np.testing.assert_array_equal(again.parameter_values()[name], rows)
    np.testing.assert_array_equal(again.x0, problem.x0)
    assert len({id(model) for model in again.running}) == 1  # knots still share their model
    xs, us = trajectory(problem)
    assert again.calc(xs, us).cost == problem.calc(xs, us).cost


def test_earlier_values_return_knot_by_knot() -> None:
    """Of a placement, whose scalars are stored column by column; knots without a row keep their values."""
    problem = arm_problem()
    before = problem.parameter_values()["goal.reference"]
    places = np.array([PLACE.homogeneous[:3]] * 3) + 0.1 * np.arange(3)[:, None, None]
    with with_values(problem, {"goal.reference": places}, problem.x0):
        np.testing.assert_array_equal(problem.parameter_values()["goal.reference"], [*places, *before[3:]])


def test_values_of_one_name_and_different_shapes() -> None:
    """Knots with different numbers of controls, and an end whose "goal" is something else."""
    state = state_of("planar-2r")
    goal = trajopt.ResidualModelFramePlacement(state, "tool", PLACE)

    def node(matrix: Any) -> trajopt.ActionModelAbstract:
        stack = trajopt.CostStack(state).add("u_reg", trajopt.ResidualModelControl(state), 1.0).add("goal", goal, 1.0)
        actuation = trajopt.ActuationModelMatrix(state, matrix)
        return trajopt.IntegratedActionModelEuler(
            trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, stack), dt=0.1
        )

    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", [1, 2, 3]), 1.0)
    problem = trajopt.ShootingProblem(state.zero(), [node(np.eye(2)), node([[1.0], [0.0]])], end)
    assert problem.parameters["u_reg.reference"].shape is None
    assert problem.parameters["goal.reference"].unit == "-, m or m"
    assert problem.get_parameter("u_reg.reference", 1).shape == (1,)
    with pytest.raises(InvalidArgumentError, match=r"shape \(2,\) at knot 0 and \(1,\) at knot 1; select knots where"):
        problem.get_parameter("u_reg.reference")
    with pytest.raises(InvalidArgumentError, match=r"u_reg.reference: expected shape \(1,\), got \(2,\)"):
        problem.set_parameter("u_reg.reference", [1.0, 2.0])
    np.testing.assert_array_equal(problem.get_parameter("u_reg.reference", 0), [0, 0])  # all or nothing
    problem.set_parameter("u_reg.reference", [1.0, 2.0], 0)
    problem.set_parameter("u_reg.reference", [[3.0, 4.0], [5.0]])
    with pytest.raises(InvalidArgumentError, match="goal.reference differs between running and terminal"):
        problem.set_parameter("goal.reference", PLACE)
    problem.set_parameter("goal.reference", [4, 5, 6], "terminal")
    table = problem.parameter_values()
    np.testing.assert_array_equal(table["u_reg.reference"], [[3, 4], [5, np.nan]])
    with with_values(problem, {"u_reg.reference": np.array([[6, 7], [8, np.nan]])}, np.ones(4)):
        np.testing.assert_array_equal(problem.get_parameter("u_reg.reference", 1), [8])
        np.testing.assert_array_equal(problem.x0, np.ones(4))
    np.testing.assert_array_equal(problem.get_parameter("u_reg.reference", 1), [5])
    np.testing.assert_array_equal(problem.x0, state.zero())
    problem.set_parameter("goal.reference", [0, 0, 0], "terminal")
    with with_values(problem, table, problem.x0):
        np.testing.assert_array_equal(problem.get_parameter("goal.reference", 2), [4, 5, 6])
        np.testing.assert_array_equal(problem.get_parameter("goal.reference", 0), PLACE.homogeneous[:3])


def test_parameters_of_a_users_model() -> None:
    costs = trajopt.CostStack(trajopt.StateVector(2)).add(
        "u", trajopt.ResidualModelControl(trajopt.StateVector(2)), 1.0
    )
    node = trajopt.IntegratedActionModelRK4(Pendulum(costs), dt=0.1)
    problem = trajopt.ShootingProblem([0.3, 0.0], [node] * 3, trajopt.CostStack(trajopt.StateVector(2)))
    assert problem.parameters["mass"].unit == "kg"
    light = problem.rollout(np.ones((3, 1)))
    problem.set_parameter("mass", 5.0, knots=[0, 1, 2])
    heavy = problem.rollout(np.ones((3, 1)))
    assert heavy[-1, 1] < light[-1, 1] - 0.1


def test_another_problem_takes_the_values_of_the_parameters_that_both_have() -> None:
    problem = arm_problem()
    problem.set_parameter("goal.weight", [1.0, 2.0, 3.0, 4.0, 5.0], knots="running")
    problem.set_parameter("goal.weight", 7.0, knots="terminal")
    problem.set_parameter("u_reg.weight", 0.5)
    state = problem.state
    goal = trajopt.ResidualModelFramePlacement(state, "tool", pin.SE3.Identity())
    end = trajopt.CostStack(state).add("goal", goal, 100.0).add("rest", trajopt.ResidualModelState(state), 3.0)
    other = trajopt.ShootingProblem(problem.x0, problem.running[:3], end, like=problem)
    np.testing.assert_array_equal(other.get_parameter("goal.weight"), [1.0, 2.0, 3.0, 7.0])
    assert other.get_parameter("u_reg.weight") == 0.5
    assert other.get_parameter("rest.weight") == 3.0
    longer = trajopt.ShootingProblem(problem.x0, [*problem.running, problem.running[0]], end, like=problem)
    np.testing.assert_array_equal(longer.get_parameter("goal.weight"), [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 7.0])
    plain = trajopt.ShootingProblem(problem.x0, problem.running[:3], end)
    np.testing.assert_array_equal(plain.get_parameter("goal.weight"), [1.0, 1.0, 1.0, 100.0])
    with pytest.raises(InvalidArgumentError, match="like: expected"):
        trajopt.ShootingProblem(problem.x0, problem.running, end, like=problem.running)  # type: ignore[arg-type]


def test_another_end_keeps_the_schedule_of_a_gait() -> None:
    problem = trajopt.problems.load("quadruped-trot", robot="small-quadruped").problem
    other = trajopt.ShootingProblem(problem.x0, problem.running, problem.terminal, like=problem)
    assert other.schedule is problem.schedule is not None
    for name, values in problem.parameter_values().items():
        np.testing.assert_array_equal(other.parameter_values()[name], values)
    assert trajopt.ShootingProblem(problem.x0, problem.running[1:], problem.terminal, like=problem).schedule is None
