"""Report of a legged motion: soles that tip, soles that don't, friction coefficients that the problem knows."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy as np
import pytest

from tests.support.unsolved import trot
from trajopt import problems
from trajopt.analysis import legged_motion, motion_report
from trajopt.analysis.report import cone_margin, tipping_margin
from trajopt.robots.legged import legged_robot
from trajopt.solution import Solution

SOLE = legged_robot("small-biped").sole or (0.0, 0.0)  # that of the problem, smaller than the robot's


@functools.cache
def walk(*, limits: bool) -> Solution:
    case = problems.load("biped-walk", "small-biped", limits=limits)
    return case.solve()


def farthest_pressure(solution: Solution) -> tuple[str, int, float]:
    """Foot, knot and distance of the centre of pressure beyond half the sole, by the largest torque beyond it [m]."""
    found = []
    assert solution.times is not None
    for name, wrench in solution.contact_forces().items():
        for i, half in ((4, SOLE[0] / 2), (3, SOLE[1] / 2)):
            beyond = np.abs(wrench[:, i]) - half * wrench[:, 2]
            beyond[(np.diff(solution.times) == 0.0) | ~(wrench[:, 2] > 0.0)] = -np.inf  # impulses, feet in the air
            t = int(beyond.argmax())
            found.append((beyond[t], name, t, abs(wrench[t, i]) / wrench[t, 2]))
    return max(found)[1:]


def test_a_sole_that_tips_is_named_with_knot_and_place() -> None:
    solution = walk(limits=False)
    foot, knot, place = farthest_pressure(solution)
    assert place > SOLE[1] / 2
    words = motion_report(solution)["tipping"]
    assert words.startswith(f"the centre of pressure leaves the problem's sole ({foot}, knot {knot}, ")
    assert f"{1e3 * place:.1f} mm from its middle, half its side is 30.0 mm" in words
    text = solution.explain()
    assert f"  tipping: {words}" in text.splitlines()
    assert "-> to keep the forces within the soles: gait_problem(..., limits=True), with SolverSQP" in text


@pytest.mark.slow
def test_soles_within_their_limits_are_said_to_be() -> None:
    solution = walk(limits=True)
    motion = legged_motion(solution)
    assert abs(tipping_margin(motion)) < 1e-5 * motion.weight
    words = motion_report(solution)["tipping"]
    assert re.fullmatch(
        r"none, forces are within the soles; one is at its edge \((left|right)_sole, knot \d+, .* s\)", words
    )
    assert "to keep the forces within the soles" not in solution.explain()


def test_the_friction_coefficient_is_that_of_the_problem() -> None:
    solution = trot()
    motion = legged_motion(solution)
    known = {mu for foot in motion.feet for mu in foot.mu[np.isfinite(foot.mu)]}
    assert known == {0.7}
    assert motion_report(solution) == motion_report(solution, 0.7)
    assert "(mu = 0.5)" in motion_report(solution, 0.5)["friction"]
    smooth = dataclasses.replace(
        motion, feet=tuple(dataclasses.replace(foot, mu=np.full(foot.mu.shape, np.nan)) for foot in motion.feet)
    )
    assert cone_margin(smooth) == np.inf
    assert cone_margin(smooth, 0.7) == pytest.approx(cone_margin(motion))
