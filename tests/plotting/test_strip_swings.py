"""Strips show each swing near its highest point, as far as there are pictures."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import gaits
from trajopt.analysis import legged_motion
from trajopt.plotting import plot_strip
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.solution import Solution


def lifting(*feet: str) -> Solution:
    """The small quadruped stands long, then lifts these feet one after another, and stands again."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    phases = [gaits.Phase(name="stand", knots=40, stance=stance.names, com=stance.com)]
    for foot in feet:
        others = tuple(name for name in stance.names if name != foot)
        swing = gaits.Swing(foot, stance.feet[foot].position, height=0.05)
        phases.append(gaits.Phase(name=foot, knots=20, stance=others, swings=(swing,), com=stance.com, impulse=False))
    phases.append(gaits.Phase(name="rest", knots=60, stance=stance.names, com=stance.com))
    schedule = gaits.ContactSchedule(start=stance, phases=tuple(phases), dt=0.02)
    problem = gaits.gait_problem(robot, schedule)
    return solution_of(problem, *gaits.gait_guess(problem, schedule, "references"))


@pytest.mark.parametrize(("feet", "frames"), [(("lf_foot",), 4), (("lf_foot",), 6), (("lf_foot", "rh_foot"), 6)])
def test_each_lift_of_a_foot_is_in_a_picture(feet: tuple[str, ...], frames: int) -> None:
    """Pictures even in time missed the one lift of a motion of 2.4 s, which was its whole point."""
    solution = lifting(*feet)
    times = solution.times
    assert times is not None
    shown = [float(label.get_text().split("\n")[0]) for label in plot_strip(solution, frames).axes[0].get_xticklabels()]
    assert len(shown) == frames
    paths = {foot.frame: foot.positions[:, 2] for foot in legged_motion(solution).feet}
    for name in feet:
        heights = np.interp(shown, times, paths[name]) - paths[name].min()
        assert heights.max() > 0.8 * np.ptp(paths[name])
