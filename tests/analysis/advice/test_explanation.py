"""What explain() says of constraints."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.constrained import KNOTS, MOTOR, arm, pendulum, pendulum_problem, torn_mass, weak_pendulum
from trajopt.analysis import ConstraintRows, constraint_rows, constraints_report
from trajopt.analysis.advice.constraints import constraint_lines
from trajopt.analysis.advice.missed_goals import out_of_reach
from trajopt.analysis.advice.relaxation import relaxation
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions


def lines(solution: Solution) -> list[str]:
    return solution.explain().splitlines()


def test_explain_lists_active_constraints_with_their_knots_and_multipliers() -> None:
    solution = pendulum()
    text = solution.explain()
    motor, upright = constraint_rows(solution)
    assert motor.multipliers is not None
    assert upright.multipliers is not None
    knot = int(np.nanargmax(np.abs(motor.multipliers)))
    assert "all constraints hold (largest violation " in text
    assert re.search(
        rf"'motor': at a bound at {motor.active.sum()} of {KNOTS} knots \(0-\d+, .*\), "
        rf"largest multiplier {np.nanmax(np.abs(motor.multipliers)):.3g} at knot {knot}$",
        text,
        re.M,
    )
    assert f"'upright': equation at knot {KNOTS}, " in text
    price = upright.multipliers[KNOTS, 0]
    assert price == max(upright.multipliers[KNOTS], key=abs)
    assert (
        f"largest multiplier: {price:.3g} of 'upright[q]' at knot {KNOTS} (3 s); its equation costs "
        f"about {abs(price):.3g} per rad" in text
    )


def test_explain_gives_the_smallest_distance_of_an_inactive_constraint_from_its_bound() -> None:
    x = arm().frame_path("tool")[1:-1, 0]
    knot = 1 + int(x.argmax())
    (line,) = [line for line in lines(arm()) if line.startswith("    'wall'")]
    assert line.startswith("    'wall': never at a bound (40 knots); closest: ")
    assert line.endswith(f"{0.8 - x.max():.3g} m from its bound (x, knot {knot} ({0.025 * knot:.3g} s))")


def test_distances_from_equal_bounds_are_relative_to_the_bounds() -> None:
    problem, solution = pendulum_problem(), pendulum()
    loose = dict(solution.parameters)
    for key, sign in (("lower", -1.0), ("upper", 1.0)):
        assert f"motor.{key}" in problem.parameters
        loose[f"motor.{key}"] = np.full_like(loose[f"motor.{key}"], sign * 2.0 * MOTOR)
    (line,) = [
        line for line in lines(dataclasses.replace(solution, parameters=loose)) if line.startswith("    'motor'")
    ]
    assert "never at a bound (100 knots); closest: 50 % of its bound (knot " in line
    assert np.abs(solution.us).max() == pytest.approx(MOTOR, rel=1e-6)


class Cart(trajopt.DifferentialActionModelSymbolic):
    """A mass of 1 kg under a force."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


@functools.cache
def soft() -> Solution:
    """A cart that is to be 1 m further after 1 s, which is not worth the price of its force's soft bounds."""
    state = trajopt.StateVector(2, names=["p", "v"], units=["m", "m/s"])
    force = trajopt.ResidualModelControl(state)
    motor = trajopt.ConstraintStack(state).add("motor", force, lower=-1.0, upper=1.0, soft=(0.1, 2.0))
    costs = trajopt.CostStack(state).add("effort", force, weight=1e-3)
    node = trajopt.IntegratedActionModelEuler(
        Cart(state, 1, costs, constraints=motor, control_names=["F"], control_units=["N"]), dt=0.1
    )
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    return SolverSQP(ShootingProblem(np.zeros(2), [node] * 10, end)).solve()


def test_soft_constraints_are_said_to_be_soft_and_what_their_slacks_cost(tmp_path: Path) -> None:
    solution = soft()
    assert solution.converged
    slack = np.maximum(np.abs(solution.us[:, 0]) - 1.0, 0.0)
    price = 0.1 * slack.sum() + slack @ slack
    assert price > 1.0
    text = solution.explain()
    knots = np.flatnonzero(slack > slack.max() - 1e-9)
    (line,) = [line for line in text.splitlines() if "soft constraint 'motor' is exceeded" in line]
    assert f"is exceeded by {slack.max():.3g} N at knot " in line
    assert any(f"at knot {knot} (" in line for knot in knots)
    assert line.endswith(f"; its slacks cost {price:.4g} in all")
    beyond = np.count_nonzero(slack > 1e-6)
    assert f"    'motor': soft, exceeded at {beyond} of 10 knots (" in text
    assert "all hard constraints hold" in text
    assert "violated" not in text
    assert constraints_report(solution)["constraints"].startswith(
        f"soft constraint violated: motor by {slack.max():.3g} N"
    )
    assert line in lines(Solution.load(solution.save(tmp_path / "soft.npz")))


