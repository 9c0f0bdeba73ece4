"""ShootingProblem: what it refuses, values against models alone, knots of different kinds, receding horizons."""

from __future__ import annotations

import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.model_list import BlackBox, Pendulum, VanDerPol, costs_of, free_dynamics, lqr, points, reference_of
from tests.support.slow_twin import assert_close
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import compilations
from trajopt.shooting import controls, cost_terms
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers import SolverDDP, SolverFDDP

Reals = npt.NDArray[np.float64]
STATE = trajopt.StateVector(2)
X0 = [0.0, 0.0]


def stack(weight: float = 1.0, *, control: bool = True) -> trajopt.CostStack:
    costs = trajopt.CostStack(STATE).add("x_reg", trajopt.ResidualModelState(STATE), weight)
    return costs.add("u_reg", trajopt.ResidualModelControl(STATE), 0.1) if control else costs


def pendulum(dt: float = 0.05, **constants: float) -> trajopt.IntegratedActionModelEuler:
    return trajopt.IntegratedActionModelEuler(Pendulum(stack(), **constants), dt=dt)


class Kick(trajopt.ActionModelDiscrete):
    """An impulse: no control."""

    def __init__(self) -> None:
        super().__init__(STATE, 0)

    def next_state(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[0], -0.8 * x[1])

    def running_cost(self, x: SX, u: SX) -> SX:
        return 3 * self.terminal_cost(x)

    def terminal_cost(self, x: SX) -> SX:
        return x[0] ** 2 + x[0] * x[1]


class TwoMotors(trajopt.DifferentialActionModelSymbolic):
    def acceleration(self, x: SX, u: SX) -> SX:
        return u[0] - 0.3 * u[1] * x[1] - ca.sin(x[0])


