"""Pictures: axes, lines, labels and data, read back from the figures.

Longer than a file should be: one short test for each thing that a picture shows.
"""

import dataclasses
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actions.parts import ModelParts
from trajopt.actuation import ActuationModelFull
from trajopt.callbacks import CallbackLogger
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import (
    check_picture_path,
    plot_convergence,
    plot_cost_terms,
    plot_motion,
    plot_solution,
    plot_summary,
)
from trajopt.plotting.style import PALETTE
from trajopt.residuals import ResidualModelControl, ResidualModelFrameTranslation, ResidualModelState
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverFDDP
from trajopt.states.state_multibody import StateMultibody
from trajopt.states.state_vector import StateVector

T, DT = 12, 0.05
TIMES = np.arange(T + 1) * DT


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeSolution(Solution):
    """A solution with cost terms of its own, so that no model has to be compiled."""

    terms: dict = dataclasses.field(default_factory=dict)

    @property
    def description(self):
        description = super().description
        if self.problem is not None:
            vars(description).update(times=self.problem.times, cost_terms=self.terms)
        return description


def history(iterations=6, refused=(3,), **changes):
    records = []
    for i in range(1, iterations + 1):
        values = {
            "iteration": i, "cost": 2.0 + 100.0**-i, "stop": 50.0**-i, "step_length": 0.5 ** (i % 3),
            "accepted": i not in refused, "regularization": 0.0 if i == 1 else 10.0 ** (i - 9), "gap_norm": 0.0,
            "expected_decrease": 2 * 50.0**-i, "decrease": -1e-3 if i in refused else 50.0**-i, "feasible": True,
            "seconds": 0.1 * i,
        }  # fmt: skip
        records.append(IterationRecord(**{**values, **{name: value[i - 1] for name, value in changes.items()}}))
    return tuple(records)


def make(state, xs, us, *, names=None, units=None, lower=None, upper=None, times=TIMES, terms=None, records=None):
    nu = us.shape[1]
    knot = SimpleNamespace(
        nu=nu,
        control_names=names or [f"u{i}" for i in range(nu)],
        control_units=units or ["-"] * nu,
        lower=np.full(nu, -np.inf) if lower is None else np.array(lower),
        upper=np.full(nu, np.inf) if upper is None else np.array(upper),
        model_parts=ModelParts(),
        constraints=ConstraintStack(state),
    )
    problem = SimpleNamespace(
        state=state,
        T=len(us),
        nu=nu,
        times=times,
        step_unit="s",
        running=[knot] * len(us),
        terminal=knot,
        nc=0,
        constraint_names=(),
        schedule=None,
        parameters={},
        parameter_values=dict,
    )
    empty = np.zeros((0, 0))
    return FakeSolution(
        xs=xs, us=us, K=empty, k=empty, Vx=empty, Vxx=empty, cost=0.25, status=SolverStatus.CONVERGED, iterations=6,
        history=history() if records is None else records, solver="SolverFDDP", seconds=0.5, x0=xs[0], problem=problem,
        terms={"goal": np.linspace(1.0, 2.0, len(xs))} if terms is None else terms,
    )  # fmt: skip


def robot_solution(robot, *, seed=0, moving=None, **options):
    """A motion of a robot along a constant velocity; `moving` selects degrees of freedom."""
    state, rng = StateMultibody(robot), np.random.default_rng(seed)
    direction = rng.uniform(0.5, 1.0, robot.nv)
    if moving is not None:
        direction[[i for i in range(robot.nv) if i not in moving]] = 0
    start = state.zero()[: robot.nq]
    q = np.array([pin.integrate(robot.model, start, direction * s) for s in np.linspace(0, 1, T + 1)])
    xs = np.hstack([q, rng.normal(size=(T + 1, robot.nv))])
    options.setdefault("names", [f"u:{name[2:]}" for name in state.tangent_names[robot.nv :]])
    return make(state, xs, rng.normal(size=(T, robot.nv)), **options)


