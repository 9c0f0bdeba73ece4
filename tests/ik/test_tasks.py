"""Hard, bounded and weighted tasks together, against independent minimisers, and on curved configurations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize

import trajopt
from tests.support import ik_obstacles
from tests.support.ik_robots import arm, errors, placement_task, placements
from tests.support.model_list import TIP, state_of
from trajopt import ik


def posture(state: trajopt.StateMultibody, q: object, weight: float = 1.0) -> trajopt.CostStack:
    """Squared distance to a configuration (nq,)."""
    residual = trajopt.ResidualModelState(state, np.concatenate([q, np.zeros(state.nv)]))
    return trajopt.CostStack(state).add("posture", residual, weight)


@pytest.mark.parametrize("reference", [[0.3, 0.5, 0.4], [2.0, -1.0, 0.5], [-1.0, 2.0, 2.9]])
def test_the_nearest_posture_that_reaches_a_point(reference: list[float]) -> None:
    """Least ½ |q - q0|² with the tip of a planar arm at a point: SLSQP from the answer, and from many others."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    robot, point = state.robot, np.array([0.3, 0.0, 0.4])
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", point)
    tasks = (trajopt.ConstraintStack(state).add("tip", tip, equals=0.0), posture(state, reference))
    result = ik.solve(robot, tasks)
    assert result.solved
    assert np.abs(result.residuals["tip"].value).max() <= 1e-6
    assert result.cost == pytest.approx(0.5 * np.sum((result.q - reference) ** 2))

    def off(q: object) -> object:
        return robot.placement(q, "tool")[[0, 2], 3] - point[[0, 2]]

    rng, best = np.random.default_rng(0), np.inf
    for start in [result.q, *rng.uniform(-3, 3, (20, 3))]:
        found = minimize(
            lambda q: 0.5 * np.sum((q - reference) ** 2),
            start,
            method="SLSQP",
            bounds=[(-np.pi, np.pi)] * 3,
            constraints={"type": "eq", "fun": off},
            options={"ftol": 1e-14, "maxiter": 300},
        )
        best = found.fun if found.success and np.abs(off(found.x)).max() < 1e-8 else np.inf
        assert result.cost <= best + 1e-5
    costs = [0.5 * np.sum((q - reference) ** 2) for q in result.configurations]
    assert costs == sorted(costs)


def test_bounded_rows_hold_and_press_where_the_cost_wants() -> None:
    """The hand may be within a box; the posture pulls it to a face, where the gradient is along that row alone."""
    state, frame = arm("panda")
    q0 = np.array([0.0, -0.5, 0.3, -2.0, 0.1, 1.5, 0.5, 0.0, 0.0])
    at_rest = state.robot.placement(q0, frame)[:3, 3]
    box = trajopt.ResidualModelFrameTranslation(state, frame, at_rest)
    bounds = trajopt.ConstraintStack(state).add("box", box, lower=[0.05, -1.0, -np.inf], upper=[0.2, 1.0, 0.1])
    result = ik.solve(state.robot, (bounds, posture(state, q0)))
    assert result.solved
    offset = result.residuals["box"].value
    assert offset[0] == pytest.approx(0.05, abs=1e-6)
    data = state.model.createData()
    pin.computeJointJacobians(state.model, data, result.q)
    pin.updateFramePlacements(state.model, data)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    row = pin.getFrameJacobian(state.model, data, state.robot.frame_id(frame), aligned)[0]
    np.testing.assert_allclose(result.q - q0, row * ((result.q - q0) @ row) / (row @ row), atol=1e-5)


def test_limits_take_the_rest() -> None:
    """A posture beyond limits: joints that it presses are at their limits, exactly, and are named."""
    state, _ = arm("panda")
    q0 = np.array([0.0, 3.0, 0.0, -1.0, -5.0, 2.0, 0.0, 0.01, 0.01])
    result = ik.solve(state.robot, posture(state, q0))
    assert result.solved
    np.testing.assert_allclose(result.q, np.clip(q0, state.lower[:9], state.upper[:9]), atol=1e-9)
    np.testing.assert_array_equal(result.q[[1, 4]], [state.upper[1], state.lower[4]])
    assert result.active_limits == ("q:panda_joint2", "q:panda_joint5")