class RootOfPosition(trajopt.DifferentialActionModelSymbolic):
    """Not defined at q < 0."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u + ca.sqrt(x[0])


def ball() -> trajopt.IntegratedActionModelEuler:
    return trajopt.IntegratedActionModelEuler(free_dynamics("ball"), dt=0.1)


def mixed_problem() -> trajopt.ShootingProblem:
    """Knots with 1, 0, 2 and 1 controls; some are black boxes."""
    one, two = pendulum(), trajopt.IntegratedActionModelRK4(TwoMotors(STATE, 2, stack()), dt=0.1)
    running = [one, one, Kick(), two, BlackBox(), two, BlackBox(2.0), one, Kick(), BlackBox()]
    return trajopt.ShootingProblem([0.3, -0.2], running, stack(5.0, control=False))


def random_trajectory(problem: trajopt.ShootingProblem, seed: int = 0) -> tuple[list[Reals], list[Reals]]:
    rng = np.random.default_rng(seed)
    xs = [problem.state.rand(rng) for _ in range(problem.T + 1)]
    return xs, [rng.normal(size=model.nu) for model in problem.running]


def alone(model: trajopt.ActionModelAbstract, x: Reals, u: Reals | None) -> trajopt.ActionData:
    data = model.create_data()
    model.calc(data, x, u)
    model.calc_diff(data, x, u)
    return data


# Values


def test_knots_of_every_kind_beside_each_other() -> None:
    """Each knot against its model alone; controls that a knot does not have are zero, with the identity as Hessian."""
    problem = mixed_problem()
    xs, us = random_trajectory(problem)
    T, n, nu = problem.T, 2, problem.nu
    assert (T, nu) == (10, 2)
    d = problem.calc_diff(xs, us)
    shapes = {
        "costs": (T + 1,),
        "xnext": (T, n),
        "gaps": (T + 1, n),
        "Fx": (T, n, n),
        "Fu": (T, n, nu),
        "Lx": (T + 1, n),
    }
    shapes |= {"Lu": (T, nu), "Lxx": (T + 1, n, n), "Lxu": (T, n, nu), "Luu": (T, nu, nu)}
    for name, shape in shapes.items():
        assert getattr(d, name).shape == shape, name
    for t, model in enumerate(problem.running):
        expected, m = alone(model, xs[t], us[t]), model.nu
        for name in ("xnext", "Fx", "Lx", "Lxx"):
            assert_close(getattr(d, name)[t], getattr(expected, name), 1e-13, f"{name} of knot {t}")
        for name in ("Fu", "Lu", "Lxu"):
            assert_close(getattr(d, name)[t][..., :m], getattr(expected, name), 1e-13, f"{name} of knot {t}")
            assert not getattr(d, name)[t][..., m:].any()
        assert_close(
            d.Luu[t], np.block([[expected.Luu, np.zeros((m, nu - m))], [np.zeros((nu - m, m)), np.eye(nu - m)]]), 1e-13
        )
        assert d.costs[t] == pytest.approx(expected.cost, rel=1e-13)
        assert_close(d.gaps[t + 1], d.xnext[t] - xs[t + 1], 1e-13)
    assert_close(d.gaps[0], problem.x0 - xs[0], 1e-15)
    end = alone(problem.terminal, xs[T], None)
    assert (d.costs[T], d.cost) == (pytest.approx(end.cost), pytest.approx(d.costs.sum()))
    assert_close(d.Lx[T], end.Lx, 1e-13)
    values = problem.calc(xs, us)
    for name in ("cost", "costs", "xnext", "gaps"):
        np.testing.assert_array_equal(getattr(values, name), getattr(d, name))
    padded = np.array([np.pad(u, (0, nu - len(u)), constant_values=9.0) for u in us])
    np.testing.assert_array_equal(problem.calc_diff(xs, padded).Luu, d.Luu)  # padding is not read
    checked = problem.check_guess(xs, padded)[1]
    np.testing.assert_array_equal(checked, np.where(padded == 9.0, 0.0, padded))
    xs[0][:] = 77.0
    assert values.gaps[0, 0] != 77.0  # results are copies


@pytest.mark.parametrize("name", ["mixed", "ball"])
def test_rollout_steps_the_models(name: str) -> None:
    if name == "mixed":
        problem = mixed_problem()
    else:
        problem = trajopt.ShootingProblem(reference_of("ball"), [ball()] * 5, costs_of("ball", controlled=False))
    us = random_trajectory(problem, 3)[1]
    xs, x = problem.rollout(us), problem.x0
    for t, model in enumerate(problem.running):
        np.testing.assert_allclose(xs[t], x, rtol=1e-12, atol=1e-12)
        x = alone(model, x, us[t]).xnext
    np.testing.assert_allclose(xs[-1], x, rtol=1e-12, atol=1e-12)
    assert np.abs(problem.calc(xs, us).gaps).max() < 1e-12


def test_threads_may_roll_out_the_same_problem() -> None:
    problem = trajopt.ShootingProblem([0.1, 0.0], [pendulum()] * 500, stack(control=False))

    def ends(force: float) -> npt.NDArray[np.float64]:
        us = np.full((500, 1), force)
        return np.array([problem.rollout(us)[-1] for _ in range(100)])

    alone = [ends(force)[0] for force in (0.1, 0.2, 0.3, 0.4)]
    with ThreadPoolExecutor(4) as pool:
        for beside, end in zip(pool.map(ends, (0.1, 0.2, 0.3, 0.4)), alone):
            np.testing.assert_array_equal(beside, np.tile(end, (100, 1)))


def test_cost_terms_sum_to_the_cost_of_each_knot() -> None:
    problem = mixed_problem()
    xs, us = random_trajectory(problem)
    terms = cost_terms(problem, xs, us)
    assert set(terms) == {"x_reg", "u_reg", "cost"}
    np.testing.assert_allclose(np.nansum(list(terms.values()), axis=0), problem.calc(xs, us).costs, rtol=1e-12)
    assert np.isnan(terms["x_reg"][2])  # the kick has a term "cost" only
    assert np.isnan(terms["u_reg"][problem.T])


def test_terminal_terms_are_not_multiplied_by_the_time_step() -> None:
    """Also of a system without controls."""
    free = type("Free", (trajopt.DifferentialActionModelSymbolic,), {"xdot": lambda _, x, u: x})(
        STATE, 0, stack(2.0, control=False)
    )
    for end in (trajopt.IntegratedActionModelEuler(free, dt=0.1), trajopt.IntegratedActionModelRK4(free, dt=0.1)):
        problem = trajopt.ShootingProblem(X0, [pendulum(), end], end)
        terms = cost_terms(problem, [[0, 0], [0, 0], [3.0, 4.0]], [[0.0], []])
        assert terms["x_reg"][2] == pytest.approx(25.0)
        assert problem.calc([[0, 0], [0, 0], [3.0, 4.0]], [[0.0], []]).costs[2] == pytest.approx(25.0)


def test_times() -> None:
    assert mixed_problem().times is None  # a kick has no time step
    problem = trajopt.ShootingProblem(X0, [pendulum(0.1), pendulum(0.2), pendulum(0.1)], stack(control=False))
    np.testing.assert_allclose(problem.times, [0, 0.1, 0.3, 0.4])
    problem.set_parameter("dt", 0.5, 1)
    np.testing.assert_allclose(problem.times, [0, 0.1, 0.6, 0.7])
    wrapped = trajopt.ActionModelNumDiff(pendulum(0.3))
    np.testing.assert_allclose(trajopt.ShootingProblem(X0, [wrapped] * 2, stack(control=False)).times, [0, 0.3, 0.6])


def test_controls_names_and_limits() -> None:
    node = trajopt.IntegratedActionModelEuler(VanDerPol(stack()), dt=0.1)
    problem = trajopt.ShootingProblem(X0, [Kick(), node], stack(control=False))
    named = controls(problem)
    assert (named.names, named.lower, named.upper) == (("push",), [-1.0], [1.0])
    assert repr(problem).startswith(
        "ShootingProblem(T=2, nx=2, ndx=2, nu=1, running: 1 x Kick, 1 x IntegratedActionModelEuler"
    )


# Quasi-static controls


@pytest.mark.parametrize("name", ["planar-2r", "talos_arm", "cart-pole", "drone"])
def test_quasi_static_controls_of_robots(name: str) -> None:
    """Gravity for an arm; with fewer motors than joints the least squares of it. Velocities do not matter."""
    model = trajopt.IntegratedActionModelEuler(free_dynamics(name), dt=0.01)
    state, actuation = model.state, model.differential.actuation
    problem = trajopt.ShootingProblem(state.zero(), [model] * 3, costs_of(name, controlled=False))
    xs = points(state)[:3]
    us = problem.quasi_static(xs)
    assert us.shape == (3, model.nu)
    for x, u in zip(xs, us):
        data = model.differential.create_data()
        model.differential.calc(data, state.at_rest(x), np.zeros(model.nu))
        inverse_mass = central_inertia(model, state.at_rest(x))
        gravity = -np.linalg.solve(inverse_mass, data.xnext[state.nv :])
        expected = np.linalg.lstsq(actuation.matrix, gravity, rcond=None)[0]
        assert_close(u, expected, 1e-9)


def central_inertia(model: trajopt.IntegratedActionModelEuler, x: Reals) -> Reals:
    """M⁻¹, by pinocchio."""
    import pinocchio as pin

    state = model.state
    return np.linalg.inv(pin.crba(state.model, state.model.createData(), x[: state.nq]))


def test_quasi_static_controls_by_gauss_newton() -> None:
    """Of a user's model, a black box and a wrapped one: what balances gravity, m g l sin q."""
    values_only = type("ValuesOnly", (BlackBox,), {"calc_diff": trajopt.ActionModelAbstract.calc_diff})(mass=2.0)
    wrapped = [trajopt.ActionModelNumDiff(model) for model in (pendulum(mass=2.0), values_only)]
    problem = trajopt.ShootingProblem(X0, [pendulum(mass=2.0), BlackBox(mass=2.0), *wrapped], stack(control=False))
    us = problem.quasi_static([[0.5, 0.0]] * 4)
    np.testing.assert_allclose(us.ravel(), 2.0 * 0.25 * 9.81 / 0.5 * np.sin(0.5), rtol=1e-8)
    assert mixed_problem().quasi_static(np.zeros((10, 2))).shape == (10, 2)