def floating_robot():
    """A free-flying body, a continuous joint and a planar joint."""
    model = pin.Model()
    model.name = "mixed"
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.3]))
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    wheel = model.addJoint(base, pin.JointModelRUBX(), place, "wheel")
    model.addJoint(wheel, pin.JointModelPlanar(), place, "slide")
    for i in range(1, model.njoints):
        model.appendBodyToJoint(i, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    return Robot(model)


def panels(figure):
    """Axes with data, by label of the vertical axis or title."""
    return {axes.get_title(loc="left") or axes.get_ylabel(): axes for axes in figure.axes}


def visible(axes):
    return {str(line.get_label()): line for line in axes.get_lines() if not str(line.get_label()).startswith("_")}


def hidden(axes, label):
    return [line for line in axes.get_lines() if line.get_label() == label]


def legend_texts(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


# --- trajectory ------------------------------------------------------------------------------------------------------


def test_solution_of_an_arm_has_its_data_units_and_joint_names():
    solution = robot_solution(load_robot("planar-2r"))
    figure = plot_solution(solution)
    angle, velocity, torque = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["angle [rad]", "velocity [rad/s]", "torque [N m]"]
    assert torque.get_xlabel() == "time [s]"
    for i, name in enumerate(["joint_1", "joint_2"]):
        for axes, data in ((angle, solution.xs[:, i]), (velocity, solution.xs[:, 2 + i])):
            np.testing.assert_array_equal(visible(axes)[name].get_xdata(), TIMES)
            np.testing.assert_array_equal(visible(axes)[name].get_ydata(), data)
        line = visible(torque)[name]
        assert line.get_drawstyle() == "steps-post"
        np.testing.assert_array_equal(line.get_ydata()[:-1], solution.us[:, i])
        assert line.get_ydata()[-1] == solution.us[-1, i]
    assert legend_texts(figure)[:2] == ["joint_1", "joint_2"]
    assert len(figure.legends) == 1


def test_solution_separates_units():
    solution = robot_solution(load_robot("cart-pole"))
    figure = plot_solution(solution)
    seen = [(axes.get_title(loc="left"), axes.get_ylabel()) for axes in figure.axes]
    assert seen == [
        ("cart", "position [m]"),
        ("pole", "angle [rad]"),
        ("cart", "velocity [m/s]"),
        ("pole", "velocity [rad/s]"),
        ("cart", "force [N]"),
        ("pole", "torque [N m]"),
    ]
    drawn = [next(iter(visible(axes).values())).get_ydata() for axes in figure.axes[:4]]
    np.testing.assert_array_equal(np.array(drawn).T, solution.xs)


def test_solution_draws_rotations_as_they_are_and_circles_as_angles():
    solution = robot_solution(floating_robot())
    state = solution.problem.state
    figure = plot_solution(solution)
    by_label = {}
    for axes in figure.axes:
        by_label.setdefault((axes.get_title(loc="left"), axes.get_ylabel()), axes)
    base = by_label["root_joint", "position [m]"]
    for i, name in enumerate("xyz"):
        np.testing.assert_array_equal(visible(base)[name].get_ydata(), solution.xs[:, i])
    quaternion = by_label["root_joint", "quaternion [-]"]
    for i, name in enumerate(["qx", "qy", "qz", "qw"]):
        np.testing.assert_array_equal(visible(quaternion)[name].get_ydata(), solution.xs[:, 3 + i])
    wheel = visible(by_label["wheel", "angle [rad]"])["wheel"].get_ydata()
    np.testing.assert_allclose(np.cos(wheel), solution.xs[:, 7], atol=1e-12)
    np.testing.assert_allclose(np.sin(wheel), solution.xs[:, 8], atol=1e-12)
    heading = visible(by_label["slide", "angle [rad]"])["angle"].get_ydata()
    np.testing.assert_allclose(np.sin(heading), solution.xs[:, 12], atol=1e-12)
    twist = visible(by_label["root_joint, body axes", "velocity [rad/s]"])
    np.testing.assert_array_equal(twist["rz"].get_ydata(), solution.xs[:, state.nq + 5])


def test_angle_of_a_continuous_joint_does_not_jump():
    model = pin.Model()
    model.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Identity(), "wheel")
    angle = np.linspace(0, 11.0, T + 1)
    xs = np.stack([np.cos(angle), np.sin(angle), np.ones(T + 1)], axis=1)
    figure = plot_solution(make(StateMultibody(Robot(model)), xs, np.zeros((T, 1)), names=["u:wheel"]))
    np.testing.assert_allclose(visible(figure.axes[0])["wheel"].get_ydata(), angle, atol=1e-12)


def test_limits_that_all_lines_share_are_grey_and_shaded():
    solution = robot_solution(load_robot("planar-2r"), lower=[-2.5, -2.5], upper=[2.5, 2.5])
    us = np.clip(solution.us, -2.0, 2.0)
    us[0, 0], us[1, 0] = 2.0, -2.0
    torque = plot_solution(dataclasses.replace(solution, us=us)).axes[2]
    assert sorted(line.get_ydata()[0] for line in hidden(torque, "_limit")) == [-2.5, 2.5]
    assert {line.get_linestyle() for line in hidden(torque, "_limit")} == {"--"}
    low, high = torque.get_ylim()
    assert low < -2.5
    assert high > 2.5
    bands = sorted(sorted((patch.get_y(), patch.get_y() + patch.get_height())) for patch in torque.patches)
    np.testing.assert_allclose(bands, [(low, -2.5), (2.5, high)])


def test_limits_of_single_lines_have_their_colour_and_far_ones_are_left_out():
    us = np.linspace(-1, 1, T)[:, None] * [1.0, 0.2, 0.01, 0.5]
    # drawn: one is near, one is passed; left out: far for this panel, or far in units of the limits' own range
    lower, upper = [-1.2, -5, -0.05, -50], [50, 0.1, 0.05, 5]
    solution = make(StateVector(1), np.zeros((T + 1, 1)), us, lower=lower, upper=upper)
    axes = panels(plot_solution(solution))["control"]
    limits = {line.get_ydata()[0]: line.get_color() for line in hidden(axes, "_limit")}
    assert limits == {-1.2: PALETTE[0], 0.1: PALETTE[1]}
    assert not axes.patches  # shades of several limits would cover each other
    (beyond,) = [area for area in axes.collections if area.get_label() == "_excess"]  # 0.2 u passes 0.1
    assert to_rgb(beyond.get_facecolor()[0][:3]) == to_rgb(PALETTE[1])
    assert axes.get_ylim()[1] < 2


@pytest.mark.parametrize(("reached", "drawn"), [(0.39, False), (0.41, True), (0.53, True), (0.56, True)])
def test_a_limit_is_drawn_from_half_of_it_on(reached, drawn):
    """The same rail used to be drawn in one log of a controller, and left out in another."""
    state = StateVector(1, lower=[-0.8], upper=[0.8])
    xs = np.linspace(-0.35, reached, T + 1)[:, None]
    (axes,) = [axes for axes in plot_solution(make(state, xs, np.zeros((T, 1)))).axes if axes.get_ylabel() == "state"]
    assert sorted(line.get_ydata()[0] for line in hidden(axes, "_limit")) == ([-0.8, 0.8] if drawn else [])
    assert axes.get_ylim()[1] > 0.8 or not drawn


def test_limits_that_some_lines_share_are_drawn_once_in_grey_on_both_sides():
    us = np.linspace(-1, 1, T)[:, None] * [0.9, 0.8, 0.5]
    solution = make(StateVector(1), np.zeros((T + 1, 1)), us, lower=[-1, -1, -0.6], upper=[1, 1, 0.6])
    figure = plot_solution(solution)
    axes = panels(figure)["control"]
    limits = [(line.get_ydata()[0], line.get_color()) for line in hidden(axes, "_limit")]
    assert sorted(limits) == [(-1, "#8A8A8A"), (-0.6, PALETTE[2]), (0.6, PALETTE[2]), (1, "#8A8A8A")]
    assert not [patch for patch in axes.patches if patch.get_label() == "_beyond"]
    assert "limit" in legend_texts(figure)
    assert "beyond a limit" not in legend_texts(figure)


def test_rounding_is_not_beyond_a_limit():
    us = np.full((T, 5), 1.0 + 1e-12) * [1.0, 0.1, 0.1, 0.1, 0.1]
    solution = make(StateVector(1), np.zeros((T + 1, 1)), us, lower=-np.arange(1.0, 6.0), upper=np.arange(1.0, 6.0))
    assert "beyond a limit" not in legend_texts(plot_solution(solution))


def test_no_limit_no_line_no_legend_entry():
    solution = robot_solution(load_robot("planar-2r"), lower=[-np.inf, -1e300], upper=[1.7e308, np.inf])
    figure = plot_solution(dataclasses.replace(solution, xs=0.1 * solution.xs))
    assert not hidden(figure.axes[2], "_limit")
    assert legend_texts(figure) == ["joint_1", "joint_2"]


def test_limits_of_zero_and_zero_are_none():
    solution = robot_solution(load_robot("planar-2r"), lower=[0.0, 0.0], upper=[0.0, 0.0])
    assert not hidden(plot_solution(solution).axes[2], "_limit")


def test_legend_says_limit_when_one_is_drawn():
    solution = robot_solution(load_robot("planar-2r"), lower=[-1.0, -1.0], upper=[1.0, 1.0])
    assert legend_texts(plot_solution(solution)) == ["joint_1", "joint_2", "beyond a limit", "range outside limits"]
    inside = dataclasses.replace(solution, us=0.9 * solution.us / np.abs(solution.us).max())
    assert legend_texts(plot_solution(inside)) == ["joint_1", "joint_2", "range outside limits"]


def test_state_of_a_vector_has_names_and_bounds():
    xs = np.stack([np.linspace(0, 1, T + 1), np.linspace(0, -1, T + 1)], axis=1)
    state = StateVector(2, lower=[-np.inf, -1.1], upper=[1.05, np.inf])
    figure = plot_solution(make(state, xs, np.zeros((T, 1)), names=["thrust"]))
    axes = panels(figure)["state"]
    for i, name in enumerate(state.coordinate_names):
        np.testing.assert_array_equal(visible(axes)[name].get_ydata(), xs[:, i])
    assert {line.get_ydata()[0] for line in hidden(axes, "_limit")} == {1.05, -1.1}
    assert list(visible(panels(figure)["thrust"])) == ["thrust"]


@pytest.mark.parametrize("without", ["times", "problem"])
def test_without_time_the_axis_counts_knots(without):
    solution = make(StateVector(2), np.zeros((T + 1, 2)), np.zeros((T, 1)), times=None)
    if without == "problem":
        solution = dataclasses.replace(solution, problem=None)
    figure = plot_solution(solution)
    assert figure.axes[-1].get_xlabel() == "knot [-]"
    assert visible(figure.axes[0])["x0"].get_xdata().tolist() == list(range(T + 1))
    assert figure.axes[0].get_xlim() == (0, T)


def test_twenty_lines_all_look_different():
    figure = plot_solution(make(StateVector(20), np.random.default_rng(0).normal(size=(T + 1, 20)), np.zeros((T, 1))))
    looks = {(line.get_color(), line.get_linestyle()) for line in visible(figure.axes[0]).values()}
    assert len(looks) == 20


# --- convergence -----------------------------------------------------------------------------------------------------


def test_convergence_draws_the_records():
    records = history(gap_norm=[0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    figure = plot_convergence(records)
    log = CallbackLogger(records)
    axes = panels(figure)
    assert list(axes) == [
        "cost",
        "stopping value",
        "decrease",
        "step length [-]",
        "regularisation [-]",
        "largest gap [-]",
    ]
    for title, values in (
        ("cost", log.costs),
        ("stopping value", log.stops),
        ("step length [-]", log.step_lengths),
        ("largest gap [-]", log.gap_norms),
    ):
        (curve,) = hidden(axes[title], "_curve")
        assert curve.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
        np.testing.assert_array_equal(curve.get_ydata(), values)
    (promised,) = hidden(axes["decrease"], "_promised")
    np.testing.assert_array_equal(promised.get_ydata(), log.expected_decreases)
    taken = hidden(axes["decrease"], "_come")[0].get_ydata()
    np.testing.assert_array_equal(taken[log.accepted], log.decreases[log.accepted])
    scales = {title: one.get_yscale() for title, one in axes.items()}
    assert scales["cost"] == scales["largest gap [-]"] == "linear"
    assert scales["stopping value"] == scales["regularisation [-]"] == scales["decrease"] == "log"


def test_convergence_marks_taken_and_refused_steps():
    figure = plot_convergence(history(refused=(2, 5)))
    axes = panels(figure)["stopping value"]
    (taken,), (refused,) = hidden(axes, "_taken"), hidden(axes, "_refused")
    np.testing.assert_array_equal(taken.get_xydata(), [[i, 50.0**-i] for i in (1, 3, 4, 6)])
    np.testing.assert_array_equal(refused.get_xydata(), [[i, 50.0**-i] for i in (2, 5)])
    assert (taken.get_marker(), refused.get_marker()) == ("o", "x")
    assert "step refused" in legend_texts(figure)
    all_taken = plot_convergence(history(refused=()))
    assert not hidden(panels(all_taken)["cost"], "_refused")
    assert "step refused" not in legend_texts(all_taken)


def test_convergence_shows_zeros_on_logarithmic_axes_at_the_edge():
    axes = panels(plot_convergence(history(refused=(3,))))
    (zero,) = hidden(axes["regularisation [-]"], "_zero")
    assert zero.get_xdata().tolist() == [1]
    assert zero.get_ydata().tolist() == [0.0]
    (negative,) = hidden(axes["decrease"], "_zero")
    assert negative.get_xdata().tolist() == [3]


@pytest.mark.parametrize("small", [0.5, 0.5**9])
def test_every_step_length_is_within_its_axis(small):
    """A step that was not taken at all, of length 0, is on the lower edge."""
    figure = plot_convergence(history(step_length=np.array([1.0, small, 0.0, 2.0, 1.0, 1.0])))
    axes = panels(figure)["step length [-]"]
    low, high = axes.get_ylim()
    assert low < small
    assert high > 2.0
    (zero,) = hidden(axes, "_zero")
    assert zero.get_xydata().tolist() == [[3.0, 0.0]]
    figure.draw_without_rendering()


def test_convergence_of_costs_over_many_decades_is_logarithmic_unless_negative():
    cost = np.array([1e5, 1e3, 10.0, 1.0, 1.0, 1.0])
    assert panels(plot_convergence(history(cost=cost)))["cost"].get_yscale() == "log"
    assert panels(plot_convergence(history(cost=cost - 5)))["cost"].get_yscale() == "linear"


def test_convergence_survives_values_that_are_not_finite():
    cost = np.array([np.inf, np.nan, 3.0, 2.0, 1.0, 1.0])
    figure = plot_convergence(history(cost=cost, stop=cost, decrease=cost))
    (curve,) = hidden(panels(figure)["cost"], "_curve")
    np.testing.assert_array_equal(curve.get_ydata(), [np.nan, np.nan, 3.0, 2.0, 1.0, 1.0])
    figure.draw_without_rendering()


@pytest.mark.parametrize("iterations", [1, 2])
def test_convergence_of_few_iterations(iterations):
    figure = plot_convergence(history(iterations, refused=(1,)))
    figure.draw_without_rendering()
    assert len(hidden(panels(figure)["cost"], "_curve")[0].get_xdata()) == iterations
    assert all(x == round(x) for x in panels(figure)["stopping value"].get_xticks())
    decrease = panels(figure)["decrease"]
    low, high = decrease.get_ylim()
    assert any(low <= y <= high for y in decrease.get_yticks())


@pytest.mark.parametrize("gap", [0.0, 5e-17, 1e-3])
def test_convergence_has_no_panel_for_what_stays_the_same(gap):
    steady = {"step_length": [1.0] * 6, "regularization": [1e-9] * 6}
    figure = plot_convergence(history(gap_norm=[0.0, gap, 0.0, 0.0, 0.0, 0.0], **steady))
    told = figure.legends[0].get_title().get_text()
    if gap == 1e-3:
        assert list(panels(figure)) == ["cost", "stopping value", "decrease", "largest gap [-]"]
        assert told == "step length 1, regularisation 1e-09 throughout"
    else:  # rounding is none
        assert list(panels(figure)) == ["cost", "stopping value", "decrease"]
        assert told == "step length 1, regularisation 1e-09, largest gap 0 throughout"
    assert not figure.axes[0].texts


def test_convergence_takes_a_solution_a_history_or_a_logger():
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)))
    for given in (solution, solution.history, CallbackLogger(solution.history)):
        (curve,) = hidden(panels(plot_convergence(given))["cost"], "_curve")
        np.testing.assert_array_equal(curve.get_ydata(), [item.cost for item in solution.history])


