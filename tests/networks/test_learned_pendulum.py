"""A network of 3 x 64 that has learned a pendulum, as dynamics: derivatives, and plans that the pendulum follows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.kernels import compilations
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers import SolverBoxFDDP, SolverDDP, SolverFDDP, SolverIpopt, SolverSQP, SQPOptions
from trajopt.types import Reals

FILE = Path(__file__).parents[2] / "examples" / "36_learned_pendulum.npz"
UPRIGHT = np.array([np.pi, 0.0])  # [rad, rad/s]
DT = 0.02  # [s]


def weights() -> tuple[list[Reals], list[Reals]]:
    with np.load(FILE) as arrays:
        return [arrays[f"W{i}"].astype(float) for i in range(4)], [arrays[f"b{i}"].astype(float) for i in range(4)]


LEARNED = trajopt.Network(*weights())


def features(x: ca.SX, u: ca.SX) -> list[ca.SX]:
    return [ca.sin(x[0]), ca.cos(x[0]), x[1], u]


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """What the network has learned."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return 4.0 * u - 9.81 / 0.5 * ca.sin(x[0])


class Scalars(trajopt.DifferentialActionModelSymbolic):
    """The network as an expression."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return LEARNED(ca.vertcat(*features(x, u)))


def model_of(kind: Any = None, network: trajopt.Network = LEARNED, **options: Any) -> Any:
    """The network as steps of the program, or another model of the pendulum."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    if kind is not None:
        return kind(state, 1, running)
    return trajopt.DifferentialActionModelNetwork(state, 1, running, network, **{"features": features, **options})


def problem_of(model: Any, T: int = 100) -> trajopt.ShootingProblem:
    knot = trajopt.IntegratedActionModelEuler(model, DT)
    end = trajopt.CostStack(model.state).add("upright", trajopt.ResidualModelState(model.state, UPRIGHT), weight=1e2)
    return trajopt.ShootingProblem([0.0, 0.0], [knot] * T, end)


def points(count: int) -> tuple[Reals, Reals]:
    rng = np.random.default_rng(0)
    return rng.uniform(-3.0, 3.0, (count + 1, 2)), rng.uniform(-3.0, 3.0, (count, 1))


def numpy_acceleration(x: Any, u: Any) -> Any:
    """The network in numpy, for complex numbers too."""
    h = np.array([np.sin(x[0]), np.cos(x[0]), x[1], u[0]])
    for i, (W, b) in enumerate(zip(*weights())):
        h = W @ h + b
        h = h if i == 3 else np.tanh(h)
    return h[0]


def test_file_is_small() -> None:
    assert FILE.stat().st_size < 50_000


def test_it_has_learned_the_pendulum() -> None:
    xs, us = points(300)
    errors = [numpy_acceleration(x, u) - (4.0 * u[0] - 9.81 / 0.5 * np.sin(x[0])) for x, u in zip(xs, us)]
    assert np.abs(errors).max() < 0.15  # [rad/s²], of 32 at most


def test_derivatives_of_compiled_code_are_exact_by_complex_steps() -> None:
    problem, (xs, us) = problem_of(model_of(), 20), points(20)
    d, h = problem.calc_diff(xs, us), 1e-30
    for x, u, Fx, Fu in zip(xs, us, d.Fx, d.Fu):
        z = np.concatenate([x, u])
        slopes = [numpy_acceleration(*np.split(z + 1j * h * e, [2])).imag / h for e in np.eye(3)]
        np.testing.assert_allclose([*Fx[1], *Fu[1]], np.array([0.0, 1.0, 0.0]) + DT * np.array(slopes), atol=1e-13)


def test_derivatives_by_central_differences() -> None:
    report = trajopt.check_derivatives(trajopt.IntegratedActionModelEuler(model_of(), DT))
    assert report.ok, str(report)


def test_steps_and_expression_agree() -> None:
    xs, us = points(10)
    a, b = (problem_of(model_of(kind), 10).calc_diff(xs, us) for kind in (None, Scalars))
    np.testing.assert_allclose(a.Fx, b.Fx, atol=1e-13)
    np.testing.assert_allclose(a.Fu, b.Fu, atol=1e-13)
    np.testing.assert_allclose(a.gaps, b.gaps, atol=1e-13)


@pytest.mark.parametrize("solver", [SolverDDP, SolverFDDP, SolverSQP, SolverBoxFDDP])
def test_the_true_pendulum_follows_the_plan(solver: Any) -> None:
    solution = solver(problem_of(model_of())).solve()
    assert solution.status is trajopt.SolverStatus.CONVERGED
    assert solution.cost == pytest.approx(0.0332325096, rel=1e-7)
    true = SolverDDP(problem_of(model_of(Pendulum))).solve()
    assert solution.cost == pytest.approx(true.cost, rel=1e-3)
    plant = trajopt.IntegratedActionModelEuler(model_of(Pendulum), DT)
    motion = trajopt.analysis.replay(solution, 1, plant=plant, feedback="gains")
    assert np.abs(motion.xs[-1] - UPRIGHT).max() < 1e-3