# Receding horizons, x0, pickling


@pytest.mark.parametrize("wrong", [None, 2])
def test_quasi_static_checks_many_states_at_once_and_names_a_wrong_one(
    wrong: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound states, the rule, cost no call of the state's `check`."""
    problem, calls = mixed_problem(), list[str]()
    check = type(problem.state).check

    def count(state: trajopt.StateAbstract, x: Any, argument: str = "x") -> Reals:
        calls.append(argument)
        return check(state, x, argument)

    monkeypatch.setattr(type(problem.state), "check", count)
    xs = np.zeros((problem.T, 2))
    if wrong is None:
        problem.quasi_static(xs)
        assert not [name for name in calls if name.startswith("xs")]
        return
    xs[wrong, 1] = np.nan
    with pytest.raises(InvalidArgumentError, match=rf"xs\[{wrong}\]: "):
        problem.quasi_static(xs)
    with pytest.raises(InvalidArgumentError, match=r"xs: expected 10 states \(one a running knot\), got 11"):
        problem.quasi_static(np.zeros((11, 2)))


def reach() -> trajopt.ShootingProblem:
    return trajopt.ShootingProblem([1.0, 0.0], [pendulum()] * 6, stack(50.0, control=False))


def test_x0_can_be_set_and_is_a_copy() -> None:
    problem = reach()
    problem.x0 = start = np.array([0.5, 0.1])
    start[:] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        problem.x0[:] = 7.0
    np.testing.assert_array_equal(problem.x0, [0.5, 0.1])
    np.testing.assert_array_equal(problem.rollout(np.zeros((6, 1)))[0], [0.5, 0.1])


@pytest.mark.parametrize("model", [None, "same"])
def test_circular_append_moves_parameter_values_along(model: Any) -> None:
    problem = reach()
    model = problem.running[0] if model == "same" else None
    xs, us = random_trajectory(problem)
    problem.calc_diff(xs, us)
    problem.set_parameter("x_reg.weight", [0, 1, 2, 3, 4, 5, 60], "all")
    evaluator, before = Evaluator(problem), compilations()
    problem.circular_append(model)
    assert list(problem.get_parameter("x_reg.weight")) == [1, 2, 3, 4, 5, 5 if model is None else 1, 60]
    np.testing.assert_array_equal(problem.x0, [1.0, 0.0])
    assert problem.T == 6
    costs = problem.calc_diff(xs, us).costs
    assert compilations() == before
    assert evaluator.fits(problem)  # solvers keep what they have
    again = reach()
    again.set_parameter("x_reg.weight", problem.get_parameter("x_reg.weight"), "all")
    np.testing.assert_array_equal(costs, again.calc_diff(xs, us).costs)


def test_circular_append_of_another_model() -> None:
    problem = mixed_problem()
    problem.set_parameter("u_reg.weight", 8.0, 3)
    names = [type(model).__name__ for model in problem.running]
    black_box = BlackBox()
    for appended in (black_box, pendulum(), None, None):
        solver = SolverDDP(problem)
        solver.solve()
        problem.circular_append(appended)
        last = problem.running[-1] if appended is None else appended
        assert problem.running[-1] is last
        names = [*names[1:], type(last).__name__]
        assert [type(model).__name__ for model in problem.running] == names
        xs, us = random_trajectory(problem)
        d = problem.calc_diff(xs, us)
        for t, model in enumerate(problem.running):
            assert_close(d.xnext[t], alone(model, xs[t], us[t]).xnext, 1e-13, f"knot {t}")
        assert solver.solve().cost == pytest.approx(SolverDDP(problem).solve().cost)
    assert problem.running[-1] is problem.running[-2]
    assert float(problem.get_parameter("u_reg.weight", 1)) == 0.1  # knot 3 has left: only those after it are here
    with pytest.raises(InvalidArgumentError, match=r"running\[9\]: expected the same state as running\[0\]"):
        problem.circular_append(lqr())
    assert problem.T == 10


def test_solving_after_circular_append_is_solving_the_new_problem() -> None:
    problem, xs = reach(), np.tile([1.0, 0.0], (7, 1))
    solver = SolverFDDP(problem)
    solver.solve()
    heavy = pendulum(mass=3.0)
    problem.circular_append(heavy)
    problem.x0 = [0.8, 0.0]
    fresh = trajopt.ShootingProblem([0.8, 0.0], [*problem.running[:5], heavy], stack(50.0, control=False))
    moved, expected = solver.solve(xs, np.zeros((6, 1))), SolverFDDP(fresh).solve(xs, np.zeros((6, 1)))
    np.testing.assert_array_equal(moved.us, expected.us)
    assert moved.cost == expected.cost


def test_pickle_of_a_whole_problem() -> None:
    problem = mixed_problem()
    problem.set_parameter("u_reg.weight", 3.0, 5)
    problem.x0 = [0.7, 0.1]
    again = pickle.loads(pickle.dumps(problem))
    xs, us = random_trajectory(problem)
    a, b = problem.calc_diff(xs, us), again.calc_diff(xs, us)
    for name in ("costs", "gaps", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert repr(again) == repr(problem)


@pytest.mark.parametrize("integrator", [trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4])
def test_a_problem_without_costs(integrator: Any) -> None:
    node = integrator(Pendulum(trajopt.CostStack(STATE)), dt=0.1)
    problem = trajopt.ShootingProblem(X0, [node] * 2, trajopt.CostStack(STATE))
    assert problem.calc(np.zeros((3, 2)), np.zeros((2, 1))).cost == 0.0
    assert cost_terms(problem, np.zeros((3, 2)), np.zeros((2, 1))) == {}


def test_threads_that_have_ended_leave_no_memory() -> None:
    problem = trajopt.problems.load("unicycle").problem
    xs, us = np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu))
    for _ in range(5):
        thread = threading.Thread(target=problem.calc, args=(xs, us))
        thread.start()
        thread.join()
    del thread
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Evaluator) and each.fits(problem)]
    assert not kept
