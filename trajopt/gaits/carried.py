"""Reference posture that moves and turns with the feet."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_instance
from trajopt.gaits.foothold import UP, between_vectors, heading_of
from trajopt.gaits.on_terrain import between_stances, level_paths, slope_of
from trajopt.gaits.posing import foot_paths
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import check_legged, configuration_of
from trajopt.robots import Robot
from trajopt.types import Reals

LEAST_TURN = np.radians(1.0)
"""Turn from which feet count as turned [rad]."""
LEAST_FEET = 4
"""Number of point feet from which a turn differs from unequal steps [-]."""


def carried_postures(robot: Robot, schedule: ContactSchedule, posture: npt.ArrayLike | None = None) -> Reals:
    """Reference states (T + 1, nx): a posture at rest whose base moves and turns in the plane with the feet.

    Problems and guesses of gaits that turn, see `turns`, or that are on terrain have these references. All knots of
    other gaits share one posture.

    The turn of a gait that turns is the mean turn of the feet. For point feet of unknown heading, it is the rotation
    that fits their positions best. The displacement is the mean over all feet. On terrain, the base also tilts from the
    plane that fits the posture's feet best to that of the footholds, and rises with their mean height.

    Args:
        robot: Robot with a floating base.
        schedule: The gait.
        posture: State (nx,) or configuration (nq,) at the first knot; by default "standing" or "half_sitting".
    """
    q = configuration_of(check_legged(robot), posture, "posture")
    paths = foot_paths(schedule)
    points = paths[:, :, :, 3]
    centres = points.mean(axis=1)
    angles, tilts, leant = np.zeros(len(paths)), np.zeros((len(paths), 2)), np.eye(3)
    if turns(schedule):  # feet that are ahead of others also have a best rotation, of 5 degrees in a walk of a Go2
        known = _turns_of_feet(schedule)
        angles = _turns_of_points(points) if known is None else between_stances(schedule, known)
    if schedule.terrain is not None:
        level = level_paths(schedule)
        centres, tilts = level.mean(axis=1), np.array([slope_of(feet) for feet in level])
        leant = _lean(slope_of(np.array([robot.placement(q, foot)[:3, 3] for foot in schedule.feet])))
    states = np.tile(np.concatenate([q, np.zeros(robot.nv)]), (len(paths), 1))
    for state, turn, centre, tilt in zip(states, angles, centres, tilts):
        lean = _lean(tilt)
        rotation = pin.AngleAxis(float(turn), np.array([0.0, 0.0, 1.0])).toRotationMatrix()
        position = centre + rotation @ (q[:3] - centres[0])
        state[: 2 if schedule.terrain is None else 3] = position[: 2 if schedule.terrain is None else 3]
        state[3:7] = (pin.Quaternion(lean @ rotation @ leant.T) * pin.Quaternion(q[3:7])).coeffs()
    return states


def _lean(slope: Reals) -> Reals:
    """Rotation (3, 3) from level ground to a plane with a slope (2,) along x and y [-]."""
    ahead, left = slope
    return between_vectors(np.array(UP), np.array([-ahead, -left, 1.0]) / np.sqrt(1.0 + ahead**2 + left**2))


def carried_anew(robot: Robot, before: ContactSchedule, after: ContactSchedule, first: Reals) -> Reals | None:
    """Reference states of a gait that replaces another one, (nx,) or (T + 1, nx); None if they stay as they are.

    Args:
        robot: Robot with a floating base.
        before: The gait so far.
        after: The new gait.
        first: Reference state at the first knot so far (nx,).
    """
    if not any(each.terrain is not None or turns(each) for each in (before, after)):
        return None
    posture = first.copy()
    if before.terrain is not None:
        lean = pin.Quaternion(_lean(slope_of(level_paths(before)[0])))
        posture[3:7] = (lean.inverse() * pin.Quaternion(first[3:7])).coeffs()
    if after.terrain is None and not turns(after):
        return posture
    return carried_postures(robot, after, posture[: robot.nq])


def turns(schedule: ContactSchedule) -> bool:
    """Whether the feet of a gait turn about the vertical, and the robot with them, by at least `LEAST_TURN`.

    Soles and footholds of generated gaits have headings; stances after equally many steps of all feet, and the end, are
    compared. Other point feet turn if all lines between them but one at most turn the same way: feet that are ahead of
    others also turn some lines, but neither all nor all in one direction. Fewer than four have too few lines.
    """
    stances, places = check_instance("schedule", schedule, ContactSchedule).stances, [0]
    steps = dict.fromkeys(schedule.feet, 0)
    for i, phase in enumerate(schedule.phases):
        steps |= {name: steps[name] + 1 for name in phase.swinging}
        if len(set(steps.values())) == 1 or i == len(schedule.phases) - 1:
            places.append(i + 1)
    known = _turns_of_feet(schedule)
    if known is not None:
        return bool(np.abs(known[places]).max() >= LEAST_TURN)
    if len(schedule.feet) < LEAST_FEET:
        return False
    first, second = np.array(list(combinations(range(len(schedule.feet)), 2))).T
    points = np.array([[foot.position for foot in stances[i].feet.values()] for i in places])
    x, y, _ = np.moveaxis(points[:, second] - points[:, first], 2, 0)
    turned = np.sort(np.arctan2(x[0] * y - y[0] * x, x[0] * x + y[0] * y), axis=1)
    return bool(max(turned[:, 1].max(), -turned[:, -2].min()) >= LEAST_TURN)


def turning(robot: Robot, schedule: ContactSchedule, posture: Reals) -> Reals | None:
    """Rotations of the base (T + 1, 3, 3) of a gait that turns or is on terrain; None for that of the posture (nq,)."""
    if schedule.terrain is None and not turns(schedule):
        return None
    return np.array([pin.Quaternion(x[3:7]).matrix() for x in carried_postures(robot, schedule, posture)])


def _turns_of_feet(schedule: ContactSchedule) -> Reals | None:
    """Mean turn of the feet about the vertical in each stance (phases + 1,) [rad]; None if a heading is not known."""
    feet = [[*stance.feet.values()] for stance in schedule.stances]
    headings = np.array([[heading_of(f.rotation) if f.sole else f.heading for f in row] for row in feet], dtype=float)
    return None if np.isnan(headings).any() else np.unwrap(headings - headings[0], axis=0).mean(axis=1)


def _turns_of_points(points: Reals) -> Reals:
    """Turn about the vertical since the first knot (T + 1,) [rad], as the best fit to the feet (T + 1, feet, 3)."""
    x, y = np.moveaxis(points - points.mean(axis=1, keepdims=True), -1, 0)[:2]
    turns = np.arctan2(np.sum(x[0] * y - y[0] * x, axis=1), np.sum(x[0] * x + y[0] * y, axis=1))
    return np.unwrap(turns)
