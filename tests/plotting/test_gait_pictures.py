"""Pictures of ready gaits: their numbers are those of the report, no landing is left out, names stand apart."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.plotting.test_plotting import legend_texts
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.analysis import legged_motion, motion_report, reached
from trajopt.analysis.legs import LeggedMotion
from trajopt.plotting import plot_com, plot_contact_forces, plot_cost_terms, plot_feet, plot_motion, plot_summary
from trajopt.plotting.com import short_names
from trajopt.plotting.forces import _draw_use
from trajopt.plotting.style import PALETTE, line_look
from trajopt.solution import Solution, SolverStatus


@functools.cache
def gait(name: str) -> Solution:
    """A ready gait along its guess; nothing has to be compiled for a solve."""
    case = problems.load(name, "small-quadruped" if name.startswith("quadruped") else "small-biped")
    us = case.problem.quasi_static(case.xs[:-1])
    return solution_of(case.problem, case.xs, us, SolverStatus.CONVERGED)  # as if the guess were a motion


@pytest.mark.parametrize("name", ["quadruped-trot", "biped-walk"])
def test_the_heading_has_the_numbers_of_the_report(name: str) -> None:
    solution = gait(name)
    line = " ".join(plot_summary(solution).get_suptitle().splitlines()[1:])
    report = motion_report(solution, 0.7)
    assert f"moved {report['moved']}" in line
    rows = reached(solution)
    for what, start, scale, digits in (("length", "steps of", 1.0, 3), ("clearance", "feet rise", 1e3, 0)):
        values = [scale * row.reached for row in rows if row.what == what]
        told = re.search(rf"{start} ([-\d.]+)(?: to ([-\d.]+))? ", line)
        assert told is not None
        ends = [float(end) for end in told.groups() if end is not None]
        assert ends[0] == pytest.approx(min(values), abs=10.0**-digits)
        assert ends[-1] == pytest.approx(max(values), abs=10.0**-digits)
        asked = {round(scale * row.asked, digits) for row in rows if row.what == what}
        assert len(asked) > 0


def test_the_heading_includes_a_step_that_ends_with_the_horizon() -> None:
    solution = gait("biped-walk")
    lengths = {round(row.asked, 3) for row in reached(solution) if row.what == "length"}
    assert len(lengths) == 2
    assert f"{min(lengths):.3f} to {max(lengths):.3f}" in plot_summary(solution).get_suptitle()


def landings(motion: LeggedMotion) -> dict[str, list[int]]:
    return {foot.name: motion.landings(foot) for foot in motion.feet}


def test_a_landing_at_the_end_is_a_foothold() -> None:
    solution = gait("biped-walk")
    motion, T = legged_motion(solution), len(solution.us)
    assert [knots[-1] == T for knots in landings(motion).values()].count(True) == 1
    above = plot_com(solution).axes[0]
    prints = [patch for patch in above.patches if patch.get_label() == "_footprint"]
    assert len(prints) == sum(len(knots) for knots in landings(motion).values()) == 4
    last = next(foot for foot in motion.feet if foot.lands)
    corners = last.positions[-1, :2] + last.outline[-1, :, :2]
    assert any(np.allclose(patch.get_xy()[:-1], corners) for patch in prints)
    side = plot_feet(solution).axes[-1]
    marks = [line for line in side.get_lines() if line.get_label() == "_foothold"]
    assert sum(len(line.get_xdata()) for line in marks) == 4


def test_a_foot_that_is_in_the_air_at_the_end_does_not_land() -> None:
    solution = gait("biped-walk")
    assert solution.problem is not None
    schedule = solution.problem.schedule
    try:
        solution.problem.schedule = None
        assert not any(foot.lands for foot in legged_motion(dataclasses.replace(solution)).feet)
    finally:
        solution.problem.schedule = schedule


def test_soft_touch_downs_have_no_number() -> None:
    """Those that change the robot's velocity by less than 1 mm/s."""
    solution = gait("quadruped-trot")
    mass = legged_motion(solution).weight / 9.81
    still = solution.xs.copy()
    assert solution.robot is not None
    still[:, solution.robot.nq :] = 0.0
    soft = dataclasses.replace(solution, xs=still)
    impulses = [abs(float(f.normal_impulses[k])) for f in legged_motion(soft).feet for k in f.hits]
    assert max(impulses) < 1e-3 * mass
    texts = [text.get_text() for axes in plot_contact_forces(soft).axes for text in axes.texts]
    assert not [text for text in texts if "N s" in text]
    labels = legend_texts(plot_contact_forces(soft))
    assert "touch-down" in labels
    assert "negative impulse: pulls" not in labels


def test_names_of_feet_do_not_overlap_and_are_inside_the_map() -> None:
    for name in ("quadruped-trot", "biped-walk"):
        figure = plot_com(gait(name), figure=Figure(figsize=(4.2, 3.9), dpi=100, layout="constrained"))
        figure.draw_without_rendering()
        axes = figure.axes[0]
        names = [text for text in axes.texts if text.get_text()]
        boxes = [text.get_window_extent() for text in names]
        assert len(boxes) == len(short_names(legged_motion(gait(name))))
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        frame = axes.get_window_extent()
        for box in boxes:
            assert frame.y0 <= box.y0
            assert box.y1 <= frame.y1


