"""Robots from the builder in the other parts: optimal control, inverse kinematics, simulator, files, pictures."""

import dataclasses
import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.patches import Polygon
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import trajopt
from tests.articulations.built import built_tree, crane, tethered
from trajopt import gaits, ik
from trajopt.articulations import ArticulationBuilder
from trajopt.model.content import model_hash
from trajopt.plotting import animate, plot_configurations, plot_motion
from trajopt.robots import load_geometry
from trajopt.simulator import MDPContact, Simulator
from trajopt.solvers import SolverFDDP


@functools.cache
def solved() -> trajopt.Solution:
    """The crane carries its tool half a metre."""
    state = trajopt.StateMultibody(crane())
    actuation = trajopt.ActuationModelMatrix(state, np.eye(4, 2))
    running = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), weight=1e-3)
    goal = trajopt.ResidualModelFrameTranslation(state, "tool", [0.5, 0.2, 0.6])
    end = trajopt.CostStack(state).add("goal", goal, weight=1e3)
    end.add("rest", trajopt.ResidualModelState(state, np.r_[0.5, 0.2, np.zeros(6)]), weight=1e2)
    knot = trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running), dt=0.05
    )
    return SolverFDDP(trajopt.ShootingProblem(state.zero(), [knot] * 30, end)).solve()


def test_an_optimal_control_problem() -> None:
    """Its motion obeys Pinocchio's forward dynamics of the built model."""
    solution = solved()
    assert solution.status is trajopt.SolverStatus.CONVERGED
    np.testing.assert_allclose(solution.robot.placement(solution.xs[-1, :4], "tool")[:3, 3], [0.5, 0.2, 0.6], atol=0.01)
    model = crane().model
    data = model.createData()
    for x, u, after in zip(solution.xs, solution.us, solution.xs[1:]):
        v = x[4:] + 0.05 * pin.aba(model, data, x[:4], x[4:], np.r_[u, 0, 0])
        np.testing.assert_allclose(after, np.r_[x[:4] + 0.05 * v, v], atol=1e-9)


def test_inverse_kinematics_within_its_limits() -> None:
    robot = crane()
    state = trajopt.StateMultibody(robot)
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", [0.9, 0.3, 0.75])
    result = ik.solve(robot, trajopt.ConstraintStack(state).add("tip", tip, equals=0.0))
    assert result.solved
    np.testing.assert_allclose(robot.placement(result.q, "tool")[:3, 3], [0.9, 0.3, 0.75], atol=1e-6)
    assert abs(result.q[0]) <= 1.0


def test_a_simulator_drops_a_built_ball_on_the_floor() -> None:
    """It falls freely, then comes out of the floor, which is soft, until its centre is a radius above."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("ball"), 0.1)
    builder.add_free("world", "ball")
    robot = builder.build("ball")
    simulator = Simulator(robot, [MDPContact("ball", radius=0.1)])
    qdq = np.r_[0, 0, 0.5, 0, 0, 0, 1, np.zeros(6)]
    falling, _, _ = simulator.simulate(1e-3, qdq)
    np.testing.assert_allclose(falling[9], -9.81e-3, rtol=1e-6)
    rollout = simulator.rollout(qdq, None, 300, 5e-3)
    assert rollout.xs[-1, 2] == pytest.approx(0.1, abs=0.01)
    assert np.abs(rollout.xs[-1, 7:]).max() < 0.01


def test_pair_distances_take_solids_of_the_robot() -> None:
    robot = crane()
    state = trajopt.StateMultibody(robot)
    rod, ball = robot.shapes[1:]
    own = trajopt.Sphere(0.2, center=(1.0, 0.0, 0.7))
    stack = trajopt.ConstraintStack(state).add("apart", trajopt.ResidualModelPairDistance(state, ball, own))
    stack.add("rod", trajopt.ResidualModelObstacleDistance(state, [1.0, 0.0, 0.7, 0.2], rod))
    tip = trajopt.ResidualModelFrameTranslation(state, "hook", [1.0, 0.0, 0.7])
    result = ik.solve(robot, (stack, trajopt.CostStack(state).add("tip", tip, weight=1.0)))
    gap = np.linalg.norm(robot.placement(result.q, "hook")[:3, 3] - [1.0, 0.0, 0.7])
    assert gap == pytest.approx(0.3, abs=1e-4)  # it touches
    off = tethered().robot.shapes[0]
    values = trajopt.ResidualModelPairDistance(tethered(), off, own).parameters()
    np.testing.assert_allclose(values["first"].default, [0.1, 0.2, 0.3])
    box = trajopt.ResidualModelPairDistance(state, robot.shapes[0], own).parameters()
    np.testing.assert_allclose(box["first_size"].default, robot.shapes[0].size)
    with pytest.raises(ValueError, match="first: expected a Sphere, Capsule or Box"):
        trajopt.ResidualModelPairDistance(state, dataclasses.replace(rod, kind="cylinder"), own)


def test_files_and_pickles_keep_the_robot(tmp_path: Path) -> None:
    loaded = trajopt.Solution.load(solved().save(tmp_path / "crane.npz"))
    for robot in (loaded.robot, pickle.loads(pickle.dumps(crane()))):
        assert robot.model == crane().model
        for a, b in zip(robot.shapes, crane().shapes, strict=True):
            assert (a.link, a.kind, a.color) == (b.link, b.kind, b.color)
            np.testing.assert_array_equal(a.size, b.size)
            np.testing.assert_array_equal(a.placement, b.placement)
    tree = built_tree(1)
    again = pickle.loads(pickle.dumps(tree))
    assert again.model == tree.model
    assert again.distances == tree.distances != {}


def test_solids_do_not_change_what_is_compiled() -> None:
    """The content hash of models covers the robot, and leaves its pictures out."""
    plain = trajopt.Robot(crane().model, name="crane")
    hashes = [
        model_hash(trajopt.ResidualModelFrameTranslation(trajopt.StateMultibody(robot), "tool"))
        for robot in (crane(), plain)
    ]
    assert hashes[0] == hashes[1]


def test_solids_are_drawn(tmp_path: Path) -> None:
    """In a plane as outlines, in space as faces, in their colours, in pictures and animations."""
    robot = crane()
    figure = plot_configurations(robot, [robot.configuration("aside"), np.zeros(4)])
    drawn = [a for a in figure.axes[0].collections if isinstance(a, Poly3DCollection)]
    assert len(drawn) == 2 * len(robot.shapes)
    loaded = trajopt.Solution.load(solved().save(tmp_path / "crane.npz"))
    for solution in (solved(), loaded):
        axes = plot_motion(solution, frames=3).axes[0]
        assert len([a for a in axes.collections if isinstance(a, Poly3DCollection)]) == 9
    assert animate(solved(), tmp_path / "crane.gif", frames_per_second=2).stat().st_size > 0
    builder = ArticulationBuilder()
    builder.add_link("pole")
    builder.add_box("pole", (0.1, 0.1, 1.0), placement=(0, 0, 0.5), color="tab:red")
    builder.add_revolute("world", "pole", axis="y")
    axes = plot_configurations(builder.build("pole"), [[0.0], [1.0]]).axes[0]
    outlines = [p for p in axes.patches if isinstance(p, Polygon)]
    upright = max((p.get_xy() for p in outlines), key=lambda points: float(np.ptp(points[:, 1])))
    np.testing.assert_allclose(upright.min(axis=0), [-0.05, 0.0], atol=1e-12)
    np.testing.assert_allclose(upright.max(axis=0), [0.05, 1.0], atol=1e-12)


def test_solids_of_a_robot_lie_on_its_links() -> None:
    """Points of a solid's hull against its closed form."""
    robot = crane()
    box, rod, ball = (shape.points() for shape in robot.shapes)
    np.testing.assert_allclose(np.abs(box), np.tile([0.15, 0.1, 0.05], (8, 1)))
    assert np.linalg.norm(ball, axis=1) == pytest.approx(np.full(len(ball), 0.1))
    along = np.clip(rod[:, 2], -0.8, 0.0)
    distances = np.linalg.norm(rod - np.c_[np.zeros((len(rod), 2)), along], axis=1)
    assert distances == pytest.approx(np.full(len(rod), 0.02))


