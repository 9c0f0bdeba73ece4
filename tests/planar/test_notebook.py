"""Numbers of the robotics notebook's part on mobile robots, each computed from its definitions and inputs."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicHermiteSpline

import trajopt
from trajopt import planar, problems
from trajopt.solution import Solution

UNIT = {"radius": 1.0, "half_track": 4.0}  # the robotics notebook's robot on curves [m]


def drive_model(radius: float = 1.0, half_track: float = 4.0) -> planar.DifferentialActionModelDiffDrive:
    costs = trajopt.CostStack(planar.state_of_pose())
    return planar.DifferentialActionModelDiffDrive(costs, radius=radius, half_track=half_track)


def hermite() -> CubicHermiteSpline:
    return CubicHermiteSpline([0.0, 1.0], [(1, -1), (3, 4)], [(1, -3), (0, 2)])


def parabola() -> planar.PlanarPath:
    t = np.linspace(0.0, 2.0, 200)
    ones, zeros = np.ones(200), np.zeros(200)
    points, velocities = np.column_stack([t * t, t]), np.column_stack([2 * t, ones])
    return planar.PlanarPath.of_derivatives(t, points, velocities, np.column_stack([2 * ones, zeros]))


# Robotics notebook, forward kinematics of a differential drive: r = 1, L = 2, ω1 = 1.25 + cos t, ω2 = 1 + sin t


def wheels(times: np.ndarray) -> np.ndarray:
    return np.column_stack([1.25 + np.cos(times), 1.0 + np.sin(times)])


def heading(t: float) -> float:
    return (0.25 * t + np.sin(t) + np.cos(t) - 1.0) / 4.0


def exact_end(duration: float = 5.0) -> np.ndarray:
    """By quadrature along the heading in closed form."""

    def speed(t: float) -> float:
        return float(wheels(np.array([t])).sum()) / 2

    place = [quad(lambda t, f=f: speed(t) * f(heading(t)), 0, duration, epsabs=1e-12)[0] for f in (np.cos, np.sin)]
    return np.array([*place, heading(duration)])


def test_euler_drive_of_the_robotics_notebook_is_its_loop() -> None:
    """Its `DDstep`, written out, in 100 steps of 0.05 s."""
    us, dt, pose = wheels(0.05 * np.arange(100)), 0.05, np.zeros(3)
    for right, left in us:
        step = [(right + left) / 2 * np.cos(pose[2]), (right + left) / 2 * np.sin(pose[2]), (right - left) / 4]
        pose = pose + dt * np.array(step)
    motion = planar.rollout(drive_model(half_track=2.0), np.zeros(3), us, dt, integrator="euler")
    np.testing.assert_allclose(motion.xs[-1], pose, rtol=0, atol=1e-12)
    assert motion.times is not None
    assert motion.times[-1] == pytest.approx(5.0)


@pytest.mark.parametrize(("integrator", "held", "order"), [("euler", 0.0, 1.0), ("rk4", 0.0, 1.0), ("rk4", 0.5, 2.0)])
def test_end_of_the_robotics_notebook_s_drive_is_that_of_the_exact_equation(
    integrator: str, held: float, order: float
) -> None:
    """Order by regression: of Euler's step, and of rates held over a step whose start, or middle, they are of."""
    counts, errors, end = np.array([100, 200, 400, 800]), [], exact_end()
    for count in counts:
        us = wheels(5.0 / count * (np.arange(count) + held))
        motion = planar.rollout(drive_model(half_track=2.0), np.zeros(3), us, 5.0 / count, integrator=integrator)
        errors.append(np.abs(motion.xs[-1] - end).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.03)
    assert errors[-1] < (0.01 if order == 1.0 else 1e-5)