def test_names_lose_the_ending_that_all_share() -> None:
    assert list(short_names(legged_motion(gait("biped-walk"))).values()) == ["right", "left"]
    assert list(short_names(legged_motion(gait("quadruped-trot"))).values()) == ["lf", "rf", "lh", "rh"]


def test_cost_terms_of_a_gait_all_have_a_colour_of_their_own() -> None:
    figure = plot_cost_terms(gait("quadruped-trot"))
    (legend,) = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    colours = [handle.get_color() for handle in legend.legend_handles]
    assert len(colours) > 8
    assert len(set(colours)) == len(colours)
    assert len({line_look(i)["color"] for i in range(12)}) == len(PALETTE) == 12


def test_pictures_show_the_used_share_of_a_sole_and_tipping() -> None:
    """The centre of pressure is moved beyond the edge of one foot, and inside of the other."""
    solution = gait("biped-walk")
    motion = legged_motion(solution)
    half = np.array([0.07, 0.03])
    feet = []
    for foot, share in zip(motion.feet, (1.2, 0.6)):
        forces = np.where(foot.stands[:, None], [0.0, 0.0, 100.0], np.nan)
        lever = share * half[1]  # along y, in the axes of the world as the robot looks along x
        torques = np.where(foot.stands[:, None], [100.0 * lever, 0.0, 0.0], np.nan)
        feet.append(dataclasses.replace(foot, forces=forces, torques=torques))
        np.testing.assert_allclose(feet[-1].pressures[foot.stands, 1] - foot.positions[:-1][foot.stands, 1], lever)
        turned = np.abs(foot.outline[:-1][foot.stands]).max(axis=1)[:, :2] - half
        level = np.abs(turned).max(axis=1) < 1e-9
        np.testing.assert_allclose(feet[-1].sole_use[foot.stands][level], share, rtol=1e-6)
        assert level.any()
        assert np.isnan(feet[-1].sole_use[~foot.stands]).all()
    moved = dataclasses.replace(motion, feet=tuple(feet))
    words = []
    for foot in moved.feet:
        axes = Figure().subplots()
        _draw_use(axes, moved, foot)
        words.append(axes.texts[0].get_text())
    assert words[0].endswith("sole used 120 %: tips")
    assert words[1].endswith("sole used 60 %")
    told = dataclasses.replace(solution, measured={"legs": moved})
    assert plot_summary(told).get_suptitle().endswith("a sole tips")


def test_the_sole_of_a_replay_with_forces_of_a_plant_is_that_of_the_plan() -> None:
    """The plant's sole may be larger, so beyond the plan's one nothing is known to tip; heading and panel agree."""
    plan = gait("biped-walk")
    feet = []
    for foot in legged_motion(plan).feet:
        forces, torques = (
            np.where(foot.stands[:, None], each, np.nan) for each in ([0.0, 0.0, 100.0], [0.0, 20.0, 0.0])
        )
        feet.append(dataclasses.replace(foot, forces=forces, torques=torques))
    legs = dataclasses.replace(legged_motion(plan), feet=tuple(feet), measured=True)
    replay = dataclasses.replace(plan, status=SolverStatus.UNSOLVED, measured={"legs": legs})
    figure = plot_summary(replay)
    assert figure.get_suptitle().replace("\n", " ").endswith("; the centre of pressure leaves a sole of the plan")
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert [text for text in texts if re.search(r"plan's sole used \d+ %$", text)]
    assert "the centre of pressure leaves the plan's sole" in replay.explain()
    assert "-> to keep the forces within the soles" not in replay.explain()


def test_friction_use_of_a_foot_with_little_force_is_reported_separately() -> None:
    """Half of its friction limit while it stands; at two knots it hardly touches, and slides."""
    motion = legged_motion(gait("quadruped-trot"))
    foot = motion.feet[0]
    first, second, *_ = np.flatnonzero(foot.stands)
    words = {}
    for share in (0.005, 0.5):  # of the weight, at those two knots
        normal = np.where(foot.stands, 0.5 * motion.weight, np.nan)
        normal[[first, second]] = share * motion.weight
        along = 0.5 * 0.7 * normal
        along[[first, second]] *= 2.0
        mu = np.full(len(normal), 0.7)
        moved = dataclasses.replace(foot, forces=np.stack([along, 0.0 * normal, normal], axis=1), mu=mu)
        axes = Figure().subplots()
        _draw_use(axes, motion, moved)
        words[share] = axes.texts[0].get_text()
    assert words[0.5] == "friction used 100 % of the cone"
    assert words[0.005] == f"friction used 50 % of the cone (100 % below {0.02 * motion.weight:.2g} N)"


def test_paths_of_all_feet_have_one_name() -> None:
    solution = gait("quadruped-trot")
    assert legend_texts(plot_motion(solution))[0] == "paths of the feet"
    assert legend_texts(plot_motion(solution, frame=["lf_foot", "rh_foot"]))[0] == "paths of lf_foot, rh_foot"


def test_point_feet_use_no_sole() -> None:
    solution = gait("quadruped-trot")
    assert all(np.isnan(foot.sole_use).all() for foot in legged_motion(solution).feet)
    texts = [text.get_text() for axes in plot_contact_forces(solution).axes for text in axes.texts]
    assert [text for text in texts if "friction used" in text]
    assert not [text for text in texts if "sole used" in text]
