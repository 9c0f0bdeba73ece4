"""Ready problems with constraints: solved, kept between the knots too, and physics by other means than our own."""

from __future__ import annotations

import functools
import itertools
import pickle
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.problems.test_problems import CONSTRAINED
from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_summary
from trajopt.problems import minimum_jerk
from trajopt.problems.arm_spheres import LINKS
from trajopt.problems.quadrotor import DifferentialActionModelQuadrotor, state_of_quadrotor
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

MOST = {  # iterations
    "arm-limits": 28,
    "arm-spheres": 40,
    "cart-pole-limits": 45,
    "com-circle": 26,
    "hermite-path": 15,
    "lqr-bounds": 6,
    "minimum-jerk": 15,
    "parking": 20,
    "parking-circles": 55,
    "parking-wheels": 20,
    "pendulum-limits": 35,
    "quadrotor-obstacles": 20,
}


@functools.cache
def case_of(name: str, **options: Any) -> problems.ProblemCase:
    return problems.load(name, **options)


@functools.cache
def solution_of(name: str) -> Solution:
    case = case_of(name)
    return case.solve()


def frame_paths(robot: trajopt.Robot, frames: list[str], qs: np.ndarray) -> np.ndarray:
    """Positions of frames (len(frames), n, 3) in configurations (n, nq) [m], by Pinocchio."""
    data, paths = robot.model.createData(), []
    for q in qs:
        pin.framesForwardKinematics(robot.model, data, q)
        paths.append([data.oMf[robot.frame_id(frame)].translation.copy() for frame in frames])
    return np.swapaxes(paths, 0, 1)


def test_every_family_is_here() -> None:
    assert sorted(MOST) == CONSTRAINED


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constrained_problems_converge_to_their_reference_cost(name: str) -> None:
    case, solution = case_of(name), solution_of(name)
    assert case.solver is SolverSQP
    assert solution.converged
    assert solution.iterations <= MOST[name]
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-6)
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)
    for violation in solution.violations().values():
        assert violation.max() < 1e-6
    assert "constraints hold" in solution.explain()


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constrained_problems_have_a_report_a_description_and_pictures(name: str) -> None:
    case, solution, info = case_of(name), solution_of(name), problems.describe(name)
    words = case.report(solution)
    assert words
    assert all(key and value and "nan" not in value for key, value in words.items())
    assert info.description == case.description
    assert case.description.endswith(".")
    assert set(info.meanings) == set(info.options)
    assert case.reference_source
    axes = plot_summary(solution, title=name, obstacles=case.obstacles).axes
    drawn = [ax for ax in axes if any(label.get_label() == "_obstacle" for label in ax.get_children())]
    assert bool(len(case.obstacles)) == bool(drawn)


@pytest.mark.parametrize("name", ["arm-spheres", "minimum-jerk", "parking-circles", "quadrotor-obstacles"])
def test_constrained_problems_pickle(name: str) -> None:
    case = case_of(name)
    copy = pickle.loads(pickle.dumps(case.problem))
    solution = solution_of(name)
    np.testing.assert_array_equal(
        copy.calc(solution.xs, solution.us).costs, case.problem.calc(solution.xs, solution.us).costs
    )


# Physics


def simulated(x: np.ndarray, u: Any, dt: float, rate: Any) -> np.ndarray:
    """A control held over a step, in 200 midpoint steps."""
    h = dt / 200
    for _ in range(200):
        x = x + h * rate(x + h / 2 * rate(x, u), u)
    return x


def pendulum(x: np.ndarray, u: float) -> np.ndarray:
    """A kilogram on half a metre with a damping of 0.1 N m s/rad, by Newton."""
    return np.array([x[1], (u - 0.1 * x[1] - 9.81 * 0.5 * np.sin(x[0])) / 0.25])


def cart_pole(x: np.ndarray, u: float) -> np.ndarray:
    """By Lagrange's equations, solved as a linear system of both accelerations."""
    _, angle, dy, rate = x
    inertia = np.array([[1.2, 0.2 * 0.5 * np.cos(angle)], [np.cos(angle), 0.5]])
    force = np.array([u + 0.2 * 0.5 * rate**2 * np.sin(angle), -9.81 * np.sin(angle)])
    return np.array([dy, rate, *np.linalg.solve(inertia, force)])