@functools.cache
def reach(x: float) -> Solution:
    """The planar arm with a constraint for its tool at the end: a point in its plane."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    node = trajopt.IntegratedActionModelEuler(model, dt=0.05)
    tool = trajopt.ResidualModelFrameTranslation(state, "tool", [0.0, 0.0, 0.0])
    goal = trajopt.ConstraintStack(state).add("goal", tool, equals=[x, 0.0, 0.0])
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = ShootingProblem(np.array([-0.5, 1.0, 0.0, 0.0]), [node] * 10, end)
    return SolverSQP(problem, SQPOptions(max_iterations=60)).solve()


def test_a_constraint_out_of_reach_is_named_and_more_time_is_not_advised() -> None:
    solution = reach(5.0)
    assert not solution.converged
    text = solution.explain()
    assert "distance of frame 'tool' from its goal is still " in text
    assert "it is out of reach, 5 m from the first joint with an arm of" in text
    assert "give the motion more time" not in text
    assert "constraint 'goal', row 0, is violated most: x by " in text
    first = next(line for line in text.splitlines() if line.startswith("->"))
    assert "it is out of reach" in first


def test_a_reachable_goal_is_not_called_out_of_reach() -> None:
    solution = weak_pendulum()
    assert "no posture" not in solution.explain()
    (advice,) = [line for line in lines(solution) if "soften it" in line]
    first = next(line for line in lines(solution) if line.startswith("->"))
    assert first.startswith("-> give the motion more time: ")
    assert advice.endswith('; or soften it with a slack: add("upright", ..., soft=(linear, quadratic))')
    assert not out_of_reach(reach(0.2))


def of_force(values: list[float], multipliers: list[float]) -> ConstraintRows:
    """A force not below 0 at six knots."""
    column = np.reshape(values, (-1, 1))
    return ConstraintRows(
        name="foot", rows=("0",), units=("N",), values=column, lower=np.zeros_like(column),
        upper=np.full_like(column, np.inf), enforced=np.full(column.shape, True),
        multipliers=np.reshape(multipliers, (-1, 1)), controls=(-1,), coordinates=(-1,),
    )  # fmt: skip


class Timed:
    """What lines on constraints ask of a solution; knot 3 is a touch-down."""

    times = np.array([0.0, 0.01, 0.02, 0.03, 0.03, 0.04])
    description = SimpleNamespace(between=(), gaps=None, step_unit="s")
    status = SolverStatus.INFEASIBLE


def test_unloaded_touch_downs_have_no_price_and_loaded_ones_are_impulses() -> None:
    unloaded = of_force([100.0, 0.0, 50.0, 0.0, 80.0, 90.0], [0.0, 0.0, 0.0, -700.0, 0.0, 0.0])
    assert not any("largest multiplier" in line for line in constraint_lines(cast(Any, Timed()), [unloaded]))
    pushed = dataclasses.replace(unloaded, lower=np.full((6, 1), 0.5), values=unloaded.values + 0.5)
    text = "\n".join(constraint_lines(cast(Any, Timed()), [pushed]))
    assert "largest multiplier: -700 of 'foot' at knot 3 (0.03 s); its lower bound 0.5 N s costs about 700 per" in text
    assert text.endswith("per N s")


def test_touch_downs_at_a_bound_are_called_impulses() -> None:
    """A foot that lands without an impulse, and one that also carries nothing at a knot with a duration."""
    landed = of_force([100.0, 70.0, 50.0, 0.0, 80.0, 90.0], [0.0] * 6)
    text = "\n".join(constraint_lines(cast(Any, Timed()), [landed]))
    assert "'foot': at a bound at 1 of 6 knots (3; impulses of 0 at touch-downs)" in text
    mixed = of_force([100.0, 0.0, 50.0, 0.0, 80.0, 90.0], [0.0] * 6)
    text = "\n".join(constraint_lines(cast(Any, Timed()), [mixed]))
    assert "'foot': at a bound at 2 of 6 knots (1, 3; 1 of them impulses of 0 at touch-downs)" in text
    pushed = dataclasses.replace(landed, lower=landed.lower + 0.5, values=landed.values + 0.5)
    text = "\n".join(constraint_lines(cast(Any, Timed()), [pushed]))
    assert "(3; impulses at touch-downs)" in text
    place = dataclasses.replace(landed, units=("m",))
    assert "impulses" not in "\n".join(constraint_lines(cast(Any, Timed()), [place]))


def test_a_term_without_cost_is_largest_nowhere() -> None:
    problem = pendulum().problem
    assert problem is not None
    still = dataclasses.replace(pendulum(), us=np.zeros((problem.T, 1)))
    (line,) = [each for each in still.explain().splitlines() if "term 'effort'" in each]
    assert line == "  term 'effort': 0, 0 % of the cost"


def test_noise_beside_a_violation_is_not_listed() -> None:
    first = of_force([1.0, 1.0, 1.0, 1.0, 1.0, -0.5], [0.0] * 6)
    noise = dataclasses.replace(of_force([1.0, 1.0, 1.0, 1.0, 1.0, -1.8e-5], [0.0] * 6), name="noise")
    known = [first, noise]
    assert not any("noise" in line and "violated" in line for line in constraint_lines(cast(Any, Timed()), known))
    assert "noise" not in relaxation(cast(Any, Timed()), known)
    assert "'foot' by 0.5 N" in relaxation(cast(Any, Timed()), known)
    alone = "\n".join(constraint_lines(cast(Any, Timed()), [noise]))
    assert "constraint 'noise', row 0, is violated most" in alone


def test_a_violation_counts_beside_those_of_its_unit_and_none_is_left_without_a_word() -> None:
    """A goal missed by 4 mm is violated, whatever the speed at the end; 20 µN beside 0.5 N are listed as off."""
    rest = dataclasses.replace(of_force([0.0, 0.0, 0.0, 0.0, 0.0, -5.7], [0.0] * 6), name="rest", units=("rad/s",))
    goal = dataclasses.replace(of_force([0.0, 0.0, 0.0, 0.0, 0.0, -4e-3], [0.0] * 6), name="goal", units=("m",))
    text = "\n".join(constraint_lines(cast(Any, Timed()), [rest, goal]))
    assert re.search("also violated: 'goal.*', by 0.004 m at knot 5", text)
    assert re.search("'goal': violated at 1 of 6 knots", text)
    first = of_force([1.0, 1.0, 1.0, 1.0, 1.0, -0.5], [0.0] * 6)
    noise = dataclasses.replace(of_force([1.0, 1.0, 1.0, 1.0, 1.0, -1.8e-5], [0.0] * 6), name="noise")
    assert re.search(
        "'noise': .*off by at most 1.8e-05 N", "\n".join(constraint_lines(cast(Any, Timed()), [first, noise]))
    )


def test_explain_of_an_infeasible_problem_names_the_constraints_to_relax() -> None:
    solution = weak_pendulum()
    missing = np.pi - solution.xs[-1, 0]
    (worst,) = [line for line in lines(solution) if "is violated most" in line]
    assert f"constraint 'upright', row 0, is violated most: q by {missing:.3g} rad at knot {KNOTS} (3 s)" in worst
    assert worst.endswith(f"{-missing:.4g} is below 0")
    (advice,) = [line for line in lines(solution) if "reduces the violation" in line]
    amount = re.search(rf"relax 'upright\[q\]' by (\S+) rad at knot {KNOTS} \(3 s\)", advice)
    assert amount is not None
    assert missing <= float(amount[1]) * (1.0 + 1e-6) <= missing + 0.01  # rounded up
    assert "and, with it, 'upright[v]' by " in advice
    assert "this motion then satisfies all constraints" in advice
    assert re.search(r"relax others that are at their bounds before: 'motor' at \d+ of 100 knots", advice)
    assert "largest multiplier" not in solution.explain()  # those of a penalty are no prices


def test_amounts_to_relax_are_those_of_a_least_violation_only() -> None:
    """Elsewhere a constraint is named, but not what its violation happens to be."""
    for status in (SolverStatus.STALLED, SolverStatus.MAX_ITERATIONS):
        text = dataclasses.replace(weak_pendulum(), status=status).explain()
        assert f"relax 'upright[q]' at knot {KNOTS} (3 s), by an amount that this motion does not tell" in text
        assert not re.search(r"relax '[^']*' by \d", text)
        assert "no change of the controls reduces" not in text


def test_bounds_that_exclude_each_other_are_named_together() -> None:
    text, alone = torn_mass().explain(), relaxation(torn_mass(), torn_mass().description.constraints)
    (name, other), knots = (
        ("right_of", "left_of") if "relax 'right_of'" in alone else ("left_of", "right_of"),
        "at knots?",
    )
    assert re.search(rf"relax '{name}' by 0.05 m {knots} .* and, with it, '{other}' by 0.05 m {knots}", alone)
    assert re.search(r"-> constraints (right_of|left_of) and (right_of|left_of) at .*: they exclude each other", text)
    assert "also violated: " in text


@pytest.mark.parametrize("make", [pendulum, weak_pendulum])
def test_a_file_explains_as_much(make: object, tmp_path: Path) -> None:
    solution = make()  # type: ignore[operator]
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    missing = [line for line in lines(solution) if line not in lines(loaded)]
    assert all("steepest control" in line for line in missing)  # needs derivatives
