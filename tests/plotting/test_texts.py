"""Texts of all pictures: none leaves its figure, and none overlaps another or covers a panel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.plotting.test_plotting_legged import jump, trot, uphill, walk  # noqa: F401  (fixtures)
from tests.support.few_iterations import few_iterations
from tests.support.texts import check_texts, text_faults
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
from trajopt.states import StateMultibody


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


def test_pictures_of_closed_loops() -> None:
    case = problems.mpc.load("drive-obstacles")
    log = case.simulate(duration=0.2)
    check_texts(log.plot(title=case.name, obstacles=case.obstacles, lines=case.lines))


def test_pictures_of_drives() -> None:
    turn = np.linspace(0.0, 1.0, 30)
    poses = np.column_stack([np.sin(turn), 1.0 - np.cos(turn), turn])
    wheels = {"there": (turn, np.column_stack([turn, 1.0 - turn]))}
    check_texts(plot_drives({"there": poses, "back": poses[::-1]}, points=[[0.2, 0.3]], wheels=wheels, limit=2.0))


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
