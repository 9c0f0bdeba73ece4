"""Mobile robots: models against closed forms, paths, wheels, rollouts, and what is said of wrong inputs."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, CubicSpline

import trajopt
from trajopt import planar
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_drives
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

BODY = {"radius": 0.1, "half_track": 0.2}  # [m]


def costs(state: trajopt.StateVector) -> trajopt.CostStack:
    return trajopt.CostStack(state)


def wheels(state: trajopt.StateVector | None = None) -> planar.DifferentialActionModelDiffDrive:
    return planar.DifferentialActionModelDiffDrive(costs(state or planar.state_of_pose()), **BODY)


def circle(*, backwards: bool = False) -> planar.PlanarPath:
    """Half of a circle of 2 m around the origin in π seconds, to the left."""
    t = np.linspace(0.0, np.pi, 60)
    p = 2 * np.column_stack([np.cos(t), np.sin(t)])
    d = 2 * np.column_stack([-np.sin(t), np.cos(t)])
    return planar.PlanarPath.of_derivatives(t, p, d, -p, backwards=backwards)


# Models


def test_equal_wheels_drive_straight_and_opposite_ones_turn_on_the_spot() -> None:
    straight = planar.rollout(wheels(), [1.0, 2.0, 0.3], [[5.0, 5.0]] * 10, 0.1).xs[-1]
    np.testing.assert_allclose(straight, [1.0 + 0.5 * np.cos(0.3), 2.0 + 0.5 * np.sin(0.3), 0.3], atol=1e-12)
    turned = planar.rollout(wheels(), [1.0, 2.0, 0.3], [[5.0, -5.0]] * 10, 0.1).xs[-1]
    np.testing.assert_allclose(turned, [1.0, 2.0, 0.3 + 5.0 * 0.1 / 0.2], atol=1e-12)  # r φ̇ / L to the left


def test_unequal_wheels_drive_along_the_exact_arc() -> None:
    us, x, dt = np.array([[6.0, 4.0]]), np.array([0.0, 0.0, 0.4]), 0.2
    v, w = 0.1 * 5.0, 0.1 * 2.0 / 0.4
    arc = [v / w * (np.sin(0.4 + w * dt) - np.sin(0.4)), -v / w * (np.cos(0.4 + w * dt) - np.cos(0.4)), 0.4 + w * dt]
    np.testing.assert_allclose(planar.rollout(wheels(), x, us, dt).xs[-1], arc, atol=1e-8)


def test_a_unicycle_with_the_speeds_of_the_wheels_moves_as_they_do(rng: np.random.Generator) -> None:
    rates = rng.uniform(-5, 5, (20, 2))
    twist = np.column_stack([0.05 * rates.sum(axis=1), 0.1 * (rates[:, 0] - rates[:, 1]) / 0.4])
    unicycle = planar.DifferentialActionModelUnicycle(costs(planar.state_of_pose()))
    motion = planar.rollout(unicycle, np.zeros(3), twist, 0.1)
    np.testing.assert_allclose(motion.xs, planar.rollout(wheels(), np.zeros(3), rates, 0.1).xs, atol=1e-12)
    np.testing.assert_allclose(planar.wheel_rates(*twist.T, **BODY), rates, atol=1e-12)


@pytest.mark.parametrize("kind", ["wheels", "unicycle"])
def test_rates_as_states_are_integrals_of_the_control(kind: str) -> None:
    """Explicit Euler: the rates are those of the kinematic model's controls, one step later."""
    us = 3.0 * np.sin(np.arange(30))[:, None] * [1.0, -0.5]
    rates = np.vstack([np.zeros(2), 0.1 * np.cumsum(us, axis=0)])
    if kind == "wheels":
        moving, still = wheels(planar.state_of_wheels()), wheels()
    else:
        moving, still = (
            planar.DifferentialActionModelUnicycle(costs(state))
            for state in (planar.state_of_twist(), planar.state_of_pose())
        )
    whole = planar.rollout(moving, np.zeros(5), us, 0.1, integrator="euler")
    poses = planar.rollout(still, np.zeros(3), rates[:-1], 0.1, integrator="euler").xs
    np.testing.assert_allclose(whole.xs, np.column_stack([poses, rates]), atol=1e-12)
    assert whole.coordinate_units[3:] == ((("rad/s",) * 2) if kind == "wheels" else ("m/s", "rad/s"))