@pytest.mark.parametrize(
    ("name", "rate", "dt", "limit", "off"),
    [("pendulum-limits", pendulum, 0.06, 3.0, 5e-3), ("cart-pole-limits", cart_pole, 0.05, 3.0, 5e-2)],
)
def test_swing_ups_arrive_in_a_finer_simulation(name: str, rate: Any, dt: float, limit: float, off: float) -> None:
    """Each step by itself is that of the fine simulation to its order, and the gains lead all in a row upright."""
    solution = solution_of(name)
    assert solution.K is not None
    assert np.abs(solution.us).max() <= limit
    assert np.sum(np.abs(solution.us) > limit - 1e-6) > 5  # the motor is at its limit
    each = np.array([simulated(x, float(u[0]), dt, rate) for x, u in zip(solution.xs, solution.us)])
    np.testing.assert_allclose(each, solution.xs[1:], rtol=0, atol=1e-3)
    x = solution.xs[0]
    for u, K, planned in zip(solution.us, solution.K, solution.xs):
        x = simulated(x, float(np.clip(u - K @ (x - planned), -limit, limit)[0]), dt, rate)
    np.testing.assert_allclose(x, case_of(name).problem.get_parameter("goal.reference"), rtol=0, atol=off)


@pytest.mark.parametrize("name", ["parking", "parking-circles"])
def test_cars_arrive_in_the_exact_motion(name: str) -> None:
    """With v and ω held a car drives along a circular arc."""
    solution, problem = solution_of(name), case_of(name).problem
    dt, (x, y, angle) = float(problem.get_parameter("dt").ravel()[0]), solution.xs[0]
    for v, w in solution.us:
        half = w * dt / 2
        chord = v * dt * np.sinc(half / np.pi)
        x, y, angle = x + chord * np.cos(angle + half), y + chord * np.sin(angle + half), angle + w * dt
    np.testing.assert_allclose([x, y, angle], problem.get_parameter("goal.reference"), rtol=0, atol=1e-5)


