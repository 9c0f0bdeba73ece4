"""Solutions side by side: a table of what differs, and a picture of both."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

import trajopt
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_solution
from trajopt.plotting.comparison import STYLES
from trajopt.solution import Solution
from trajopt.solvers import SolverDDP, SolverFDDP


def pendulum(solver: type) -> Solution:
    case = problems.load("pendulum")
    return solver(case.problem).solve(case.xs, case.us)


def test_a_table_has_costs_limits_and_times() -> None:
    a, b = pendulum(SolverDDP), pendulum(SolverFDDP)
    found = trajopt.compare(a, b, labels=["ddp", "fddp"])
    assert found.rows["solver"] == ("SolverDDP", "SolverFDDP")
    assert found.rows["iterations"] == (str(a.iterations), str(b.iterations))
    terms = {name: float(np.nansum(values)) for name, values in a.cost_terms().items()}
    for name, value in terms.items():
        assert float(found.rows[f"cost of {name}"][0]) == pytest.approx(value, rel=1e-3)
    first, *rest = str(found).splitlines()
    assert first.split() == ["ddp", "fddp"]
    assert len(rest) == len(found.rows)


def test_rows_that_one_solution_lacks_are_empty() -> None:
    arm = problems.load("arm-reach", "planar-3r").solve()
    found = trajopt.compare(pendulum(SolverDDP), arm)
    assert found.labels == ("a", "b")
    assert any(entries[0] == "" for entries in found.rows.values())


def test_a_table_has_what_differs_in_the_problems() -> None:
    case = problems.load("pendulum")
    a = SolverFDDP(case.problem).solve(case.xs, case.us)
    case.problem.x0 = case.problem.x0 + np.array([0.1, 0.0])
    name = next(name for name in case.problem.parameter_values() if name.endswith("weight"))
    case.problem.set_parameter(name, 3.25, knots="all")
    b = SolverFDDP(case.problem).solve(case.xs, case.us)
    found = trajopt.compare(a, b)
    first = case.problem.state.coordinate_names[0]
    before, after = (float(entry) for entry in found.rows[f"x0 {first}"])
    assert after - before == pytest.approx(0.1)
    assert found.rows[name][1] == "3.25"
    assert [row for row in found.rows if row.startswith("x0")] == [f"x0 {first}"]
    assert sum(row in case.problem.parameters for row in found.rows) == 1
    alike = trajopt.compare(a, a)
    assert not [row for row in alike.rows if row.startswith("x0") or row in case.problem.parameters]


def test_long_parameters_and_those_of_one_problem_are_short() -> None:
    """Terms that only one problem has share a row, and a long array has its largest difference."""
    arm = problems.load("arm-reach", "ur5")
    a, other = arm.solve(), problems.load("pendulum").problem
    b = solution_of(other, np.tile(other.x0, (other.T + 1, 1)), np.zeros((other.T, other.nu)))
    found = trajopt.compare(a, b)
    assert not [row for row in found.rows if row in a.parameters and row not in b.parameters]
    assert all(entry.startswith("of ") for entry in found.rows["parameters of its own"])
    assert max(map(len, str(found).splitlines())) < 300
    name = next(name for name, values in a.parameters.items() if np.asarray(values)[0].size > 4)
    moved = {**a.parameters, name: np.asarray(a.parameters[name]) + 0.25}
    size = np.asarray(a.parameters[name])[0].size
    row = trajopt.compare(a, dataclasses.replace(a, parameters=moved)).rows[name]
    assert row == (f"{size} numbers", f"{size} numbers, up to 0.25 away")


def test_a_table_has_the_excess_of_penalties_on_lengths() -> None:
    """A mass that must stay 0.2 m before a wall ends 0.1 m beyond that, by a weak penalty."""
    state = trajopt.StateVector(2, names=["x", "v"], units=["m", "m/s"])

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return u

    free = trajopt.ResidualModelSymbolic(state, lambda x: 1.0 - x[0], unit="m")
    barrier = trajopt.ActivationModelQuadraticBarrier([0.2], [np.inf])
    costs = trajopt.CostStack(state).add("wall", free, weight=1.0, activation=barrier)
    knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs), dt=0.1)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 2, trajopt.CostStack(state))
    near, far = (
        solution_of(problem, np.array([[0.0, 0.0], [x, 0.0], [0.0, 0.0]]), np.zeros((2, 1))) for x in (0.9, 0.5)
    )
    assert trajopt.compare(near, far).rows["violation of wall"] == ("0.1", "none")


WORDS = {"_limit": "limit", "_bound": "bound of a constraint"}


def levels(figure: Figure, label: str) -> set[float]:
    """Largest value of each line with a label."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_label() == label]
    return {float(np.nanmax(np.asarray(line.get_ydata()))) for line in lines}


