"""A cause that is known from the problem comes alone, and its cure helps."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt.analysis.advice.too_fast import too_fast
from trajopt.analysis.contradictions import EXCLUDE
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelFrameTranslation, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

UR5 = trajopt.load_robot("ur5")
STATE = trajopt.StateMultibody(UR5)
MOTORS = trajopt.ActuationModelFull(STATE)
X0 = STATE.at_rest([0.0, -1.5, 1.0, -1.0, -1.5, 0.0])
FIRST, SECOND = np.array([0.4, 0.3, 0.5]), np.array([0.4, -0.4, 0.5])
STRONG = np.array([150.0, 150.0, 150.0, 28.0, 28.0, 28.0])


def reach(
    goal: Any = FIRST,
    *,
    T: int = 50,
    dt: float = 0.02,
    torque: Any = STRONG,
    at: tuple[int, int] = (0, 0),
    velocities: bool = True,
) -> ShootingProblem:
    """A UR5 moves its tool to a place, from rest to rest; and before to two places 0.7 m apart at two knots."""
    effort = CostStack(STATE).add("torque", ResidualModelControl(STATE), weight=1e-3)
    limits = ConstraintStack.of_robot(STATE, MOTORS, velocities=velocities)
    if any(at):
        limits.add("way", ResidualModelFrameTranslation(STATE, "tool0"), lower=-np.inf, upper=np.inf)
    rest = np.r_[np.full(6, np.inf), np.zeros(6)]
    end = ConstraintStack(STATE).add("goal", ResidualModelFrameTranslation(STATE, "tool0", goal), equals=0.0)
    end.add("rest", ResidualModelState(STATE), lower=-rest, upper=rest)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(STATE, MOTORS, effort, constraints=limits)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=dt)
    problem = ShootingProblem(X0, [knot] * T, trajopt.ActionModelTerminal(CostStack(STATE), constraints=end))
    problem.set_parameter("torques.lower", -torque)
    problem.set_parameter("torques.upper", torque)
    for t, place in zip(at if any(at) else (), (FIRST, SECOND)):
        problem.set_parameter("way.reference", place, knots=[t])
        problem.set_parameter("way.lower", np.zeros(3), knots=[t])
        problem.set_parameter("way.upper", np.zeros(3), knots=[t])
    return problem


def still(problem: ShootingProblem, status: SolverStatus = SolverStatus.STALLED) -> Solution:
    """The robot stays where it is."""
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    return solution_of(problem, xs, problem.quasi_static(xs[:-1]), status)


def advice(solution: Solution) -> list[str]:
    return [line for line in solution.explain().splitlines() if line.startswith("->")]


@pytest.mark.parametrize("status", [SolverStatus.MAX_ITERATIONS, SolverStatus.STALLED, SolverStatus.INFEASIBLE])
def test_a_time_step_in_milliseconds_is_named_and_no_more_time_is_advised(status: SolverStatus) -> None:
    (line,) = advice(still(reach(dt=20.0), status))
    assert line == (
        "-> a time step of 20 s is long for a robot, and the motion lasts 1000 s; the unit of dt is seconds, so "
        "try 0.01"
    )
    assert "is long for a robot" not in still(reach(), status).explain()


def test_degrees_come_first() -> None:
    """A joint at 90 rad is not within its bounds of 6.28 rad either; the cost does not know."""
    costs = CostStack(STATE).add("posture", ResidualModelState(STATE, STATE.at_rest(np.zeros(6))), weight=1.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(STATE, MOTORS, CostStack(STATE))
    problem = ShootingProblem(X0, [trajopt.IntegratedActionModelEuler(dynamics, dt=0.02)] * 5, costs)
    assert "degrees" not in still(problem).explain()
    problem.set_parameter("posture.reference", STATE.at_rest([30.0, -86.0, 57.0, -57.0, -86.0, 0.0]))
    degrees = "rad, which looks like degrees; convert it with np.radians"
    assert advice(still(problem))[0] == f"-> the reference of 'posture': q:shoulder_pan_joint is 30 {degrees}"
    problem.set_parameter("posture.weight", 0.0)
    assert "degrees" not in still(problem).explain()
    far = reach()
    far.x0 = STATE.at_rest([0.0, -86.0, 57.0, -57.0, -86.0, 0.0])  # type: ignore[assignment]
    first, second = advice(still(far))[:2]
    assert first == f"-> x0: q:shoulder_lift_joint is -86 {degrees}"
    assert second.startswith("-> move x0, which is 79.7 rad below -6.283 of 'positions[")


@pytest.mark.slow
def test_places_too_far_apart_for_the_time_between_them_are_named_alone() -> None:
    (line,) = advice(still(reach(at=(30, 31))))
    assert line.startswith(
        "-> 'tool0' is to move by 0.7 m from knot 30 to knot 31, within 0.02 s; with each joint at its"
    )
    found = re.search(r"it moves at (\S+) m/s at most, and needs more than (\S+) s: leave more time between", line)
    assert found is not None
    most, seconds = map(float, found.groups())
    assert seconds == pytest.approx(0.7 / most, rel=0.01)
    model, data, rng = UR5.model, UR5.model.createData(), np.random.default_rng(0)
    frame, speeds = model.getFrameId("tool0"), []
    for _ in range(2000):
        J = pin.computeFrameJacobian(model, data, rng.uniform(-3.0, 3.0, 6), frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        speeds.append(np.linalg.norm(J @ (rng.choice([-1.0, 1.0], 6) * model.velocityLimit)))
    assert 0.5 * most < max(speeds) <= most
    for problem in (reach(T=150, at=(40, 90)), reach(at=(30, 31), velocities=False), reach()):
        assert too_fast(still(problem)) == []
    assert SolverSQP(reach(T=150, at=(40, 90))).solve().converged


@pytest.mark.slow
def test_weak_motors_are_the_only_advice_and_more_time_helps_those_that_can_swing() -> None:
    """The shoulder holds 17 N m; with 4 N m it swings within 1.5 s, but not within 1 s."""
    weak, weaker = np.array([150.0, 4.0, 150.0, 28.0, 28.0, 28.0]), 1e-3 * STRONG
    (line,) = advice(still(reach(torque=weak)))
    assert line.startswith("-> the motors cannot hold x0 at rest: shoulder_lift_joint needs 17.01 N m and has 4 N m;")
    assert "raise these bounds, give the motion more time, so that it may swing, or check the units" in line
    assert not SolverSQP(reach(torque=weak)).solve().converged
    assert SolverSQP(reach(torque=weak, T=75)).solve().converged
    line, *proofs = advice(still(reach(torque=weaker)))
    assert "more time" not in line
    assert all(EXCLUDE in proof for proof in proofs)


def test_a_failure_has_at_most_four_lines_of_advice() -> None:
    far = [-0.4, 0.3, 0.5]
    solution = SolverSQP(reach(far, T=6)).solve()
    assert not solution.converged
    lines = advice(solution)
    assert 1 < len(lines) <= 4
    assert lines[0].startswith("-> give the motion more time: 'velocities' is beyond its bounds at 5 of 6 knots")
    assert not any("begin with wider ones" in line for line in lines)  # limits are violated
    assert "  distance of frame 'tool0' from its goal is still " in solution.explain()
    assert SolverSQP(reach(far, T=60)).solve().converged
