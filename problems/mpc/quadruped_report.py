"""Report of a trot in closed loop: velocities, pushes, torques, and contact forces by Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.problems.mpc.trot import Trot
from trajopt.robots import Robot
from trajopt.types import Reals

NEAR = 0.15  # largest difference from the commanded velocity that counts as recovered [m/s]


def contact_forces(robot: Robot, feet: list[str], x: Reals, u: Reals, rate: float) -> Reals:
    """Contact forces (feet, 3) by Pinocchio and the equations of motion [N].

    M a + h = Sᵀ u + Jᵀ f and J a + J̇ v = -rate · J v, solved for a and f.

    Args:
        robot: The robot.
        feet: Frames in contact.
        x: State (nx,).
        u: Torques of the joints (nu,) [N m].
        rate: Decay rate of the feet's velocities [1/s].
    """
    model, nv = robot.model, robot.nv
    data, q, v = model.createData(), x[: robot.nq], x[robot.nq :]
    pin.computeAllTerms(model, data, q, v)
    pin.forwardKinematics(model, data, q, v, np.zeros(nv))
    pin.updateFramePlacements(model, data)
    ids, axes = [robot.frame_id(foot) for foot in feet], pin.LOCAL_WORLD_ALIGNED
    J = np.vstack([pin.getFrameJacobian(model, data, i, axes)[:3] for i in ids])
    drift = np.concatenate([pin.getFrameClassicalAcceleration(model, data, i, axes).linear for i in ids])
    M = np.triu(data.M) + np.triu(data.M, 1).T
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    right = np.concatenate([np.concatenate([np.zeros(6), u]) - data.nle, -drift - rate * (J @ v)])
    return np.linalg.solve(system, right)[nv:].reshape(-1, 3)


def cone_margin(robot: Robot, trot: Trot, log: Any, rate: float) -> float:
    """Smallest distance of the contact forces of the controller's model from the faces of their cones [N].

    It is evaluated at each measurement, with the applied torques and the feet that should be in contact.
    """
    active, least, matrix = trot.active(log.times[:-1]) > 0.5, np.inf, trot.cone.matrix
    for on, x, u in zip(active, log.estimates, log.us):
        held = [foot for foot, flag in zip(trot.feet, on) if flag]
        rows = contact_forces(robot, held, x, u, rate) @ matrix.T
        least = min(least, float(np.min(trot.cone.upper - rows)), float(np.min(rows - trot.cone.lower)))
    return least


def velocity_errors(trot: Trot, log: Any) -> Reals:
    """Forward and left velocity of the base minus the command, averaged over a gait period (n, 2) [m/s]."""
    nq = (log.xs.shape[1] + 1) // 2
    step = log.times[1] - log.times[0]
    window = max(1, round(trot.period / step))
    errors = log.xs[:, nq : nq + 2] - trot.command.velocity(log.times)[:, :2]
    sums = np.cumsum(np.vstack([np.zeros(2), errors]), axis=0)
    first = np.maximum(np.arange(len(errors)) + 1 - window, 0)
    return (sums[1:] - sums[first]) / (np.arange(len(errors)) + 1 - first)[:, None]


def report(robot: Robot, trot: Trot, pushes: Reals, log: Any) -> dict[str, str]:
    """Velocities, height and tilt of the base, effects of pushes, and margins of torques and forces."""
    nq, times = robot.nq, log.times
    errors, lasting = np.abs(log.xs[:, nq : nq + 2] - trot.command.velocity(times)[:, :2]).max(axis=1), times > 1.0
    pushed = [(times > t - 0.1) & (times < t + 1.0) for t in pushes[:, 0]]
    quiet = lasting & ~np.any(pushed, axis=0) if pushed else lasting
    tilt = np.degrees(np.arccos(np.clip([1 - 2 * (x[3] ** 2 + x[4] ** 2) for x in log.xs], -1, 1)))
    mean = np.abs(velocity_errors(trot, log)).max(axis=1)
    words = {
        "velocity": f"{mean[quiet].max(initial=0.0):.2g} m/s from the command at most, as a mean of a gait's period"
    }
    path = trot.command.path(times)
    away = np.linalg.norm(log.xs[:, :2] - path[:, :2], axis=1)
    words["path"] = f"{1e3 * away[-1]:.3g} mm from the commanded path at the end, {1e3 * away.max():.3g} mm at most"
    words["base"] = (
        f"{log.xs[:, 2].min():.3f} ... {log.xs[:, 2].max():.3f} m high, tilted by {tilt.max():.3g} deg at most"
    )
    for time, x, y in pushes[pushes[:, 0] < times[-1]]:
        after = (times >= time) & (times < time + 2.0)
        wild = times[after][errors[after] > NEAR]
        settled = f"after {wild[-1] - time:.2f} s" if len(wild) and wild[-1] < times[after][-1] else "at once"
        settled = "not within 2 s" if len(wild) and wild[-1] >= times[after][-1] else settled
        words[f"push ({x:g}, {y:g}) N s"] = (
            f"velocity within {NEAR:g} m/s of the command {settled}, {errors[after].max():.2g} m/s off at most, "
            f"{1e3 * away[after].max():.3g} mm off the path"
        )
    effort = robot.model.effortLimit[6:]
    words["torques"] = f"{100 * (np.abs(log.us) / effort).max():.4g} % of their limits at most"
    rates = np.abs(log.xs[:, nq + 6 :]) / robot.model.velocityLimit[6:]
    joints, low, high = log.xs[:, 7:nq], robot.model.lowerPositionLimit[7:], robot.model.upperPositionLimit[7:]
    words["joints"] = (
        f"{100 * rates.max():.3g} % of their largest velocities at most, "
        f"{np.degrees(np.minimum(joints - low, high - joints).min()):.3g} deg from the ends of their ranges at least"
    )
    words["cones"] = f"{cone_margin(robot, trot, log, trot.rate):.3g} N inside at least, by Pinocchio"
    return words
