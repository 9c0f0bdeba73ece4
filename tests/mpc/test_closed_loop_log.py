"""Logs of closed loops: files, reports, pictures."""

import re
from dataclasses import fields, replace
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from matplotlib.figure import Figure

import trajopt
from tests.mpc.slider import FORCE, SPEED, controller
from trajopt import mpc
from trajopt.errors import InvalidArgumentError
from trajopt.mpc.tracking import tracked_quantities
from trajopt.plotting.closed_loops import _draw_tracked_bounds, _draw_violations, plot_closed_loop
from trajopt.plotting.window import new_figure
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP

X0 = np.array([0.0, 0.9])


@pytest.fixture(scope="module")
def log():
    """Two seconds with a moving reference, pushes and a speed beyond its soft limit at the start."""
    own = controller()
    own.follow("goal.reference", lambda t: [0.4 * t, 0.4])
    pushes = [mpc.Push(time=0.5, value=[0.0, -0.5]), mpc.Push(time=1.0, duration=0.3, value=lambda t, x: [0.0, 1.0])]
    return mpc.simulate(own, None, X0, 2.0, noise=1e-3, disturbance=pushes, delay=0.01)


# Files


def test_a_file_keeps_the_log(log, tmp_path):
    path = log.save(tmp_path / "loop")
    assert path == tmp_path / "loop.npz"
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    found = mpc.ClosedLoop.load(path)
    for field in fields(mpc.ClosedLoop):
        mine, theirs = getattr(log, field.name), getattr(found, field.name)
        if field.name == "violations":
            assert list(mine) == list(theirs)
            assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
        elif field.name not in ("motion", "pushes", "kept"):
            assert np.array_equal(mine, theirs), field.name
    assert found.explain() == log.explain()
    assert np.array_equal(found.pushes[0].value, [0.0, -0.5])
    assert [push.time for push in found.pushes] == [0.5, 1.0]
    assert np.array_equal(found.tracked[0].reference, log.tracked[0].reference)
    assert found.motion.coordinate_names == ("q", "v")
    assert np.array_equal(found.motion.xs, log.motion.xs)
    assert found.motion.status is log.motion.status is trajopt.SolverStatus.UNSOLVED


def test_other_files_are_refused_by_load(log, tmp_path):
    (tmp_path / "text.npz").write_text("no arrays")
    np.savez(tmp_path / "other.npz", xs=np.zeros(3))
    log.motion.save(tmp_path / "solution.npz")
    for name in ("text.npz", "other.npz", "solution.npz", "nowhere.npz"):
        with pytest.raises(
            InvalidArgumentError, match=r"expected a file that ClosedLoop.save wrote, but .* cannot be read"
        ):
            mpc.ClosedLoop.load(tmp_path / name)
    with pytest.raises(InvalidArgumentError, match=r"it holds a Solution: read it with trajopt.Solution.load"):
        mpc.ClosedLoop.load(tmp_path / "solution.npz")
    with pytest.raises(InvalidArgumentError, match="path: expected a file ending in .npz"):
        log.save(tmp_path / "log.csv")


# Words


def test_an_error_that_a_push_causes_is_said_to_follow_it():
    own = controller()
    own.follow("goal.reference", lambda t: [0.4 * t, 0.4])
    for jump, v, words in ((-2.0, 0.4, "m/s at most after the push at 0.5 s, "), (-0.1, 2.4, "m/s at most, ")):
        push = mpc.Push(time=0.5, value=[0.0, jump])
        log = mpc.simulate(own, None, [0.0, v], 1.2, disturbance=[push])
        assert words in log.report()["goal: v"]