def test_convergence_needs_an_iteration():
    with pytest.raises(InvalidArgumentError, match="history: expected at least one iteration"):
        plot_convergence(())


# --- cost terms ------------------------------------------------------------------------------------------------------


def test_cost_terms_draw_running_lines_and_terminal_diamonds():
    goal = np.geomspace(1.0, 1e-3, T + 1)
    control = np.append(np.full(T, 0.5), np.nan)
    final = np.append(np.full(T, np.nan), 30.0)
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)),
                    terms={"goal": goal, "control": control, "final": final})  # fmt: skip
    (axes,) = plot_cost_terms(solution).axes
    lines = visible(axes)
    assert list(lines) == ["final  30", f"control  {0.5 * T:.3g}", f"goal  {goal.sum():.3g}"]
    np.testing.assert_array_equal(lines[f"goal  {goal.sum():.3g}"].get_ydata(), goal[:-1])
    np.testing.assert_array_equal(lines[f"goal  {goal.sum():.3g}"].get_xdata(), TIMES[:-1])
    np.testing.assert_array_equal(lines["final  30"].get_xydata(), [[TIMES[-1], 30.0]])
    assert lines["final  30"].get_marker() == "D"
    (terminal,) = hidden(axes, "_terminal")
    np.testing.assert_array_equal(terminal.get_xydata(), [[TIMES[-1], goal[-1]]])
    assert terminal.get_color() == lines[f"goal  {goal.sum():.3g}"].get_color()
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "cost of a knot"
    assert legend_texts(axes.figure) == list(lines)


