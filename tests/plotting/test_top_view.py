"""View from above beside the pictures of a gait that turns or leaves a line."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import trajopt
from tests.support.texts import check_texts
from tests.support.unsolved import solution_of
from trajopt import gaits
from trajopt.analysis import legged_motion
from trajopt.plotting import plot_summary
from trajopt.plotting.top_view import winds
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.solution import Solution


def trot(turn: float) -> Solution:
    """The guess of a trot along an arc."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=2, turn=turn, dt=0.02)
    problem = gaits.gait_problem(robot, schedule)
    return solution_of(problem, *gaits.gait_guess(problem, schedule))


def from_above(figure: Figure) -> list[object]:
    return [axes for axes in figure.axes if axes.get_xlabel() == "x [m]" and axes.get_ylabel() == "y [m]"]


def test_a_gait_that_turns_is_seen_from_above_too() -> None:
    solution = trot(np.pi / 3)
    motion = legged_motion(solution)
    figure = plot_summary(solution)
    check_texts(figure)
    (axes,) = from_above(figure)
    lines = axes.get_lines()  # type: ignore[attr-defined]
    (path,) = [line for line in lines if line.get_label() == "path of the base"]
    np.testing.assert_array_equal(path.get_xydata(), solution.xs[:, :2])
    dots = np.concatenate([line.get_xydata() for line in lines if line.get_label() == "_footprint"])
    prints = np.concatenate([foot.positions[motion.landings(foot), :2] for foot in motion.feet])
    np.testing.assert_allclose(np.sort(dots, axis=0), np.sort(prints, axis=0), atol=1e-12)
    (arrows,) = [each for each in axes.collections if hasattr(each, "U")]  # type: ignore[attr-defined]
    yaw = np.unwrap(np.arctan2(arrows.V, arrows.U))
    assert yaw[-1] - yaw[0] == pytest.approx(np.pi / 3, abs=0.02)
    assert {"path of the base", "heading", "foothold"} <= {text.get_text() for text in figure.findobj(Text)}


def test_a_gait_along_a_line_is_not() -> None:
    solution = trot(0.0)
    assert not from_above(plot_summary(solution))
    bent, motion = solution.xs.copy(), legged_motion(solution)
    bent[:, 1] += 0.5 * np.sin(np.linspace(0.0, np.pi, len(bent)))  # aside and back, without a turn
    assert winds(dataclasses.replace(solution, xs=bent), motion) == (np.ptp(solution.xs[:, 0]) > 0.2)