def two_wheels(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Wheels of 10 cm radius, 30 cm apart, by the velocities of their hubs."""
    right, left = 0.1 * x[3], 0.1 * x[4]
    return np.array([(right + left) / 2 * np.cos(x[2]), (right + left) / 2 * np.sin(x[2]), (right - left) / 0.3, *u])


def test_wheels_park_in_a_finer_simulation_within_their_limits() -> None:
    solution = solution_of("parking-wheels")
    x = solution.xs[0]
    for u, planned in zip(solution.us, solution.xs[1:]):
        x = simulated(x, u, 0.03, two_wheels)
        np.testing.assert_allclose(x, planned, rtol=0, atol=1e-5)
    np.testing.assert_allclose(x, [0.0, 1.5, 0.0, 0.0, 0.0], rtol=0, atol=1e-5)
    assert np.abs(solution.us).max() == pytest.approx(40.0, abs=1e-5)
    assert np.abs(solution.xs[:, 3:]).max() == pytest.approx(12.0, abs=1e-5)
    assert np.abs(solution.xs[:, 0]).max() < 0.25 + 1e-6


def test_circles_are_left_out_between_knots_but_for_millimetres() -> None:
    """A chord of 15 cm cuts 6.6 mm into a circle of 42.5 cm at most; the report says how much."""
    case, solution = case_of("parking-circles"), solution_of("parking-circles")
    points = np.concatenate([np.linspace(a[:2], b[:2], 33) for a, b in itertools.pairwise(solution.xs)])
    distance = np.linalg.norm(points[:, None] - case.obstacles[:, :2], axis=2) - case.obstacles[:, 2]
    assert -6.7e-3 < distance.min() < 0.0
    assert float(case.report(solution)["clearance"].split()[0]) == pytest.approx(1e3 * distance.min(), abs=0.05)
    at_knots = np.linalg.norm(solution.xs[1:-1, None, :2] - case.obstacles[:, :2], axis=2) - case.obstacles[:, 2]
    assert at_knots.min() > -1e-7


def test_the_quadrotor_stays_outside_of_pillars_between_knots() -> None:
    """Its body, 30 cm around the centre, by the margin less what a chord takes."""
    case, solution = case_of("quadrotor-obstacles"), solution_of("quadrotor-obstacles")
    points = np.concatenate([np.linspace(a[:2], b[:2], 33) for a, b in itertools.pairwise(solution.xs)])
    distance = np.linalg.norm(points[:, None] - case.obstacles[:, :2], axis=2) - case.obstacles[:, 2] - 0.3
    assert 0.04 < distance.min() < 0.05
    assert solution.us.min() >= 0.0
    assert solution.us.max() == pytest.approx(4.0, abs=1e-9)
    sides = np.sign(solution.xs[20, 1] - case.obstacles[[1, 3], 1])
    assert set(sides) == {-1.0, 1.0}  # it flies between two of them


def test_the_quadrotor_moves_as_a_free_flyer() -> None:
    """Pinocchio's forward dynamics of a rigid body under the wrench of the rotors."""
    robot, state = pin.Model(), state_of_quadrotor()
    body = robot.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    robot.appendBodyToJoint(body, pin.Inertia(1.0, np.zeros(3), np.diag([0.01, 0.01, 0.02])), pin.SE3.Identity())
    model = DifferentialActionModelQuadrotor(trajopt.CostStack(state))
    data, ours = robot.createData(), model.create_data()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, u = state.rand(rng), rng.uniform(0.0, 4.0, 4)
        torque = [0.2 * (u[1] - u[3]), 0.2 * (u[2] - u[0]), 0.02 * (u[0] - u[1] + u[2] - u[3])]
        expected = pin.aba(robot, data, x[:7], x[7:], np.array([0.0, 0.0, u.sum(), *torque]))
        model.calc(ours, x, u)
        np.testing.assert_allclose(ours.xnext[6:], expected, rtol=1e-10, atol=1e-10)


def test_the_tool_stays_in_its_box() -> None:
    solution, robot = solution_of("arm-limits"), trajopt.load_robot("ur5")
    tool = frame_paths(robot, ["tool0"], solution.xs[1:, :6])[0]
    assert np.all(tool <= np.array([1.0, 0.4, 0.4]) + 1e-7)
    assert np.sum(tool[:, 1] > 0.4 - 1e-6) > 3  # it slides along a wall
    assert np.abs(solution.us).max(axis=0).tolist() <= robot.model.effortLimit.tolist()


def test_the_arm_keeps_clear_of_spheres_and_within_its_limits() -> None:
    """Closest points along each link by Pinocchio; torques by its inverse dynamics."""
    case, solution, robot = case_of("arm-spheres"), solution_of("arm-spheres"), trajopt.load_robot("ur5")
    model, data = robot.model, robot.model.createData()
    part = np.linspace(0.0, 1.0, 400)[:, None]
    least = []
    for q in solution.xs[1:-1, :6]:
        pin.framesForwardKinematics(model, data, q)
        for link in LINKS.values():
            placement = data.oMf[robot.frame_id(str(link.frame))]
            ends = link.points @ placement.rotation.T + placement.translation
            points = (1 - part) * ends[0] + part * ends[-1]
            away = np.linalg.norm(points[:, None] - case.obstacles[:, :3], axis=2) - case.obstacles[:, 3] - link.radius
            least.append(away.min())
    assert min(least) == pytest.approx(0.01, abs=1e-5)  # the margin, to the sampling along a link
    assert float(case.report(solution)["clearance"].split()[0]) > 8.0  # between knots [mm]
    qs, vs = solution.xs[:, :6], solution.xs[:, 6:]
    torques = [pin.rnea(model, data, q, v, (w - v) / 0.045) for q, v, w in zip(qs, vs, vs[1:])]
    np.testing.assert_allclose(torques, solution.us, rtol=0, atol=1e-6)
    assert np.all(np.abs(torques) <= model.effortLimit + 1e-6)
    assert np.all(np.abs(vs[1:]) <= model.velocityLimit + 1e-6)
    assert np.all((qs >= model.lowerPositionLimit - 1e-6) & (qs <= model.upperPositionLimit + 1e-6))


def test_the_quadruped_stands_on_its_friction_cones() -> None:
    """Contact forces balance the motion of the centre of mass; feet stay where they are."""
    solution, robot = solution_of("com-circle"), trajopt.load_robot("solo12")
    feet = list(solution.contact_forces())
    forces = np.array([solution.contact_forces()[foot] for foot in feet])  # in the world's axes
    tangential = np.hypot(forces[..., 0], forces[..., 1])
    assert np.all(tangential <= 0.8 * forces[..., 2] + 1e-5)
    assert np.sum(tangential > 0.8 * forces[..., 2] - 1e-4) > 10  # some slip if pushed further
    paths = frame_paths(robot, feet, solution.xs[:, : robot.nq])
    assert np.abs(paths - paths[:, :1]).max() < 1e-3
    model, data = robot.model, robot.model.createData()
    for t in (5, 100, 200):
        q, v, following = solution.xs[t, : robot.nq], solution.xs[t, robot.nq :], solution.xs[t + 1, robot.nq :]
        pin.computeCentroidalMomentumTimeVariation(model, data, q, v, (following - v) / 0.02)
        weight = pin.computeTotalMass(model) * 9.81 * np.array([0.0, 0.0, 1.0])
        np.testing.assert_allclose(forces[:, t].sum(axis=0) - weight, data.dhg.linear, rtol=0, atol=2e-3)


def test_minimum_jerk_is_the_polynomial_of_flash_and_hogan() -> None:
    """The optimum of the time steps in closed form; its error falls with the square of the time step."""
    solution = solution_of("minimum-jerk")
    s = solution.times
    assert s is not None
    np.testing.assert_allclose(solution.xs[:, 0], 10 * s**3 - 15 * s**4 + 6 * s**5, rtol=0, atol=2e-4)
    errors = [minimum_jerk.least_cost(T, 1.0 / T, 1.0) / 360.0 - 1.0 for T in (50, 100, 200)]
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 2.0, atol=0.02)
    scaled = case_of("minimum-jerk", T=20, dt=0.1, distance=3.0)
    found = SolverSQP(scaled.problem, scaled.options).solve()
    assert found.cost == pytest.approx(scaled.reference_cost, rel=1e-8)


