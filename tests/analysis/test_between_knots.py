"""Constraints on states that hold at knots and not between them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.analysis.test_swept import SCENE, motion
from tests.support.unsolved import solution_of
from trajopt.analysis import clearance, constraints_report
from trajopt.articulations import ArticulationBuilder
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP

STATE = trajopt.StateVector(2, names=["x", "v"], units=["m", "m/s"])
WALL, THICK = 0.5, 0.03  # middle and half of the thickness [m]


class Mass(trajopt.DifferentialActionModelSymbolic):
    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def walled(knots: int = 10, stages: bool = False, **bounds: float) -> trajopt.ShootingProblem:
    """A mass that reaches 1 m, with a wall of 6 cm on its way; `wall.at` is the wall's place."""
    wall = trajopt.ResidualModelSymbolic(
        STATE, lambda x, at: ca.fabs(x[0] - at) - THICK, parameters={"at": WALL}, unit="m"
    )
    rows = trajopt.ConstraintStack(STATE).add("wall", wall, **(bounds or {"lower": 0.0}))
    rows.add("motor", trajopt.ResidualModelControl(STATE), lower=-100.0, upper=100.0)
    costs = trajopt.CostStack(STATE).add("force", trajopt.ResidualModelControl(STATE), weight=1e-2)
    costs.add("time", trajopt.ResidualModelTime(STATE), weight=1.0)
    goal = trajopt.ConstraintStack(STATE).add("goal", trajopt.ResidualModelState(STATE, [1.0, 0.0]), equals=0.0)
    mass, dt = Mass(STATE, 1, costs, constraints=rows), 1.0 / knots
    stepped = trajopt.IntegratedActionModelRK4(mass, dt=dt, rows="stages")
    knot = stepped if stages else trajopt.IntegratedActionModelEuler(mass, dt=dt)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(STATE), constraints=goal)
    return trajopt.ShootingProblem([0.0, 0.0], [knot] * knots, end)


def along(problem: trajopt.ShootingProblem, places: list[float]) -> trajopt.Solution:
    """A motion through places, which solves nothing."""
    return solution_of(problem, np.array([[x, 0.0] for x in places]), np.zeros((problem.T, 1)))


def test_a_jump_through_a_wall_is_reported_everywhere(tmp_path: Path) -> None:
    solution = SolverSQP(walled()).solve()
    assert solution.converged
    (found,) = solution.description.between
    x = solution.xs[found.knot : found.knot + 2, 0]
    assert x[0] < WALL < x[1]
    assert found.excess == pytest.approx(THICK, abs=(x[1] - x[0]) / 8)  # a sample lies within 1/8 of the middle
    words = f"between knots {found.knot} and {found.knot + 1} ({solution.times[found.knot]:.3g} s) 'wall' is violated"
    text = solution.explain()
    assert f"-> {words} by {found.excess:.2g} m: take shorter steps" in text
    assert "all constraints hold at the knots (" in text
    report = constraints_report(solution)["constraints"]
    assert report.startswith(f"hold at the knots, but between {found.knot} and {found.knot + 1} wall is violated by")
    size = f"{found.size} between knots {found.knot} and {found.knot + 1}"
    other = dataclasses.replace(solution, xs=0.0 * solution.xs)
    assert trajopt.compare(solution, other).rows["violation of wall"] == (size, "none")
    assert trajopt.compare(solution, other).rows["violation of motor"] == ("none", "none")
    assert report in solution._repr_html_()
    solution.save(tmp_path / "jump.npz")
    assert words in trajopt.Solution.load(tmp_path / "jump.npz").explain()


