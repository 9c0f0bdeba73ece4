"""Constraints of robots where they may stand: running models, impulses, the end; what can't be met, or is refused."""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt.actions import ActionModelTerminal
from trajopt.errors import InvalidArgumentError
from trajopt.robots import legged_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverIpopt, SolverSQP, SQPOptions

T, DT = 20, 0.05
ARM = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
MOTORS = trajopt.ActuationModelFull(ARM)
TOOL = trajopt.ResidualModelFrameTranslation(ARM, "tool")  # (1.1, 0, 0) at zero, in the plane y = 0


def arm(running: Any = None, end: Any = None, *, x0: Any = None, T: int = T, dt: float = DT) -> ShootingProblem:
    """An arm whose tool should go to (0.5, 0, 0.6).

    Args:
        running: Adds constraints to the stack of running knots.
        end: Adds constraints to that of the end.
        x0: Where it starts.
        T: Number of knots.
        dt: Time step [s].
    """
    costs, final = trajopt.CostStack(ARM), trajopt.CostStack(ARM)
    goal = trajopt.ResidualModelFrameTranslation(ARM, "tool", [0.5, 0.0, 0.6])
    costs.add("goal", goal, 1.0).add("calm", trajopt.ResidualModelState(ARM), 0.1)
    costs.add("effort", trajopt.ResidualModelControl(ARM), 1e-3)
    final.add("goal", goal, 50.0).add("calm", trajopt.ResidualModelState(ARM), 0.1)
    rows, last = trajopt.ConstraintStack(ARM), trajopt.ConstraintStack(ARM)
    for add, stack in ((running, rows), (end, last)):
        if add is not None:
            add(stack)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(ARM, MOTORS, costs, constraints=rows)
    node = trajopt.IntegratedActionModelEuler(model, dt)
    start = np.zeros(6) if x0 is None else x0
    return ShootingProblem(start, [node] * T, ActionModelTerminal(final, constraints=last))


def tool(xs: Any) -> Any:
    """Places of the tool (n, 3)."""
    return np.array([ARM.robot.placement(x[:3], "tool")[:3, 3] for x in xs])


# Where they stand


def test_on_running_knots_and_at_the_end() -> None:
    """A ceiling on the way, a floor at the end; bounds of all knots, and of one, at run time."""
    problem = arm(
        lambda rows: rows.add("tool", TOOL, upper=[np.inf, np.inf, 0.5]),
        lambda rows: rows.add("height", TOOL, lower=[-np.inf, -np.inf, 0.45]),
    )
    solver = SolverSQP(problem)
    solution = solver.solve()
    height = tool(solution.xs)[:, 2]
    assert solution.converged
    assert height[:-1].max() == pytest.approx(0.5, abs=1e-6)
    assert solution.cost == pytest.approx(SolverIpopt(problem).solve(solution.xs, solution.us).cost, rel=1e-6)
    problem.set_parameter("tool.upper", [np.inf, 0.3, 0.4])
    problem.set_parameter("tool.upper", [np.inf, 0.3, 0.1], knots=[9, 10])
    problem.set_parameter("height.lower", [-np.inf, -np.inf, 0.55])
    lower = solver.solve()
    height = tool(lower.xs)[:, 2]
    assert lower.converged
    assert height[9:11].max() < 0.1 + 1e-6
    assert height[:-1].max() == pytest.approx(0.4, abs=1e-6)
    assert height[-1] > 0.55 - 1e-6
    assert lower.violations()["tool"].shape == (T + 1, 3)


def landing(most: float) -> ShootingProblem:
    """A quadruped falls on its feet, each of which may push by an impulse of `most` [N s], within its cone."""
    robot = trajopt.load_robot("small-quadruped")
    state = trajopt.StateMultibody(robot)
    feet, actuation = legged_robot("small-quadruped").feet, trajopt.ActuationModelFloatingBase(state)
    x0 = np.concatenate([robot.configuration("standing"), np.zeros(state.nv)])
    x0[state.nq + 2] = -0.6
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-3)
    costs.add("calm", trajopt.ResidualModelState(state, x0), 1e-2)
    air = trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), 0.02
    )
    impulses, rows = trajopt.ImpulseStack(state), trajopt.ConstraintStack(state)
    for foot in feet:
        impulses.add(foot, trajopt.ImpulseModel3D(state, foot))
        cone = trajopt.FrictionCone(0.7, max_force=most)
        rows.add(f"cone_{foot}", trajopt.ResidualModelContactFrictionCone(state, foot, cone))
    still = trajopt.CostStack(state).add("posture", trajopt.ResidualModelState(state, x0), 1e-2)
    impact = trajopt.ActionModelImpulseFwdDynamics(state, impulses, still, constraints=rows)
    return ShootingProblem(x0, [air] * 5 + [impact], trajopt.CostStack(state))


