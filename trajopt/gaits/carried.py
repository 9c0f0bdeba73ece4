"""Reference posture that moves and turns with the feet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.gaits.foothold import UP, between_vectors, heading_of
from trajopt.gaits.on_terrain import level_paths, slope_of
from trajopt.gaits.posing import foot_paths
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import check_legged, configuration_of
from trajopt.robots import Robot
from trajopt.types import Reals


def carried_postures(robot: Robot, schedule: ContactSchedule, posture: npt.ArrayLike | None = None) -> Reals:
    """Reference states (T + 1, nx): a posture at rest whose base moves and turns in the plane with the feet.

    By default, all knots of a gait's problem share one reference posture, and so one heading of the base. For a gait
    that turns, set one reference per knot:

    ```python
    problem.set_parameter("state.reference", gaits.carried_postures(robot, schedule), "all")
    ```

    The turn is the mean turn of the soles. For point feet, it is the rotation that fits their positions best. The
    displacement is the mean over all feet. On terrain, the base also tilts with the plane that fits the footholds best,
    and rises with their mean height; problems of such schedules have these references by default.

    Args:
        robot: Robot with a floating base.
        schedule: The gait.
        posture: State (nx,) or configuration (nq,) at the first knot; by default "standing" or "half_sitting".
    """
    q = configuration_of(check_legged(robot), posture, "posture")
    paths = foot_paths(schedule)
    points = paths[:, :, :, 3]
    centres = points.mean(axis=1)
    turns = _turns_of_soles(paths) if all(f.sole for f in schedule.start.feet.values()) else _turns_of_points(points)
    tilts = np.zeros((len(paths), 2))
    if schedule.terrain is not None:
        level = level_paths(schedule)
        centres, tilts = level.mean(axis=1), np.array([slope_of(feet) for feet in level])
    states = np.tile(np.concatenate([q, np.zeros(robot.nv)]), (len(paths), 1))
    for state, turn, centre, (ahead, left) in zip(states, turns, centres, tilts):
        lean = between_vectors(np.array(UP), np.array([-ahead, -left, 1.0]) / np.sqrt(1.0 + ahead**2 + left**2))
        rotation = pin.AngleAxis(float(turn), np.array([0.0, 0.0, 1.0])).toRotationMatrix()
        position = centre + rotation @ (q[:3] - centres[0])
        state[: 2 if schedule.terrain is None else 3] = position[: 2 if schedule.terrain is None else 3]
        state[3:7] = (pin.Quaternion(lean @ rotation) * pin.Quaternion(q[3:7])).coeffs()
    return states


def _turns_of_soles(paths: Reals) -> Reals:
    """Mean turn of the soles about the vertical since the first knot (T + 1,) [rad]."""
    headings = np.array([[heading_of(foot[:, :3]) for foot in feet] for feet in paths])
    return np.unwrap(headings - headings[0], axis=0).mean(axis=1)


def _turns_of_points(points: Reals) -> Reals:
    """Turn about the vertical since the first knot (T + 1,) [rad], as the best fit to the feet (T + 1, feet, 3)."""
    x, y = np.moveaxis(points - points.mean(axis=1, keepdims=True), -1, 0)[:2]
    turns = np.arctan2(np.sum(x[0] * y - y[0] * x, axis=1), np.sum(x[0] * x + y[0] * y, axis=1))
    return np.unwrap(turns)