def test_a_motor_that_is_too_weak_makes_the_problem_infeasible() -> None:
    case = case_of("pendulum-limits", torque=1.0)
    solution = case.solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert "constraint 'goal'" in solution.explain()


def test_a_rail_keeps_the_cart() -> None:
    case = case_of("cart-pole-limits", rail=0.2)
    solution = case.solve()
    assert solution.converged
    assert 0.2 - 1e-6 < np.abs(solution.xs[:, 0]).max() < 0.2 + 1e-6
    assert solution.cost > solution_of("cart-pole-limits").cost


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pendulum-limits", {"torque": 0.0}, r"torque: expected a number > 0"),
        ("cart-pole-limits", {"rail": -1.0}, r"rail: expected a number > 0"),
        ("parking", {"lane": 0.0}, r"lane: expected a number > 0"),
        ("parking-wheels", {"rate": 0.0}, r"rate: expected a number > 0"),
        ("parking-wheels", {"acceleration": -1.0}, r"acceleration: expected a number > 0"),
        ("parking-wheels", {"goal": (1.0, 2.0)}, r"goal: expected shape \(3,\)"),
        ("hermite-path", {"limit": 0.0}, r"limit: expected a number > 0"),
        ("hermite-path", {"points": (1.0, 2.0)}, r"points: expected two or more rows \(x, y, ẋ, ẏ\)"),
        (
            "hermite-path",
            {"points": ((0, 0, 0, 0), (1, 0, 1, 0))},
            r"velocities: expected nonzero velocities, got 0 at time 0",
        ),
        ("hermite-path", {"T": 1}, r"T: expected an integer >= 2"),
        ("parking-circles", {"circles": (1.0, 2.0)}, r"circles: expected rows \(x, y, radius\)"),
        ("parking-circles", {"circles": (1.0, 2.0, -1.0)}, r"circles: expected rows .* with radius > 0"),
        ("arm-spheres", {"spheres": (1.0, 2.0, 0.5)}, r"spheres: expected rows \(x, y, z, radius\)"),
        ("arm-spheres", {"margin": -0.1}, r"margin: expected a number >= 0"),
        ("arm-spheres", {"goal": (1.0, 2.0)}, r"goal: expected shape \(6,\)"),
        ("arm-limits", {"target": (1.0, 2.0)}, r"target: expected shape \(3,\)"),
        ("arm-limits", {"lower": 1.0, "upper": 0.0}, r"constraint 'box'"),
        ("lqr-bounds", {"wall": -1.0}, r"wall: expected a number >= 0"),
        ("minimum-jerk", {"T": 2}, r"T: expected an integer >= 3"),
        ("quadrotor-obstacles", {"thrust": 0.0}, r"thrust: expected a number > 0"),
        ("com-circle", {"mu": 0.0}, r"mu: expected a number > 0"),
    ],
)
def test_misuse(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        problems.load(name, **options)
