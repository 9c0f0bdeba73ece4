"""Limits that a solution exceeds: which, where, by how much; in `explain` and in the report."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.analysis import limit_uses, limits_report, motion_report
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverBoxFDDP, SolverSQP

T, DT = 10, 0.05
INF = np.inf


def reach(lower: list[float], upper: list[float], torque: float = INF) -> ShootingProblem:
    """Ten knots of the planar arm with two joints, with limits of (q, v) and of both torques."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=lower, upper=upper)
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    actuation = trajopt.ActuationModelFull(state)
    vars(actuation).update(lower=np.full(2, -torque), upper=np.full(2, torque))
    node = trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), dt=DT
    )
    return ShootingProblem(np.zeros(4), [node] * T, trajopt.CostStack(state))


def solution(
    problem: ShootingProblem, xs: np.ndarray, us: np.ndarray, parameters: dict[str, np.ndarray] | None = None
) -> Solution:
    """A solution as a solver would return it."""
    facts = {"cost": 0.0, "status": SolverStatus.CONVERGED, "iterations": 0, "history": (), "seconds": 0.0}
    return Solution(xs=xs, us=us, x0=xs[0], solver="none", problem=problem, parameters=parameters or {}, **facts)


def motion() -> tuple[np.ndarray, np.ndarray]:
    """Joint 1 up to 2 rad, joint 2 down to -4 rad/s at knot 7, torque 2 up to 30 N m at knot 3."""
    xs, us = np.zeros((T + 1, 4)), np.zeros((T, 2))
    xs[:, 0] = np.linspace(0.0, 2.0, T + 1)
    xs[6:9, 3] = [-3.0, -4.0, -2.5]
    us[3, 1] = 30.0
    return xs, us


def test_each_exceeded_limit_says_where_and_by_how_much() -> None:
    problem = reach([-INF, -INF, -2.0, -2.0], [1.5, INF, 2.0, 2.0], torque=10.0)
    over = [use for use in limit_uses(solution(problem, *motion())) if use.knots]
    found = {use.quantity: use for use in over}
    assert set(found) == {"torque", "velocity", "angle"}
    assert len(over) == 3
    torque, velocity, angle = found["torque"], found["velocity"], found["angle"]
    assert (torque.value, torque.limit, torque.knot, torque.knots, torque.unit) == (30.0, 10.0, 3, 1, "N m")
    assert torque.time == pytest.approx(3 * DT)
    assert torque.use == pytest.approx(3.0)
    assert (velocity.value, velocity.limit, velocity.knot, velocity.knots) == (-4.0, -2.0, 7, 3)
    assert velocity.use == pytest.approx(2.0)
    assert (angle.value, angle.limit, angle.knot, angle.knots) == (2.0, 1.5, 10, 3)
    assert [use.quantity for use in over] == ["torque", "velocity", "angle"]  # the most exceeded one first
    joint = problem.state.robot.joint_names[1]  # type: ignore[attr-defined]
    assert str(torque) == f"torque of {joint}: 30 N m at knot 3 (0.15 s), 20 N m beyond the limit 10 (1 knot)"
    kept = dataclasses.replace(torque, value=7.0, use=0.7, knots=0)
    assert str(kept) == f"torque of {joint}: 7 N m at knot 3 (0.15 s), 3 N m within the limit 10, use 70 %"
    assert str(velocity) == f"velocity of {joint}: -4 rad/s at knot 7 (0.35 s), 2 rad/s beyond the limit -2 (3 knots)"


def test_limits_that_are_kept() -> None:
    problem = reach([-3.0, -3.0, -8.0, -8.0], [3.0, 3.0, 8.0, 8.0], torque=60.0)
    asked = solution(problem, *motion())
    assert not [use for use in limit_uses(asked) if use.knots]
    joint = problem.state.robot.joint_names[0]  # type: ignore[attr-defined]
    assert limits_report(asked) == {
        "limits": f"kept; at most torque 50 %, velocity 50 %, angle of {joint} within 1 rad of its limit"
    }


