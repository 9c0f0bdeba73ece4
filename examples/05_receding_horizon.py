"""Receding horizon: an arm follows a moving target with one solver iteration per step.

    the target moves on a circle of radius 8 cm in 2 s; every 10 ms the problem is solved again from a warm start

Look at: nothing is compiled after the first solve, and an iteration takes much less than 10 ms. Expected: the mean
distance of the gripper to its target over the second half is below 20 mm.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.solvers import FDDPOptions, SolverFDDP

DT = 1e-2  # [s]


def target(time: float) -> np.ndarray:
    """Position of the target at a time [s]: [m]."""
    angle = np.pi * time
    return np.array([0.25 + 0.08 * np.cos(angle), 0.1, 0.3 + 0.08 * np.sin(angle)])


def main(plot: bool = False) -> trajopt.Solution:
    """Runs 2 s and returns the last solution; `plot` writes circle.png."""
    robot = trajopt.load_robot("talos_arm")
    state = trajopt.StateMultibody(robot)
    hand = trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint", target(0.0))
    running = trajopt.CostStack(state)
    running.add("hand", hand, weight=1e2)
    running.add("x_reg", trajopt.ResidualModelState(state), weight=1e-2)
    running.add("u_reg", trajopt.ResidualModelControl(state), weight=1e-4)
    terminal = trajopt.CostStack(state).add("hand", hand, weight=1e1)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=DT)
    x = np.r_[0.173046, 1.0, -0.52366, -1.0, 0.0, 0.1, -0.005, np.zeros(state.nv)]
    problem = trajopt.ShootingProblem(x, [node] * 30, terminal)

    def ask(step: int) -> None:
        """Sets the goals that are seen from a step."""
        problem.set_parameter("hand.reference", [target((step + t) * DT) for t in range(31)], knots="all")

    ask(0)
    solution = SolverFDDP(problem).solve()
    solver, errors = SolverFDDP(problem, FDDPOptions(max_iterations=1)), []
    for step in range(1, 201):
        problem.x0 = x = solution.xs[1]  # here the model also simulates the robot
        hand_position = robot.placement(x[: robot.nq], "gripper_left_joint")[:3, 3]
        errors.append(np.linalg.norm(hand_position - target(step * DT)))
        ask(step)
        xs, us = np.vstack([solution.xs[1:], solution.xs[-1:]]), np.vstack([solution.us[1:], solution.us[-1:]])
        solution = solver.solve(xs, us)  # shifted by the step that has passed
    print(f"mean distance of the hand to its target in the second half: {1e3 * np.mean(errors[100:]):.1f} mm")
    if plot:
        trajopt.plotting.plot_summary(solution, "circle.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