class Velocities(trajopt.DifferentialActionModelSymbolic):
    """ẋ = (f(t), g(t)) of the robotics notebook's velocity control, with time as the third state."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        late = x[2] >= 2.0 - 1e-9
        return ca.vertcat(ca.if_else(late, 0.25, 0.5) * x[2], ca.if_else(late, 0.65, 0.0) * x[2], 1.0)


def test_euler_scheme_of_the_robotics_notebook_has_order_one() -> None:
    """x' = (t/2, 0) until 2 s and (t/4, 0.65 t) until 5 s from (0, 0): x(5) = 1 + 2.625, y(5) = 6.825."""
    model = Velocities(trajopt.StateVector(3), 1, trajopt.CostStack(trajopt.StateVector(3)))
    counts, errors = np.array([50, 100, 200, 400]), []
    for count in counts:
        node = trajopt.IntegratedActionModelEuler(model, 5.0 / count)
        problem = trajopt.ShootingProblem(np.zeros(3), [node] * int(count), trajopt.CostStack(model.state))
        errors.append(np.abs(problem.rollout(np.zeros((count, 1)))[-1, :2] - [3.625, 6.825]))
    slopes = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, 1.0, atol=1e-6)
    np.testing.assert_allclose(errors[0], [0.1 * 0.875, 0.1 * 0.975], rtol=1e-9)  # half a step times the rise of f


# Robotics notebook, inverse kinematics from the curvature of x = t², y = t: r = 1, L = 4


def test_rates_from_curvature_are_those_of_the_robotics_notebook() -> None:
    path = parabola()
    rates = path.wheel_rates(**UNIT)
    assert path.curvatures[0] == pytest.approx(-2.0)
    np.testing.assert_allclose(rates[0], [-7.0, 9.0], rtol=1e-12)
    np.testing.assert_allclose(rates[-1], [3.6525173903, 4.5936938609], rtol=1e-10)
    assert path.poses[-1, 2] == pytest.approx(0.2449786631, abs=1e-10)
    v, k = path.speeds, path.curvatures
    np.testing.assert_allclose(rates, np.column_stack([v * (4 * k + 1), v * (-4 * k + 1)]), rtol=1e-12)


def test_euler_drive_along_the_curve_ends_as_in_the_robotics_notebook() -> None:
    path = parabola()
    motion = planar.rollout(drive_model(), path.poses[0], path.wheel_rates(**UNIT)[:-1], 2.0 / 200, integrator="euler")
    np.testing.assert_allclose(motion.xs[-1], [3.9635938555, 1.9803744828, 0.2421969141], rtol=0, atol=1e-10)
    assert motion.xs[0, 2] == pytest.approx(np.pi / 2)


# Robotics notebook, cubic Hermite spline (1, -1) -> (3, 4), tangents (1, -3) and (0, 2)


def test_hermite_spline_of_the_robotics_notebook() -> None:
    t = np.linspace(0.0, 1.0, 100)
    path = planar.PlanarPath.of_curve(hermite(), t)
    np.testing.assert_allclose(path.poses[:, 0], -3 * t**3 + 4 * t**2 + t + 1, rtol=0, atol=1e-13)
    np.testing.assert_allclose(path.poses[:, 1], -11 * t**3 + 19 * t**2 - 3 * t - 1, rtol=0, atol=1e-13)
    d, dd = (-9 * t**2 + 8 * t + 1, -33 * t**2 + 38 * t - 3), (-18 * t + 8, -66 * t + 38)
    np.testing.assert_allclose(path.speeds, np.hypot(*d), rtol=1e-12)
    np.testing.assert_allclose(path.turn_rates, (d[0] * dd[1] - d[1] * dd[0]) / (d[0] ** 2 + d[1] ** 2), rtol=1e-9)
    a, b, c, e = -1, 2, -8, 3  # the robotics notebook's a, b, c, d
    z = t * (1 - t)
    np.testing.assert_allclose(path.poses[:, 0], 1 - t + 3 * t + z * (a * (1 - t) + b * t), rtol=0, atol=1e-13)
    np.testing.assert_allclose(path.poses[:, 1], t - 1 + 4 * t + z * (c * (1 - t) + e * t), rtol=0, atol=1e-13)


def test_speed_and_curvature_of_the_hermite_spline_are_those_of_the_robotics_notebook() -> None:
    path = planar.PlanarPath.of_curve(hermite(), np.linspace(0.0, 1.0, 100))
    assert path.speeds.min() == pytest.approx(1.594, abs=5e-4)
    assert path.times[np.argmin(path.speeds)] == pytest.approx(0.0707, abs=5e-5)
    assert path.curvatures.max() == pytest.approx(13.31, abs=5e-3)
    rates = path.wheel_rates(**UNIT)
    np.testing.assert_allclose(rates[0], [27.9622776602, -21.6377223398], rtol=0, atol=1e-10)
    motion = planar.rollout(drive_model(), path.poses[0], rates[:-1], 0.01, integrator="euler")
    np.testing.assert_allclose(motion.xs[-1], [2.9741351438, 3.915861178, 1.5488427249], rtol=0, atol=1e-10)


