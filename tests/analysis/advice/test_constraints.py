"""What explain() says of starts beyond a bound, of rows by their names, of clamped controls and of widened bounds."""

from __future__ import annotations

import dataclasses
import functools
import re

import casadi as ca
import numpy as np
from casadi import SX

import trajopt
from tests.support.constrained import Mass, pendulum, torn_mass, weak_pendulum
from trajopt import gaits
from trajopt.analysis import ConstraintRows, constraint_rows, constraints_report, limit_uses
from trajopt.analysis.advice.constraints import _rows_of, time_may_help
from trajopt.analysis.advice.dead_ends import looser_first
from trajopt.analysis.advice.relaxation import relaxation
from trajopt.analysis.row_names import row_names
from trajopt.residuals import (
    FrictionCone,
    ResidualModelContactCoPPosition,
    ResidualModelContactFrictionCone,
    ResidualModelContactWrenchCone,
    WrenchCone,
)
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverBoxDDP, SolverSQP, SQPOptions

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def advice(solution: Solution) -> list[str]:
    return [line for line in solution.explain().splitlines() if line.startswith("->")]


def walled(start: float, *, most: float = 1.0, goal: float = -1.0, speed: float = 0.0) -> Solution:
    """A mass left of a wall at all knots, also at the end, where it is to be at `goal`; pushed by at most `most`."""
    state = trajopt.StateVector(2, names=["p", "v"], units=["m", "m/s"])
    force, p = trajopt.ResidualModelControl(state), trajopt.ResidualModelSymbolic(state, lambda x: x, unit="m")
    rows = trajopt.ConstraintStack(state).add("wall", p, upper=[0.5, 3.0]).add("motor", force, lower=-most, upper=most)
    end = trajopt.ConstraintStack(state).add("wall", p, upper=[0.5, 3.0])
    end.add("goal", trajopt.ResidualModelState(state, [goal, 0.0]), equals=0.0)
    problem = ShootingProblem([start, speed], [Mass(state, 1, constraints=rows)] * 40, Mass(state, 1, constraints=end))
    return SolverSQP(problem, SQPOptions(max_iterations=100)).solve()


def test_a_start_beyond_a_bound_is_to_be_moved_first() -> None:
    solution = walled(2.0)
    assert not solution.converged  # the mass starts 1.5 m behind the wall, and can't be before it at knot 1
    first = advice(solution)[0]
    assert first.startswith("-> move x0, which is 1.5 m above 0.5 of 'wall[p]', or widen that bound until")
    assert "move x0" not in "".join(advice(weak_pendulum()))


def test_more_time_is_advised_only_where_it_may_help() -> None:
    """Neither for a start beyond a bound nor for the distance of braking; for a goal that motors reach too late."""
    braking = walled(0.0, speed=2.0, goal=0.4)  # needs 2 m, and the wall is at 0.5 m
    assert braking.violations()["wall"][:-1].max() > 0.1
    for solution in (braking, walled(2.0)):
        assert not solution.converged
        assert "more time" not in solution.explain()
    assert not time_may_help(constraint_rows(braking))
    assert time_may_help(constraint_rows(weak_pendulum()))
    assert "give the motion more time" in weak_pendulum().explain()


def test_rows_beyond_a_bound_are_violated_and_not_at_it() -> None:
    solution = walled(2.0)
    (wall,) = [rows for rows in constraint_rows(solution) if rows.name == "wall"]
    beyond = np.where(wall.enforced, wall.violations, 0.0)
    count = int((beyond > 1e-3 * beyond.max()).any(axis=1).sum())
    (line,) = [line for line in solution.explain().splitlines() if line.startswith("    'wall'")]
    assert f"p violated at {count} of 41 knots (1-" in line
    (torn, other) = [line for line in torn_mass().explain().splitlines() if re.match("    '(left|right)_of'", line)]
    assert "violated at" in torn + other
    assert "at a bound" not in torn + other


def test_rows_that_only_x0_violates_are_reported_but_do_not_count_as_violations() -> None:
    """x0 is where it is: its rows are in violations(), and in the words, but nothing else is said to be violated."""
    solution = walled(0.0)
    assert solution.converged
    tighter = dict(solution.parameters)
    tighter["wall.upper"] = tighter["wall.upper"].copy()
    tighter["wall.upper"][0] = [-0.3, 3.0]
    moved = dataclasses.replace(solution, parameters=tighter)
    assert moved.violations()["wall"][0].tolist() == [0.3, 0.0]
    assert not any(violations[1:].max() > 1e-6 for violations in moved.violations().values())
    text = moved.explain()
    assert re.search(r"all constraints hold at the knots, but for x0 \(largest violation ", text)
    assert "x0 itself violates 'wall[p]' by 0.3 m: no control changes that" in text
    assert constraints_report(moved)["constraints"].startswith("hold at the knots, but x0 violates wall[p]")
    assert "but for x0" not in pendulum().explain()