def test_wheels_and_track_are_run_time_parameters() -> None:
    motion = planar.rollout(wheels(), np.zeros(3), [[1.0, 1.0]] * 5, 0.1)
    assert motion.problem is not None
    motion.problem.set_parameter("radius", 0.2)
    np.testing.assert_allclose(motion.problem.rollout(motion.us)[-1, 0], 2 * motion.xs[-1, 0])


def test_a_rollout_is_a_solution_with_cost_table_and_picture(tmp_path) -> None:
    stack = costs(planar.state_of_pose()).add("turning", trajopt.ResidualModelControl(planar.state_of_pose()), 1.0)
    model = planar.DifferentialActionModelDiffDrive(stack, **BODY)
    motion = planar.rollout(model, np.zeros(3), [[1.0, 2.0]] * 10, 0.1)
    assert isinstance(motion, Solution)
    assert motion.status is SolverStatus.UNSOLVED
    assert motion.cost == pytest.approx(0.5 * 5.0 * 1.0)
    np.testing.assert_allclose(motion.gaps(), 0.0, atol=1e-15)
    assert motion.to_csv(tmp_path / "drive.csv").read_text().startswith("knot [-],time [s],x [m],y [m],theta [rad]")
    assert len(motion.covariance(0.1, feedback=False).P) == 11


# Paths


@pytest.mark.parametrize("backwards", [False, True])
def test_wheels_of_a_circle(backwards: bool) -> None:
    """φ̇ = (v / r) (1 ± κ L); driving backwards the body points the other way, and the wheels change their roles."""
    path = circle(backwards=backwards)
    rates = path.wheel_rates(**BODY)
    np.testing.assert_allclose(path.curvatures, 0.5, rtol=1e-12)
    expected = 2.0 / 0.1 * np.array([1.1, 0.9])
    np.testing.assert_allclose(rates, np.tile(-expected[::-1] if backwards else expected, (60, 1)), rtol=1e-12)
    assert path.length == pytest.approx(2 * np.pi)
    t = path.times
    held = path.at(0.5 * (t[1:] + t[:-1])).wheel_rates(**BODY)
    motion = planar.rollout(wheels(), path.poses[0], held, t[1] - t[0])
    np.testing.assert_allclose(motion.xs, path.poses, atol=1e-6)


def test_headings_are_continuous_and_along_the_path() -> None:
    t = np.linspace(0.0, 4 * np.pi, 200)
    path = planar.PlanarPath.of_curve(CubicSpline(t, np.column_stack([np.cos(t), np.sin(t)])), t)
    assert path.poses[-1, 2] - path.poses[0, 2] == pytest.approx(4 * np.pi, abs=1e-3)
    chords = np.diff(path.poses[:, :2], axis=0)
    middle = 0.5 * (path.poses[1:, 2] + path.poses[:-1, 2])
    unit = np.column_stack([np.cos(middle), np.sin(middle)])
    np.testing.assert_allclose(np.sum(chords * unit, axis=1), np.linalg.norm(chords, axis=1), rtol=1e-6)


def test_the_fastest_timing_keeps_the_path_and_uses_the_limit() -> None:
    path = circle()
    fast = path.fastest(10.0, **BODY)
    np.testing.assert_array_equal(fast.poses, path.poses)
    assert fast.times[-1] == pytest.approx((2 * np.pi + 0.2 * np.pi) / (0.1 * 10.0))  # (length + L |Δθ|) / (r φ̇)
    np.testing.assert_allclose(np.abs(fast.wheel_rates(**BODY)).max(axis=1), 10.0)
    np.testing.assert_allclose(fast.curvatures, path.curvatures)
    later = replace(path, times=path.times + 3.0).fastest(10.0, **BODY)
    np.testing.assert_allclose(later.times, fast.times + 3.0)


@pytest.mark.parametrize("state", [planar.state_of_pose(), planar.state_of_wheels()])
def test_a_guess_drives_along_the_path(state: trajopt.StateVector) -> None:
    path = circle()
    xs, us = planar.along(path, wheels(state))
    np.testing.assert_array_equal(xs[:, :3], path.poses)
    if state.nx == 5:
        np.testing.assert_allclose(xs[:, 3:], path.wheel_rates(**BODY))
    driven = planar.rollout(wheels(state), xs[0], us, path.times[1]).xs
    np.testing.assert_allclose(driven, xs, atol=1e-6)  # on a circle the rates are constant


