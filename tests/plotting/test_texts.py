"""Texts of all pictures: none leaves its figure, and none overlaps another or covers a panel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.plotting.test_plotting_legged import jump, trot, uphill, walk  # noqa: F401  (fixtures)
from tests.support.few_iterations import few_iterations
from tests.support.texts import check_texts, recorded, text_faults
from trajopt import gaits, ik, problems
from trajopt.constraints import ConstraintStack
from trajopt.plotting import (
    plot_com,
    plot_configurations,
    plot_contact_forces,
    plot_drives,
    plot_feet,
    plot_phases,
    plot_strip,
    plot_summary,
)
from trajopt.residuals import ResidualModelFrameTranslation
from trajopt.robots import load_robot
from trajopt.solution.motions import described_motion
from trajopt.states import StateMultibody


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["arm-spheres", "cart-push", "parking", "quadrotor-obstacles", "biped-walk", "stand-up"]
)
def test_pictures_of_ready_problems(name: str) -> None:
    case, solution = few_iterations(name)
    check_texts(plot_summary(solution, title=name, obstacles=case.obstacles))
    if name == "arm-spheres":
        check_texts(plot_summary(solution, title=name, page="constraints"))


@pytest.mark.parametrize("draw", [plot_com, plot_contact_forces, plot_feet, plot_phases, plot_strip])
@pytest.mark.parametrize("gait", ["trot", "walk", "jump", "uphill"])
def test_pictures_of_gaits(gait: str, draw: Callable[..., Figure], request: pytest.FixtureRequest) -> None:
    check_texts(draw(request.getfixturevalue(gait)[0]))


def test_pictures_of_schedules(trot: tuple[object, gaits.ContactSchedule]) -> None:  # noqa: F811
    check_texts(trot[1].plot())


@pytest.mark.slow
def test_pictures_of_inverse_kinematics() -> None:
    robot = load_robot("panda")
    state = StateMultibody(robot)
    frame, here = "panda_hand_tcp", [0.4, 0.1, 0.5]
    tasks = ConstraintStack(state).add("hand", ResidualModelFrameTranslation(state, frame, here), equals=0.0)
    result = ik.solve(robot, tasks)
    title = f"panda: {frame} is 0.01 mm from its target"
    check_texts(plot_configurations(robot, result.configurations, points=here, title=title))
    way = np.array(here) + np.linspace(0.0, 0.1, 21)[:, None] * [0.0, 1.0, 0.0]
    check_texts(ik.track(robot, tasks, way, 0.05).plot())


def test_a_joint_at_rest_is_named_below_a_path() -> None:
    robot = load_robot("planar-3r")
    state = StateMultibody(robot)
    here = robot.placement(np.array([0.3, 0.8, 0.5]), "tool")[:3, 3]
    tasks = ConstraintStack(state).add("tool", ResidualModelFrameTranslation(state, "tool"), equals=0.0)
    way = here + np.linspace(0.0, 0.1, 21)[:, None] * [0.0, 0.0, 1.0]
    tracks = [ik.track(robot, tasks, way, 0.05, q0=[0.3, 0.8, 0.5], fixed=fixed) for fixed in ({}, {"joint_2": 0.8})]
    texts = [[text.get_text() for text in track.plot().findobj(Text)] for track in tracks]
    assert ["at rest: joint_2" in each for each in texts] == [False, True]
    check_texts(tracks[1].plot())


SCARA = ("base", "arm1", "arm2", "wrist", "quill")
JOINTS = (
    ("a", "revolute", "0 0 0.35"),
    ("b", "revolute", "0.3 0 0"),
    ("c", "revolute", "0.25 0 0"),
    ("d", "prismatic", "0 0 0"),
)


def test_labels_beside_the_box_of_a_motion_in_space_stay_in_the_page(tmp_path: Path) -> None:
    """A SCARA arm: its wide and low box fills the width of its half of the page."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    parts = [f'<link name="{name}">{body * (name != "base")}</link>' for name in (*SCARA, "tool")]
    for (name, kind, at), parent, child in zip(JOINTS, SCARA, SCARA[1:]):
        limit = '<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="9" effort="9"/>'
        ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
        parts.append(f'<joint name="{name}" type="{kind}">{ends}{limit}</joint>')
    ends = '<parent link="quill"/><child link="tool"/><origin xyz="0 0 -0.2"/>'
    parts.append(f'<joint name="e" type="fixed">{ends}</joint>')
    file = tmp_path / "scara.urdf"
    file.write_text(f'<robot name="scara">{"".join(parts)}</robot>')
    s = np.linspace(0.0, 1.0, 81)[:, None]
    qs = np.array([-1.02, 1.25, -0.23, -0.1]) + (3.0 * s**2 - 2.0 * s**3) * [1.47, -0.05, -0.22, 0.09]
    qs += np.sin(np.pi * s) * [0.0, 0.55, -1.1, 0.0]
    xs, times = np.hstack([qs, np.gradient(qs, 0.006, axis=0)]), 0.006 * np.arange(81.0)
    figure = described_motion(xs, solver="scara", robot=load_robot(str(file)), times=times, goals=()).plot()
    check_texts(figure)
    with recorded() as drawn:
        figure.draw_without_rendering()
    (box,) = [box for text, box in drawn if text == "z [m]"]
    assert box.x0 > 4.0  # [pixel]


@pytest.mark.slow
def test_pictures_of_closed_loops() -> None:
    case = problems.mpc.load("drive-obstacles")
    log = case.simulate(duration=0.2)
    check_texts(log.plot(title=case.name, obstacles=case.obstacles, lines=case.lines))


def test_pictures_of_drives() -> None:
    turn = np.linspace(0.0, 1.0, 30)
    poses = np.column_stack([np.sin(turn), 1.0 - np.cos(turn), turn])
    wheels = {"there": (turn, np.column_stack([turn, 1.0 - turn]))}
    check_texts(plot_drives({"there": poses, "back": poses[::-1]}, points=[[0.2, 0.3]], wheels=wheels, limit=2.0))


@pytest.mark.slow
def test_time_axes_line_up() -> None:
    """Curves above each other, and forces below them, begin and end at the same pixels."""
    figure = plot_summary(few_iterations("hopper")[1])
    figure.draw_without_rendering()
    panels = [axes for axes in figure.axes if axes.get_ylabel().endswith(("[m/s]", "[rad/s]", "[N m]", "force [N]"))]
    assert len(panels) == 4
    for end in ("x0", "x1"):
        ends = [getattr(axes.get_window_extent(), end) for axes in panels]
        assert np.ptp(ends) < 1e-6


@pytest.mark.parametrize(
    ("place", "words"),
    [((0.5, 0.52), "'one' overlaps 'another'"), ((0.99, 0.9), "'another' leaves the figure"), ((0.1, 0.1), "")],
)
def test_faults_are_seen(place: tuple[float, float], words: str) -> None:
    figure = Figure((4.0, 3.0))
    figure.text(0.5, 0.5, "one")
    figure.text(*place, "another")
    faults = text_faults(figure)
    assert bool(faults) == bool(words)
    assert all(fault.startswith(words) for fault in faults)


def test_a_legend_over_a_panel_is_seen() -> None:
    figure = Figure((4.0, 3.0))
    axes = figure.subplots()
    axes.plot([0.0, 1.0], label="curve")
    axes.legend()
    assert text_faults(figure) == ["a legend with 'curve' covers ''"]