def test_a_picture_has_limits_bounds_and_names() -> None:
    case = problems.load("cart-pole-limits")
    a = case.solve()
    figure = trajopt.compare(a, a).plot()
    alone = plot_solution(a)
    for label in ("_limit", "_bound"):
        assert levels(alone, label) <= levels(figure, label)
    assert any(line.get_label() in ("_limit", "_bound") for axes in figure.axes for line in axes.lines)
    limits = [line for axes in figure.axes for line in axes.lines if line.get_label() in ("_limit", "_bound")]
    assert {line.get_linestyle() for line in limits} == {":"}  # dashed is the second solution
    assert ":" not in STYLES
    names, own = ({axes.get_title(loc="left") for axes in each.axes} - {""} for each in (figure, alone))
    assert names == own


def panel(figure: Figure, label: str) -> Axes:
    """The panel with a label of an axis that begins so."""
    return next(axes for axes in figure.axes if label in (axes.get_ylabel().split(" [")[0], axes.get_xlabel()))


def test_limits_and_bounds_are_thin_lines_without_shade() -> None:
    case = problems.load("cart-pole-limits")
    a = case.solve()
    figure = trajopt.compare(a, a).plot()
    labels = {text.get_text() for legend in legends(figure) for text in legend.get_texts()}
    drawn = {line.get_label() for axes in figure.axes for line in axes.lines}
    assert labels == {" or ".join(word for label, word in WORDS.items() if label in drawn)}
    states = [axes for axes in figure.axes if axes.lines]
    assert not [patch for axes in states for patch in (*axes.patches, *axes.collections)]
    dotted = [line for axes in states for line in axes.lines if line.get_linestyle() == ":"]
    assert dotted
    assert all(line.get_linewidth() < 1.0 for line in dotted)


def legends(figure: Figure) -> list[Legend]:
    """Legends of a figure and its subfigures."""
    return [legend for part in (figure, *figure.subfigs) for legend in part.legends]


def test_cost_terms_are_side_by_side_and_the_heading_has_what_differs() -> None:
    """A term whose weight differs is drawn at weight 1, as its cost says nothing about what was achieved."""
    case = problems.load("pendulum")
    a = SolverFDDP(case.problem).solve(case.xs, case.us)
    weight = next(name for name in case.problem.parameter_values() if name.endswith("weight"))
    case.problem.set_parameter(weight, 3.25, knots="all")
    b = SolverFDDP(case.problem).solve(case.xs, case.us)
    figure = trajopt.compare(a, b, labels=["light", "heavy"]).plot()
    assert f"{weight}: " in figure.get_suptitle()
    axes, term = panel(figure, "cost, sum over the knots"), weight.removesuffix(".weight")
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert f"{term} / weight" in names
    for bars, solution in zip(axes.containers, (a, b)):
        widths = dict(zip(names, (bar.get_width() for bar in bars)))
        for name, costs in solution.cost_terms().items():
            scale = 1.0 if name in widths else np.asarray(solution.parameters[f"{name}.weight"])
            shown = widths[name if name in widths else f"{name} / weight"]
            assert shown == pytest.approx(float(np.nansum(costs / scale)))
    assert [bar[0].get_linestyle() for bar in axes.containers] == ["-", "--"]


def test_a_peak_does_not_set_the_scale() -> None:
    a = pendulum(SolverFDDP)
    xs = a.xs.copy()
    xs[len(xs) // 2, 1] = 1e3
    axes = panel(trajopt.compare(a, dataclasses.replace(a, xs=xs)).plot(), "velocity")
    assert axes.get_ylim()[1] < 2.0 * np.abs(a.xs[:, 1]).max()
    assert [text.get_text() for text in axes.texts] == ["1e+03"]


def test_a_picture_draws_both(tmp_path: Path) -> None:
    a, b = pendulum(SolverDDP), pendulum(SolverFDDP)
    figure = trajopt.compare(a, b, labels=["before", "after"]).plot(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 5000
    axes = figure.axes[0]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    assert "before" in figure.get_suptitle()
    assert len(plot_solution([a, b]).axes) == len(figure.axes)


def test_what_does_not_fit_is_refused() -> None:
    a = pendulum(SolverDDP)
    with pytest.raises(InvalidArgumentError, match="solutions: expected two or more, got 1"):
        trajopt.compare(a)
    with pytest.raises(InvalidArgumentError, match="labels: expected 2 names, got 1"):
        trajopt.compare(a, a, labels=["x"])
    with pytest.raises(InvalidArgumentError, match="solutions: expected some of the same system"):
        trajopt.compare(a, problems.load("unicycle").solve()).plot()
    with pytest.raises(InvalidArgumentError, match="solutions: expected at least one Solution, got none"):
        plot_solution(())


def test_a_small_limit_of_one_joint_is_not_drawn_among_larger_ones() -> None:
    """The shoulder's torque passes the limit of the wrists, which is none for it, and no wrist comes near."""
    case = problems.load("arm-reach", "ur10")
    heavy = problems.load("arm-reach", trajopt.load_robot("ur10").with_payload("tool0", 3.0))
    a, b = case.solve(), heavy.solve()
    figure = trajopt.compare(a, b).plot()
    torques = next(axes for axes in figure.axes if axes.get_ylabel().startswith("torque"))
    wrist = 54.0
    drawn = [float(line.get_ydata()[0]) for line in torques.lines if line.get_label() in ("_limit", "_bound")]
    assert wrist not in np.abs(drawn)