def test_a_free_time_step_is_bounded_instead() -> None:
    problem = walled()
    problem.free("dt", 0.05, 0.2)
    solution = SolverSQP(problem).solve()
    assert "bound the free dt from above, or a larger margin" in solution.explain()
    euler = "such steps of Euler's method may miss limits and goals besides"
    assert euler in solution.explain()
    fine = trajopt.analysis.replay(solution, 20, feedback="open")
    assert np.abs(fine.xs[:, 0] - solution.xs[:, 0]).max() > 1e-2  # [m], on the way
    found = re.search(r"besides, here by (\S+) m in 'x' at knot (\d+) ", solution.explain())
    assert found is not None
    missed = np.abs(fine.xs[:, 0] - solution.xs[:, 0])
    assert int(found[2]) == missed.argmax()
    assert float(found[1]) == pytest.approx(missed.max(), rel=0.05)
    assert missed[-1] < 1e-12  # so no word of the end
    assert "at the end, as analysis.replay" not in solution.explain()
    assert euler not in SolverSQP(walled()).solve().explain()  # the user chose these steps


def test_a_reserve_at_single_knots_is_no_bound_between_them() -> None:
    """As optimised plans add it; the bound that the other knots have is the constraint."""
    places = [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0]
    problem = walled(lower=-0.05)
    problem.set_parameter("wall.lower", 0.0, knots=[4, 5])
    assert along(problem, places).description.between == ()
    problem.set_parameter("wall.lower", 0.0, knots=range(10))
    assert [found.knot for found in along(problem, places).description.between] == [4]


def test_what_holds_between_knots_is_not_reported() -> None:
    places = [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0]
    assert along(walled(), places).description.between[0].knot == 4
    before = along(walled(), [0.47 * x for x in places])
    assert before.description.between == ()
    assert "at the knots" not in before.explain()
    small = along(walled(lower=-THICK + 5e-4), places)  # 0.5 mm
    assert small.description.between == ()
    gate = walled()
    gate.set_parameter("wall.lower", -np.inf, knots=5)  # the row holds at one side of the step only
    assert along(gate, places).description.between == ()
    moving = walled()
    moving.set_parameter("wall.at", [0.5] * 5 + [0.3] * 5)  # the mass passes behind the wall
    assert along(moving, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9, 1.0, 1.0]).description.between == ()
    soft = walled()
    assert along(soft, [0.45, 0.5, 0.55, *[0.6] * 8]).description.between == ()  # violated at knots as much


def test_rows_of_stages_are_left_out() -> None:
    solution = along(walled(stages=True), [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0])
    assert len(solution.description.constraints) > 3
    assert [each.name for each in solution.description.between] == ["wall"]


def test_the_last_step_counts_if_the_end_has_no_row() -> None:
    assert along(walled(), [0.4] * 10 + [0.6]).description.between[0].knot == 9


def test_bodies_of_collisions_are_named() -> None:
    solution = motion(4, collisions=SCENE)
    problem, reach = solution.problem, clearance(solution)
    problem.set_parameter("collisions.lower", -1.0, knots="running")  # holds everywhere
    assert solution_of(problem, solution.xs, solution.us).description.between == ()
    problem.set_parameter("collisions.lower", reach.at_knots, knots="running")
    (found,) = solution_of(problem, solution.xs, solution.us).description.between
    assert (found.name, found.row, found.knot) == ("collisions", reach.bodies, reach.knot)
    assert found.excess == pytest.approx(reach.at_knots - reach.distance, rel=0.2)
    still = np.tile(solution.xs[0], (len(solution.xs), 1))
    assert solution_of(problem, still, solution.us).description.between == ()


def test_a_violation_within_the_margin_of_a_distance_says_so() -> None:
    """A ball on a rail passes a thin post between two knots: 5 cm is what distances keep, and part of it is left."""
    builder = ArticulationBuilder()
    builder.add_link("cart", mass=1.0)
    builder.add_sphere("cart", 0.01)
    builder.add_prismatic("world", "cart", axis="x")
    state = trajopt.StateMultibody(builder.build("cart"))
    ball, texts = trajopt.Sphere(0.1, frame="cart"), []
    for beside in (0.14, 0.05):
        post = trajopt.Sphere(0.01, center=[0.5, beside, 0.0])
        rows = trajopt.ConstraintStack(state).add(
            "post", trajopt.ResidualModelPairDistance(state, ball, post), lower=0.05
        )
        costs = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), weight=1.0)
        motor = trajopt.ActuationModelFull(state)
        model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motor, costs, constraints=rows)
        knot, end = trajopt.IntegratedActionModelEuler(model, dt=0.1), trajopt.CostStack(state)
        problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 2, end)
        (found,) = along(problem, [0.0, 1.0, 1.0]).description.between
        assert found.margin == 0.05
        texts.append(found.size)
    assert texts == ["0.02 m of its margin of 0.05 m", "0.11 m beyond its margin of 0.05 m"]