def test_cost_terms_with_zeros_leave_gaps_and_tiny_ones_do_not_stretch_the_axis():
    barrier = np.where(np.arange(T + 1) % 2, 1e-30, 0.0)
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)),
                    terms={"goal": np.ones(T + 1), "barrier": barrier, "off": np.zeros(T + 1)})  # fmt: skip
    (axes,) = plot_cost_terms(solution).axes
    values = visible(axes)[f"barrier  {barrier.sum():.3g}"].get_ydata()
    assert np.isnan(values[0::2]).all()
    assert (values[1::2] == 1e-30).all()
    assert axes.get_ylim()[0] >= 1e-12
    assert "off  0" in legend_texts(axes.figure)


def test_cost_terms_have_no_diamond_below_the_panel():
    tiny, end = np.append(np.full(T, 1e-3), 1e-30), np.append(np.full(T, np.nan), 1e-30)
    terms = {"goal": np.ones(T + 1), "tiny": tiny, "end": end}
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)), terms=terms)
    (axes,) = plot_cost_terms(solution).axes
    assert [diamond.get_ydata()[0] for diamond in hidden(axes, "_terminal")] == [1.0]
    assert "end  1e-30" in legend_texts(axes.figure)


def test_cost_terms_with_a_negative_one_are_linear():
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)), terms={"reward": np.arange(T + 1) - 1.0})
    (axes,) = plot_cost_terms(solution).axes
    assert axes.get_yscale() == "linear"
    assert visible(axes)["reward  65"].get_ydata()[0] == -1


