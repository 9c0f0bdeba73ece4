"""Covariances along solutions: closed forms, and samples of robots on their manifolds."""

import functools
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.constraints_that_hold import pendulum_problem
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.actions.discrete import ActionModelDiscrete
from trajopt.analysis import Ellipses
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_ellipses
from trajopt.solution import Solution
from trajopt.solvers import SolverDDP, SolverSQP

CASES = {"unicycle": None, "arm-reach": "ur5", "quadruped-jump": "small-quadruped"}


@functools.cache
def solved(name: str) -> Solution:
    case = problems.load(name, robot=CASES[name])
    return case.solve()


class Drift(ActionModelDiscrete):
    """x⁺ = 0.9 x + u, cost ½ (x² + u²)."""

    def next_state(self, x, u):
        return 0.9 * x + u

    def running_cost(self, x, u):
        return 0.5 * (x * x + u * u)

    def terminal_cost(self, x):
        return 0.5 * x * x


@functools.cache
def scalar() -> Solution:
    model = Drift(trajopt.StateVector(1), 1)
    return SolverDDP(trajopt.ShootingProblem([1.0], [model] * 5, model)).solve()


def test_propagation_is_that_of_a_scalar_system() -> None:
    solution = scalar()
    found = solution.covariance(0.1, initial=0.2)
    P = [0.04]
    for K in solution.K[:, 0, 0]:
        P.append((0.9 - K) ** 2 * P[-1] + 0.01)
    np.testing.assert_allclose(found.P[:, 0, 0], P, rtol=1e-12)
    np.testing.assert_allclose(found.deviations[:, 0], np.sqrt(P))
    free = solution.covariance([[0.01]], feedback=False)
    np.testing.assert_allclose(free.P[:, 0, 0], 0.01 * np.cumsum([0.0, *(0.81 ** np.arange(5))]), rtol=1e-12)


def test_a_system_without_controls_has_noise_too() -> None:
    class Free(Drift):
        def next_state(self, x, u):
            return 0.9 * x

        def running_cost(self, x, u):
            return 0.5 * x * x

    model = Free(trajopt.StateVector(1), 0)
    solution = SolverDDP(trajopt.ShootingProblem([1.0], [model] * 5, model)).solve()
    P = 0.01 * np.cumsum([0.0, *(0.81 ** np.arange(5))])
    np.testing.assert_allclose(solution.covariance(0.1).P[:, 0, 0], P, rtol=1e-12)
    samples = solution.monte_carlo(0.1, 4000).xs[:, -1, 0]
    assert np.var(samples) == pytest.approx(P[-1], rel=0.1)


