"""A five-bar linkage: the tip's workspace in closed form, and a motion of the closed chain with its two motors.

    closed form: elbows e, u = e_right - e_left, tip = ½ (e_left + e_right) + √(l2² - ¼ |u|²) n, n normal to u
    minimise  ∫ ½ (|torque|² + 10 |v|²) dt  from rest to rest within 1 s
    subject to  M dv/dt + h = B u + Jᵀ λ,  J dv/dt + J̇ v = 0,  the tip at (0.4, 1.1) at the end

J is the Jacobian of the right rod's tip relative to the left one's, λ the force between them; two motors move all
bars. The dynamics keep the loop's acceleration at zero; gains correct the drift of steps of 5 ms.

Look at: the largest distance between the tips of both rods. Expected cost: 81.38806314.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.ik import FiveBar
from trajopt.plotting import plot_motion
from trajopt.solvers import SolverSQP

BAR = FiveBar(base=0.8, crank=0.5, rod=1.0)  # [m]
START, END = BAR.configurations([-0.4, 0.8])[0], np.array([0.4, 1.1])  # [rad], [m]


def workspace(count: int) -> np.ndarray:
    """Tips (count², 2) [m] for cranks from horizontal, outwards, to vertical, as in the notebook."""
    angles = 1.57 * np.arange(1, count + 1) / count
    left, right = np.meshgrid(np.pi - angles, angles)
    return BAR.tip(np.stack([left.ravel(), right.ravel()], axis=1))


def main(plot: bool = False) -> trajopt.Solution:
    """Samples the workspace and returns the motion; `plot` writes five_bar.png."""
    tips = workspace(100)
    print(f"workspace: x from {tips[:, 0].min():.4f} to {tips[:, 0].max():.4f} m, z to {tips[:, 1].max():.4f} m")
    state = trajopt.StateMultibody(BAR.robot)
    motors = trajopt.ActuationModelMatrix(state, np.eye(4)[:, [0, 2]])
    loop = trajopt.ContactModelLoop(state, "left_tip", "right_tip", dimension=3, gains=(1e4, 100.0))
    contacts = trajopt.ContactStack(state).add("loop", loop)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    speeds = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 4))
    effort.add("speed", trajopt.ResidualModelState(state), weight=10.0, activation=speeds)
    chain = trajopt.DifferentialActionModelContactFwdDynamics(state, motors, contacts, effort, damping=1e-9)
    end = trajopt.ConstraintStack(state)
    goal = trajopt.ResidualModelFrameTranslation(state, "left_tip", [END[0], 0.0, END[1]])
    end.add("tip", goal, equals=0.0)
    still = np.where(np.isin(np.arange(8), (4, 6)), 0.0, np.inf)  # when the cranks are at rest, so are the rods
    end.add("still", trajopt.ResidualModelState(state), lower=-still, upper=still)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    knots = [trajopt.IntegratedActionModelEuler(chain, dt=5e-3)] * 200
    problem = trajopt.ShootingProblem(np.concatenate([START, np.zeros(4)]), knots, terminal)
    line = BAR.tip(START[[0, 2]]) + np.linspace(0.0, 1.0, 201)[:, None] * (END - BAR.tip(START[[0, 2]]))
    guess = np.array([BAR.configurations(point)[0] for point in line])
    solution = SolverSQP(problem).solve(np.hstack([guess, np.gradient(guess, 5e-3, axis=0)]), np.zeros((200, 2)))
    q = solution.xs[:, :4]
    apart = np.linalg.norm((BAR.robot.placement(q, "left_tip") - BAR.robot.placement(q, "right_tip"))[:, :3, 3], axis=1)
    print(solution.explain())
    print(f"tips come apart by {apart.max():.1e} m at most; cranks turn by {np.ptp(q, axis=0)[[0, 2]]} rad")
    if plot:
        from matplotlib import pyplot as plt

        cells = plt.figure(figsize=(12.0, 5.0), layout="constrained").subfigures(1, 2)
        axes = cells[0].subplots()
        axes.plot(*tips.T, ".", markersize=1.5)
        axes.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
        plot_motion(solution, figure=cells[1])
        plt.savefig("five_bar.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