def test_the_report_gives_steps_plant_cost_and_errors(log):
    words = log.report()
    assert words["loop"] == "2 s in 20 steps of 100 ms, real-time, 15 knots over 1.5 s"
    assert words["plant"] == "the controller's own model, delay 10 ms"
    assert words["cost"] == f"{log.cost:.6g}, of the plant's motion by the controller's running costs"
    error = np.abs(log.xs[:-1, 0] - 0.4 * log.times[:-1])
    assert words["goal: q"].startswith(f"error {np.sqrt(np.mean(error**2)):.3g} m rms, {error.max():.3g} m at most")
    gave_way = f"hold, except soft ones: speed by {log.violations['speed'].max():.3g} at 0 s"
    assert words["constraints"] == gave_way
    assert log.soft == ("speed",)
    assert words["controls"].startswith("within their limits")
    assert f"{int((log.step_times > 0.1).sum())} of 20 steps took longer than 100 ms" in words["times"]
    assert log.preparation_times[0] == 0.0
    assert repr(log).startswith("ClosedLoop(2 s, 20 steps of 0.1 s, ")


def test_a_deadline_is_missed_by_both_phases_together(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    preparation, feedback = np.zeros(20), np.zeros(20)
    preparation[[4, 5]], feedback[[5, 6]] = 0.06, 0.06
    late = mpc.ClosedLoop(**changed | {"preparation_times": preparation, "feedback_times": feedback})
    assert np.flatnonzero(late.deadline_misses).tolist() == [5]


def test_the_report_separates_hard_and_soft_constraints(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    force = np.zeros(20)
    force[4] = 0.5
    words = mpc.ClosedLoop(**changed | {"violations": {**log.violations, "force": force}}).report()["constraints"]
    assert words.startswith("violated: force by 0.5 at 0.4 s; soft ones violated: speed by ")


def test_shares_units_and_pushes_are_plain(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}

    def words(**changes):
        return mpc.ClosedLoop(**changed | changes).report()

    nowhere, everywhere = np.full_like(log.us, 99.0), log.us.copy()
    assert words(lower=-nowhere, upper=nowhere)["controls"] == "within their limits; none is at a limit"
    assert words(upper=everywhere)["controls"].endswith(
        f"; at a limit: {log.control_names[0]} in 20 of 20 steps (100 %)"
    )
    some = np.where(np.arange(20)[:, None] < 3, log.us, 99.0)
    assert words(lower=-nowhere, upper=some)["controls"].endswith(" in 3 of 20 steps (15 %)")
    pushes = [mpc.Push(time=time, value=[0.0, 0.1]) for time in (0.5, 2.5)]
    assert words(pushes=(pushes[0], pushes[1]))["pushes"] == str(pushes[0])
    assert "pushes" not in words(pushes=(pushes[1],))


def test_advice_on_real_time_mode_is_given_only_to_converged_loops(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    slow = {"feedback_times": np.full(20, 0.5)}
    assert "mode 'real-time'" not in mpc.ClosedLoop(**changed | slow).explain()
    assert "mode 'real-time'" in mpc.ClosedLoop(**changed | slow | {"solver": "SolverSQP"}).explain()


def test_failed_steps_are_explained(log):
    """The reasons that a controller gives are there by their times, and what to try."""
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    statuses, slow = log.statuses.copy(), log.feedback_times.copy()
    statuses[[3, 4, 7]], slow[:5] = "failed", 0.5
    reasons = {3: "quadratic program: infeasible", 4: "quadratic program: infeasible", 7: "x: too far"}
    text = mpc.ClosedLoop(**changed | {"statuses": statuses, "feedback_times": slow, "reasons": reasons}).explain()
    assert "3 failed" in text
    assert "2 steps failed, the first at 0.3 s: quadratic program: infeasible" in text
    assert "1 step failed, the first at 0.7 s: x: too far" in text
    assert re.search(r"-> steps take longer than the control period, .* of the steps: use a period of 5", text)
    assert "-> steps fail: start closer" in text  # which constraint is in the way is unknown


def test_single_slow_steps_are_no_reason_for_a_longer_period(log):
    """As of other programs on the machine: 1 of 20 steps of half a second. With 3 of them a tenth is slow."""
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    for count, advised in ((1, False), (3, True)):
        times = np.where(np.arange(20) < count, 0.5, 2e-3)
        late = mpc.ClosedLoop(**changed | {"preparation_times": np.zeros(20), "feedback_times": times})
        assert late.report()["times"].startswith("median of steps 2 ms, 99 % of steps below ")
        assert ("use a period of" in late.explain()) == advised
        assert ("2 ms in the median and up to 500 ms in 90 % of the steps" in late.explain()) == advised


def test_the_report_counts_samples_at_and_beyond_bounds(log):
    """The soft limit of the speed: beyond it at first, at it for a while."""
    speed = log.xs[:-1, 1]
    beyond = int((np.abs(speed) > SPEED + 1e-6).sum())
    at = int((np.abs(np.abs(speed) - SPEED) <= 1e-4 * np.abs(speed).max()).sum())
    words = log.report()["bounds"]
    assert beyond > 0
    assert f"speed beyond a bound in {beyond} of 20 samples ({100 * beyond / 20:.1f} %)" in words
    assert (f" and at a bound in {at} of 20 samples" in words) == (at > 0)
    assert "force" not in words  # the line of the controls has it


def test_a_longer_period_is_longer(log):
    """Steps of 100.4 ms do not fit a period of 100 ms, although they are 100 ms in two digits."""
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    slow = {"preparation_times": np.zeros(20), "feedback_times": np.full(20, 0.1004)}
    assert "use a period of 110 ms or more (MPCOptions.dt)" in mpc.ClosedLoop(**changed | slow).explain()


def test_only_hard_constraints_in_the_way_are_to_be_softened(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    assert log.soft == ("speed",)

    def advised(reason):
        failed = {"statuses": np.where(np.arange(20) == 3, "failed", log.statuses), "reasons": {3: reason}}
        (line,) = [
            each for each in mpc.ClosedLoop(**changed | failed).explain().splitlines() if "-> steps fail" in each
        ]
        return line

    assert "soften" not in advised("the step is too long; speed[1] at knot 4: violated by 6.3")
    assert "soften force (soft=(linear, quadratic)), start" in advised("infeasible; force[0] at knot 4: violated by 6")
    assert "soften" not in advised("infeasible; brute_force[0] at knot 4: violated by 6")


# Pictures


def lines(axes, style):
    return [line for line in axes.get_lines() if line.get_linestyle() == style]


def test_tracking_draws_references_dotted_as_bounds_are_dashed(log):
    figure = log.plot_tracking()
    axes, last = figure.axes
    (reference,) = lines(axes, ":")
    assert np.allclose(reference.get_ydata(), 0.4 * log.times[:-1])
    actual = next(line for line in lines(axes, "-") if len(line.get_xdata()) == 20)
    assert np.array_equal(actual.get_ydata(), log.xs[:-1, 0])
    assert axes.get_ylabel() == "position [m]"
    assert last.get_xlabel() == "time [s]"
    assert axes.get_title(loc="left") == "goal: q"
    assert last.get_title(loc="left") == "goal: v"
    assert "rms" in axes.texts[0].get_text()
    pushes = [line.get_xdata()[0] for line in lines(axes, "-") if len(line.get_xdata()) == 2]
    assert pushes == [0.5, 1.0]


def test_a_bound_of_a_tracked_coordinate_is_drawn_where_it_comes_close(log):
    (position,) = (line for line in log.motion.description.lines if line.name == "q")
    top = float(position.values.max())
    for room, drawn in ((0.01, True), (10.0, False)):
        least, most = np.full(position.values.shape, -np.inf), np.full(position.values.shape, top + room)
        lines_with_bound = [replace(position, least=least, most=most)]
        motion = SimpleNamespace(description=SimpleNamespace(lines=lines_with_bound))
        axes = new_figure(4.0, 3.0, apart=True).subplots()
        axes.plot(log.sample_times, position.values)
        _draw_tracked_bounds(axes, log.tracked[0], slice(0, 4), motion, log.sample_times)
        bounds = [line.get_ydata()[0] for line in axes.lines if line.get_label() == "_bound"]
        assert bounds == ([top + room] if drawn else [])


def test_states_are_drawn_where_nothing_has_a_reference(log):
    figure = replace(log, kept=()).plot_tracking()
    assert [axes.get_ylabel() for axes in figure.axes] == ["position [m]", "velocity [m/s]"]


def test_controls_are_drawn_with_their_limits(log):
    figure = log.plot_controls()
    axes = figure.axes[0]
    assert axes.get_ylabel() == "control [N]"
    steps = next(line for line in axes.get_lines() if line.get_label() == "f")
    assert np.allclose(steps.get_ydata()[:-1], _applied(log), atol=1e-12)
    assert steps.get_drawstyle() == "steps-post"
    bounds = {float(value) for line in axes.get_lines() if line.get_label() == "_bound" for value in line.get_ydata()}
    assert bounds <= {-FORCE, FORCE}
    assert bounds


def test_timing_marks_the_percentile_and_the_period(log):
    (axes,) = log.plot_timing().axes
    marks = {line.get_label(): line.get_xdata()[0] for line in axes.get_lines()}
    whole, feedback = (1e3 * np.percentile(times, 99.0) for times in (log.step_times, log.feedback_times))
    assert marks[f"99 % of whole steps below {whole:.3g} ms"] == pytest.approx(whole)
    assert marks[f"99 % of feedback phases below {feedback:.3g} ms"] == pytest.approx(feedback)
    assert marks["control period 100 ms"] == pytest.approx(100.0)
    assert axes.get_xlabel() == "time [ms]"
    counted = sum(patch.get_height() for patch in axes.patches if hasattr(patch, "get_height"))
    assert counted == 40  # whole steps and feedback phases
    low, high = axes.get_xlim()
    assert low < 1e3 * log.step_times.min()
    assert high > 100.0


@pytest.mark.slow
def test_plot_of_a_log_or_a_file_has_all_panels(log, tmp_path):
    log.save(tmp_path / "loop.npz")
    for each in (log, mpc.ClosedLoop.load(tmp_path / "loop.npz")):
        figure = each.plot(tmp_path / "page.png", title="slider")
        assert (tmp_path / "page.png").stat().st_size > 10_000
        labels = [axes.get_ylabel() for sub in figure.subfigs for axes in sub.get_axes()] if figure.subfigs else []
        labels += [axes.get_ylabel() for axes in figure.axes]
        assert {"position [m]", "control [N]", "violation", "steps"} <= set(labels)
        assert figure.get_suptitle().startswith("slider, 2 s of closed loop in 20 steps of 100 ms: ")
    with pytest.raises(InvalidArgumentError, match="path: expected a file ending in .png or .pdf or .svg"):
        plot_closed_loop(log, tmp_path / "page.txt")


def test_the_plot_separates_violations_of_plans_and_of_the_loop(log):
    changed = {field.name: getattr(log, field.name) for field in fields(log)}
    changed |= {"plan_violations": np.full(20, 0.1)}

    def panel(**changes):
        axes = Figure().subplots()
        _draw_violations(axes, mpc.ClosedLoop(**changed | changes))
        return axes.get_title(), [text.get_text() for text in axes.get_legend().get_texts()]

    kept = {name: 0.0 * values for name, values in log.violations.items()}
    assert panel() == ("", ["planned, worst knot", "speed"])
    title = "all constraints hold in closed loop; plans violate some ahead"
    assert panel(violations=kept) == (title, ["planned, worst knot"])


def test_a_motion_is_a_solution_for_other_pictures(log):
    assert isinstance(log.motion, Solution)
    assert np.allclose(log.motion.times, log.times)
    assert np.allclose(log.motion.us[:, 0], _applied(log), atol=1e-12)
    gaps = log.motion.gaps()  # what the pushes did: controls are those of the plant, delay included
    assert np.allclose(gaps[1:5, 1], 0.0, atol=1e-12)
    assert abs(gaps[6, 1]) > 0.3
    from trajopt.plotting import plot_constraints

    assert plot_constraints(log.motion).axes


def _applied(log):
    """Mean controls of the periods: the last one for 10 ms, then the new one."""
    return np.array([log.us[0, 0], *(0.1 * log.us[:-1, 0] + 0.9 * log.us[1:, 0])])


def test_plotting_a_log_without_steps_is_refused():
    with pytest.raises(mpc.ClosedLoopError) as told:
        mpc.simulate(controller(), lambda x, u, dt: [np.inf, 0.0], X0, 1.0)
    with pytest.raises(InvalidArgumentError, match="log: expected a closed loop with at least one step"):
        told.value.log.plot()
    assert told.value.log.report()["steps"] == "no step"


def test_animating_a_system_without_a_body_is_refused(log, tmp_path):
    with pytest.raises(
        InvalidArgumentError, match="expected a robot, a state with coordinates x and y, or a model with"
    ):
        log.animate(tmp_path / "loop.gif")
    with pytest.raises(InvalidArgumentError, match="expected a robot, a state with coordinates x and y"):
        log.film(tmp_path / "loop.gif")


@pytest.mark.slow
def test_an_arm_can_be_animated(tmp_path, monkeypatch):
    from tests.mpc import support

    own = mpc.MPCController(support.arm(N=4, dt=0.05), "SolverSQP")
    own.follow("hand.reference", support.target)
    log = mpc.simulate(own, None, own.problem.x0, 0.2)
    path = log.animate(tmp_path / "arm.gif")
    assert path.stat().st_size > 1000
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)
    assert log.film(tmp_path / "arm.png", time=0.2, obstacles=[[1.0, 0.0, 0.1]]).stat().st_size > 1000
    hand, *others = log.tracked
    assert all(each.name.startswith("posture") for each in others)
    assert (hand.name, hand.labels, hand.unit) == ("hand", ("x", "y", "z"), "m")
    assert np.allclose(hand.actual, own.problem.state.robot.placement(log.xs[:-1, :7], "panda_hand")[:, :3, 3])
    assert np.allclose(hand.reference, [support.target(t) for t in log.times[:-1]])
    assert len(log.plot_controls().axes) == 3  # torques of 87 N m, of 12 N m, constraints


class Trolley(trajopt.DifferentialActionModelSymbolic):
    """x = (place, rate): the motor's rate is a state."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(0.1 * x[1], u[0])


def test_only_the_elements_of_a_cost_are_tracked() -> None:
    """The place has no cost, so its distance from 0 is no error."""
    state = trajopt.StateVector(2, names=["place", "rate"], units=["m", "rad/s"])
    rate = trajopt.ResidualModelState(state, elements=["rate"])
    costs = trajopt.CostStack(state).add("slow", rate, 1.0).add("u", trajopt.ResidualModelControl(state), 1e-2)
    problem = trajopt.ShootingProblem(
        [1.0, 2.0], [trajopt.IntegratedActionModelEuler(Trolley(state, 1, costs), 0.1)] * 3, trajopt.CostStack(state)
    )
    (only,) = tracked_quantities(SolverFDDP(problem).solve())
    assert (only.labels, only.unit) == (("rate",), "rad/s")


def test_places_that_an_estimator_believed_are_drawn_with_the_motion(tmp_path):
    """An estimator believes x to be 30 cm larger; a file has the same points, and a loop without noise has none."""
    knots = [trajopt.ActionModelUnicycle(dt=0.1)] * 10
    own = mpc.MPCController(trajopt.ShootingProblem([-1.0, 0.2, 0.0], knots, trajopt.ActionModelUnicycle()))
    log = mpc.simulate(own, None, [-1.0, 0.2, 0.0], 1.0, estimator=lambda t, y, u: y + np.array([0.3, 0.0, 0.0]))

    def believed(each):
        (motion,) = [axes for axes in each.plot().axes if axes.get_xlabel() == "x [m]"]
        return [line.get_xydata() for line in motion.lines if line.get_label() == "estimates"]

    for each in (log, mpc.ClosedLoop.load(log.save(tmp_path / "log.npz"))):
        (points,) = believed(each)
        np.testing.assert_allclose(points, log.xs[:-1, :2] + np.array([0.3, 0.0]))
    assert not believed(mpc.simulate(own, None, [-1.0, 0.2, 0.0], 1.0))
