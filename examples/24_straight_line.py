"""A straight line by two links, a loop in space by an arm with sliding joints: two robots, one function.

    line: (t + 1, 2t - 1), t from 1 to 5, links of 10; loop: once round (2.5, 2.5), up and down twice
    slides: tip = (a1 cos θ1, a1 sin θ1, 5 - a2), 0 <= θ1 <= π/2, 1 <= a1, a2 <= 5: turn, reach, lower
    minimise  ∫ ½ τ⁴ |acceleration|² dt  with the tip on its path, within the limits of the joints

The joints' paths are those of the closed forms; the optimised motion determines their timing.

Look at: the largest distances from the paths, and from the closed forms. Expected cost: 0.00002252937547.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import trajopt
from trajopt import ik


def sliding_arm() -> trajopt.Robot:
    """Turns about z at height 5, reaches by a1, lowers its tip by a2: joints (θ1, a1, a2) [rad, m, m]."""
    model, parent, height = pin.Model(), 0, 5.0
    down = pin.JointModelPrismaticUnaligned(np.array([0.0, 0.0, -1.0]))
    joints = {"turn": (pin.JointModelRZ(), 0.0, np.pi / 2), "reach": (pin.JointModelPX(), 1.0, 5.0)}
    for name, (joint, least, most) in {**joints, "lower": (down, 1.0, 5.0)}.items():
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, height]))
        free, low, high = np.full(1, np.inf), np.full(1, least), np.full(1, most)
        parent, height = model.addJoint(parent, joint, place, name, free, free, low, high), 0.0
        model.appendBodyToJoint(parent, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", parent, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    return trajopt.Robot(model, name="sliding-arm")


def follow(robot: trajopt.Robot, path: np.ndarray, closed: np.ndarray) -> ik.IKPath:
    """The smoothest motion of the tool along a path (n, 3) [m], a point every 20 ms; prints its deviation."""
    state = trajopt.StateMultibody(robot)
    tasks = trajopt.ConstraintStack(state).add("tip", trajopt.ResidualModelFrameTranslation(state, "tool"), equals=0.0)
    track = ik.track(robot, tasks, path, 0.02, q0=closed[0], method="optimal")
    apart = np.abs(track.qs - closed).max()
    print(f"{robot.name}: {track.distance.max():.1e} m from its path at most, {apart:.1e} from the closed form")
    return track


def main(plot: bool = False) -> trajopt.Solution:
    """Follows both paths, returns the line's solution; `plot` writes straight_line.png, .gif and sliding_arm.png."""
    s = np.linspace(0.0, 1.0, 201)
    s = s**3 * (10 - 15 * s + 6 * s**2)  # from rest to rest
    x, z, turn = 2 + 4 * s, 1 + 8 * s, 2 * np.pi * s
    closed = ik.planar_2r(np.stack([x, z], axis=1), first=10.0, second=10.0)[0][:, 1]
    two_links = trajopt.Robot(trajopt.robots.planar_arm(lengths=(10.0, 10.0)))
    line = follow(two_links, np.stack([x, 0 * s, z], axis=1), closed)
    x, y, z = 2.5 + np.cos(turn), 2.5 + np.sin(turn), 2.5 + 0.8 * np.cos(2 * turn)
    closed = np.stack([np.arctan2(y, x), np.hypot(x, y), 5 - z], axis=1)
    loop = follow(sliding_arm(), np.stack([x, y, z], axis=1), closed)
    if plot:
        from matplotlib import pyplot as plt

        cells = plt.figure(figsize=(15.0, 7.0), layout="constrained").subfigures(1, 2, width_ratios=[3, 1])
        line.plot(figure=cells[0])
        axes = cells[1].subplots()
        axes.plot(*line.qs.T)
        axes.set(xlabel="joint 1 [rad]", ylabel="joint 2 [rad]", aspect="equal")
        plt.savefig("straight_line.png")
        line.animate("straight_line.gif")
        loop.plot("sliding_arm.png")
    assert line.solution is not None
    return line.solution


if __name__ == "__main__":
    main(plot=True)
