"""Numbers of a simulator's rollout: path of the base; contacts as feet with positions, contact times and forces."""

from __future__ import annotations

import dataclasses

import numpy as np

from trajopt.analysis.legs import LeggedMotion
from trajopt.analysis.spheres import sphere_motion
from trajopt.robots.bases import base_joints
from trajopt.simulator import MDPContact, Rollout
from trajopt.types import Reals


def thinned(rollout: Rollout, step: float) -> Rollout:
    """Returns a rollout with times about `step` apart [s]; forces are those at these times."""
    every = max(1, round(step * (len(rollout.times) - 1) / float(rollout.times[-1] - rollout.times[0])))
    last = (len(rollout.times) - 1) // every * every
    return dataclasses.replace(
        rollout,
        times=rollout.times[: last + 1 : every],
        xs=rollout.xs[: last + 1 : every],
        taus=rollout.taus[:last:every],
        forces={name: forces[:last:every] for name, forces in rollout.forces.items()},
    )


def base_path(rollout: Rollout) -> Reals:
    """Returns the positions of the root link's origin over time (T + 1, 3) [m], for a moving base."""
    model = rollout.robot.model
    name = model.names[base_joints(model)]
    return rollout.robot.placement(rollout.xs[:, : model.nq], name)[:, :3, 3]


def way_of(path: Reals) -> Reals | None:
    """Returns the length of a horizontal path over time (T + 1,) [m]; None if the motion is mostly vertical.

    A motion is horizontal if it ever leaves the vertical through its start by more than its heights differ.

    Args:
        path: Positions (T + 1, 3) [m].
    """
    level = path[:, :2]
    if np.linalg.norm(level - level[0], axis=1).max() <= np.ptp(path[:, 2]):
        return None
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(level, axis=0), axis=1))])


def rollout_motion(rollout: Rollout) -> LeggedMotion | None:
    """Returns the motion of the spheres that may touch something; None without spheres."""
    spheres = [contact for contact in rollout.contacts if isinstance(contact, MDPContact)]
    if not spheres:
        return None
    model, forces = rollout.robot.model, rollout.forces
    return sphere_motion(
        model, spheres, rollout.xs, rollout.times, "time [s]", forces=forces, friction=rollout.friction
    )