class Swing(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u₀ - x; other controls move nothing."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u[0] - x[0]


def swing(rows: trajopt.ConstraintStack, us: list[list[float]], x0: tuple[float, float]) -> trajopt.Solution:
    """A motion of RK4 steps of 0.5 s that solves nothing."""
    controls = np.array(us)
    model = Swing(STATE, controls.shape[1], trajopt.CostStack(STATE), constraints=rows)
    knot = trajopt.IntegratedActionModelRK4(model, dt=0.5)
    problem = trajopt.ShootingProblem(x0, [knot] * len(us), trajopt.CostStack(STATE))
    return solution_of(problem, problem.rollout(controls), controls, SolverStatus.CONVERGED)


def test_a_coordinate_beyond_its_bound_within_a_step() -> None:
    """v(t) = cos(t - 0.25) is 1 in the middle of the step and cos(0.25) at its ends."""
    start, bound = (-np.sin(0.25), np.cos(0.25)), np.cos(0.25) + 1e-4
    limit = {"lower": [-np.inf, -np.inf], "upper": [np.inf, bound]}
    rows = trajopt.ConstraintStack(STATE).add("speed", trajopt.ResidualModelState(STATE), **limit)
    solution = swing(rows, [[0.0]] * 3, start)
    (found,) = solution.description.between
    assert (found.name, found.row, found.unit, found.knot, found.coordinate) == ("speed", "v", "m/s", 0, True)
    assert found.excess == pytest.approx(1.0 - bound, abs=1e-5)
    assert "by 0.031 m/s: take shorter steps, or a larger margin, or rows=" in solution.explain()
    assert "thin wall" not in solution.explain()
    wide = trajopt.ConstraintStack(STATE)
    wide.add("speed", trajopt.ResidualModelState(STATE), lower=[-np.inf, -8.0], upper=limit["upper"])
    assert swing(wide, [[0.0]] * 3, start).description.between == ()  # 0.7 % of half the width


def test_a_symmetric_limit_counts_from_one_percent_of_it() -> None:
    """1.5 % of the limit, 0.8 % of the width; pictures say it as explain() does."""
    rows = trajopt.ConstraintStack(STATE)
    rows.add("speed", trajopt.ResidualModelState(STATE), lower=[-np.inf, -0.985], upper=[np.inf, 0.985])
    solution = swing(rows, [[0.0]] * 3, (-np.sin(0.25), np.cos(0.25)))
    assert [found.excess for found in solution.description.between] == pytest.approx([0.015], abs=1e-5)
    words = "hold at the knots, but between 0 and 1 speed[v] is violated by 0.015 m/s"
    assert words in constraints_report(solution)["constraints"]
    slow = swing(rows, [[0.0]] * 3, (0.0, 0.5))
    assert slow.description.between == ()
    assert constraints_report(slow)["constraints"] == "hold at the knots"


def test_a_place_beyond_its_bound_where_a_step_of_euler_turns_back() -> None:
    """x = 0.5 m at both ends of the step, and v dt / 8 = 6 mm further a quarter and three quarters of it in between."""
    problem = walled()
    bound = trajopt.ConstraintStack(STATE).add(
        "place", trajopt.ResidualModelState(STATE), lower=-np.inf, upper=[0.5, np.inf]
    )
    model = Mass(STATE, 1, trajopt.CostStack(STATE), constraints=bound)
    problem = trajopt.ShootingProblem(
        [0.5, 0.5], [trajopt.IntegratedActionModelEuler(model, dt=0.1)] * 2, problem.terminal
    )
    us = np.array([[-5.0], [0.0]])
    (found,) = solution_of(problem, problem.rollout(us), us).description.between
    assert (found.row, found.knot) == ("x", 0)
    assert found.excess == pytest.approx(0.5 * 0.1 / 4, rel=1e-6)


def test_rows_on_held_controls_count_up_to_the_end_of_the_step() -> None:
    """The power u v rises with v; at the next knot the control is smaller."""
    power = trajopt.ResidualModelSymbolic(STATE, lambda x, u: x[1] * u[0], unit="W")
    rows = trajopt.ConstraintStack(STATE).add("power", power, upper=1.0)
    solution = swing(rows, [[1.0], [0.5]], (0.0, 0.9))
    (found,) = solution.description.between
    assert (found.knot, found.coordinate) == (0, False)
    assert found.excess == pytest.approx(solution.xs[1, 1] - 1.0, abs=1e-9)
    assert "'power' is violated by 0.27 W" in solution.explain()


def test_controls_that_move_nothing_change_linearly() -> None:
    """As those of lines between two bodies: x stays below the line if its height rises with x."""
    below = trajopt.ResidualModelSymbolic(STATE, lambda x, u: u[1] - x[0], unit="m")
    rows = trajopt.ConstraintStack(STATE).add("line", below, lower=0.0)
    steady = [[0.0, 0.0]] * 4
    xs = swing(rows, steady, (0.0, 1.0)).xs
    held = [[0.0, height] for height in xs[:-1, 0]]
    (found,) = swing(rows, held, (0.0, 1.0)).description.between
    chord = np.sin(0.25) - np.sin(0.5) / 2  # x = sin t is above its chords while it slows down
    others = [np.sin(t + 0.25) - (np.sin(t) + np.sin(t + 0.5)) / 2 for t in (0.5, 1.0)]
    assert found.excess == pytest.approx(max(chord, *others), abs=1e-3)
    assert found.knot == 2
    high = [[0.0, height + 0.04] for height in xs[:-1, 0]]
    assert [each.knot for each in swing(rows, high, (0.0, 1.0)).description.between] == []


def test_forces_count_relative_to_the_largest_one() -> None:
    """A pull of 0.03 N within a step counts where the largest force is 0.7 N, but not where it is 60 N."""
    push = trajopt.ResidualModelSymbolic(STATE, lambda x, u: u[0] - x[0], unit="N")
    rows = trajopt.ConstraintStack(STATE).add("push", push, lower=0.0)
    (found,) = swing(rows, [[0.3], [1.0]], (0.28, 0.1)).description.between
    assert found.excess == pytest.approx(0.1 * np.sin(0.5) - 0.02 * np.cos(0.5), abs=1e-4)
    assert swing(rows, [[0.3], [60.0]], (0.28, 0.1)).description.between == ()


def test_the_worst_is_the_largest_relative_to_its_bound() -> None:
    """v = cos(t - 0.25) exceeds its bound by 3 %, and 100 (1 + v), a larger number, its own by 1.6 %."""
    start, bound = (-np.sin(0.25), np.cos(0.25)), np.cos(0.25) + 1e-4
    speed = trajopt.ResidualModelSymbolic(STATE, lambda x: x[1], unit="m/s")
    power = trajopt.ResidualModelSymbolic(STATE, lambda x: 100.0 * (1.0 + x[1]), unit="kW")
    rows = trajopt.ConstraintStack(STATE).add("power", power, upper=100.0 * (1.0 + bound))
    rows.add("speed", speed, upper=bound)
    solution = swing(rows, [[0.0]] * 3, start)
    assert [each.size for each in solution.description.between] == ["0.031 m/s", "3.1 kW"]
    assert "between 0 and 1 speed is violated by 0.031 m/s" in constraints_report(solution)["constraints"]
    text = solution.explain()
    assert text.index("'speed' is violated") < text.index("'power' is violated")
    both = trajopt.ResidualModelSymbolic(STATE, lambda x: ca.vertcat(100.0 * (1.0 + x[1]), x[1]), names=["P", "v"])
    limits = trajopt.ConstraintStack(STATE).add("both", both, upper=[100.0 * (1.0 + bound), bound], lower=-np.inf)
    assert [each.row for each in swing(limits, [[0.0]] * 3, start).description.between] == ["v"]