@pytest.mark.slow
def test_on_impulses() -> None:
    """Legs give way before they touch down, so that the impulse stays within its limits."""
    hard = SolverSQP(landing(np.inf)).solve()
    most = 0.5 * max(float(force[5, 2]) for force in hard.contact_forces().values())
    assert hard.converged
    gentle = SolverSQP(landing(most)).solve()
    assert gentle.converged
    forces = np.array([force[5] for force in gentle.contact_forces().values()])
    assert forces[:, 2].max() == pytest.approx(most, abs=1e-6)
    assert np.all(np.hypot(forces[:, 0], forces[:, 1]) <= 0.7 * forces[:, 2] + 1e-6)
    assert max(float(v.max()) for v in gentle.violations().values()) < 1e-6


@pytest.mark.slow
def test_a_robot_s_own_limits_hold() -> None:
    """Of positions, velocities and torques of an arm, which it would exceed by far."""
    state = trajopt.StateMultibody(trajopt.load_robot("talos_arm"))
    actuation = trajopt.ActuationModelFull(state)
    x0 = np.concatenate([[0.2, 0.3, 0.0, -1.0, 0.0, 0.0, 0.0], np.zeros(7)])

    def problem(limited: bool) -> ShootingProblem:
        costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-4)
        goal = trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint", [0.0, 0.4, 0.8])
        final = trajopt.CostStack(state).add("goal", goal, 1e2).add("calm", trajopt.ResidualModelState(state), 1.0)
        rows = trajopt.ConstraintStack.of_robot(state, actuation) if limited else None
        last = trajopt.ConstraintStack.of_robot(state, torques=False) if limited else None
        model = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=rows)
        node = trajopt.IntegratedActionModelEuler(model, 0.02)
        return ShootingProblem(x0, [node] * 15, ActionModelTerminal(final, constraints=last))

    free, kept = (SolverSQP(problem(limited)).solve() for limited in (False, True))
    beyond = [np.maximum(s.xs - state.upper, state.lower - s.xs)[1:].max() for s in (free, kept)]
    assert max(beyond[0], (np.abs(free.us) - actuation.effort).max()) > 0.1
    assert kept.converged
    assert max(beyond[1], (np.abs(kept.us) - actuation.effort).max()) < 1e-6


# Knot 0


def test_rows_of_the_given_state_are_reported_and_an_equation_is_a_warning(caplog: Any) -> None:
    """Once a solve, with name and value; bounds that x0 is beyond are reported alone."""
    x0 = np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0])
    height = float(tool([x0])[0, 2])

    def rows(stack: trajopt.ConstraintStack) -> None:
        stack.add("level", TOOL, lower=[-np.inf, 0.0, 0.4], upper=[np.inf, 0.0, 0.4])
        stack.add("near", TOOL, upper=[0.9, np.inf, np.inf])

    problem = arm(rows, x0=x0, T=6)
    for solver in (SolverSQP(problem), SolverIpopt(problem)):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            solution = solver.solve()
        assert solution.converged
        messages = [record.getMessage() for record in caplog.records if record.name.startswith("trajopt")]
        assert len(messages) == 1, messages
        assert f"x0: constraint level[2] is {height:g} at knot 0 but should be 0.4" in messages[0]
        found = solution.violations()
        assert found["level"][0, 2] == pytest.approx(0.4 - height)
        assert found["near"][0, 0] > 0.01
        assert max(float(v[1:].max()) for v in found.values()) < 1e-6


def test_no_warning_where_x0_meets_the_equations(caplog: Any) -> None:
    problem = arm(lambda rows: rows.add("plane", TOOL, lower=[-np.inf, 0.0, -1.0], upper=[np.inf, 0.0, 1.0]), T=4)
    with caplog.at_level(logging.WARNING):
        assert SolverSQP(problem).solve().converged
    assert not [record for record in caplog.records if record.name.startswith("trajopt")]


# What can't be met


def unmet(problem: ShootingProblem, steps: str = "policy") -> str:
    """What is said of a problem that has no solution; rounding decides how many attempts end alike."""
    solution = SolverSQP(problem, SQPOptions(steps=steps, max_iterations=500)).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    return solution.explain()


def test_bounds_of_two_constraints_that_exclude_each_other() -> None:
    def rows(stack: trajopt.ConstraintStack) -> None:
        stack.add("below", TOOL, upper=[np.inf, np.inf, 0.2]).add("above", TOOL, lower=[-np.inf, -np.inf, -1.0])

    problem = arm(rows)
    problem.set_parameter("above.lower", [-np.inf, -np.inf, 0.5], knots=12)
    words = unmet(problem)
    assert "constraint 'below', row 2" in words or "constraint 'above', row 2" in words
    assert "at knot 12" in words


