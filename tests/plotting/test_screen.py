"""All pictures fit on the screen of a laptop, and say what they show."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.image import imread

import trajopt
from tests.plotting.test_plotting import T, history, legend_texts, make, robot_solution, visible
from tests.plotting.test_plotting_legged import jump, trot, walk  # noqa: F401  (fixtures)
from tests.support.screens import check_screen
from trajopt import problems
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.analysis.limbs import limbs_of
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_convergence, plot_pages, plot_path, plot_solution, plot_summary
from trajopt.plotting.ranges import clear_range
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots import load_robot
from trajopt.solvers import SolverFDDP
from trajopt.states import StateVector


@pytest.mark.parametrize(
    ("name", "robot", "unitless"),
    [
        ("pendulum", None, ()),
        ("cart-pole", None, ()),
        ("double-pendulum", None, ()),
        ("unicycle", None, ()),
        ("lqr", None, ("state", "control")),
        ("arm-reach", "planar-3r", ()),
    ],
)
def test_pages_of_ready_cases_fit_on_a_screen(name, robot, unitless):
    case = problems.load(name, robot)
    solution = case.solve()
    pages = plot_pages(solution, title=case.name)
    assert list(pages) == ["summary", "solver"]
    for page in pages.values():
        check_screen(page, unitless=unitless)
        assert page.get_suptitle().startswith(f"{name}, SolverFDDP: converged, cost ")


@pytest.mark.slow
@pytest.mark.parametrize("gait", ["trot", "walk"])
def test_pages_of_gaits_fit_on_a_screen(gait, request):
    solution, _ = request.getfixturevalue(gait)
    pages = plot_pages(dataclasses.replace(solution, history=history()))
    assert list(pages) == ["summary", "joints", "contacts", "space", "solver"]
    for page in pages.values():
        check_screen(page)


def test_the_summary_of_a_jump_fits_on_a_screen_and_shows_its_height(jump):  # noqa: F811
    solution, schedule = jump
    figure = plot_summary(solution)
    check_screen(figure)
    com = trajopt.analysis.legged_motion(solution).com[:, 2]
    asked = 1e3 * (np.nanmax(schedule.com_references[:, 2]) - com[0])
    assert f"centre of mass rises {1e3 * np.ptp(com):.0f} mm ({asked:.0f} asked)" in figure.get_suptitle()


@pytest.mark.slow
def test_pages_are_written_beside_the_summary_with_the_pixels_of_a_screen(walk, tmp_path):  # noqa: F811
    plot_pages(walk[0], tmp_path / "gait.png")
    files = {path.name: imread(path).shape[:2] for path in tmp_path.iterdir()}
    assert set(files) == {"gait.png", "gait-joints.png", "gait-contacts.png", "gait-space.png", "gait-solver.png"}
    assert set(files.values()) == {(900, 1400)}


def test_the_heading_of_a_gait_compares_reached_and_requested_values(trot):  # noqa: F811
    solution, _ = trot
    lines = plot_summary(solution).get_suptitle().splitlines()
    foot = trajopt.analysis.legged_motion(solution).feet[0]
    rise = 1e3 * (foot.positions[15:26, 2].max() - foot.positions[15, 2])
    asked = 1e3 * (np.nanmax(foot.references[15:26, 2]) - foot.positions[15, 2])
    assert f"feet rise {rise:.0f} mm ({asked:.0f} asked)" in lines[1]
    assert "steps of 0.050 to 0.100 m" in lines[1]


# --- columns by limb --------------------------------------------------------------------------------------------------


def test_joints_of_a_quadruped_have_a_column_for_each_leg(trot):  # noqa: F811
    figure = plot_solution(trot[0])
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title for title in titles if title] == ["base", "FL", "FR", "RL", "RR"]
    assert legend_texts(figure).count("thigh") == 4
    torque = [axes for axes in figure.axes if axes.get_ylabel() == "torque [N m]"]
    assert list(visible(torque[0])) == ["FL_hip_joint", "FL_thigh_joint", "FL_calf_joint"]
    np.testing.assert_array_equal(visible(torque[1])["FR_calf_joint"].get_ydata()[:-1], trot[0].us[:, 5])


def test_limbs_of_a_humanoid_are_chains_and_small_ones_are_one():
    limbs = limbs_of(load_robot("talos").model)
    assert set(limbs.values()) == {"leg_left", "leg_right", "torso, head", "arm_left", "arm_right"}
    assert limbs["gripper_left_joint"] == "arm_left"
    assert "root_joint" not in limbs
    assert not limbs_of(load_robot("planar-3r").model)


@pytest.mark.parametrize(
    ("robot", "legs"), [("small-quadruped", {"lf", "rf", "lh", "rh"}), ("solo12", {"FL", "FR", "HL", "HR"})]
)
def test_limbs_have_whole_words_as_names(robot, legs):
    """ "lf" for lf_haa and lf_hfe, not "lf_h"."""
    assert set(limbs_of(load_robot(robot).model).values()) == legs


def test_capitals_begin_words_too():
    model = pin.Model()
    for side in ("L", "R"):
        joint = 0
        for name in ("HipYaw", "HipRoll", "KneePitch", "AnklePitch", "AnkleRoll"):
            joint = model.addJoint(joint, pin.JointModelRX(), pin.SE3.Identity(), f"{side}_{name}")
    assert set(limbs_of(model).values()) == {"L_Hip", "R_Hip"}


def test_two_fingers_have_one_name_above_their_column():
    assert set(limbs_of(load_robot("panda").model).values()) == {"panda_joint", "panda_finger_joint"}


# --- spikes -----------------------------------------------------------------------------------------------------------


def test_one_spike_does_not_stretch_an_axis_and_its_peak_is_labelled():
    solution = robot_solution(load_robot("planar-2r"))
    xs = np.tile(solution.xs, (10, 1))
    xs[40, 3], xs[60, 2] = 250.0, -300.0
    us = np.ones((len(xs) - 1, 2))
    times = np.arange(len(xs)) * 0.01
    velocity = plot_solution(make(solution.problem.state, xs, us, times=times)).axes[1]
    low, high = velocity.get_ylim()
    assert -20 < low < high < 20
    assert {text.get_text() for text in velocity.texts} == {"250", "-300"}
    assert len([line for line in velocity.get_lines() if line.get_label() == "_peak"]) == 2


def test_a_limit_that_only_a_spike_exceeds_is_shown():
    us = np.linspace(-1.0, 1.0, 100)[:, None] * np.ones(2)
    us[50, 0] = 100.0
    limits = {"lower": [-40.0, -90.0], "upper": [40.0, 90.0]}
    axes = plot_solution(make(StateVector(1), np.zeros((101, 1)), us, times=np.arange(101.0), **limits)).axes[1]
    assert sorted(line.get_ydata()[0] for line in axes.get_lines() if line.get_label() == "_limit") == [-40.0, 40.0]
    assert axes.get_ylim()[1] == pytest.approx(40, rel=0.15)
    assert [text.get_text() for text in axes.texts] == ["100"]


@pytest.mark.parametrize(
    "values", [np.sin(np.linspace(0, 9, 200)), np.exp(-np.linspace(0, 40, 200)), np.zeros(5), np.array([0.0, 0.0, 9.0])]
)
def test_a_range_without_a_spike_is_that_of_the_values(values):
    assert clear_range(values) == (values.min(), values.max())
    assert clear_range(np.append(values, np.nan)) == (values.min(), values.max())


def test_the_range_of_no_finite_values_is_zero_to_one():
    assert clear_range(np.full(3, np.nan)) == (0.0, 1.0)


# --- few knots --------------------------------------------------------------------------------------------------------


def test_a_horizon_of_no_knots_shows_its_state_as_points():
    solution = make(StateVector(2), np.ones((1, 2)), np.zeros((0, 1)), times=np.zeros(1), terms={"end": np.ones(1)})
    (axes,) = plot_solution(solution).axes
    assert [line.get_marker() for line in visible(axes).values()] == ["o", "o"]
    low, high = axes.get_xlim()
    assert low < 0 < high
    check_screen(plot_summary(solution), unitless=("state",))


def test_units_of_controls_are_in_the_labels():
    solution = make(StateVector(1), np.zeros((T + 1, 1)), np.ones((T, 2)), names=["a", "b"], units=["m/s²", "N"])
    assert [axes.get_ylabel() for axes in plot_solution(solution).axes[1:]] == ["control [m/s²]", "control [N]"]
    unicycle = problems.load("unicycle").problem.running[0]
    assert (unicycle.control_names, unicycle.control_units) == (["v", "omega"], ["m/s", "rad/s"])
    with pytest.raises(InvalidArgumentError, match="control_units: expected 1 units, one for each control, got"):
        trajopt.actions.base.check_units("control_units", ["m", "s"], 1)


# --- paths ------------------------------------------------------------------------------------------------------------


class Point(trajopt.DifferentialActionModelSymbolic):
    """A point under a force: dv/dt = u."""

    def acceleration(self, x, u):
        return u


@pytest.fixture(scope="module")
def flight():
    """A point that flies through a waypoint to a goal."""
    state = StateVector(6, names=["x", "y", "z", "vx", "vy", "vz"], units=["m"] * 3 + ["m/s"] * 3)
    effort, here = ResidualModelControl(state), ActivationModelWeightedQuad([1, 1, 1, 0, 0, 0])
    still = ActivationModelWeightedQuad([0, 0, 0, 1, 1, 1])

    def knot(**terms):
        costs = trajopt.CostStack(state).add("effort", effort, 0.1)
        for name, (reference, weight, activation) in terms.items():
            costs.add(name, ResidualModelState(state, reference), weight, activation)
        return trajopt.IntegratedActionModelEuler(Point(state, 3, costs, control_units=["m/s²"] * 3), dt=0.05)

    slow = {"slow": (np.zeros(6), 1e-3, still)}  # asks for no position
    free, way = knot(**slow), knot(**slow, way=([1, 1, 1, 0, 0, 0], 1e4, here))
    goal = ResidualModelState(state, [2, 0, 0.5, 0, 0, 0])
    end = trajopt.CostStack(state).add("goal", goal, 1e3).add("idle", ResidualModelState(state, np.full(6, 9.0)), 0.0)
    return SolverFDDP(trajopt.ShootingProblem(np.zeros(6), [free] * 20 + [way] + [free] * 20, end)).solve()


def test_a_path_has_its_waypoint_its_goal_and_obstacles(flight):
    figure = plot_path(flight, obstacles=[[0.5, 0.6, 0.5, 0.2]])
    axes = figure.axes[0]
    assert axes.name == "3d"
    np.testing.assert_allclose(np.array(visible(axes)["path"].get_data_3d()).T, flight.xs[:, :3])
    marks = np.array(visible(axes)["targets"].get_data_3d()).T
    np.testing.assert_allclose(marks[np.argsort(marks[:, 0])], [[1, 1, 1], [2, 0, 0.5]])
    assert [c.get_label() for c in axes.collections].count("_obstacle") == 1
    check_screen(plot_summary(flight, obstacles=[[0.5, 0.6, 0.2]]))


def test_a_path_in_the_plane_has_the_axes_of_the_body():
    case = problems.load("unicycle")
    turn = np.linspace(0.0, np.pi / 2, case.problem.T + 1)
    xs = np.column_stack([np.cos(turn), np.sin(turn), turn + np.pi / 2])
    solution = make(case.problem.state, xs, np.zeros((case.problem.T, 2)), times=None)
    axes = plot_path(solution, 2, targets=[0.0, 0.0, 0.0], obstacles=[0.3, 0.3, 0.1]).axes[0]
    assert (axes.name, axes.get_aspect(), axes.get_xlabel(), axes.get_ylabel()) == (
        "rectilinear",
        1.0,
        "x [m]",
        "y [m]",
    )
    ahead = visible(axes)["body x"].get_xydata()
    np.testing.assert_allclose(ahead[[0, 3]], [[1, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose((ahead[[1, 4]] - ahead[[0, 3]])[:, 0] < -1e-3, [False, True])
    assert "body z" not in visible(axes)
    (obstacle,) = [patch for patch in axes.patches if patch.get_label() == "_obstacle"]
    np.testing.assert_allclose(np.linalg.norm(obstacle.get_xy() - 0.3, axis=1), 0.1, atol=1e-12)
    for patch in (obstacle.get_xy(), ahead[[1, 4]]):
        assert axes.get_xlim()[0] <= patch[:, 0].min() <= patch[:, 0].max() <= axes.get_xlim()[1]


def test_paths_refuse_what_they_cannot_draw(flight):
    solution = make(StateVector(2), np.zeros((T + 1, 2)), np.zeros((T, 1)))
    with pytest.raises(InvalidArgumentError, match="solution: expected a problem whose states are poses, got another"):
        plot_path(solution)
    with pytest.raises(InvalidArgumentError, match="obstacles: expected none for a solution without a motion"):
        plot_summary(solution, obstacles=[[0, 0, 1]])
    for obstacles in ([1.0, 2.0], [[0, 0, 0]], [[0, 0, 0, -1]]):
        with pytest.raises(InvalidArgumentError, match=r"obstacles: expected rows \(x, y, radius\)"):
            plot_path(flight, obstacles=obstacles)


# --- convergence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("varied", range(4))
def test_convergence_has_no_empty_panel(varied):
    values = {"step_length": [1, 0.5, 1, 1, 1, 1], "regularization": [0, 1, 2, 3, 4, 5], "gap_norm": [1, 0, 0, 0, 0, 0]}
    steady = {name: [1.0] * 6 for name in values}
    figure = plot_convergence(history(**{**steady, **dict(list(values.items())[:varied])}))
    assert len(figure.axes) == 3 + varied
    check_screen(figure)


def test_free_feet_are_the_same_in_a_schedule_and_in_its_solution(jump):  # noqa: F811
    from tests.plotting.test_plotting_legged import chart
    from trajopt.plotting import plot_phases

    solution, schedule = jump
    assert chart(plot_phases(solution).axes[0]) == chart(schedule.plot().axes[0])
    assert chart(schedule.plot().axes[0])["FL_foot"][1] == [(0.04, 0.14, "--")]
