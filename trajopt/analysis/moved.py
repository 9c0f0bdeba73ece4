"""Displacement of a floating base: distance in its first heading, turn about the vertical, and whether it fell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from trajopt.analysis.basics import time_words
from trajopt.analysis.legs import LeggedMotion, is_free_body, legged_motion
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


_LEVEL = np.radians(45.0)  # a base that ends with a larger tilt has tipped over [rad]
_SUNK = 0.5  # a base that ends below this share of its first height above the lowest contact has fallen [-]
_STRAIGHT = np.radians(0.5)  # a smaller turn is not reported [rad]
_THERE = 5e-3  # largest displacement of a foot that stays on its spot [m]
_AHEAD = 0.1  # smallest horizontal part of a unit vector that has a heading [-]


@dataclass(frozen=True, kw_only=True)
class Displacement:
    """Displacement of a floating base from the first to the last knot of a motion.

    Attributes:
        step: Translation (3,) forward, to the left and up, in the heading of the base at the first knot [m].
        turn: Turn about the vertical, positive to the left, full turns included; NaN for a motion on which the
            base tips over, as it then has no heading [rad].
        tilts: Angle (T + 1,) between the base's z axis and the vertical [rad].
        heights: Height (T + 1,) of the base's origin above the lowest contact point [m].
    """

    step: Reals
    turn: float
    tilts: Reals
    heights: Reals

    @property
    def tips_over(self) -> bool:
        """Whether the base starts within 45 degrees of upright, and ends beyond."""
        return bool(self.tilts[0] < _LEVEL < self.tilts[-1])

    @property
    def falls(self) -> bool:
        """Whether the base ends below half of its first height above the lowest contact point."""
        return bool(self.heights[-1] < _SUNK * self.heights[0])


def displacement(solution: Solution, motion: LeggedMotion | None = None) -> Displacement:
    """Returns the displacement of the floating base of a legged motion.

    Args:
        solution: A solution of a robot with a floating base and contacts, or of its reduced model.
        motion: The motion from `legged_motion`; None to compute it.
    """
    places, robot = solution.xs[:, :3], solution.robot
    turns = np.tile(np.eye(3), (len(places), 1, 1))  # centroidal dynamics have no base
    if robot is not None and robot.floating_base:
        turns = np.array([pin.Quaternion(q / np.linalg.norm(q)).matrix() for q in solution.xs[:, 3:7]])
    ahead = turns[:, :2, 0]  # of the base's x axis; without a heading at the first knot the world's axes count
    c, s = ahead[0] / np.linalg.norm(ahead[0]) if np.linalg.norm(ahead[0]) > _AHEAD else (1.0, 0.0)
    step = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ (places[-1] - places[0])
    tilts = np.arccos(np.clip(turns[:, 2, 2], -1.0, 1.0))
    yaws = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    feet = (legged_motion(solution) if motion is None else motion).feet
    heights = places[:, 2] - np.min([foot.positions[:, 2] for foot in feet], axis=0)
    turn = float(yaws[-1] - yaws[0]) if tilts.max() < _LEVEL else np.nan
    return Displacement(step=step, turn=turn, tilts=tilts, heights=heights)


def moved_words(solution: Solution, motion: LeggedMotion | None = None) -> str:
    """Returns the displacement of the base in text: forward and to the left of its first heading, turn, and fall.

    For example "+0.300 m forward, +0.000 m to the left, turned 90° left in 1.20 s". Turns below half a degree are left
    out. A single free body has no front: "+0.654 m along x, +0.117 m along y in 3.00 s" is in the world's axes. It may
    roll, or rest on any side, which is no fall. If all feet end where they began, the displacement is named that of the
    base.
    """
    moved = displacement(solution, motion)
    duration = time_words(solution, -1, " in {:.2f} {}")
    if is_free_body(solution):
        x, y = np.round(solution.xs[-1, :2] - solution.xs[0, :2], 3) + 0.0
        return f"{x:+.3f} m along x, {y:+.3f} m along y{_turned(moved.turn)}{duration}"
    step = np.round(moved.step, 3) + 0.0  # no -0.000
    on_spot = np.abs(step[:2]).max() > _THERE and _stays(legged_motion(solution) if motion is None else motion)
    whose = " (base; the feet stay)" if on_spot else ""
    there = f"{step[0]:+.3f} m forward, {step[1]:+.3f} m to the left"
    return f"{there}{_turned(moved.turn)}{duration}{whose}{_fallen(moved)}"


def speed_words(solution: Solution, motion: LeggedMotion) -> dict[str, str]:
    """Reports the speed of the centre of mass over the ground in text, under the key "speed".

    It is the length of its way between the landings of the foot that lands last, divided by the time from the first to
    the last of them: whole strides, without the half step of the beginning and the rest at the end. If this foot lands
    once, it is that from the first to the last knot. The result is empty for a motion on the spot, without times, and
    if a foot does not step.

    Args:
        solution: The solution.
        motion: Its motion, from `legged_motion`.
    """
    if solution.times is None or is_free_body(solution):
        return {}
    landings = [[knot for knot in motion.landings(foot) if knot] for foot in motion.feet if foot.on_floor]
    if not landings or not all(landings):
        return {}
    knots = max(landings, key=lambda each: each[-1])
    over = "from stride to stride" if len(knots) > 1 else "on average"
    knots = knots if len(knots) > 1 else [0, -1]
    way = float(np.sum(np.linalg.norm(np.diff(motion.com[knots, :2], axis=0), axis=1)))
    time = float(solution.times[knots[-1]] - solution.times[knots[0]])
    return {"speed": f"{way / time:.3f} m/s {over}"} if way > _THERE and time > 0.0 else {}


def fallen_words(solution: Solution, motion: LeggedMotion) -> list[str]:
    """Advice for a replay whose robot tips over or sinks to the ground; empty for one that stays upright."""
    moved = displacement(solution, motion)
    if is_free_body(solution) or not (moved.tips_over or moved.falls):
        return []
    return [
        "-> the robot fell, so lines about feet, limits and goals are those of the fall: compare the kinds of "
        'feedback, replay(..., feedback="gains"), "springs" and "gains+springs"'
    ]


def _stays(motion: LeggedMotion) -> bool:
    """Whether all feet end where they began."""
    steps = [np.linalg.norm(foot.positions[-1, :2] - foot.positions[0, :2]) for foot in motion.feet]
    return bool(max(steps, default=0.0) < _THERE)


def _turned(turn: float) -> str:
    """Text for a turn about the vertical [rad]; empty for none."""
    if not abs(turn) >= _STRAIGHT:
        return ""
    return f", turned {np.degrees(abs(turn)):.0f}° {'left' if turn > 0 else 'right'}"


def _fallen(moved: Displacement) -> str:
    """Text for a base that tips over or sinks to the ground; empty for one that stays upright."""
    if moved.tips_over:
        return f"; tipped over, the base ends {np.degrees(moved.tilts[-1]):.0f}° from upright"
    if not moved.falls:
        return ""
    first, last = np.round(moved.heights[[0, -1]], 2) + 0.0
    return f"; fell, the base ends {last:.2f} m above the lowest contact, {first:.2f} m at first"
