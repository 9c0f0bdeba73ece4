"""Pictures of constraints, read back from the figures: bounds, bands, multipliers, feasibility of the iterations."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import trajopt
from tests.plotting.test_plotting import legend_texts, visible
from tests.support.constrained import KNOTS, MOTOR, arm, pendulum, torn_mass, weak_pendulum
from tests.support.contact_models import constrained_hopper, simple_costs
from tests.support.screens import check_screen
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.analysis import constraint_rows, legged_motion
from trajopt.callbacks import CallbackLogger
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import (
    plot_constraints,
    plot_contact_forces,
    plot_convergence,
    plot_motion,
    plot_pages,
    plot_solution,
    plot_strip,
    plot_summary,
)
from trajopt.plotting.bands import draw_bands
from trajopt.plotting.convergence import main_quantities
from trajopt.solution import Solution
from trajopt.states import StateVector

ALL = [pendulum, weak_pendulum, arm, torn_mass]


def panel(figure: Figure, label: str) -> Any:
    (found,) = [axes for axes in figure.axes if axes.get_ylabel() == label]
    return found


def hidden(axes: Any, label: str) -> list[Any]:
    return [line for line in axes.get_lines() if line.get_label() == label]


def bands(solution: Solution) -> Any:
    axes = Figure().subplots()
    times = solution.times
    draw_bands(axes, constraint_rows(solution), np.arange(len(solution.xs)) if times is None else times)
    return axes


@pytest.mark.slow
@pytest.mark.parametrize("make", ALL)
def test_pages_of_problems_with_constraints_fit_on_a_screen(make: Callable[[], Solution]) -> None:
    pages = plot_pages(make())
    assert list(pages) == ["summary", "constraints", "solver"]
    for page in pages.values():
        check_screen(page, unitless=("control", "value"))


def test_bounds_of_a_control_are_lines_and_thick_where_they_are_touched() -> None:
    solution = pendulum()
    axes = panel(plot_solution(solution), "control [N m]")
    drawn = sorted(float(np.unique(line.get_ydata())[0]) for line in hidden(axes, "_bound"))
    assert drawn == [-MOTOR, MOTOR]
    for line in hidden(axes, "_touched"):
        values = np.asarray(line.get_ydata())[:-1]
        bound = float(np.nanmax(values))
        np.testing.assert_array_equal(np.isfinite(values), np.abs(solution.us[:, 0] - bound) < 1e-6)
    assert len(hidden(axes, "_touched")) == 2
    names = {"bound of a constraint", "line at its bound", "at a lower bound", "at an upper bound", "equation"}
    assert names <= set(legend_texts(plot_solution(solution)))


def test_of_symmetric_bounds_both_are_drawn() -> None:
    """A torque that comes close to its lower bound alone, which would seem the only one."""
    solution = pendulum()
    pushed = dataclasses.replace(solution, us=np.minimum(solution.us, 0.0))
    axes = panel(plot_solution(pushed), "control [N m]")
    drawn = sorted(float(np.unique(line.get_ydata())[0]) for line in hidden(axes, "_bound"))
    assert drawn == [-MOTOR, MOTOR]
    low, high = axes.get_ylim()
    assert low < -MOTOR < MOTOR < high


def test_pictures_of_robots_name_the_one_of_a_skeleton() -> None:
    with pytest.raises(InvalidArgumentError, match="StateVector; plot_motion draws the skeleton of its model, plot_so"):
        plot_strip(pendulum())


def test_a_goal_of_the_end_is_a_dot() -> None:
    figure = plot_solution(pendulum())
    axes = panel(figure, "angle [rad]")
    assert "line at its bound at one time" in legend_texts(figure)
    assert not hidden(axes, "_bound")
    for line in hidden(axes, "_touched"):
        known = np.flatnonzero(np.isfinite(line.get_ydata()))
        assert known.tolist() == [KNOTS]
        assert line.get_ydata()[KNOTS] == pytest.approx(np.pi)


def test_a_bound_far_from_its_own_curve_is_not_drawn_beside_another() -> None:
    """A bound of the second torque at 7 N m, where only the first torque gets."""
    solution, line, far = arm(), "torque [N m]", 7.0
    solution = dataclasses.replace(solution, us=solution.us * [1.0, 0.5])
    assert solution.us[:, 0].max() > far > solution.us[:, 1].max() + 0.4 * np.ptp(solution.us)  # else it shows nothing
    wide = dict(solution.parameters)
    wide["torque.upper"] = np.where([False, True], far, solution.parameters["torque.upper"])
    wide["torque.lower"] = np.where([False, True], -far, solution.parameters["torque.lower"])
    axes = panel(plot_solution(dataclasses.replace(solution, parameters=wide)), line)
    colors = {handle.get_label(): handle.get_color() for handle in axes.get_lines()[:2]}
    drawn = {(bound.get_color(), round(float(np.nanmax(bound.get_ydata())), 6)) for bound in hidden(axes, "_bound")}
    assert drawn
    assert {color for color, _ in drawn} == {colors["joint_1"]}
    tight = panel(plot_solution(arm()), line)
    seen = {(bound.get_color(), abs(float(np.nanmax(bound.get_ydata())))) for bound in hidden(tight, "_bound")}
    assert (colors["joint_2"], 4.0) in seen


def test_a_multiplier_has_its_sign_at_the_end_of_its_band() -> None:
    solution = pendulum()
    rows = next(rows for rows in constraint_rows(solution) if rows.name == "upright")
    assert rows.multipliers is not None
    knot, row, _ = rows.largest(rows.multipliers)
    (text,) = [text.get_text() for text in bands(solution).texts]
    assert text == f"{rows.rows[row]}: multiplier {rows.multipliers[knot, row]:.3g}"
    flipped = dataclasses.replace(rows, multipliers=-rows.multipliers)
    axes = Figure().subplots()
    draw_bands(axes, [flipped], solution.times)  # type: ignore[arg-type]
    assert [text.get_text() for text in axes.texts] == [
        f"{rows.rows[row]}: multiplier {-rows.multipliers[knot, row]:.3g}"
    ]


def test_a_problem_without_constraints_has_no_bands() -> None:
    case = problems.load("pendulum")
    solution = case.solve()
    figure = plot_solution(solution)
    assert not [text for text in legend_texts(figure) if "bound" in text]
    assert len(figure.axes) == 3
    with pytest.raises(InvalidArgumentError, match="expected one of a problem with constraints"):
        plot_constraints(solution)


def test_bands_are_dark_where_a_constraint_is_active() -> None:
    axes = bands(pendulum())
    assert [text.get_text() for text in axes.get_yticklabels()] == ["upright", "motor"]
    motor, times = constraint_rows(pendulum())[0], pendulum().times
    assert times is not None
    low, high = [each for each in axes.collections if each.get_label() == "_band"]
    assert not np.array_equal(low.get_facecolor(), high.get_facecolor())
    for band, side in ((low, motor.values < 0), (high, motor.values > 0)):
        spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in band.get_paths()]
        covered = np.array([any(a - 1e-9 <= t < b - 1e-9 for a, b in spans) for t in times[:-1]])
        np.testing.assert_array_equal(covered, (motor.active & side)[:-1, 0])
    (diamond,) = hidden(axes, "_band")
    assert (diamond.get_marker(), diamond.get_xdata()[0]) == ("D", times[-1])


def test_a_band_has_both_colours_where_rows_are_at_different_bounds() -> None:
    motor = constraint_rows(pendulum())[0]
    both = dataclasses.replace(motor, rows=("a", "b"), units=("N m",) * 2, controls=(-1,) * 2, coordinates=(-1,) * 2,
                               multipliers=None, **{name: np.hstack([array, array * sign]) for name, array, sign in (
                                   ("values", motor.values, -1.0), ("lower", motor.lower, 1.0),
                                   ("upper", motor.upper, 1.0), ("enforced", motor.enforced, True))})  # fmt: skip
    axes = Figure().subplots()
    draw_bands(axes, [both], np.asarray(pendulum().times))
    heights = [np.ptp(each.get_paths()[0].vertices[:, 1]) for each in axes.collections if each.get_label() == "_band"]
    np.testing.assert_allclose(heights, [0.72, 0.36])


def test_bands_are_red_where_a_constraint_is_violated_and_say_by_how_much() -> None:
    solution = weak_pendulum()
    axes = bands(solution)
    (diamond,) = hidden(axes, "_band")
    assert diamond.get_color() == "#D55E00"
    assert [text.get_text() for text in axes.texts] == [f"q: off by {np.pi - solution.xs[-1, 0]:.3g} rad"]
    assert "violated" in legend_texts(plot_solution(solution))


def test_constraints_are_drawn_with_bounds_and_multipliers() -> None:
    solution = arm()
    figure = plot_constraints(solution)
    rows = {each.name: each for each in constraint_rows(solution)}
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title.split(":")[0] for title in titles if title] == ["torque", "torque", "speed", "speed", "wall", "wall"]
    assert "wall: at most 0.8 m" in titles
    speed, price = (axes for axes in figure.axes if axes.get_title(loc="left").startswith("speed"))
    lines = visible(speed)
    assert list(lines) == ["v:joint_1", "v:joint_2"]  # positions have no bounds
    np.testing.assert_array_equal(lines["v:joint_2"].get_ydata(), rows["speed"].values[:, 3])
    np.testing.assert_array_equal(visible(price)["v:joint_2"].get_ydata(), rows["speed"].multipliers[:, 3])
    assert price.get_ylabel() == "multiplier\n[cost / (rad/s)]"
    assert sorted({float(np.nanmax(line.get_ydata())) for line in hidden(speed, "_bound")}) == [-6.0, -4.0, 4.0, 6.0]


def test_constraints_of_single_knots_are_bands_alone() -> None:
    (axes,) = plot_constraints(problems.load("minimum-jerk").solve()).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["goal"]


def test_multipliers_are_left_out_where_constraints_are_violated() -> None:
    assert not [axes for axes in plot_constraints(weak_pendulum()).axes if "multiplier" in axes.get_ylabel()]
    assert [axes for axes in plot_constraints(pendulum()).axes if "multiplier" in axes.get_ylabel()]


def test_many_rows_with_different_bounds_are_distances_from_them() -> None:
    state = StateVector(6)
    limits = trajopt.ConstraintStack(state).add(
        "box", trajopt.ResidualModelState(state), lower=-np.arange(1.0, 7.0), upper=np.arange(1.0, 7.0)
    )
    model = trajopt.ActionModelLQR(
        np.eye(6), np.ones((6, 1)), np.eye(6), np.eye(1), constraints=trajopt.ConstraintStack(state)
    )
    bounded = trajopt.ActionModelLQR(np.eye(6), np.ones((6, 1)), np.eye(6), np.eye(1), constraints=limits)
    problem = trajopt.ShootingProblem(np.zeros(6), [model, bounded, bounded], trajopt.CostStack(state))
    xs = np.tile(np.array([0.5, 1.0, 3.5, -3.0, -1.0, 0.0]), (4, 1))
    axes = plot_constraints(solution_of(problem, xs, np.zeros((3, 1)))).axes[0]
    distances = [np.asarray(line.get_ydata())[1] for line in visible(axes).values()]
    np.testing.assert_allclose(distances, [0.5, 1.0, -0.5, 1.0, 4.0, 6.0])
    assert axes.get_title(loc="left") == "box: distance from the nearest bound"


def test_the_heading_says_whether_constraints_hold() -> None:
    assert plot_summary(pendulum()).get_suptitle().splitlines()[1] == "constraints hold"
    missing = np.pi - weak_pendulum().xs[-1, 0]
    heading = plot_summary(weak_pendulum()).get_suptitle()
    assert f"constraints violated: upright[q] by {missing:.3g} rad at knot {KNOTS}" in heading


def test_convergence_draws_stationarity_violation_and_complementarity() -> None:
    solution = pendulum()
    log = CallbackLogger(solution.history)
    figure = plot_convergence(solution)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(panels)[:5] == ["cost", "stationarity", "violation", "complementarity", "merit decrease"]
    for name, values in {
        "stationarity": log.stops,
        "violation": log.constraint_violations,
        "complementarity": log.complementarities,
    }.items():
        (curve,) = hidden(panels[name], "_curve")
        np.testing.assert_array_equal(curve.get_ydata(), np.where(values > 0, values, np.nan))
    assert main_quantities(log) == ["cost", "stationarity", "violation", "complementarity"]


def test_convergence_of_ddp_has_none_of_them() -> None:
    case = problems.load("pendulum")
    solution = case.solve()
    assert main_quantities(CallbackLogger(solution.history)) == ["cost", "stopping value"]


@pytest.mark.parametrize("draw", [plot_summary, plot_constraints, plot_solution])
def test_a_file_gives_the_same_picture(draw: Callable[[Solution], Figure], tmp_path: Path) -> None:
    solution = pendulum()
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    for mine, kept in zip(draw(solution).axes, draw(loaded).axes, strict=True):
        for a, b in zip(mine.get_lines(), kept.get_lines(), strict=True):
            np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())
        assert mine.get_title(loc="left") == kept.get_title(loc="left")


@functools.cache
def hopper() -> Solution:
    """A foot within a cone that is a constraint, not a cost; the bounds of its first knot are off."""
    model = trajopt.IntegratedActionModelEuler(constrained_hopper(simple_costs()), dt=0.02)
    state, rng = model.state, np.random.default_rng(0)
    start = state.zero()
    start[3:7] = [1.0, 0.0, 0.0, 0.0]  # turned over: on its foot
    problem = trajopt.ShootingProblem(start, [model] * 3, trajopt.CostStack(state))
    rows = problem.get_parameter("inside.lower", 0).shape[-1]
    problem.set_parameter("inside.lower", np.full(rows, -np.inf), 0)
    problem.set_parameter("inside.upper", np.full(rows, np.inf), 0)
    xs = np.array([state.integrate(start, 0.1 * rng.normal(size=state.ndx)) for _ in range(4)])
    return solution_of(problem, xs, rng.normal(size=(3, problem.nu)))


def test_a_friction_cone_that_is_a_constraint_is_drawn_with_its_use() -> None:
    solution = hopper()
    foot = legged_motion(solution).feet[0]
    assert np.isnan(foot.mu[0])
    np.testing.assert_array_equal(foot.mu[1:], 0.5)
    figure = plot_contact_forces(solution)
    assert "friction limit (μ = 0.5)" in legend_texts(figure)
    pushed = foot.stands[1:] & (foot.normal_forces[1:] > 0)
    assert pushed.any()
    use = (foot.tangential_forces[1:] / (0.5 * foot.normal_forces[1:]))[pushed].max()
    assert f"friction used {100 * use:.0f} % of the cone" in [text.get_text() for text in figure.axes[0].texts]


def test_a_model_with_a_skeleton_has_its_motion_in_the_summary(tmp_path: Path) -> None:
    for name, points in (("pendulum", 2), ("cart-pole", 2)):
        case = problems.load(name)
        solution = case.solve()
        scene = plot_summary(solution).axes[0]
        figures = hidden(scene, "_figure")
        assert len(figures) == 8
        assert all(len(line.get_xdata()) == points for line in figures)
        assert len(hidden(scene, "_slider")) == (8 if name == "cart-pole" else 0)
        loaded = plot_summary(Solution.load(solution.save(tmp_path / "one.npz"))).axes[0]
        for mine, kept in zip(scene.get_lines(), loaded.get_lines(), strict=True):
            np.testing.assert_array_equal(mine.get_xydata(), kept.get_xydata())
    with pytest.raises(InvalidArgumentError, match="frame: expected None for a solution without a robot"):
        plot_motion(solution, frame="tool0")


def test_the_skeleton_of_a_pendulum_has_the_right_position() -> None:
    solution = pendulum()
    last = hidden(plot_motion(solution, 2).axes[0], "_figure")[-1]
    q = solution.xs[-1, 0]
    np.testing.assert_allclose(last.get_xydata(), [[0.0, 0.0], [0.5 * np.sin(q), -0.5 * np.cos(q)]], atol=1e-12)


def test_panels_of_a_users_own_model_have_one_size() -> None:
    units = ["m", "rad", "m/s", "rad/s", "A"]
    state = StateVector(5, names=list("abcde"), units=units)
    model = trajopt.ActionModelLQR(np.eye(5), np.ones((5, 1)), np.eye(5), np.eye(1))
    problem = trajopt.ShootingProblem(np.zeros(5), [model] * 3, model)
    fake = Solution(
        **{**vars(solution_of(problem, np.zeros((4, 5)), np.zeros((3, 1)))), "problem": _named(problem, state)}
    )
    figure = plot_solution(fake)
    figure.draw_without_rendering()
    heights = [axes.get_window_extent().height for axes in figure.axes]
    assert len(heights) == 6
    assert max(heights) - min(heights) < 0.03 * max(heights)


def _named(problem: Any, state: StateVector) -> Any:
    """The problem with names and units for its state."""
    from types import SimpleNamespace

    return SimpleNamespace(
        state=state, running=problem.running, terminal=problem.terminal, nu=1, T=3, times=None, nc=0, parameters={},
        x0=problem.x0, replace_x0=problem.replace_x0, table=problem.table, schedule=None, constraint_names=(),
    )  # fmt: skip


class Rigid(trajopt.DifferentialActionModelSymbolic):
    """A body that nothing pushes."""

    def acceleration(self, x: Any, u: Any) -> Any:
        return u


def test_velocities_without_names_get_those_of_their_positions() -> None:
    state = trajopt.StateProduct(trajopt.StateSE3(), trajopt.StateVector(6))
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    node = trajopt.IntegratedActionModelEuler(Rigid(state, 6, costs), dt=0.1)
    problem = trajopt.ShootingProblem(state.zero(), [node] * 3, trajopt.CostStack(state))
    figure = plot_solution(solution_of(problem, np.tile(state.zero(), (4, 1)), np.zeros((3, 6))))
    assert list(visible(panel(figure, "velocity [m/s]"))) == ["x", "y", "z"]
    assert list(visible(panel(figure, "velocity [rad/s]"))) == ["rx", "ry", "rz"]
