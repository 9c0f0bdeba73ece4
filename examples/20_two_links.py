"""Two links reach a point: the notebook's loop, Newton's method, closed form, and a motion to it.

    tip = (a cos θ1 + a cos(θ1 + θ2), a sin θ1 + a sin(θ1 + θ2)) = (10, 12), a = 10
    loop: θ ← θ + J⁻¹ (0.1 |e| e);  Newton: θ ← θ + J⁻¹ e;  closed form: both elbows, by the law of cosines
    minimise  ∫ ½ |torque - gravity's|² dt  with the tip at the point, at rest, after 2 s: hard constraints

The loop's steps shrink with the square of the error: each further digit takes ten times as many steps.

Look at: 9991 steps of the loop, 7 of Newton's method, and which methods find both elbows. Expected cost: 6894.755249.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import ik
from trajopt.plotting import plot_configurations, plot_motion
from trajopt.solvers import SolverSQP

ROBOT = trajopt.Robot(trajopt.robots.planar_arm(lengths=(10.0, 10.0)))
TARGET, START = np.array([10.0, 12.0]), np.array([0.1, 0.2])  # [m], [rad]


def iterate(q: np.ndarray, gain: float | None, stop: float) -> tuple[np.ndarray, list[float]]:
    """Solution and errors of θ ← θ + J⁻¹ s e, with s = gain |e| as in the notebook's loop, or 1: Newton's method."""
    errors: list[float] = []
    while not errors or errors[-1] > stop:
        error = TARGET - ROBOT.placement(q, "tool")[[0, 2], 3]
        errors.append(float(np.linalg.norm(error)))
        if errors[-1] > stop:
            step = error if gain is None else gain * errors[-1] * error
            q = q + np.linalg.solve(ROBOT.jacobian(q, "tool")[[0, 2]], step)
    return q, errors


def main(plot: bool = False) -> trajopt.Solution:
    """Reaches the point in all ways and returns the motion; `plot` writes two_links.png."""
    state = trajopt.StateMultibody(ROBOT)
    point = trajopt.ResidualModelFrameTranslation(state, "tool", [TARGET[0], 0.0, TARGET[1]])
    tasks = trajopt.ConstraintStack(state).add("tip", point, equals=0.0)
    q, slow = iterate(START, 0.1, 1e-3)
    _, newton = iterate(np.array([0.5, 0.2]), None, 1e-8)
    result, branches = ik.solve(ROBOT, tasks, start=START), ik.planar_2r(TARGET, first=10.0, second=10.0)[0]
    print(f"loop: {len(slow) - 1} steps to {np.mod(q + np.pi, 2 * np.pi) - np.pi} rad; Newton: {len(newton) - 1} steps")
    both = result.configurations.tolist()
    print(f"closed form: {branches.tolist()}; least squares: {result.iterations} passes, {both}")

    motors = trajopt.ActuationModelFull(state)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControlGrav(state, motors), weight=1.0)
    end = trajopt.ConstraintStack(state).add("tip", point, equals=0.0)
    still = [-np.inf] * 2 + [0.0] * 2
    end.add("still", trajopt.ResidualModelState(state), lower=still, upper=np.negative(still))
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, effort)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    knots = [trajopt.IntegratedActionModelEuler(arm, dt=0.02)] * 100
    solution = SolverSQP(trajopt.ShootingProblem(np.r_[START, 0.0, 0.0], knots, terminal)).solve()
    print(solution)
    if plot:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=(14.0, 4.6), layout="constrained")
        left, middle, right = figure.subfigures(1, 3, width_ratios=[0.8, 1.4, 1.0])
        plot_configurations(ROBOT, branches, points=[10.0, 0.0, 12.0], figure=left)
        plot_motion(solution, figure=middle)
        axes = right.subplots()
        axes.loglog(np.arange(1, len(slow) + 1), slow, label=f"the notebook's loop: {len(slow) - 1} steps")
        axes.loglog(np.arange(1, len(newton) + 1), newton, "o-", label=f"Newton's method: {len(newton) - 1} steps")
        axes.set(xlabel="evaluations [-]", ylabel="distance of the tip [m]")
        axes.set_ylim(1e-14, 1e6)
        axes.legend(loc="upper right")
        figure.savefig("two_links.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