def test_cost_terms_need_a_problem():
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)))
    with pytest.raises(InvalidArgumentError, match="solution: expected one with its problem, got none"):
        plot_cost_terms(dataclasses.replace(solution, problem=None))


# --- motion ----------------------------------------------------------------------------------------------------------


def figures_of(axes):
    """Points of each stick figure, in the order of time, without the breaks between bones."""
    data = [np.array(line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data()).T
            for line in hidden(axes, "_figure")]  # fmt: skip
    return [points[np.isfinite(points).all(axis=1)] for points in data]


def test_motion_of_a_planar_arm_is_drawn_in_its_plane():
    robot = load_robot("planar-2r")
    solution = robot_solution(robot)
    axes = plot_motion(solution, 4, frame="tool", targets=[[0.1, 0.0, 0.2], [0.3, 0.0, 0.4]]).axes[0]
    assert (axes.name, axes.get_xlabel(), axes.get_ylabel()) == ("rectilinear", "x [m]", "z [m]")
    assert axes.get_aspect() == 1
    q = solution.xs[:, :2]
    elbow = 0.5 * np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=1)
    tool = elbow + 0.5 * np.stack([np.cos(q.sum(axis=1)), np.sin(q.sum(axis=1))], axis=1)
    knots = [0, 4, 8, 12]
    assert len(figures_of(axes)) == 4
    for knot, points in zip(knots, figures_of(axes)):
        expected = np.array([[0, 0], elbow[knot], elbow[knot], tool[knot]])
        np.testing.assert_allclose(points, expected, atol=1e-12)
    np.testing.assert_allclose(visible(axes)["path of tool"].get_xydata(), tool, atol=1e-12)
    np.testing.assert_array_equal(visible(axes)["targets"].get_xydata(), [[0.1, 0.2], [0.3, 0.4]])
    assert legend_texts(axes.figure) == ["path of tool", "targets"]