def test_an_end_out_of_reach() -> None:
    """The arm is 1.1 m long; stretched, its Jacobian is singular."""
    problem = arm(end=lambda rows: rows.add("far", TOOL, equals=[1.4, 0.0, 0.0]))
    words = unmet(problem)
    assert "constraint 'far', row 0" in words
    assert f"at knot {T}" in words


def standing(part: float) -> ShootingProblem:
    """An outstretched arm should stay where it is, with motors for a part of what its weight needs."""
    effort = part * float(np.abs(arm().quasi_static(np.zeros((T, 6)))).max())

    def rows(stack: trajopt.ConstraintStack) -> None:
        stack.add("motors", trajopt.ResidualModelControl(ARM), lower=-effort, upper=effort)
        stack.add("stay", trajopt.ResidualModelState(ARM, elements=range(3)), lower=-0.01, upper=0.01)

    return arm(rows, T=15, dt=0.02)


@pytest.mark.parametrize("steps", ["policy", "linear"])
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_torque_too_weak_to_stand(part: float, steps: str) -> None:
    words = unmet(standing(part), steps)
    assert "constraint 'stay', row " in words
    assert "is violated most" in words
    assert "at knot 14" in words


@pytest.mark.parametrize("steps", ["policy", "linear"])
def test_a_torque_that_is_just_enough_to_stand(steps: str) -> None:
    """The multipliers of `stay` are large; IPOPT's cost."""
    solution = SolverSQP(standing(1.1), SQPOptions(max_iterations=20, steps=steps)).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(17.29369, rel=1e-6)


# What is refused


def test_crossed_bounds_at_one_knot() -> None:
    problem = arm(lambda rows: rows.add("tool", TOOL, lower=-1.0, upper=[1.0, 1.0, 0.5]), T=4)
    problem.set_parameter("tool.lower", [-1.0, -1.0, 0.7], knots=2)
    problem.set_parameter("tool.lower", [-1.0, -1.0, 0.7], knots=3)
    message = (
        r"constraint tool\[2\] at knot 2: expected lower <= upper, got 0.7 and 0.5; raise tool.upper to at least 0.7, "
        r"or lower tool.lower to at most 0.5: problem.set_parameter\('tool.upper', value, knots=range\(2, 4\)\)"
    )
    for solver in (SolverSQP(problem), SolverIpopt(problem)):
        with pytest.raises(InvalidArgumentError, match=message):
            solver.solve()
    problem.set_parameter("tool.upper", [1.0, 1.0, 0.8], knots=[2, 3])
    assert SolverSQP(problem).solve().status is not None


def test_limits_of_a_control_that_exclude_each_other() -> None:
    def rows(stack: trajopt.ConstraintStack) -> None:
        stack.add("motors", trajopt.ResidualModelControl(ARM), lower=-5.0, upper=5.0)
        stack.add("pushes", trajopt.ResidualModelControl(ARM, [1.0, 1.0, 1.0]), lower=-9.0)

    problem = arm(rows, T=4)
    problem.set_parameter("pushes.lower", [-9.0, 4.5, -9.0], knots=1)
    solver = SolverSQP(problem)
    solution = solver.solve()
    assert (solution.status, solution.iterations) == (SolverStatus.INFEASIBLE, 0)
    (sentence,) = solution.description.contradictions
    assert re.match(r"constraints motors\[(.*)\] and pushes\[\1\] at knot 1: they exclude each other, ", sentence)
    assert sentence.endswith("should be >= 5.5 N m and <= 5 N m; widen one of them with problem.set_parameter")
    assert [line for line in solution.explain().splitlines() if line.startswith("->")] == [f"-> {sentence}"]
    problem.set_parameter("pushes.lower", [-9.0, 3.5, -9.0], knots=1)
    assert solver.solve().converged  # of the same arrays


def test_a_constraint_that_needs_a_control_at_the_end() -> None:
    rows = trajopt.ConstraintStack.of_robot(ARM, torques=False)
    rows.add("motors", trajopt.ResidualModelJointEffort(ARM, MOTORS), upper=3.0)
    message = "terminal: constraints motors depend on a control .*; pass a ConstraintStack without them"
    with pytest.raises(InvalidArgumentError, match=message):
        ActionModelTerminal(trajopt.CostStack(ARM), constraints=rows)
    costs = trajopt.CostStack(ARM)
    node = trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(ARM, MOTORS, costs, constraints=rows), DT
    )
    with pytest.raises(InvalidArgumentError, match=message):
        ShootingProblem(np.zeros(6), [node], node)