@pytest.mark.parametrize("name", ["ball", "drone", "solo12"])
def test_curved_configurations(name: str) -> None:
    """Spherical joints and free flyers: steps stay on the manifold."""
    state, frame = state_of(name), TIP[name]
    rng = np.random.default_rng(1)
    for _ in range(3):
        target = state.robot.placement(state.rand(rng)[: state.nq], frame)
        residual = trajopt.ResidualModelFramePlacement(state, frame, target)
        result = ik.solve(state.robot, trajopt.ConstraintStack(state).add("tip", residual, equals=0.0))
        assert result.solved
        assert pin.isNormalized(state.model, result.q, 1e-12)
        np.testing.assert_allclose(state.robot.placement(result.q, frame), target, atol=1e-5)


@pytest.mark.slow
def test_a_quadruped_on_its_feet() -> None:
    """Four feet and the centre of mass are hard, an upright base and the posture weighted."""
    state = state_of("solo12")
    robot, q0 = state.robot, state.robot.configuration("standing")
    com = pin.centerOfMass(state.model, state.model.createData(), q0) + np.array([0.02, 0.01, -0.03])
    tasks = trajopt.ConstraintStack(state).add("com", trajopt.ResidualModelCoMPosition(state, com), equals=0.0)
    feet = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
    for foot in feet:
        there = robot.placement(q0, foot)[:3, 3]
        tasks.add(foot, trajopt.ResidualModelFrameTranslation(state, foot, there), equals=0.0)
    costs = posture(state, q0, 0.1).add("upright", trajopt.ResidualModelFrameRotation(state, "base_link"), 1.0)
    result = ik.solve(robot, (tasks, costs), starts=8, start=q0)
    assert result.solved
    for foot in feet:
        np.testing.assert_allclose(robot.placement(result.q, foot)[:3, 3], robot.placement(q0, foot)[:3, 3], atol=1e-5)
    np.testing.assert_allclose(pin.centerOfMass(state.model, state.model.createData(), result.q), com, atol=1e-5)
    start = {name: term.value for name, term in ik.solve(robot, (tasks, costs), starts=1, start=q0).residuals.items()}
    assert np.linalg.norm(result.residuals["upright"].value) < 0.05
    assert np.linalg.norm(result.residuals["posture"].value) <= np.linalg.norm(start["posture"]) + 1e-6


def test_looking_at_a_point_away_from_obstacles() -> None:
    state, frame = arm("panda")
    ball = trajopt.Sphere(0.1, center=[0.3, 0.2, 0.5])
    tasks = (
        trajopt.ConstraintStack(state)
        .add("at", trajopt.ResidualModelFrameTranslation(state, frame, [0.4, 0.0, 0.5]), lower=-0.1, upper=0.1)
        .add("look", trajopt.ResidualModelLookAt(state, frame, [1.0, 1.0, 0.3]), equals=0.0)
        .add("apart", trajopt.ResidualModelPairDistance(state, trajopt.Sphere(0.08, frame=frame), ball))
        .add("nimble", trajopt.ResidualModelManipulability(state, frame, "all"), lower=0.04)
    )
    result = ik.solve(state.robot, tasks)
    assert result.solved
    placement = state.robot.placement(result.q, frame)
    line = np.array([1.0, 1.0, 0.3]) - placement[:3, 3]
    np.testing.assert_allclose(placement[:3, 2], line / np.linalg.norm(line), atol=1e-5)
    assert np.linalg.norm(placement[:3, 3] - ball.points[0]) >= 0.18 - 1e-6
    data = state.model.createData()
    jacobian = pin.computeFrameJacobian(state.model, data, result.q, state.robot.frame_id(frame))
    volume = np.sqrt(np.linalg.det(jacobian @ jacobian.T))
    assert volume >= 0.04 - 1e-6
    assert result.residuals["nimble"].value[0] == pytest.approx(volume, abs=1e-8)


@pytest.mark.slow
def test_answers_among_obstacles_are_free_of_collision() -> None:
    """By Pinocchio's own distances, to spheres and between links; the benchmark has 500 poses."""
    state, frame = arm("panda")
    targets = ik_obstacles.free_targets(60, 3)
    batch = ik.solve_batch(state.robot, ik_obstacles.tasks(state, frame), {"tool.reference": targets})
    assert batch.solved.mean() >= 0.98
    assert errors(placements(state, frame, batch.q), targets)[batch.solved].max() <= 1e-5
    assert ik_obstacles.least_distances(state, batch.q[batch.solved]).min() > 0.0
    without = ik.solve_batch(state.robot, placement_task(state, frame), {"tool.reference": targets})
    assert ik_obstacles.least_distances(state, without.q).min() < 0.0  # somebody had to get out of the way