def test_placeholders_are_named() -> None:
    problem = reach([-INF, -INF, -100.0, -100.0], [INF, INF, 100.0, 100.0], torque=1000.0)
    words = "kept; at most torque 3 %, velocity 4 %; "
    doubt = "limits of {}, which look like placeholders of its file"
    both = [f"torque {doubt.format('1000 N m')}", f"velocity {doubt.format('100 rad/s')}"]
    assert limits_report(solution(problem, *motion()))["limits"] == words + "; ".join(both)
    xs, us = motion()
    assert "placeholders" not in limits_report(solution(problem, 2.0 * xs, 2.0 * us))["limits"]  # 6 % and 8 %
    for torque in (990.0, 10.0):
        limits = reach([-INF] * 4, [INF] * 4, torque=torque)
        assert "placeholders" not in limits_report(solution(limits, xs, 0.01 * us))["limits"]


def test_only_placeholders_that_are_constraints_are_advice() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    rows = trajopt.ConstraintStack(state).add("torques", trajopt.ResidualModelControl(state), lower=-1e3, upper=1e3)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), costs, constraints=rows
    )
    problem = ShootingProblem(
        np.zeros(4), [trajopt.IntegratedActionModelEuler(dynamics, DT)] * T, trajopt.CostStack(state)
    )
    known = solution(problem, *motion(), problem.parameter_values())
    set_them = 'set true ones with problem.set_parameter("torques.lower", ...) and "torques.upper"'
    assert f"-> torque limits of 1000 N m look like placeholders of the robot's file: {set_them}" in known.explain()
    free = solution(reach([-INF] * 4, [INF] * 4, torque=1000.0), *motion())
    assert "placeholders" not in free.explain()


def test_bounds_of_constraints_that_are_tighter_are_the_limits() -> None:
    """Set by set_parameter, as they were in the solve."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=[-3.0] * 4, upper=[3.0] * 4)
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    actuation = trajopt.ActuationModelFull(state)
    vars(actuation).update(lower=np.full(2, -60.0), upper=np.full(2, 60.0))
    limits = trajopt.ConstraintStack.of_robot(state, actuation)
    limits.add("torques", trajopt.ResidualModelControl(state), lower=-60.0, upper=60.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=DT)
    problem = ShootingProblem(np.zeros(4), [node] * T, trajopt.CostStack(state))
    xs, us = motion()
    xs[:, 3] /= 2.0
    first = limit_uses(solution(problem, xs, us, problem.parameter_values()))
    assert max(use.use for use in first if use.quantity == "torque") == pytest.approx(0.5)
    assert all(use.constrained for use in first if use.knot < T)
    assert not any(use.constrained for use in limit_uses(solution(reach([-3.0] * 4, [3.0] * 4, 60.0), xs, us)))
    problem.set_parameter("torques.upper", 40.0)
    problem.set_parameter("torques.lower", -40.0)
    tight = solution(problem, xs, us, problem.parameter_values())
    (use,) = [use for use in limit_uses(tight) if use.constrained and use.value == 30.0]
    assert (use.limit, use.knot, use.knots) == (40.0, 3, 0)
    assert limits_report(tight)["limits"].startswith("kept; at most torque 75 %, velocity 67 %")
    problem.set_parameter("torques.upper", 20.0)
    violated = solution(problem, xs, us, problem.parameter_values())
    assert "torque of" in limits_report(violated)["limits"]
    assert "10 N m beyond the limit 20 (1 knot)" in limits_report(violated)["limits"]
    assert "limits exceeded" not in violated.explain()  # it is among the constraints there
    assert "constraint 'torques', row 1, is violated most" in violated.explain()


def test_a_value_at_its_limit_is_within() -> None:
    problem = reach([-INF] * 2 + [-4.0] * 2, [2.0, INF, 4.0, 4.0], torque=30.0 * (1 - 1e-9))
    assert not [use for use in limit_uses(solution(problem, *motion())) if use.knots]


def test_limits_of_zero_in_a_file_and_no_limits_say_nothing() -> None:
    unlimited = reach([-INF, -INF, 0.0, 0.0], [INF, INF, 0.0, 0.0])
    assert limit_uses(solution(unlimited, *motion())) == []
    assert limits_report(solution(unlimited, *motion())) == {}


def test_explain_lists_them_and_says_what_to_do() -> None:
    tight = reach([-INF, -INF, -2.0, -2.0], [1.5, INF, 2.0, 2.0], torque=10.0)
    words = solution(tight, *motion()).explain()
    assert "limits exceeded (3):" in words
    assert "30 N m at knot 3 (0.15 s), 20 N m beyond the limit 10" in words
    assert "-> limits are enforced only as constraints" in words
    assert "constraints=ConstraintStack.of_robot(state, actuation) of the dynamics, with SolverSQP; otherwise" in words
    assert "give angle, torque, velocity more weight" in words
    wide = reach([-INF] * 4, [INF] * 4)
    assert "limits" not in solution(wide, *motion()).explain()


class Cart(trajopt.DifferentialActionModelSymbolic):
    """A mass under a force."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def test_limits_of_controls_are_cured_by_a_line_of_code_or_by_the_box_solver() -> None:
    state = trajopt.StateVector(2)
    force = trajopt.ResidualModelControl(state)
    costs = trajopt.CostStack(state).add("effort", force, weight=1e-4)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), weight=1e3)
    limits = {"lower": [-3.0], "upper": [3.0]}
    node = trajopt.IntegratedActionModelEuler(Cart(state, 1, costs, **limits), dt=0.1)
    problem = ShootingProblem(np.zeros(2), [node] * 10, end)
    free = SolverSQP(problem).solve()
    assert np.abs(free.us).max() > 3.1
    (advice,) = [line for line in free.explain().splitlines() if "limits are enforced only as constraints" in line]
    assert (
        'add("limits", ResidualModelControl(state), lower=..., upper=...), with SolverSQP, or SolverBoxFDDP' in advice
    )
    kept = trajopt.ConstraintStack(state).add("limits", trajopt.ResidualModelControl(state), lower=-3.0, upper=3.0)
    node = trajopt.IntegratedActionModelEuler(Cart(state, 1, costs, constraints=kept, **limits), dt=0.1)
    held = SolverSQP(ShootingProblem(np.zeros(2), [node] * 10, end)).solve()
    boxed = SolverBoxFDDP(problem).solve()
    for solution in (held, boxed):
        assert np.abs(solution.us).max() < 3.0 + 1e-6
        assert "limits are enforced only as constraints" not in solution.explain()


