"""Places of a frame that are too far apart for the velocities of the joints and the time between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from trajopt.analysis.basics import rounded_up
from trajopt.analysis.places import hard_places
from trajopt.analysis.reach import chain
from trajopt.solution.solution import Solution

SPARE = 1.2
"""Multiple of the largest speed from which places are too far apart; limits at knots bound no speeds between [-]."""


def too_fast(solution: Solution) -> list[str]:
    """Returns a sentence on two places that a frame cannot reach one after the other; empty if there are none.

    Places are those of hard equations, and that at a fixed x0. A frame moves at most at Σ r v, where v are the limits
    of the joints' velocities that constraints enforce, and r is the largest distance of the frame from each joint.

    Args:
        solution: The solution, with its problem.
    """
    times, robot = solution.times, solution.robot
    if solution.problem is None or robot is None or times is None or solution.description.step_unit != "s":
        return []
    for frame, hard in hard_places(solution).items():
        places = {t: point for t, (point, off) in hard.items() if off == 0.0}
        if solution.description.start == "fixed":
            places[0] = solution.frame_path(frame)[0]
        arm = chain(robot.model, frame)
        if arm is None:
            continue
        for (first, a), (last, b) in pairwise(sorted(places.items(), key=lambda each: each[0])):
            seconds, away = float(times[last] - times[first]), float(np.linalg.norm(b - a))
            most = sum(
                length * _velocity(solution, int(robot.model.idx_vs[joint]), first, last) for joint, length in arm
            )
            if away > SPARE * most * seconds:
                return [
                    f"{frame!r} is to move by {away:.3g} m from knot {first} to knot {last}, within {seconds:.3g} s; "
                    f"with each joint at its limit of velocity it moves at {most:.3g} m/s at most, and needs more than "
                    f"{rounded_up(away / most)} s: leave more time between these knots, or move one of the places"
                ]
    return []


def _velocity(solution: Solution, coordinate: int, first: int, last: int) -> float:
    """Largest velocity of a joint, by its tangent coordinate, that rows allow between two knots [rad/s]; or inf."""
    state, least, knots = solution.description.state, np.inf, slice(first + 1, last + 1)
    assert state is not None
    for rows in solution.description.constraints:
        if rows.soft or state.ndx // 2 + coordinate not in rows.coordinates:
            continue
        i = rows.coordinates.index(state.ndx // 2 + coordinate)
        shift = solution.xs[:, state.nx - state.ndx // 2 + coordinate] - rows.values[:, i]
        ends = [
            np.where(rows.enforced[:, i], np.abs(bound[:, i] + shift), np.inf) for bound in (rows.lower, rows.upper)
        ]
        least = min(least, float(np.max(ends, axis=0)[knots].max()))
    return least