def test_rows_at_a_bound_are_named() -> None:
    solution = walled(-2.0, most=2.0, goal=0.5)
    assert solution.converged
    (wall,) = [rows for rows in constraint_rows(solution) if rows.name == "wall"]
    count = int((wall.active & wall.enforced).any(axis=1).sum())
    assert count
    assert f"    'wall': p at a bound at {count} of 41 knot" in solution.explain()


def test_advice_to_relax_includes_constraints_that_also_hold_at_the_terminal_knot() -> None:
    """A goal behind the wall: the wall, at the end too, keeps the mass from it, and is violated there itself."""
    solution = walled(0.0, goal=2.0)
    assert not solution.converged
    worst = dict.fromkeys(solution.violations(), 0.0) | {k: float(v.max()) for k, v in solution.violations().items()}
    assert worst["wall"] > 1e-3
    bent = dataclasses.replace(solution, xs=solution.xs.copy(), status=SolverStatus.INFEASIBLE)
    bent.xs[20:30, 0] = 0.5  # at the wall
    text = relaxation(solution, constraint_rows(bent))
    assert re.search(r"relax others that are at their bounds before: .*'wall' at \d+ of 41 knots", text)
    assert "they exclude each other" in "\n".join(advice(solution))


def test_rows_of_cones_have_names_and_units() -> None:
    robot = trajopt.load_robot("small-quadruped")
    state = trajopt.StateMultibody(robot)
    pyramid = row_names(ResidualModelContactFrictionCone(state, "foot", FrictionCone(0.7)), 5)
    sides = ["friction +x", "friction -x", "friction +y", "friction -y"]
    assert pyramid == [*((side, "N") for side in sides), ("normal", "N")]
    cone = WrenchCone(0.7, (0.2, 0.1), facets=8)
    names, units = zip(*row_names(ResidualModelContactWrenchCone(state, "foot", cone), 21))
    directions = [np.arctan2(row[1], row[0]) for row in cone.matrix[:8]]
    told = [float(name.removeprefix("friction ").removesuffix(" deg")) for name in names[:8]]
    np.testing.assert_allclose(np.exp(1j * np.deg2rad(told)), np.exp(1j * np.array(directions)), atol=1e-12)
    assert names[8:13] == ("normal", "tipping +x", "tipping -x", "tipping +y", "tipping -y")
    for i, name in enumerate(names[9:13]):  # a torque about this axis is what the row limits
        torque = cone.matrix[9 + i, 3:]
        assert torque["xyz".index(name[-1])] == (1.0 if name[-2] == "+" else -1.0)
    assert (units[:9], units[9:]) == (("N",) * 9, ("N m",) * 12)
    assert row_names(ResidualModelContactCoPPosition(state, "foot", (0.2, 0.1)), 4)[3] == ("tipping -y", "N m")
    assert row_names(trajopt.ResidualModelCoMPosition(state), 2) == [("0", "m"), ("1", "m")]  # rows of another number
    assert row_names(trajopt.ResidualModelState(state), 2) == [("0", "-"), ("1", "-")]


def test_a_gait_names_the_sides_of_its_cones() -> None:
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, FEET)
    trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05)
    problem = gaits.gait_problem(robot, trot, limits=True)
    guess = gaits.gait_guess(problem, trot)
    solution = SolverSQP(problem, SQPOptions(max_iterations=1)).solve(*guess)
    (rows,) = [rows for rows in constraint_rows(solution) if rows.name == "lf_foot_force"]
    assert rows.title(4) == "lf_foot_force[normal]"
    assert rows.units == ("N",) * 5
    everywhere = np.isfinite(rows.values)
    assert _rows_of(rows, everywhere).endswith(", ... (of the pyramid)")  # pictures compare with the round cone


def test_rows_that_hardly_push_are_at_their_bounds_by_distance() -> None:
    """A rope between its limits of tension: interior points end 5e-3 N from 200 N, with tiny multipliers."""
    forces = np.array([[40.0, 199.9942], [-39.99999, 5.0004], [40.0, 120.0], [-40.0, 199.999]])
    shape = forces.shape
    rows = ConstraintRows(
        name="forces", rows=("F", "T"), units=("N", "N"), values=forces,
        lower=np.tile([-40.0, 5.0], (4, 1)), upper=np.tile([40.0, 200.0], (4, 1)), enforced=np.full(shape, True),
        multipliers=np.where(np.arange(2) == 0, 0.02, 3e-6) * np.ones(shape), controls=(0, 1), coordinates=(-1, -1),
    )  # fmt: skip
    assert rows.active.tolist() == [[True, True], [True, True], [True, False], [True, True]]
    assert _rows_of(rows, rows.active) == "F, T"


class Push(trajopt.ActionModelDiscrete):
    """A mass on a line, whose force has limits."""

    def next_state(self, x: SX, u: SX) -> SX:
        return SX(x + 0.1 * ca.vertcat(x[1], u))

    def running_cost(self, x: SX, u: SX) -> SX:
        return 1e-3 * u**2 + (x[0] - 1.0) ** 2

    def terminal_cost(self, x: SX) -> SX:
        return 1e2 * (x[0] - 1.0) ** 2 + 1e2 * x[1] ** 2