def test_motion_fades_from_light_to_dark():
    axes = plot_motion(robot_solution(load_robot("planar-2r")), 5).axes[0]
    brightness = [sum(line.get_color()[:3]) for line in hidden(axes, "_figure")]
    assert len(brightness) == 5
    assert brightness == sorted(brightness, reverse=True)
    assert brightness[0] > 2 * brightness[-1]


def test_motion_of_a_floating_robot_is_in_space_and_has_equal_scales():
    robot = floating_robot()
    solution = robot_solution(robot)
    figure = plot_motion(solution, 2)
    axes = figure.axes[0]
    assert axes.name == "3d"
    assert [axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel()] == ["x [m]", "y [m]", "z [m]"]
    ranges = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    box = axes._box_aspect  # matplotlib has no getter
    np.testing.assert_allclose(np.array(ranges) / ranges[0], box / box[0], rtol=1e-9)
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, solution.xs[-1, : robot.nq])
    base, wheel, slide = (data.oMi[i].translation for i in (1, 2, 3))
    np.testing.assert_allclose(figures_of(axes)[-1], [base, wheel, wheel, slide], atol=1e-12)
    assert not hidden(axes, "_base")
    assert not hidden(axes, "_rail")


def test_motion_of_a_cart_shows_carts_on_a_rail():
    solution = robot_solution(load_robot("cart-pole"))
    axes = plot_motion(solution, 3).axes[0]
    (rail,) = hidden(axes, "_rail")
    cart = solution.xs[:, 0]
    beyond = 0.1 * np.ptp(cart)
    np.testing.assert_allclose(rail.get_xydata(), [[cart.min() - beyond, 0], [cart.max() + beyond, 0]], atol=1e-12)
    carts = [line.get_xydata()[0, 0] for line in hidden(axes, "_slider")]
    np.testing.assert_allclose(carts, cart[[0, 6, 12]])


def test_motion_of_parallel_links_is_drawn_in_the_plane_in_which_they_turn():
    model, parent = pin.Model(), 0
    for i in range(2):  # beside each other, as in a real double pendulum: x differs, and nothing moves along it
        place = pin.SE3(np.eye(3), np.array([0.05, 0.0, -0.3 * i]))
        parent = model.addJoint(parent, pin.JointModelRX(), place, f"joint{i}")
    model.addFrame(pin.Frame("tip", parent, 0, pin.SE3(np.eye(3), np.array([0.0, 0, -0.3])), pin.FrameType.OP_FRAME))
    axes = plot_motion(robot_solution(Robot(model)), 3).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("y [m]", "z [m]")


def test_motion_along_a_line_is_seen_from_the_side_and_ends_in_the_farthest_frame():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slide")
    for name, height in (("low", 0.1), ("top", 0.2), ("middle", 0.15)):
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, height]))
        model.addFrame(pin.Frame(name, joint, 0, place, pin.FrameType.OP_FRAME))
    axes = plot_motion(robot_solution(Robot(model)), 2).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    np.testing.assert_allclose(figures_of(axes)[0], [[0, 0], [0, 0.2]])
    assert list(visible(axes)) == ["path of top"]


def test_motion_in_the_horizontal_plane_is_seen_from_above():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "turn")
    model.addFrame(pin.Frame("tip", joint, 0, pin.SE3(np.eye(3), np.array([1.0, 0, 0])), pin.FrameType.OP_FRAME))
    axes = plot_motion(robot_solution(Robot(model)), 3).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    assert plot_motion(robot_solution(Robot(model)), 3, view=(30.0, 40.0)).axes[0].azim == 40.0


def test_motion_without_frames_ends_in_the_centre_of_mass():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "swing")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.array([0.0, 0.0, -0.7]), np.eye(3)), pin.SE3.Identity())
    solution = robot_solution(Robot(model))
    axes = plot_motion(solution, 2).axes[0]
    angle = solution.xs[-1, 0]
    np.testing.assert_allclose(figures_of(axes)[-1], [[0, 0], [-0.7 * np.sin(angle), -0.7 * np.cos(angle)]], atol=1e-12)
    assert not visible(axes)


def test_motion_of_more_figures_than_knots_draws_each_knot_once():
    assert len(figures_of(plot_motion(robot_solution(load_robot("planar-2r")), 1000).axes[0])) == T + 1
    assert len(figures_of(plot_motion(robot_solution(load_robot("planar-2r")), 1).axes[0])) == 1


def test_plot_motion_has_a_colour_bar_of_time():
    figure = plot_motion(robot_solution(load_robot("planar-2r")))
    bar = figure.axes[1]
    assert bar.get_ylabel() == "time [s]"
    np.testing.assert_allclose(bar.get_ylim(), [0, TIMES[-1]])