def test_a_guess_leaves_a_curve_by_dt_squared() -> None:
    curve, apart = CubicSpline(np.linspace(0.0, 8.0, 5), [[0, 0], [1, 0.2], [1.8, 1], [1.2, 1.9], [0.2, 1.6]]), []
    for count in (100, 200):
        path, model = planar.PlanarPath.of_curve(curve, np.linspace(0.0, 8.0, count + 1)), wheels(POSE)
        xs, us = planar.along(path, model)
        apart.append(np.abs(planar.rollout(model, xs[0], us, 8.0 / count).xs - xs).max())
    assert apart[1] < 2e-3  # [m]
    assert apart[0] / apart[1] == pytest.approx(4.0, rel=0.2)


def test_a_guess_with_rates_as_states_has_their_derivatives_as_controls() -> None:
    path = planar.PlanarPath.of_curve(SPLINE, [0.1, 0.2, 0.4, 0.45])
    xs, us = planar.along(path, wheels(planar.state_of_wheels()))
    np.testing.assert_allclose(xs[:-1, 3:] + us * np.array([[0.1], [0.2], [0.05]]), xs[1:, 3:], rtol=1e-12)
    assert np.abs(us).min() > 1e-3


def test_a_guess_of_a_unicycle_has_speed_and_turning_rate() -> None:
    unicycle = planar.DifferentialActionModelUnicycle(costs(planar.state_of_pose()))
    _, us = planar.along(circle(), unicycle)
    np.testing.assert_allclose(us, np.tile([2.0, 1.0], (59, 1)), rtol=1e-12)


def test_a_new_plan_has_the_knots_that_are_left() -> None:
    unicycle = planar.DifferentialActionModelUnicycle(
        costs(planar.state_of_pose()).add("effort", trajopt.ResidualModelControl(planar.state_of_pose()), weight=1.0)
    )
    nodes = [trajopt.IntegratedActionModelEuler(unicycle, dt) for dt in (0.1, 0.2, 0.3)]
    plan = SolverSQP(trajopt.ShootingProblem(np.zeros(3), nodes, costs(planar.state_of_pose()))).solve()
    rest = planar.replan(plan, 1, [1.0, 0.0, 0.0], SolverSQP)
    assert str(planar.replan.__doc__).count("The corrected plan") == 1
    np.testing.assert_allclose(rest.times, [0.0, 0.2, 0.5])
    assert list(rest.problem.running) == nodes[1:]
    np.testing.assert_array_equal(rest.xs, [[1.0, 0.0, 0.0]] * 3)


# Limits


@pytest.mark.parametrize("state", [planar.state_of_pose(), planar.state_of_wheels()])
def test_limits_of_wheels_are_rows_of_controls_or_states(state: trajopt.StateVector) -> None:
    rows = planar.limit_wheels(trajopt.ConstraintStack(state), 7.0, acceleration=None if state.nx == 3 else 3.0)
    model = planar.DifferentialActionModelDiffDrive(costs(state), constraints=rows, **BODY)
    node = trajopt.IntegratedActionModelEuler(model, 0.1)
    problem = trajopt.ShootingProblem(np.full(state.nx, 8.0), [node], costs(state))
    found = problem.calc(np.full((2, state.nx), 8.0), np.full((1, 2), 9.0)).rows[0]
    np.testing.assert_allclose(found, [9.0, 9.0] if state.nx == 3 else [8.0, 8.0, 9.0, 9.0])
    bounds, most = problem.table.rows.now(), np.array([7.0, 7.0] if state.nx == 3 else [7.0, 7.0, 3.0, 3.0])
    np.testing.assert_array_equal([bounds.lower[0, : len(most)], bounds.upper[0, : len(most)]], [-most, most])


