"""Flights of a legged motion: the parabola of the centre of mass, and the heights on which feet land."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from trajopt.analysis.legs import LeggedMotion, is_legged

if TYPE_CHECKING:
    from trajopt.solution import Solution

_EVEN = 0.02  # largest difference between heights of feet that stand on one level [m]


def flight_words(solution: Solution, motion: LeggedMotion) -> dict[str, str]:
    """Reports flights in text, under the keys "flight" and, for feet that end on several levels, "feet".

    The result is empty for a motion without flight.

    Args:
        solution: The solution.
        motion: Its motion, from `legged_motion`.
    """
    far = off_parabola(solution, motion)
    if far is None:
        return {}
    distance = float(f"{1e3 * far:.2g}")  # [mm]
    words = {"flight": f"the centre of mass is within {distance:g} mm of its parabola"}
    levels = _levels(motion) if is_legged(solution) else []
    if len(levels) > 1:
        words["feet"] = "; ".join(f"{', '.join(names)} end at {height:.3f} m" for height, names in levels)
    return words


def off_parabola(solution: Solution, motion: LeggedMotion) -> float | None:
    """Returns the largest distance of the centre of mass from its parabola in all flights [m].

    In a flight that begins at time s it is c(t) = c(s) + ċ(s) (t - s) + ½ g (t - s)². Steps of Euler's method leave it
    by ½ g dt (t - s). The result is None without flights, without times, or for a state that is not that of the robot.

    Args:
        solution: The solution.
        motion: Its motion, from `legged_motion`.
    """
    robot, times, xs = solution.robot, solution.times, solution.xs
    flights = [phase for phase in motion.phases if not phase.feet]
    if robot is None or times is None or not flights or xs.shape[1] != robot.nq + robot.nv:
        return None
    data, far = robot.model.createData(), 0.0
    for phase in flights:
        knots = slice(phase.first, phase.last + 1)
        pin.centerOfMass(robot.model, data, xs[phase.first, : robot.nq], xs[phase.first, robot.nq :])
        t = (times[knots] - times[phase.first])[:, None]
        parabola = data.com[0] + data.vcom[0] * t + 0.5 * robot.model.gravity.linear * t**2
        far = max(far, float(np.linalg.norm(motion.com[knots] - parabola, axis=1).max()))
    return far


def _levels(motion: LeggedMotion) -> list[tuple[float, list[str]]]:
    """Levels on which feet stand at the end, the highest first: mean height [m] and names of the feet."""
    heights = {foot.name: float(foot.positions[-1, 2]) for foot in motion.feet if foot.lands or foot.stands[-1]}
    levels: list[list[str]] = []
    for name in sorted(heights, key=lambda name: -heights[name]):
        if levels and heights[levels[-1][-1]] - heights[name] <= _EVEN:
            levels[-1].append(name)
        else:
            levels.append([name])
    return [(float(np.mean([heights[n] for n in names])), [n for n in heights if n in names]) for names in levels]
