"""Solutions see a robot with its parameters as in the solve."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt.mpc import MuJoCoPlant
from trajopt.robots import CollisionShapes
from trajopt.solvers import SolverSQP

NAME = "robot.joint_2.translation"
GOAL = [1.0, 0.0, 0.3]  # [m], out of reach of the robot in the file


def problem() -> trajopt.ShootingProblem:
    """An arm of two links reaches a point with its tool."""
    robot = trajopt.load_robot("planar-2r").with_parameters(["joint_2.translation", "tool.mass"])
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    tool = trajopt.ResidualModelFrameTranslation(state, "tool", GOAL)
    reach = trajopt.ConstraintStack(state).add("goal", tool, equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=reach)
    start = state.zero() + np.array([-0.5, 0.3, 0.0, 0.0])
    return trajopt.ShootingProblem(start, [trajopt.IntegratedActionModelEuler(arm, dt=0.05)] * 20, end)


@pytest.mark.parametrize("free", [False, True], ids=["set", "free"])
def test_a_longer_link_reaches_the_goal(free: bool) -> None:
    """Its tool was told, and drawn, away from the goal, with the link of the robot's file."""
    longer, about = [0.57, 0.0, 0.0], problem()
    if free:
        about.free(NAME, [0.57, 0.0, 0.0], [0.6, 0.0, 0.0], guess=longer)
    else:
        about.set_parameter(NAME, longer, knots="all")
    solution = SolverSQP(about).solve()
    assert solution.converged
    length = solution.unknowns[NAME] if free else longer
    changed = about.state.robot.with_values({NAME: length})
    tool = changed.placement(solution.xs[-1, :2], "tool")[:3, 3]
    np.testing.assert_allclose(tool, GOAL, atol=1e-6)
    np.testing.assert_allclose(solution.frame_path("tool")[-1], tool, atol=1e-12)
    assert "from its goal" not in solution.explain()
    about.set_parameter(NAME, [0.5, 0.0, 0.0], knots="all")  # a solution keeps the values of its solve
    np.testing.assert_allclose(solution.frame_path("tool")[-1], tool, atol=1e-12)


def test_values_that_differ_between_knots_are_those_of_the_robot() -> None:
    about = problem()
    about.set_parameter("robot.tool.mass", 0.5, knots=range(10))
    solution = SolverSQP(about).solve()
    assert solution.robot is about.state.robot


def collision_problem() -> tuple[trajopt.ShootingProblem, trajopt.Scene]:
    """An arm between two balls moves to the configuration of zeros; its tool has one row for both balls."""
    balls = {"near": trajopt.Sphere(0.1, center=[1.0, 0.0, 0.5]), "far": trajopt.Sphere(0.1, center=[1.5, 0.0, 0.05])}
    robot, scene = trajopt.load_robot("planar-2r"), trajopt.Scene(balls)
    shapes = CollisionShapes(bodies=[trajopt.Sphere(0.05, frame="tool")], pairs=())
    robot = robot.with_collision_shapes(shapes).with_parameters(["joint_2.translation", "tool.mass"])
    state = trajopt.StateMultibody(robot)
    rest = trajopt.ResidualModelState(state)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-4)
    rows = trajopt.ConstraintStack(state)
    rows.add("collisions", trajopt.ResidualModelCollisions(state, scene, obstacles=1), lower=0.01)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), costs, constraints=rows
    )
    start = state.zero() + np.array([-0.6, 0.2, 0.0, 0.0])
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state).add("end", rest, weight=1e3), constraints=rows)
    return trajopt.ShootingProblem(start, [trajopt.IntegratedActionModelEuler(arm, dt=0.05)] * 20, end), scene


def gaps(robot: trajopt.Robot, scene: trajopt.Scene, qs: np.ndarray) -> np.ndarray:
    """Distances of the tool's ball from both balls (n, 2) [m]."""
    tool = robot.placement(qs, "tool")[:, :3, 3]
    centers = np.array([ball.center for ball in scene.obstacles.values()])
    return np.linalg.norm(tool[:, None] - centers, axis=2) - 0.15


@pytest.mark.parametrize("how", ["set", "free", "phases"])
def test_collision_rows_measure_the_bodies_that_are_nearest_to_a_longer_arm(how: str) -> None:
    """They measured those nearest to the arm of the file, and `clearance` and `explain` did too."""
    longer, (about, scene) = [1.0, 0.0, 0.0], collision_problem()
    if how == "set":
        about.set_parameter(NAME, longer, knots="all")
    else:
        phases = [range(10), range(10, 21)] if how == "phases" else None
        about.free(NAME, longer, longer, longer, knots=phases)
    solution = SolverSQP(about).solve()
    assert solution.converged
    least = gaps(about.state.robot.with_values({NAME: longer}), scene, solution.xs[:, :2])
    assert 0.01 - 1e-6 < least.min() < 0.01 + 1e-5
    found = trajopt.analysis.clearance(solution)
    np.testing.assert_allclose(found.at_knots, least.min(), atol=1e-9)
    assert found.bodies == "tool and far"
    np.testing.assert_allclose(trajopt.analysis.clearance(solution, scene).at_knots, least.min(), atol=1e-9)
    assert "too near" not in solution.explain()


@pytest.mark.slow
def test_mujoco_simulates_the_masses_of_the_solve() -> None:
    """It simulated those of the file."""
    pytest.importorskip("mujoco")
    about = problem()
    about.set_parameter("robot.tool.mass", 3.0, knots="all")
    about.set_parameter(NAME, [0.57, 0.0, 0.0], knots="all")
    solution = SolverSQP(about).solve()
    robot = about.state.robot.with_values({"tool.mass": 3.0, NAME: [0.57, 0.0, 0.0]})
    motion = trajopt.analysis.replay(solution, plant="mujoco", feedback="open")
    expected = trajopt.analysis.replay(solution, plant=MuJoCoPlant(robot), feedback="open")
    np.testing.assert_allclose(motion.xs, expected.xs, atol=1e-12)
    other = trajopt.analysis.replay(solution, plant=MuJoCoPlant(about.state.robot), feedback="open")
    assert np.abs(motion.xs - other.xs).max() > 1.0


def test_rollouts_have_the_robot_of_their_simulator() -> None:
    robot = trajopt.load_robot("planar-2r").with_parameters(["joint_2.translation"])
    simulator = trajopt.simulator.Simulator(robot)
    simulator.set_parameter(NAME, [0.7, 0.0, 0.0])
    rollout = simulator.rollout(np.zeros(4), None, 3, 1e-3)
    longer = robot.with_values({NAME: [0.7, 0.0, 0.0]})
    expected = longer.placement(rollout.xs[-1, :2], "tool")
    np.testing.assert_allclose(rollout.robot.placement(rollout.xs[-1, :2], "tool"), expected, atol=1e-12)


def test_closed_loops_have_the_robot_of_their_controller() -> None:
    """The last knot had the robot of the file, so the whole loop was drawn with it."""
    about, longer = problem(), [0.57, 0.0, 0.0]
    about.set_parameter(NAME, longer, knots="all")
    motion = trajopt.mpc.simulate(trajopt.mpc.MPCController(about), None, about.x0, 0.1).motion
    assert motion is not None
    expected = about.state.robot.with_values({NAME: longer}).placement(motion.xs[-1, :2], "tool")[:3, 3]
    np.testing.assert_allclose(motion.frame_path("tool")[-1], expected, atol=1e-12)