def test_second_derivatives_of_small_networks_are_exact() -> None:
    """With Gauss-Newton Hessians a swing-up with limits takes ten times the iterations, or does not end."""
    rng = np.random.default_rng(0)
    W = [0.7 * rng.normal(size=(b, a)) / np.sqrt(a) for a, b in ((4, 16), (16, 16), (16, 1))]
    network = trajopt.Network(W, [0.1 * rng.normal(size=len(each)) for each in W])
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    motion, effort = trajopt.ResidualModelState(state, UPRIGHT), trajopt.ResidualModelControl(state)
    costs = trajopt.CostStack(state).add("effort", effort, 0.1).add("goal", motion, 1e-2)
    motor = trajopt.ConstraintStack(state).add("motor", effort, lower=-2.0, upper=2.0)
    known: dict[str, Any] = {"features": features, "nominal": lambda x, u: [4.0 * u - 19.62 * ca.sin(x[0])]}
    model = trajopt.DifferentialActionModelNetwork(state, 1, costs, network, constraints=motor, **known)
    up = trajopt.ConstraintStack(state).add("up", motion, equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=up)
    knot = trajopt.IntegratedActionModelEuler(model, dt=0.04)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 80, end)
    exact = SolverSQP(problem).solve()
    assert exact.converged
    assert exact.iterations <= 40
    assert SolverSQP(problem, SQPOptions(hessian="gauss-newton", max_iterations=100)).solve().iterations == 100


def test_second_derivatives_of_large_networks_are_made_on_request() -> None:
    W = [np.ones((48, 4)), np.ones((48, 48)), np.ones((1, 48))]
    model = model_of(network=trajopt.Network(W))
    for kind, made in ((trajopt.IntegratedActionModelEuler, True), (trajopt.IntegratedActionModelRK4, False)):
        problem = trajopt.ShootingProblem([0.0, 0.0], [kind(model, DT)] * 5, trajopt.CostStack(model.state))
        evaluator = Evaluator(problem)
        assert LagrangianHessian.available(evaluator) is made
        assert LagrangianHessian.available(evaluator, asked=True)


def test_ipopt_takes_the_expression() -> None:
    rng = np.random.default_rng(5)
    small = trajopt.Network([rng.normal(size=(6, 3)), rng.normal(size=(1, 6))], activation="softplus")
    problem = problem_of(model_of(network=small, features=None), 10)
    ours, theirs = SolverSQP(problem).solve(), SolverIpopt(problem).solve()
    assert theirs.status is trajopt.SolverStatus.CONVERGED
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-6)


def test_equal_networks_share_their_code_and_others_do_not() -> None:
    xs, us = points(5)
    first = problem_of(model_of(), 5).calc_diff(xs, us)
    before = compilations()
    same = problem_of(model_of(network=trajopt.Network(*weights())), 5).calc_diff(xs, us)
    assert compilations() == before
    np.testing.assert_array_equal(same.Fx, first.Fx)
    W, b = weights()
    W[2][5, 7] += 1e-3
    other = problem_of(model_of(network=trajopt.Network(W, b)), 5).calc_diff(xs, us)
    assert np.abs(other.Fx - first.Fx).max() > 1e-6


def test_models_can_be_pickled_unless_their_features_cannot() -> None:
    model, (xs, us) = model_of(), points(5)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(problem_of(same, 5).calc_diff(xs, us).Fx, problem_of(model, 5).calc_diff(xs, us).Fx)
    with pytest.raises(UnsupportedOperationError, match="cannot be pickled with the function"):
        pickle.dumps(model_of(features=lambda x, u: features(x, u)))


def test_what_the_network_learned_besides_a_nominal_model() -> None:
    """N - g on top of g is N."""

    def nominal(x: ca.SX, u: ca.SX) -> ca.SX:
        return 3.0 * u

    W, b = weights()
    zero = trajopt.Network([*W[:3], np.zeros((1, 64))], [*b[:3], np.zeros(1)])
    xs, us = points(5)
    d = problem_of(model_of(network=zero, nominal=nominal), 5).calc_diff(xs, us)
    np.testing.assert_allclose(d.Fu[:, 1, 0], 3.0 * DT)
    np.testing.assert_allclose(d.Fx[:, 1, 0], 0.0, atol=1e-15)


def test_sizes_are_checked() -> None:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1.0)

    def build(network: Any, **options: Any) -> Any:
        return trajopt.DifferentialActionModelNetwork(state, 1, costs, network, **options)

    three, four = (trajopt.Network([np.ones((1, n))]) for n in (3, 4))
    assert build(three).second_order
    assert not build(trajopt.Network([np.ones((2, 3))])).second_order
    with pytest.raises(
        InvalidArgumentError, match=r"features: expected 4 inputs .*got shape \(3, 1\); features=lambda"
    ):
        build(four)
    with pytest.raises(InvalidArgumentError, match=r"features: expected 4 inputs .*got shape \(2, 1\)$"):
        build(four, features=lambda x, u: x)
    with pytest.raises(InvalidArgumentError, match="network: expected one that returns 1 accelerations or 2 rates"):
        build(trajopt.Network([np.ones((3, 3))]))
    with pytest.raises(InvalidArgumentError, match=r"nominal: expected shape \(1, 1\) as the network returns, got \(2"):
        build(three, nominal=lambda x, u: x)
    with pytest.raises(InvalidArgumentError, match="network: expected a Network, got 'net.onnx'"):
        build("net.onnx")
    with pytest.raises(InvalidArgumentError, match="features: expected only x, u"):
        build(three, features=lambda x, u: [x, ca.SX.sym("mass")])