def constrained(state: trajopt.StateMultibody) -> ShootingProblem:
    """A robot whose limits are constraints, but at the end."""
    costs, actuation = trajopt.CostStack(state), trajopt.ActuationModelFull(state)
    costs.add("u", trajopt.ResidualModelControl(state), weight=1.0)
    limits = trajopt.ConstraintStack.of_robot(state, actuation)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=DT)
    return ShootingProblem(np.zeros(4), [node] * T, trajopt.CostStack(state))


def test_limits_that_are_constraints_but_at_the_end_are_to_be_added_there() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=[-3.0] * 4, upper=[3.0] * 4)
    problem = constrained(state)
    xs = np.zeros((T + 1, 4))
    xs[-1, 3] = 4.0
    fast = solution(problem, xs, np.zeros((T, 2)), problem.parameter_values())
    (use,) = [use for use in limit_uses(fast) if use.knots]
    assert (use.knot, use.bounded, use.partly) == (T, False, True)
    text = fast.explain()
    assert "limits are enforced only as constraints" not in text
    (cure,) = [line for line in text.splitlines() if line.startswith("-> limits of velocity")]
    assert "constraints at other knots, but not at the end: add them there too" in cure
    assert "ActionModelTerminal(costs, constraints=ConstraintStack.of_robot(state))" in cure
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=trajopt.ConstraintStack.of_robot(state))
    cured = ShootingProblem(np.zeros(4), problem.running, end)
    assert "limits of velocity" not in solution(cured, xs, np.zeros((T, 2)), cured.parameter_values()).explain()


