"""Two links draw a circle: joint after joint as servos do, both joints at once, and a planned motion.

    circle: (10 + 5 cos t, 8 + 5 sin t), links of 15; 20 of its points by inverse kinematics in closed form
    stair-step: from point to point θ1 alone, then θ2 alone, in 25 steps each; joint-linear: both at once
    planned: minimise ∫ ½ τ⁴ |acceleration|² dt with the tip on the circle, from rest to rest in 8 s

All three are exact at their planned points; in between, the stair-step motion is off by a quarter of the radius.

Look at: the largest and the mean distance from the circle for each. Expected cost: 0.000199006320.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import ik
from trajopt.plotting import plot_configurations

ROBOT = trajopt.Robot(trajopt.robots.planar_arm(lengths=(15.0, 15.0)))


def circle(angle: np.ndarray) -> np.ndarray:
    """Points (n, 3) [m] at angles (n,) [rad]."""
    return np.stack([10.0 + 5.0 * np.cos(angle), 0.0 * angle, 8.0 + 5.0 * np.sin(angle)], axis=1)


def stairs(q: np.ndarray) -> np.ndarray:
    """Configurations with one more between any two, where joint 1 has moved and joint 2 has not."""
    corners = np.repeat(q, 2, axis=0)[:-1]
    corners[1::2, 0] = q[1:, 0]
    return corners


def joint_linear(q: np.ndarray, steps: int) -> np.ndarray:
    """Configurations along straight lines between those in q, with `steps` points on each line."""
    part = np.linspace(0.0, 1.0, steps)[:, None]
    return np.concatenate([a + part * step for a, step in zip(q, np.diff(q, axis=0))])


def deviations(q: np.ndarray) -> np.ndarray:
    """Distances of the tip from the circle (n,) [m]."""
    x, _, z = ROBOT.placement(q, "tool")[:, :3, 3].T
    return np.asarray(np.abs(np.hypot(x - 10.0, z - 8.0) - 5.0))


def main(plot: bool = False) -> trajopt.Solution:
    """Draws the circle in three ways and returns the solution of the last; `plot` writes circle_by_steps.png."""
    points = circle(np.linspace(0.0, 2 * np.pi, 20))
    elbows = ik.planar_2r(points[:, [0, 2]], first=15.0, second=15.0)[0][:, 1]
    state = trajopt.StateMultibody(ROBOT)
    tasks = trajopt.ConstraintStack(state).add("tip", trajopt.ResidualModelFrameTranslation(state, "tool"), equals=0.0)
    s = np.linspace(0.0, 1.0, 401)
    path = circle(2 * np.pi * s**3 * (10 - 15 * s + 6 * s**2))
    planned = ik.track(ROBOT, tasks, path, 0.02, q0=elbows[0], method="optimal")
    ways = {"stair-step": joint_linear(stairs(elbows), 25), "joint-linear": joint_linear(elbows, 25)}
    ways["planned"] = joint_linear(planned.qs, 5)  # between its knots too
    for name, q in ways.items():
        print(f"{name}: {len(q)} points, {deviations(q).max():.6f} m at most, {deviations(q).mean():.6f} m on average")
    if plot:
        from matplotlib import pyplot as plt

        cells = plt.figure(figsize=(11.0, 9.0), layout="constrained").subfigures(2, 2).ravel()
        plot_configurations(ROBOT, elbows[::3], points=points, figure=cells[0])
        joints, tips, away = (cell.subplots() for cell in cells[1:])
        for name, q in ways.items():
            joints.plot(*q.T, label=f"{name}: {deviations(q).max():.2g} m away at most")
            tips.plot(*ROBOT.placement(q, "tool")[:, [0, 2], 3].T)
            away.semilogy(np.linspace(0.0, 1.0, len(q[2::5])), np.maximum(deviations(q[2::5]), 1e-6))
        joints.set(xlabel="joint 1 [rad]", ylabel="joint 2 [rad]", aspect="equal")
        tips.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
        away.set(xlabel="part of the way [-]", ylabel="distance from the circle [m]")
        cells[1].legend(loc="outside upper center")
        plt.savefig("circle_by_steps.png")
    assert planned.solution is not None
    return planned.solution


if __name__ == "__main__":
    main(plot=True)