def test_a_system_without_controls_is_replayed() -> None:
    class Swing(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x, u):
            return -x[0]

    costs = trajopt.CostStack(trajopt.StateVector(2))
    knot = trajopt.IntegratedActionModelRK4(Swing(costs.state, 0, costs), dt=0.1)
    solution = SolverDDP(trajopt.ShootingProblem([1.0, 0.0], [knot] * 10, costs)).solve()
    replay = trajopt.analysis.replay(solution, 10)
    np.testing.assert_allclose(replay.xs[-1], [np.cos(1.0), -np.sin(1.0)], atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_covariance_of_linear_propagation(name: str) -> None:
    """Within 4.5 standard errors, sqrt((P_ii P_jj + P_ij²) / n) of an entry, where noise is small."""
    solution, n = solved(name), 2000
    assert solution.converged
    covariance = solution.covariance(1e-5)
    samples = solution.monte_carlo(1e-5, n, seed=3)
    assert samples.us.shape == (n, *solution.us.shape)
    P = covariance.P[-1]
    size = np.diag(P)
    error = np.abs(samples.covariance() - P) / np.sqrt((np.outer(size, size) + P**2) / n)
    assert error.max() < 4.5
    assert np.all(np.abs(samples.deviations().mean(axis=0)) < 4.5 * np.sqrt(size / n))


def test_feedback_keeps_an_arm_near_its_motion() -> None:
    solution = solved("arm-reach")
    closed, free = (solution.covariance(1e-3, feedback=f) for f in (True, False))
    assert closed.deviations[-1, :6].max() < 0.5 * free.deviations[-1, :6].max()


def test_equal_seeds_give_equal_samples() -> None:
    solution = solved("unicycle")
    first, again, other = (solution.monte_carlo(0.01, 20, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.xs, again.xs)
    assert np.abs(first.xs - other.xs).max() > 1e-3
    np.testing.assert_array_equal(solution.monte_carlo(0.0, 2).xs[1], solution.monte_carlo(0.0, 2).xs[0])


def test_one_sample_has_no_covariance() -> None:
    one = solved("unicycle").monte_carlo(0.01, 1)
    assert one.deviations().shape == (1, 3)
    with pytest.raises(
        InvalidArgumentError, match="n: expected at least 2 samples for a covariance, got 1; pass a larger n"
    ):
        one.covariance()


def test_many_samples_are_those_of_few_and_more() -> None:
    """More samples than are evaluated side by side: every one follows the dynamics."""
    solution = solved("unicycle")
    many = solution.monte_carlo(0.0, 1100, initial=0.1)
    problem = trajopt.ShootingProblem(many.xs[1099, 0], solution.problem.running, solution.problem.terminal)
    np.testing.assert_allclose(problem.rollout(many.us[1099]), many.xs[1099], atol=1e-12)


class Written(trajopt.ActionModelAbstract):
    """`Drift` as a black box."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(1), 1)

    def calc(self, data, x, u=None) -> None:
        control = np.zeros(1) if u is None else u
        data.xnext, data.cost = 0.9 * x + control, 0.5 * float(x @ x + control @ control)

    def calc_diff(self, data, x, u=None) -> None:
        data.Lx, data.Lxx = x, np.eye(1)
        if u is not None:
            data.Fx, data.Fu, data.Lu, data.Luu, data.Lxu = 0.9 * np.eye(1), np.eye(1), u, np.eye(1), np.zeros((1, 1))


def test_samples_of_a_black_box_are_those_of_its_formula() -> None:
    model = Written()
    own = SolverDDP(trajopt.ShootingProblem([1.0], [model] * 5, model)).solve()
    samples = [solution.monte_carlo(0.1, 30, initial=0.2) for solution in (own, scalar())]
    np.testing.assert_allclose(samples[0].xs, samples[1].xs, atol=1e-9)
    np.testing.assert_allclose(samples[0].us, samples[1].us, atol=1e-9)


def test_samples_of_a_problem_with_constraints_follow_its_dynamics() -> None:
    problem = pendulum_problem()
    us = np.random.default_rng(0).normal(size=(problem.T, problem.nu))
    xs = problem.rollout(us)
    samples = solution_of(problem, xs, us).monte_carlo(0.0, 3, feedback=False, clip=False)
    np.testing.assert_allclose(samples.xs, np.tile(xs, (3, 1, 1)), atol=1e-12)


class Weighed(Drift):
    """x⁺ = a x + u with a parameter a."""

    def __init__(self):
        super().__init__(trajopt.StateVector(1), 1)
        self.a = self.parameter("a", 0.9)

    def next_state(self, x, u):
        return self.a * x + u


def test_samples_have_parameters_of_their_own() -> None:
    model = Weighed()
    solution = SolverDDP(trajopt.ShootingProblem([1.0], [model] * 5, model)).solve()
    values = np.random.default_rng(0).uniform(0.5, 1.5, 1030)  # more than are evaluated side by side
    samples = solution.monte_carlo(0.0, 1030, parameters={"a": values})
    for i in (0, 7, 1029):
        x = solution.xs[0]
        for t in range(5):
            u = solution.us[t] - solution.K[t] @ (x - solution.xs[t])
            np.testing.assert_allclose(samples.us[i, t], u, atol=1e-12)
            x = values[i] * x + u
        np.testing.assert_allclose(samples.xs[i, -1], x, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match=r"parameters\['a'\]: expected a value for each of 3 samples, got"):
        solution.monte_carlo(0.0, 3, parameters={"a": 1.0})
    with pytest.raises(UnknownNameError, match="'b'"):
        solution.monte_carlo(0.0, 3, parameters={"b": [1.0, 2.0, 3.0]})


def test_feedback_measures_states_with_noise() -> None:
    """The gains answer x + e: P⁺ = (0.9 - K)² P + K² 0.01 without other noise."""
    solution = scalar()
    samples = solution.monte_carlo(0.0, 40000, measurement=0.1)
    P = 0.0
    for K in solution.K[:, 0, 0]:
        P = (0.9 - K) ** 2 * P + 0.01 * K**2
    np.testing.assert_allclose(samples.covariance(), P, rtol=0.03)
    np.testing.assert_array_equal(solution.monte_carlo(0.2, 9).xs, solution.monte_carlo(0.2, 9, measurement=0.0).xs)
    np.testing.assert_array_equal(
        solution.monte_carlo(0.0, 9, measurement=0.1, feedback=False).xs[:, -1], solution.xs[None, -1].repeat(9, 0)
    )
    with pytest.raises(InvalidArgumentError, match="measurement: expected standard deviations >= 0, got -1"):
        solution.monte_carlo(0.0, 3, measurement=-1.0)


def test_samples_within_bounds_are_successes() -> None:
    samples = solved("unicycle").monte_carlo(0.05, 50)
    apart = np.abs(samples.deviations(3))
    np.testing.assert_array_equal(samples.within([0.1, np.inf, 0.2], 3), (apart[:, 0] <= 0.1) & (apart[:, 2] <= 0.2))
    np.testing.assert_array_equal(samples.within(0.1), (np.abs(samples.deviations()) <= 0.1).all(axis=1))
    for bounds in ([0.1, 0.2], 0.0, [[0.1] * 3]):
        with pytest.raises(InvalidArgumentError, match="bounds: expected a number > 0, or one for each of 3 tangent"):
            samples.within(bounds)


def test_controls_of_samples_stay_within_limits() -> None:
    case = problems.load("arm-reach", robot="ur5")
    solution = solved("arm-reach")
    limits = case.problem.running[0].upper
    wild = [solution.monte_carlo(0.3, 20, clip=clip) for clip in (True, False)]
    assert np.all(np.abs(wild[0].us) <= limits)
    assert np.any(np.abs(wild[1].us) > limits)


def test_ellipses_have_their_size() -> None:
    P = np.array([[[4.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.5, 1.0]]])
    ellipses = Ellipses(names=("x", "y"), centres=np.zeros((2, 2)), covariances=P, sigmas=2.0)
    np.testing.assert_allclose(ellipses.areas, 4.0 * np.pi * np.sqrt([4.0, 0.75]))
    lengths, angles = ellipses.axes
    np.testing.assert_allclose(lengths[0], [4.0, 2.0])
    np.testing.assert_allclose(angles % np.pi, [0.0, np.pi / 4], atol=1e-12)


def test_ellipses_of_a_hand_are_those_of_its_samples() -> None:
    """Within 4.5 standard errors of each entry, 2,000 samples."""
    solution, n = solved("arm-reach"), 2000
    found = solution.covariance(1e-3).ellipses("x", "z", frame="tool0")
    robot = solution.robot
    samples = robot.placement(solution.monte_carlo(1e-3, n).xs[:, -1, : robot.nq], "tool0")[:, [0, 2], 3]
    P = found.covariances[-1]
    errors = np.sqrt((np.outer(np.diag(P), np.diag(P)) + P**2) / n)
    assert np.all(np.abs(np.cov(samples.T) - P) < 4.5 * errors)
    np.testing.assert_allclose(found.centres[-1], robot.placement(solution.xs[-1, : robot.nq], "tool0")[[0, 2], 3])
    assert (found.names, found.units) == (("tool0 x", "tool0 z"), ("m", "m"))
    with pytest.raises(KeyError, match="frame 'hand' not found"):
        solution.covariance(1e-3).ellipses("x", "z", frame="hand")
    with pytest.raises(InvalidArgumentError, match="frame: expected None, as the state has no robot"):
        solved("unicycle").covariance(0.01).ellipses("x", "y", frame="hand")


def test_picture_shows_path_and_ellipses() -> None:
    from matplotlib.patches import Ellipse

    covariance = solved("unicycle").covariance(0.01)
    samples = solved("unicycle").monte_carlo(0.01, 5)
    axes = plot_ellipses(covariance.ellipses("x", "y"), samples.xs[:, -1, :2]).axes[0]
    assert sum(isinstance(patch, Ellipse) for patch in axes.patches) >= 5
    np.testing.assert_allclose(axes.lines[0].get_xydata(), samples.xs[:, -1, :2])
    np.testing.assert_allclose(axes.lines[1].get_xydata(), solved("unicycle").xs[:, :2])
    assert axes.get_xlabel() == "x [m]"


def test_picture_shows_paths_of_samples_and_their_own_ellipse() -> None:
    from matplotlib.patches import Ellipse

    ellipses = solved("unicycle").covariance(0.01).ellipses("x", "y")
    samples = solved("unicycle").monte_carlo(0.01, 12).xs[:, :, :2]
    figure = plot_ellipses(ellipses, samples[:, -1], paths=samples[:3])
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.lines[1].get_xydata(), samples[0])
    own = [patch for patch in axes.patches if isinstance(patch, Ellipse)][-1]
    np.testing.assert_allclose(own.center, samples[:, -1].mean(axis=0))
    assert own.width * own.height == pytest.approx(16.0 * np.sqrt(np.linalg.det(np.cov(samples[:, -1].T))))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[1] == "paths of samples"
    assert labels[-2:] == ["2 standard deviations", "2 standard deviations of the samples"]
    with pytest.raises(InvalidArgumentError, match="paths: expected shape"):
        plot_ellipses(ellipses, paths=samples[:, :2])


def test_wrong_noise_is_refused_with_the_expected_value() -> None:
    solution = solved("unicycle")
    for noise, wanted in [
        (-1.0, "noise: expected standard deviations >= 0"),
        ([0.1, 0.1], r"noise: expected shape \(3,\)"),
        (np.nan, "noise: expected finite"),
        (np.array([[1.0, 2.0, 0], [2.0, 1.0, 0], [0, 0, 1]]), "expected a covariance"),
        (np.ones((2, 3, 3)), "a covariance for each knot"),
    ]:
        with pytest.raises(InvalidArgumentError, match=wanted):
            solution.covariance(noise)
    with pytest.raises(InvalidArgumentError, match="n: expected an integer >= 1"):
        solution.monte_carlo(0.1, 0)
    with pytest.raises(InvalidArgumentError, match="a coordinate other than first"):
        solution.covariance(0.1).ellipses("x", "x")
    with pytest.raises(KeyError, match="theta"):
        solution.covariance(0.1).ellipses("x", "z")
    for sigmas in (-1, 0.0, np.nan):
        with pytest.raises(InvalidArgumentError, match="sigmas: expected a"):
            solution.covariance(0.1).ellipses("x", "y", sigmas=sigmas)
    samples = solution.monte_carlo(0.1, 3)
    np.testing.assert_array_equal(samples.covariance(-1), samples.covariance(solution.problem.T))
    for knot in (10**6, -solution.problem.T - 2, 1.5):
        with pytest.raises(InvalidArgumentError, match="knot: expected a number from 0 to"):
            samples.covariance(knot)


def test_samples_have_motors_of_their_own() -> None:
    """Bounds of a hard row that is a control, also wider ones than the plan's; of a reference, nothing would follow."""
    state = trajopt.StateVector(2)
    rows = trajopt.ConstraintStack(state)
    rows.add("motor", trajopt.ResidualModelControl(state, reference=[0.1]), lower=-0.6, upper=0.4)

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: Any, u: Any) -> Any:
            return u

    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    goal = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), weight=1e2)
    knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs, constraints=rows), dt=0.1)
    solution = SolverSQP(trajopt.ShootingProblem([0.0, 0.0], [knot] * 30, goal)).solve()
    top = np.tile([0.1, 0.4, 5.0], 700)
    samples = solution.monte_carlo(0.3, len(top), parameters={"motor.upper": top, "motor.lower": -top})
    for each in (0.1, 0.4, 5.0):
        us = samples.us[top == each]
        assert us.max() <= 0.1 + each + 1e-12
        assert us.min() >= 0.1 - each - 1e-12
    assert samples.us[top == 0.1].max() == pytest.approx(0.2)
    assert samples.us[top == 5.0].max() > 1.0
    two = np.ones(2)
    for name, clip in (("goal.weight", True), ("effort.reference", True), ("motor.upper", False)):
        with pytest.raises(InvalidArgumentError, match=rf"got '{name}', which changes no sample; known: .*dt"):
            solution.monte_carlo(0.0, 2, parameters={name: two[:, None] if "ref" in name else two}, clip=clip)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mass", [0.0, -1e-3], ids=["of 0", "negative"])
def test_samples_that_diverge_are_counted_with_their_parameters(mass: float) -> None:
    """NaN at once, and inf after some knots, without warnings of numpy."""
    solution = problems.load("pendulum", T=600).solve()
    samples = solution.monte_carlo(0.0, 3, parameters={"mass": [1.0, 1.1, mass]})
    np.testing.assert_array_equal(samples.diverged, [False, False, True])
    words = f"1 of 3 diverged, the first is sample 2 with mass = {mass:.4g}"
    assert repr(samples) == f"MonteCarlo(3 samples, 601 knots, {words})"
    with pytest.raises(InvalidArgumentError, match=f"^samples: expected finite states for a covariance, but {words}"):
        samples.covariance()
    assert repr(solution.monte_carlo(0.0, 3)) == "MonteCarlo(3 samples, 601 knots)"