def test_an_equation_within_a_limit_is_no_wider_bound() -> None:
    """A speed of 4 rad/s at the end is beyond the equation "stop" there, which is listed as violated."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=[-3.0] * 4, upper=[3.0] * 4)
    rest = trajopt.ConstraintStack(state).add(
        "stop", trajopt.ResidualModelState(state), lower=[-INF] * 2 + [0.0] * 2, upper=[INF] * 2 + [0.0] * 2
    )
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=rest)
    problem = ShootingProblem(np.zeros(4), constrained(state).running, end)
    xs = np.zeros((T + 1, 4))
    xs[-1, 3] = 4.0
    fast = solution(problem, xs, np.zeros((T, 2)), problem.parameter_values())
    (use,) = [use for use in limit_uses(fast) if use.knots]
    assert (use.knot, use.constrained) == (T, True)
    assert "are wider than these limits" not in fast.explain()
    assert "limits exceeded" not in fast.explain()
    assert "constraint 'stop', row 3, is violated most: " in fast.explain()


def test_a_single_limit_has_a_distance_and_no_share() -> None:
    """A height that stays above 10 m, from 100 m down to 65 m."""
    state = trajopt.StateVector(2, names=["p", "v"], units=["m", "m/s"])
    rows = trajopt.ConstraintStack(state).add("height", trajopt.ResidualModelState(state), lower=[10.0, -INF])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    node = trajopt.IntegratedActionModelEuler(Cart(state, 1, costs, constraints=rows), dt=0.1)
    problem = ShootingProblem([100.0, 0.0], [node] * T, trajopt.CostStack(state))
    xs = np.column_stack([np.linspace(100.0, 65.0, T + 1), np.zeros(T + 1)])
    high = solution(problem, xs, np.zeros((T, 1)), problem.parameter_values())
    (use,) = limit_uses(high)
    assert use.single
    assert str(use) == "position of p: 68.5 m at knot 9 (0.9 s), 58.5 m within the limit 10"
    assert limits_report(high) == {"limits": "kept; position of p within 58.5 m of its limit"}
    table = trajopt.compare(high, high).rows
    assert table["position nearest to its limit [m]"] == ("58.5", "58.5")
    assert "%" not in "".join(table)
    low = dataclasses.replace(high, xs=xs - [80.0, 0.0])
    assert trajopt.compare(high, low).rows["position nearest to its limit [m]"] == ("58.5", "-21.5")  # beyond it


def test_a_position_at_its_limit_is_said_to_be_there() -> None:
    problem = reach([-INF] * 2 + [-8.0] * 2, [2.0 + 8.86e-13, INF, 8.0, 8.0])
    (joint, *_) = problem.state.robot.joint_names  # type: ignore[attr-defined]
    words = limits_report(solution(problem, *motion()))["limits"]
    assert words == f"kept; at most velocity 50 %, angle of {joint} at its limit"
    (use,) = [use for use in limit_uses(solution(problem, *motion())) if use.quantity == "angle"]
    assert str(use).endswith("at the limit 2")


@pytest.mark.parametrize("least", [-10.0, -2.5])
def test_explain_and_the_report_name_the_same_position_as_the_closest(least: float) -> None:
    """Joint 1 uses more of its range, and joint 2 has less way to its limit."""
    lower, upper = [least, -0.4, -8.0, -8.0], [2.5, 0.4, 8.0, 8.0]
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=lower, upper=upper)
    problem = constrained(state)
    asked = solution(problem, *motion(), problem.parameter_values())
    joint = state.robot.joint_names[1]
    assert f"angle of {joint} within 0.4 rad of its limit" in limits_report(asked)["limits"]
    (line,) = [line for line in asked.explain().splitlines() if line.startswith("    'positions'")]
    assert f"closest: 0.4 rad from its bound (q:{joint}," in line


def test_the_report_names_the_worst_and_counts_the_others() -> None:
    problem = reach([-INF, -INF, -2.0, -2.0], [1.5, INF, 2.0, 2.0], torque=10.0)
    words = limits_report(solution(problem, *motion()))["limits"]
    assert words.startswith("exceeded: torque of ")
    assert words.endswith("; and 2 more, listed by explain")


def test_reports_of_legged_motions_have_them_too() -> None:
    case = trajopt.problems.load("quadruped-trot", robot="small-quadruped")
    asked = case.solve()
    assert motion_report(asked, mu=0.7)["limits"] == limits_report(asked)["limits"]
    us = asked.us.copy()
    us[4, 2] = 1e3  # [N m]
    tired = dataclasses.replace(asked, us=us)
    assert re.match(
        r"exceeded: torque of \w+: 1000 N m at knot 4 \(0.04 s\), 9\d\d N m", limits_report(tired)["limits"]
    )


def test_a_limit_that_holds_says_its_use_in_per_cent() -> None:
    problem = reach([-INF, -INF, -8.0, -8.0], [INF] * 2 + [8.0] * 2)
    (use,) = [use for use in limit_uses(solution(problem, *motion())) if use.name.endswith("2")]
    assert re.search(r"4 rad/s within the limit -8, use 50 %$", str(use))


def test_angle_limits_of_several_turns_are_placeholders() -> None:
    """10 rad at all joints, of which the motion uses little; 6.28 rad is a true limit."""
    for size, named in ((10.0, True), (6.28, False), (3.0, False)):
        problem = reach([-size, -size, -INF, -INF], [size, size, INF, INF], torque=70.0)
        words = limits_report(solution(problem, *motion()))["limits"]
        assert (f"angle limits of {size:g} rad, which look like placeholders of its file" in words) == named, size