@functools.cache
def limited(fastest: bool) -> tuple[problems.ProblemCase, Solution]:
    case = problems.load("hermite-path", fastest=fastest)
    return case, case.solve()


def test_rates_of_the_robotics_notebook_are_beyond_the_limit_and_are_held_to_it() -> None:
    """-21.6 rad/s at the start and -83.3 rad/s in the bend: backwards, on the inner side."""
    case, solution = limited(False)
    asked = planar.PlanarPath.of_curve(hermite(), np.linspace(0.0, 1.0, 101)).wheel_rates(**UNIT)
    assert asked[0, 1] == pytest.approx(-21.6377223398)
    sampled = planar.PlanarPath.of_curve(hermite(), np.linspace(0.0, 1.0, 100)).wheel_rates(**UNIT)
    assert sampled.min() == pytest.approx(-83.3, abs=0.05)
    assert np.sum(np.abs(asked) > 30.0) > 10
    assert case.us is not None
    np.testing.assert_allclose(case.us, 0.5 * (asked[:-1] + asked[1:]), atol=1e-3)  # the guess
    assert solution.converged
    assert np.abs(solution.us).max() <= 30.0
    assert np.sum(solution.us[:, 1] < -30.0 + 1e-6) > 5  # the bound is active where the robot turns
    assert np.sum(solution.us[:, 0] > 30.0 - 1e-6) > 5
    np.testing.assert_allclose(solution.xs[-1], [3.0, 4.0, np.pi / 2], rtol=0, atol=1e-6)


def test_the_fastest_drive_along_the_spline_takes_the_least_time() -> None:
    """(length + L ∫ |κ| ds) / (r φ̇_max), by quadrature; the wheels of the solved problem keep to the limit."""

    def slowness(t: float) -> float:
        d, dd = hermite()(t, 1), hermite()(t, 2)
        return float(np.hypot(*d) + 4.0 * abs(d[0] * dd[1] - d[1] * dd[0]) / (d @ d)) / 30.0

    least = quad(slowness, 0.0, 1.0, limit=500, epsabs=1e-9)[0]
    fine = planar.PlanarPath.of_curve(hermite(), np.linspace(0.0, 1.0, 4001)).fastest(30.0, **UNIT)
    assert fine.times[-1] == pytest.approx(least, abs=1e-6)
    np.testing.assert_allclose(np.abs(fine.wheel_rates(**UNIT)).max(axis=1), 30.0, rtol=1e-12)
    case, solution = limited(True)
    assert solution.converged
    assert np.abs(solution.us).max() <= 30.0
    assert solution.times is not None
    assert solution.times[-1] == pytest.approx(least / 0.95, rel=1e-5)
    assert float(case.report(solution)["distance"].split()[0]) < 4.0  # mm


# Robotics notebook, planned, actual and corrected paths: c = [x0, y0, x1, y1, ẋ0, ẏ0, ẋ1, ẏ1]


SEGMENTS = {  # by its path and part, moved down so that all begin and end at the same height
    "planned": [(0, 1, 1, 2, 1, 0, 1, 0), (1, 2, 2, 1, 1, 0, 1, 0)],
    "actual": [(0, 1, 1, 2.3, 1, 0, 1, 0), (1, 2, 2, 1, 1, 0, 1, 0)],
    "corrected": [(0, 1, 1, 2.3, 1, 0, 1, 0), (1, 2.3, 2, 1, 1, 0, 1, 0)],
}


