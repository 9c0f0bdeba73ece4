"""Distance joints: |x_j| as a residual with bounds, its derivative, constraints of solved problems, the table."""

import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.articulations.built import tethered
from tests.support.slow_twin import assert_close, central_differences
from trajopt import ik
from trajopt.articulations import ArticulationBuilder
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.solvers import SolverSQP


def value_of(residual: trajopt.ResidualModelJointDistance, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r and its derivative (nr, ndx)."""
    i = Instant(residual.state, 0)
    f = ca.Function("r", [i.x], [residual.evaluate(i), residual.derivative(i)[0]])
    r, derivative = f(x)
    return np.array(r).ravel(), np.array(derivative)


def test_distances_are_those_of_the_anchors() -> None:
    """Newton: dmin <= |x_j| <= dmax; of the joint's frames on both links in the world, with the Jacobian (x/|x|)ᵀ J."""
    state = tethered()
    residual, robot = trajopt.ResidualModelJointDistance(state), state.robot
    np.testing.assert_array_equal(residual.own_bounds, [[0.2, 0.0], [0.7, 2.0]])
    x = state.rand(3)
    q = x[: state.nq]
    found, derivative = value_of(residual, x)
    on_arm = robot.placement(q, "arm") @ [0, 0, 1, 1]
    on_ball = robot.placement(q, "ball") @ [0.1, 0, 0, 1]
    wanted = [np.linalg.norm(on_arm - on_ball), np.linalg.norm(robot.placement(q, "buoy")[:3, 3])]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    model = robot.model
    for row, (joint, length) in enumerate(zip(("ball_joint", "buoy_joint"), wanted)):
        own = model.joints[model.getJointId(joint)]
        p, R = q[own.idx_q : own.idx_q + 3], pin.Quaternion(q[own.idx_q + 3 : own.idx_q + 7]).matrix()
        expected = np.zeros(state.ndx)
        expected[own.idx_v : own.idx_v + 3] = R.T @ p / length
        np.testing.assert_allclose(derivative[row], expected, atol=1e-9)
    assert_close(derivative, central_differences(lambda dx: value_of(residual, state.integrate(x, dx))[0], state.ndx))


def test_the_residual_pickles_and_is_finite_where_anchors_coincide() -> None:
    """There |x_j| has a kink; it is not in the battery over all models, whose points have one."""
    residual = pickle.loads(pickle.dumps(trajopt.ResidualModelJointDistance(tethered(), "buoy_joint")))
    assert repr(residual).startswith("ResidualModelJointDistance(state=")
    found, derivative = value_of(residual, tethered().zero())
    np.testing.assert_allclose(found, 0.0, atol=1e-8)
    assert np.isfinite(derivative).all()


def test_inverse_kinematics_keeps_the_rope() -> None:
    """A buoy on a rope of 2 m is asked to be 3 m away: it stays on the sphere, at the nearest point."""
    state = tethered()
    tasks = trajopt.ConstraintStack.of_robot(state, velocities=False)
    assert "distances" in tasks.names
    goal = trajopt.ResidualModelFrameTranslation(state, "buoy", [0.0, 3.0, 0.0])
    result = ik.solve(state.robot, (tasks, trajopt.CostStack(state).add("goal", goal, weight=1.0)))
    assert result.solved
    np.testing.assert_allclose(state.robot.placement(result.q, "buoy")[:3, 3], [0, 2, 0], atol=1e-4)
    assert (
        value_of(trajopt.ResidualModelJointDistance(state, "ball_joint"), state.at_rest(result.q))[0][0] >= 0.2 - 1e-6
    )


def test_robots_keep_their_distances() -> None:
    robot = pickle.loads(pickle.dumps(tethered().robot))
    assert robot.distances == {"ball_joint": (0.2, 0.7), "buoy_joint": (0.0, 2.0)}
    less = robot.lock_joints("ball_joint")
    assert less.distances == {"buoy_joint": (0.0, 2.0)}
    assert len(less.shapes) == 3
    assert not less.lock_joints("buoy_joint").distances


def test_wrong_arguments_are_refused_with_the_expected_value() -> None:
    with pytest.raises(InvalidArgumentError, match="state: expected a robot with distance joints, got 'planar-2r'"):
        trajopt.ResidualModelJointDistance(trajopt.StateMultibody(trajopt.load_robot("planar-2r")))
    with pytest.raises(KeyError, match="distance joint 'arm_joint'"):
        trajopt.ResidualModelJointDistance(tethered(), "arm_joint")
    with pytest.raises(InvalidArgumentError, match="joints: expected at least one"):
        trajopt.ResidualModelJointDistance(tethered(), [])


@pytest.mark.slow
def test_an_optimal_motion_keeps_the_rope(tmp_path: Path) -> None:
    """A buoy on a slider is pulled out of its rope's reach: it is taut at the end, never too long or short."""
    builder = ArticulationBuilder()
    for link in ("slider", "buoy"):
        builder.add_sphere(builder.add_link(link), 0.1, density=240.0)
    builder.add_prismatic("world", "slider", axis="x")
    builder.add_distance("slider", "buoy", lower=0.3, upper=1.0)
    state = trajopt.StateMultibody(builder.build("towed"))
    running = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), weight=1e-2)
    running.add("slow", trajopt.ResidualModelState(state), weight=0.1)
    goal = trajopt.ResidualModelFrameTranslation(state, "buoy", [0.0, 1.2, 0.3])
    end = trajopt.CostStack(state).add("goal", goal, weight=10.0)
    actuation, rows = trajopt.ActuationModelFull(state), trajopt.ConstraintStack.of_robot
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, actuation, running, constraints=rows(state, actuation)
    )
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=0.1)
    x0 = state.zero()
    x0[1] = 0.5
    problem = trajopt.ShootingProblem(x0, [knot] * 10, trajopt.ActionModelTerminal(end, constraints=rows(state)))
    solution = SolverSQP(problem).solve()
    assert solution.status is trajopt.SolverStatus.CONVERGED
    lengths = np.linalg.norm(solution.xs[:, 1:4], axis=1)
    assert lengths[-1] == pytest.approx(1.0, abs=1e-6)
    assert 0.3 < lengths.min() < lengths[:-1].max() < 1.0
    assert trajopt.Solution.load(solution.save(tmp_path / "towed.npz")).robot.distances == {"buoy_joint": (0.3, 1.0)}