@functools.cache
def boxed() -> Solution:
    model = Push(trajopt.StateVector(2, names=["p", "v"]), 1, control_names=["F"], lower=[-2.0], upper=[2.0])
    return SolverBoxDDP(ShootingProblem([0.0, 0.0], [model] * 20, model)).solve()


def test_clamped_controls_of_box_solvers_are_active_limits_and_not_steep() -> None:
    solution = boxed()
    assert solution.converged
    slope, clamped = solution.stationarity(), np.abs(solution.us[:, 0]) == 2.0
    assert 0 < clamped.sum() < 20
    free = np.abs(slope[~clamped]).max()
    assert np.abs(slope).max() > 1e3 * free
    text = solution.explain()
    assert f"dJ/du = {free:.2g}" in text
    assert re.search(rf"^  limit of 'F' is active at {clamped.sum()} of 20 knots \(0-", text, re.M)
    other = dataclasses.replace(solution, solver="SolverDDP")  # which would not have kept it
    assert f"dJ/du = {np.abs(slope).max():.2g}" in other.explain()
    assert "is active" not in other.explain()


def test_bounds_that_are_wider_than_limits_are_to_be_narrowed() -> None:
    model = trajopt.load_robot("planar-2r").model.copy()
    model.effortLimit = np.array([9.0, 4.0])
    robot = trajopt.Robot(model)
    state = trajopt.StateMultibody(robot)
    actuation = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-3)
    costs.add("still", trajopt.ResidualModelState(state, [0.0, 0.0, 0.0, 0.0]), weight=1.0)
    limits = trajopt.ConstraintStack.of_robot(state, actuation, positions=False, velocities=False)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=0.01)
    problem = ShootingProblem(np.zeros(4), [node] * 5, trajopt.ActionModelTerminal(trajopt.CostStack(state)))
    effort = robot.model.effortLimit
    for side, sign in (("lower", -3.0), ("upper", 3.0)):
        problem.set_parameter(f"torques.{side}", sign * effort, "all")
    solution = SolverSQP(problem).solve()
    strong = dataclasses.replace(solution, us=np.tile(2.0 * effort, (5, 1)))
    assert any(use.bounded and use.knots for use in limit_uses(strong))
    text = strong.explain()
    code = 'problem.set_parameter("torques.lower", ...) and "torques.upper"'
    assert f"bounds of constraints on torque are wider than these limits: narrow them with {code}" in text
    assert "not enforced unless" not in text


def nearly(excess: float) -> Solution:
    """The pendulum, out of iterations, with a torque of 1.5 N m beyond its bound by an excess [N m]."""
    parameters = dict(pendulum().parameters)
    parameters["motor.upper"] = parameters["motor.upper"] - excess
    return dataclasses.replace(pendulum(), parameters=parameters, status=SolverStatus.MAX_ITERATIONS)


def test_a_small_violation_has_the_digits_that_tell_it_from_the_bound() -> None:
    (line,) = [line for line in nearly(3e-4).explain().splitlines() if "is violated most" in line]
    assert line.endswith(": 1.5 is above 1.4997")
    (line,) = [line for line in nearly(0.25).explain().splitlines() if "is violated most" in line]
    assert line.endswith(": 1.5 is above 1.25")


def test_rows_that_are_violated_by_little_are_not_said_to_exclude_each_other() -> None:
    def words(excess: float) -> str:
        return next(line for line in nearly(excess).explain().splitlines() if "still violated" in line)

    assert words(3e-4) == (
        "-> constraints are still violated, 'motor', but by 0.0003 N m at most, little beside its size: more "
        "iterations may meet them"
    )
    assert "may contradict the dynamics or other bounds: relax 'motor'" in words(0.25)


def test_the_tolerance_of_a_goal_is_no_limit_to_widen() -> None:
    """Rates of 8 rad/s, which end within 0.1 mrad/s; both constraints are at their bounds."""
    rates = np.r_[np.full(8, 8.0), np.full(2, 1e-4)][:, None]

    def bounded(name: str, size: float, knots: slice) -> ConstraintRows:
        upper = np.full((10, 1), np.inf)
        upper[knots] = size
        holds = np.isfinite(upper)
        return ConstraintRows(
            name=name, rows=("v",), units=("rad/s",), values=rates + 1e-3 * holds, lower=-upper, upper=upper,
            enforced=holds, multipliers=None, controls=(-1,), coordinates=(1,),
        )  # fmt: skip

    still, limit = bounded("still", 1e-4, slice(8, 10)), bounded("rates", 8.0, slice(0, 8))
    assert looser_first(pendulum(), [still, bounded("free", 9.0, slice(0, 8))]) == []
    (line,) = looser_first(pendulum(), [still, limit])
    assert line.startswith("'rates' is beyond its bounds at 8 of 8 knots")
    (line,) = looser_first(pendulum(), [dataclasses.replace(limit, values=np.full((10, 1), 8.0)), still])
    assert line.startswith("'rates' is at its bounds at 8 of 8 knots")