def test_a_gait_of_a_built_quadruped() -> None:
    """Its feet are frames, and its trot a problem with contacts, from the configuration that was built with it."""
    builder, feet = ArticulationBuilder(), ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
    builder.add_link("trunk", mass=6.0)
    builder.add_box("trunk", (0.4, 0.2, 0.1))
    builder.add_free("world", "trunk")
    home: dict[str, Any] = {"trunk_joint": [0, 0, 0.26, 0, 0, 0, 1]}
    for foot, (x, y) in zip(feet, [(0.18, 0.1), (0.18, -0.1), (-0.18, 0.1), (-0.18, -0.1)]):
        hip, thigh, shank = (builder.add_link(f"{foot[:2]}_{part}") for part in ("hip", "thigh", "shank"))
        builder.add_sphere(hip, 0.03)
        for link in (thigh, shank):
            builder.add_capsule(link, 0.02, end=(0, 0, -0.16))
        builder.add_revolute("trunk", hip, axis="x", X_p=(x, y, 0), effort=30)
        builder.add_revolute(hip, thigh, axis="y", X_p=(0, 0.4 * y, 0), effort=30)
        builder.add_revolute(thigh, shank, axis="y", X_p=(0, 0, -0.16), effort=30)
        builder.add_frame(foot, shank, (0, 0, -0.16))
        home |= {f"{thigh}_joint": 0.7, f"{shank}_joint": -1.4}
    robot = builder.build("quadruped", {"standing": home})
    stance = gaits.Stance.of(robot, feet)
    np.testing.assert_allclose(stance.feet["lf_foot"].position, [0.18, 0.14, 0.26 - 0.32 * np.cos(0.7)], atol=1e-12)
    problem = gaits.gait_problem(robot, gaits.quadruped_trot(stance, cycles=1))
    assert problem.state.robot is robot
    np.testing.assert_array_equal(problem.x0[: robot.nq], robot.configuration("standing"))


def test_load_geometry_takes_a_built_robot() -> None:
    """Solids as shapes of coal, where the links are, also of a part of the robot."""
    robot = crane()
    geometry = load_geometry(robot, robot.model, "visual")
    kinds = [type(g.geometry).__name__ for g in geometry.geometryObjects]
    assert kinds == ["Box", "Capsule", "Sphere"]
    data, places = robot.model.createData(), geometry.createData()
    q = robot.configuration("aside")
    pin.updateGeometryPlacements(robot.model, data, geometry, places, q)
    hook = robot.placement(q, "hook")
    np.testing.assert_allclose(places.oMg[2].homogeneous, hook, atol=1e-12)
    locked = robot.lock_joints("rod_joint")
    assert load_geometry(locked, locked.model, "collision").ngeoms == 3