def test_plots_hold_paths_headings_rates_and_limits() -> None:
    path = circle()
    figure = plot_drives(
        {"path": path.poses, "half": path.poses[:30]},
        points=[(2.0, 0.0)],
        wheels={"path": (path.times, path.wheel_rates(**BODY)), "held": (path.times, path.wheel_rates(**BODY)[:-1])},
        limit=30.0,
    )
    plane, right, left = figure.axes
    np.testing.assert_allclose(plane.lines[0].get_xydata(), path.poses[:, :2])
    assert plane.get_aspect() == 1.0
    assert (plane.get_xlabel(), right.get_ylabel(), left.get_xlabel()) == ("x [m]", "right wheel [rad/s]", "time [s]")
    np.testing.assert_allclose(right.lines[0].get_ydata(), 22.0)
    np.testing.assert_allclose(left.lines[0].get_ydata(), 18.0)
    assert len(right.lines[1].get_xdata()) == 60
    assert sorted(float(line.get_ydata()[0]) for line in right.lines[2:]) == [-30.0, 30.0]
    arrows = plane.collections[0]
    tips = np.column_stack([arrows.U, arrows.V])
    at = [int(np.argmin(np.linalg.norm(path.poses[:, :2] - place, axis=1))) for place in arrows.XY]
    angles = np.arctan2(tips[:, 1], tips[:, 0])
    np.testing.assert_allclose(np.cos(angles - path.poses[at, 2]), 1.0, atol=1e-12)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["path", "half", "given points", "held", "limit"]


def test_paths_and_models_pickle() -> None:
    path = pickle.loads(pickle.dumps(circle()))
    np.testing.assert_array_equal(path.poses, circle().poses)
    assert "60 times" in repr(path)
    assert "radius" in repr(wheels())


# Misuse