def test_a_corrected_path_of_the_robotics_notebook_begins_where_the_robot_is() -> None:
    """The planned one goes on 0.3 m beside it; the corrected one ends at the goal, along the planned heading."""
    ends = {}
    for name, parts in SEGMENTS.items():
        curves = [CubicHermiteSpline([0, 1], [c[:2], c[2:4]], [c[4:6], c[6:]]) for c in parts]
        paths = [planar.PlanarPath.of_curve(curve, np.linspace(0.0, 1.0, 20)) for curve in curves]
        ends[name] = [(path.poses[0], path.poses[-1]) for path in paths]
    assert ends["actual"][0][1][1] - ends["actual"][1][0][1] == pytest.approx(0.3)
    np.testing.assert_allclose(ends["corrected"][0][1], ends["corrected"][1][0], atol=1e-12)
    np.testing.assert_allclose(ends["corrected"][1][1], ends["planned"][1][1], atol=1e-12)


@functools.cache
def plan() -> tuple[problems.ProblemCase, Solution]:
    points = ((0.0, 1.0, 1.0, 0.0), (1.0, 2.0, 1.0, 0.0), (2.0, 1.0, 1.0, 0.0))
    case = problems.load(
        "hermite-path", T=40, points=points, duration=2.0, limit=22.0, radius=0.1, half_track=0.2, effort=1e-3
    )
    return case, case.solve()


def test_the_corrected_plan_of_the_robotics_notebook_s_robot_leads_to_the_goal() -> None:
    case, planned = plan()
    there = planned.xs[20] + np.array([0.0, 0.3, 0.0])
    actual = planar.rollout(drive_model(0.1, 0.2), there, planned.us[20:], 0.05).xs
    np.testing.assert_allclose(actual[-1] - planned.xs[-1], [0.0, 0.3, 0.0], atol=1e-6)  # it goes on 0.3 m beside it
    corrected = planar.replan(planned, 20, there, case.solver)
    assert corrected.converged
    np.testing.assert_allclose(corrected.xs[0], there)
    np.testing.assert_allclose(corrected.xs[-1], planned.xs[-1], rtol=0, atol=1e-6)
    assert np.abs(corrected.us).max() <= 22.0
    driven = planar.rollout(drive_model(0.1, 0.2), there, corrected.us, 0.05).xs
    np.testing.assert_allclose(driven, corrected.xs, rtol=0, atol=1e-9)


def test_replanning_without_a_disturbance_keeps_the_plan() -> None:
    """Bellman's principle: the rest of an optimum is one; so run-time parameters of the rest are the plan's."""
    case, planned = plan()
    rest = planar.replan(planned, 15, planned.xs[15], case.solver)
    np.testing.assert_allclose(rest.us, planned.us[15:], rtol=0, atol=1e-5)
    assert rest.cost < planned.cost
    np.testing.assert_array_equal(
        rest.problem.get_parameter("path.reference"), planned.problem.get_parameter("path.reference")[15:]
    )


# Robotics notebook, discrete inverse kinematics


@pytest.mark.parametrize(("differences", "order"), [("backward", 1.0), ("central", 2.0)])
def test_discrete_rates_of_the_robotics_notebook_agree_with_analytic_ones(differences: str, order: float) -> None:
    """∇x = (x - x⁻) / dt and δ²x = (x⁺ - 2x + x⁻) / dt²; order by regression along the Hermite spline."""
    counts, errors = np.array([200, 400, 800, 1600]), []
    for count in counts:
        t = np.linspace(0.0, 1.0, count + 1)
        exact = planar.PlanarPath.of_curve(hermite(), t).wheel_rates(**UNIT)[1:-1]
        found = planar.PlanarPath.of_points(hermite()(t), 1.0 / count, differences=differences)
        np.testing.assert_allclose(found.times, t[1:-1], atol=1e-12)
        errors.append(np.abs(found.wheel_rates(**UNIT) - exact).max())
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(order, abs=0.06)


def test_a_backward_difference_is_the_robotics_notebook_s() -> None:
    points, dt = np.array([(0.0, 0.0), (1.0, 0.5), (1.5, 2.0)]), 0.5
    path = planar.PlanarPath.of_points(points, dt, differences="backward")
    d, dd = (points[1] - points[0]) / dt, (points[2] - 2 * points[1] + points[0]) / dt**2
    v = np.hypot(*d)
    k = (d[0] * dd[1] - d[1] * dd[0]) / v**3
    np.testing.assert_allclose(path.wheel_rates(**UNIT), [[v * (4 * k + 1), v * (-4 * k + 1)]], rtol=1e-12)