def test_two_hands_on_one_object() -> None:
    """A leg of a quadruped keeps its place relative to another one, whose foot is somewhere."""
    state = state_of("solo12")
    robot, q0 = state.robot, state.robot.configuration("standing")
    apart = np.linalg.inv(robot.placement(q0, "FL_FOOT")) @ robot.placement(q0, "FR_FOOT")
    tasks = (
        trajopt.ConstraintStack(state)
        .add("hold", trajopt.ResidualModelRelativePlacement(state, "FR_FOOT", "FL_FOOT", apart), equals=0.0)
        .add("at", trajopt.ResidualModelFrameTranslation(state, "FL_FOOT", [1.0, 2.0, 3.0]), equals=0.0)
    )
    result = ik.solve(robot, tasks)
    assert result.solved
    found = np.linalg.inv(robot.placement(result.q, "FL_FOOT")) @ robot.placement(result.q, "FR_FOOT")
    np.testing.assert_allclose(found, apart, atol=1e-5)


def test_the_task_that_failed_is_named() -> None:
    """A height that cannot be reached beside one that can, below and above; a posture is a cost and never fails."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", np.zeros(3))
    link = trajopt.ResidualModelFrameTranslation(state, "link_2", np.zeros(3))
    free = [-np.inf, -np.inf]
    for low, high in ((9.0, 9.5), (-9.5, -9.0)):
        rows = trajopt.ConstraintStack(state).add("tip", tip, lower=[*free, low], upper=[np.inf, np.inf, high])
        rows.add("link", link, lower=[*free, -1.0], upper=[np.inf, np.inf, 1.0])
        result = ik.solve(state.robot, (rows, posture(state, np.zeros(3))))
        assert result.failed == ("tip",)
        assert "failed     tip" in str(result)
    near = trajopt.ConstraintStack(state).add("link", link, lower=[*free, -1.0], upper=[np.inf, np.inf, 1.0])
    solved = ik.solve(state.robot, near)
    assert solved.failed == ()
    assert "failed" not in str(solved)


def test_a_batch_names_the_tasks_that_failed_for_each_target() -> None:
    """As many solves of one target do, the worst first; also without a task that failed, and for one target."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", [0.3, 0.0, 0.4])
    tasks = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    tasks.add("bent", trajopt.ResidualModelState(state, elements=[1]), lower=0.8, upper=3.0)
    solver = ik.IKSolver(state.robot, tasks)
    points = np.array([[0.3, 0.0, 0.4], [5.0, 0.0, 0.0], [0.0, 0.0, 0.999], [0.5, 0.0, 0.4]])
    batch = solver.solve_batch({"tip.reference": points})
    singles = [solver.solve({"tip.reference": point}) for point in points]
    assert batch.failed == tuple(each.failed for each in singles)
    assert [not each for each in batch.failed] == batch.solved.tolist() == [True, False, False, True]
    assert batch.failed[1] == ("tip", "bent")
    worst = np.max([np.abs(each.violation).max(axis=1) for each in batch.residuals.values()], axis=0)
    np.testing.assert_allclose(worst, batch.violation, atol=1e-12)
    assert solver.solve_batch({"tip.reference": points[1:2]}).failed == (("tip", "bent"),)


def test_a_batch_with_costs_stops_when_several_starts_agree() -> None:
    """Few starts find what all starts of a single solve find, for almost all targets, and never anything better."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", [0.3, 0.0, 0.4])
    tasks = (trajopt.ConstraintStack(state).add("tip", tip, equals=0.0), posture(state, [0.3, 0.5, 0.4]))
    solver, rng = ik.IKSolver(state.robot, tasks), np.random.default_rng(0)
    points = state.robot.placement(rng.uniform(-2.0, 2.0, (60, 3)), "tool")[:, :3, 3]
    batch = solver.solve_batch({"tip.reference": points})
    assert batch.solved.mean() > 0.95
    assert np.all((batch.starts >= 4) & (batch.starts <= 32))
    assert batch.starts.mean() < 16
    best = np.array([solver.solve({"tip.reference": point}).cost for point in points])
    assert np.mean(batch.cost <= 1.01 * best + 1e-9) >= 0.95
    assert np.all(batch.cost >= best - 1e-5)  # its rows hold to 1e-6, which multipliers of a few make cheaper
    few = solver.solve_batch({"tip.reference": points}, starts=2)
    assert set(few.starts.tolist()) == {2}