@pytest.fixture(scope="module")
def reach():
    """A solved reach of a planar arm, whose goal was moved at run time."""
    robot = load_robot("planar-2r")
    state = StateMultibody(robot)
    goal = ResidualModelFrameTranslation(state, "tool", [0.6, 0.0, 0.3])
    far = ResidualModelFrameTranslation(state, "link_2", [9.0, 0.0, 0.0])
    end = CostStack(state).add("goal", goal, 1e3).add("off", far, 0)
    running = (
        CostStack(state).add("effort", ResidualModelControl(state), 1e-2).add("state", ResidualModelState(state), 1)
    )
    model = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), running)
    problem = ShootingProblem(state.zero(), [IntegratedActionModelEuler(model, DT)] * T, end)
    problem.set_parameter("goal.reference", [0.5, 0.0, 0.4])
    solution = SolverFDDP(problem).solve()
    assert solution.converged
    problem.set_parameter("goal.reference", [0.0, 0.0, 0.0])  # the picture is of the solve, not of now
    return solution


def test_motion_finds_goals_in_the_terminal_costs(reach):
    axes = plot_motion(reach).axes[0]
    assert legend_texts(axes.figure) == ["path of tool", "target"]
    np.testing.assert_allclose(visible(axes)["target"].get_xydata(), [[0.5, 0.4]])
    np.testing.assert_allclose(visible(axes)["path of tool"].get_xydata()[-1], [0.5, 0.4], atol=1e-2)
    several = plot_motion(reach, frame=["tool", "link_2"]).axes[0]
    assert legend_texts(several.figure) == ["paths of tool, link_2", "target"]
    bare = plot_motion(reach, frame=(), targets=()).axes[0]
    assert not visible(bare)
    assert not legend_texts(bare.figure)


@pytest.mark.parametrize(
    ("away", "words"), [(9e-6, "ends at its target"), (2e-4, "ends 0.2 mm from its target"), (0.3, "ends 300 mm from")]
)
def test_a_heading_has_no_distances_below_a_hundredth_of_a_millimetre(reach, away, words):
    tip = reach.frame_path("tool")[-1] + [away, 0.0, 0.0]
    near = dataclasses.replace(reach, parameters={**reach.parameters, "goal.reference": tip[None]})
    assert f"tool {words}" in plot_summary(near).get_suptitle().replace("\N{NO-BREAK SPACE}", " ")


def test_motion_without_goals_draws_the_path_of_a_single_end():
    axes = plot_motion(robot_solution(load_robot("planar-2r"))).axes[0]
    assert list(visible(axes)) == ["path of tool"]


def test_summary_of_a_solved_problem(reach, tmp_path):
    solver = plot_summary(reach, page="solver")
    terms = next(axes for axes in solver.axes if axes.get_title(loc="left").startswith("cost terms"))
    sums = dict(
        text.split() for text in legend_texts(terms.figure) if text.split()[0] in ("goal", "effort", "state", "off")
    )
    assert sums["off"] == "0"
    assert sum(map(float, sums.values())) == pytest.approx(reach.cost, rel=1e-2)
    np.testing.assert_array_equal(visible(terms)[f"effort  {sums['effort']}"].get_xdata(), reach.problem.times[:-1])
    figure = plot_summary(reach, tmp_path / "reach.png")
    torque = next(axes for axes in figure.axes if axes.get_ylabel() == "torque [N m]")
    np.testing.assert_array_equal(visible(torque)["joint_2"].get_ydata()[:-1], reach.us[:, 1])
    with pytest.raises(UnknownNameError, match="page 'jonts' not found. Known: solver, summary"):
        plot_summary(reach, page="jonts")


def test_motion_refuses_what_it_cannot_draw():
    solution = robot_solution(load_robot("planar-2r"))
    no_robot = make(StateVector(2), np.zeros((T + 1, 2)), np.zeros((T, 1)))
    with pytest.raises(InvalidArgumentError, match=r"expected a state with a robot .* got StateVector; plot_solution"):
        plot_motion(no_robot)
    with pytest.raises(InvalidArgumentError, match="solution: expected one with its problem, got none"):
        plot_motion(dataclasses.replace(solution, problem=None))
    with pytest.raises(UnknownNameError, match=r"frame 'tol' not found; did you mean 'tool'\? Known: .*link_1"):
        plot_motion(solution, frame="tol")
    for targets in ([1.0, 2.0], np.zeros((2, 2, 3)), [[1.0, 2.0]]):
        with pytest.raises(InvalidArgumentError, match=r"targets: expected shape \(3,\) or \(n, 3\), got"):
            plot_motion(solution, targets=targets)
    for frames in (0, -1, 2.5, True):
        with pytest.raises(InvalidArgumentError, match=f"frames: expected an integer >= 1, got {frames!r}"):
            plot_motion(solution, frames)


# --- summary and files -----------------------------------------------------------------------------------------------