SPLINE = CubicHermiteSpline([0, 1], [(1, -1), (3, 4)], [(1, -3), (0, 2)])
POSE, WHEELS = planar.state_of_pose(), planar.state_of_wheels()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: planar.DifferentialActionModelDiffDrive(costs(POSE), radius=0.0, half_track=1.0),
            r"radius: expected a n",
        ),
        (
            lambda: planar.DifferentialActionModelUnicycle(costs(POSE), lower=[1.0, 0.0], upper=[0.0, 0.0]),
            r"lower: expected lower <= upper, got 1 and 0 of control 0",
        ),
        (
            lambda: planar.DifferentialActionModelDiffDrive(costs(POSE), radius=1.0, half_track=-1),
            r"half_track: expected",
        ),
        (lambda: wheels(trajopt.StateVector(3)), r"costs: expected costs of trajopt.planar.state_of_pose\(\) or"),
        (lambda: wheels(planar.state_of_twist()), r"or of state_of_wheels\(\), got .*; build the CostStack from"),
        (lambda: planar.DifferentialActionModelUnicycle(costs(WHEELS)), r"or of state_of_twist\(\)"),
        (lambda: planar.DifferentialActionModelUnicycle(POSE), r"costs: expected a CostStack"),
        (lambda: planar.wheel_rates([1.0], [1.0, 2.0], **BODY), r"turn_rates: expected shape \(1,\)"),
        (lambda: planar.rollout(wheels(), [0.0, 0.0], [[1.0, 1.0]], 0.1), r"x0: expected shape \(3,\)"),
        (lambda: planar.rollout(wheels(), np.zeros(3), [1.0, 1.0], 0.1), r"us: expected shape \(2, 2\), got \(2,\)"),
        (lambda: planar.rollout(wheels(), np.zeros(3), np.zeros((0, 2)), 0.1), r"us: expected shape \(1, 2\)"),
        (lambda: planar.rollout(wheels(), np.zeros(3), [[1.0, 1.0]], 0.0), r"dt: expected a number > 0 \[s\]"),
        (
            lambda: planar.rollout(POSE, np.zeros(3), [[1.0, 1.0]], 0.1),
            r"model: expected a DifferentialActionModelDiff",
        ),
        (
            lambda: planar.PlanarPath.of_curve(SPLINE, [0.0, 1.0, 0.5]),
            r"times: expected ascending times, got 0.5 after 1",
        ),
        (
            lambda: planar.PlanarPath.of_curve(SPLINE, [0.0, 0.5, 0.5]),
            r"times: expected ascending times, got 0.5 after",
        ),
        (
            lambda: planar.PlanarPath.of_derivatives([0, 1], np.eye(2), [(1, 0), (1e-14, 0)], np.eye(2)),
            r"velocities: expected nonzero velocities, got 0 at time 1",
        ),
        (
            lambda: planar.PlanarPath.of_curve(lambda t: t, [0.0, 1.0]),
            r"curve: expected a function .*the call raised",
        ),
        (lambda: planar.PlanarPath.of_curve([1, 2], [0.0, 1.0]), r"curve: expected a function of \(times, order\)"),
        (
            lambda: planar.PlanarPath.of_curve(CubicSpline([0, 1], [1, 2]), [0.0, 1.0]),
            r"points: expected shape \(2, 2\)",
        ),
        (
            lambda: planar.PlanarPath.of_curve(
                CubicHermiteSpline([0, 1], [(0, 0), (1, 0)], [(0, 0), (1, 0)]), [0, 0.5]
            ),
            r"velocities: expected nonzero velocities, got 0 at time 0; a path has no heading where the robot stops",
        ),
        (lambda: planar.PlanarPath.of_points([(0, 0), (1, 1)], 0.1), r"points: expected three or more rows"),
        (lambda: planar.PlanarPath.of_points([(0, 0, 0)] * 3, 0.1), r"points: expected shape \(3, 2\)"),
        (
            lambda: planar.PlanarPath(times=[0.0], poses=np.ones((2, 3)), speeds=[1.0], turn_rates=[0.0]),
            r"poses: expected shape \(1, 3\), got \(2, 3\)",
        ),
        (
            lambda: planar.PlanarPath(times=[0.0], poses=np.ones((1, 3)), speeds=[0.0], turn_rates=[0.0]),
            r"speeds: expected nonzero speeds, got 0 at time 0",
        ),
        (lambda: circle().fastest(0.0, **BODY), r"limit: expected a number > 0 \[rad/s\]"),
        (lambda: circle().at([0.0, 4.0]), r"times: expected times within the path, 0 to 3.14159"),
        (lambda: planar.along(POSE, wheels()), r"path: expected a PlanarPath"),
        (lambda: planar.along(circle(), POSE), r"model: expected"),
        (lambda: planar.limit_wheels(trajopt.ConstraintStack(POSE), -1.0), r"rate: expected a number > 0"),
        (
            lambda: planar.limit_wheels(trajopt.ConstraintStack(POSE), 1.0, acceleration=1.0),
            r"acceleration: expected None",
        ),
        (
            lambda: planar.limit_wheels(trajopt.ConstraintStack(planar.state_of_twist()), 1.0),
            r"constraints: expected constraints of",
        ),
        (lambda: planar.replan(circle(), 0, np.zeros(3), SolverSQP), r"solution: expected a Solution"),
        (lambda: plot_drives({}), r"paths: expected one or more"),
        (lambda: plot_drives({"a": [(1.0, 2.0)]}), r"paths\['a'\]: expected poses \(n, 3\)"),
        (lambda: plot_drives({"a": [(1.0, 2.0, 3.0)]}, wheels={"a": [1.0]}), r"wheels\['a'\]: expected a pair"),
        (
            lambda: plot_drives({"a": np.zeros((2, 3))}, wheels={"a": ([0, 1], [[1.0]])}),
            r"expected times \(n,\) and rates",
        ),
    ],
)
def test_misuse(call, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call()


def test_misuse_of_a_plan() -> None:
    motion = planar.rollout(wheels(), np.zeros(3), [[1.0, 1.0]] * 5, 0.1)
    for knot in (-1, 5, 1.5):
        with pytest.raises(InvalidArgumentError, match="knot: expected an integer"):
            planar.replan(motion, knot, np.zeros(3), SolverSQP)
    with pytest.raises(InvalidArgumentError, match="state: expected"):
        planar.replan(motion, 1, np.zeros(2), SolverSQP)
    with pytest.raises(InvalidArgumentError, match="solver: expected the class of a solver"):
        planar.replan(motion, 1, np.zeros(3), "SolverSQP")  # type: ignore[arg-type]


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="euler, rk4"):
        planar.rollout(wheels(), np.zeros(3), [[1.0, 1.0]], 0.1, integrator="rk2")
    with pytest.raises(UnknownNameError, match="backward, central"):
        planar.PlanarPath.of_points(np.eye(3)[:, :2], 0.1, differences="forward")


def test_a_path_of_very_slow_points_is_finite() -> None:
    path = planar.PlanarPath.of_points([(0, 0), (1, 1), (2, 1)], 1e300)
    assert np.isfinite(path.turn_rates).all()