def test_summary_holds_everything(tmp_path):
    path = tmp_path / "arm.png"
    figure = plot_summary(robot_solution(load_robot("planar-2r")), path, frame="tool", targets=[0.5, 0.0, 0.5])
    found = {axes.get_title(loc="left") or axes.get_ylabel() for axes in figure.axes}
    assert found == {"z [m]", "angle [rad]", "velocity [rad/s]", "torque [N m]", ""}
    solver = plot_summary(robot_solution(load_robot("planar-2r")), page="solver")
    found = {axes.get_title(loc="left") for axes in solver.axes}
    assert found >= {"cost", "stopping value", "cost terms and their sums (◆ terminal)"}
    assert figure.get_suptitle() == "SolverFDDP: converged, cost 0.25 after 6 iterations"
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(path.read_bytes()) > 20_000


def test_summary_leaves_out_what_cannot_be_drawn():
    solution = make(StateVector(2), np.zeros((T + 1, 2)), np.zeros((T, 1)))
    found = {axes.get_title(loc="left") or axes.get_ylabel() for axes in plot_summary(solution, title="mine").axes}
    assert found == {"state", "u0"}
    assert (
        plot_summary(solution, title="mine").get_suptitle()
        == "mine, SolverFDDP: converged, cost 0.25 after 6 iterations"
    )
    bare = dataclasses.replace(solution, problem=None, history=())
    assert [axes.get_title(loc="left") or axes.get_ylabel() for axes in plot_summary(bare).axes] == ["state", "u0"]
    with pytest.raises(
        InvalidArgumentError,
        match="targets: expected none for a solution without a motion.*StateVector x, y, or x, z in a vert",
    ):
        plot_summary(solution, targets=[0, 0, 0])


@pytest.mark.parametrize(("suffix", "magic"), [(".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_summary_writes_the_format_of_the_suffix(tmp_path, suffix, magic):
    path = tmp_path / f"picture{suffix}"
    plot_summary(make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1))), path)
    assert path.read_bytes().startswith(magic)


def test_paths_are_checked_before_drawing(tmp_path):
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.zeros((T, 1)))
    with pytest.raises(
        InvalidArgumentError, match=r"path: expected a file ending in .png or .pdf or .svg, got 'a.gif'"
    ):
        plot_summary(solution, "a.gif")
    missing = tmp_path / "missing"
    with pytest.raises(
        InvalidArgumentError, match=f"path: expected an existing folder, got {re.escape(repr(str(missing)))}"
    ):
        plot_summary(solution, missing / "a.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InvalidArgumentError, match="--plot: expected a file, got the folder"):
        check_picture_path(tmp_path / "folder.png", "--plot")
    assert check_picture_path(tmp_path / "new.svg") == tmp_path / "new.svg"
    assert not (tmp_path / "new.svg").exists()


def test_figures_belong_to_no_window_and_settings_come_back():
    import matplotlib
    from matplotlib import pyplot

    solution = robot_solution(load_robot("planar-2r"))
    with matplotlib.rc_context({"font.size": 17.0, "axes.spines.top": True, "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        for plot in (plot_solution, plot_convergence, plot_cost_terms, plot_motion, plot_summary):
            figure = plot(solution)
            assert isinstance(figure, Figure)
            assert figure.axes[0].xaxis.label.get_fontsize() == 9.0
            assert dict(matplotlib.rcParams) == before, plot
    assert pyplot.get_fignums() == []


def test_pictures_can_be_drawn_into_a_figure_of_the_caller():
    solution = robot_solution(load_robot("planar-2r"))
    mine = Figure(layout="constrained")
    left, right = mine.subfigures(1, 2)
    assert plot_solution(solution, figure=left) is mine
    assert plot_motion(solution, figure=right) is mine
    assert len(left.axes) == 3
    assert len(right.axes) == 2
    alone = Figure()
    assert plot_cost_terms(solution, figure=alone) is alone


def test_drawing_changes_no_input():
    solution = robot_solution(load_robot("cart-pole"))
    xs, us, goal = solution.xs.copy(), solution.us.copy(), solution.terms["goal"].copy()
    plot_summary(solution)
    np.testing.assert_array_equal(solution.xs, xs)
    np.testing.assert_array_equal(solution.us, us)
    np.testing.assert_array_equal(solution.terms["goal"], goal)


def test_importing_leaves_heavy_packages_unimported():
    code = "import sys, trajopt, trajopt.plotting; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["matplotlib", "rich", "typer", "llvmlite"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize(("joints", "columns"), [(3, 1), (8, 2)])
def test_panels_whose_legends_need_more_room_than_a_column_has_form_two(joints: int, columns: int) -> None:
    """Five limbs in 4.6 inch: legends of eight joints beside their panels would print over each other."""
    from matplotlib.figure import Figure

    from trajopt.analysis.lines import Line
    from trajopt.plotting.trajectory import draw_panels

    panels = [
        [
            Line(group="control", owner=f"limb {i}", quantity="torque", name=f"{i}, {j}", values=np.zeros(3))
            for j in range(joints)
        ]
        for i in range(5)
    ]
    figure = Figure(figsize=(7.0, 5.2), layout="constrained")
    drawn = draw_panels(figure, panels, (), np.arange(4.0), "time [s]")
    lefts = {round(float(axes.get_position().x0), 2) for axes in drawn}
    assert len(lefts) == columns
