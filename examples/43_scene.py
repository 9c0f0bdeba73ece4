"""An arm that reaches through a slot in a wall, and the wall as a scene of boxes.

    minimise  Σ (½ 0.1 |v_t|² + ½ 1e-3 |τ_t|²) dt + terminal cost   subject to   distance of links and boxes >= 1 cm

The links are declared as capsules; a robot from a file has fitted ones. `collisions=scene` adds the rows. Each link has
rows for the boxes that are nearest to it, which are chosen anew in each iteration, so that boxes that move compile
nothing: the slot then rises by 10 cm.

Look at: the arm stretches through the slot, without a guess that knows of it.
Expected cost: 0.1385472325.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.solvers import SolverSQP

GOAL = np.array([0.85, 0.0, 0.22])  # of the tool [m]
LENGTHS = (0.5, 0.4, 0.2)  # of the links [m]


def wall(middle: float) -> dict[str, np.ndarray]:
    """Centres of the boxes below and above a slot of 0.2 m at this height [m]."""
    return {"below": np.array([0.6, 0.0, middle - 0.6]), "above": np.array([0.6, 0.0, middle + 0.6])}


def reach() -> trajopt.ShootingProblem:
    """The arm begins at rest, bent away from the wall."""
    links = [
        trajopt.Capsule(0.04, start=[0.0, 0.0, 0.0], end=[length, 0.0, 0.0], frame=f"link_{i + 1}")
        for i, length in enumerate(LENGTHS)
    ]
    robot = trajopt.load_robot("planar-3r").with_collision_shapes(links)
    scene = trajopt.Scene(
        {name: trajopt.Box([0.05, 0.5, 1.0], placement=[*at, 0.0, 0.0, 0.0, 1.0]) for name, at in wall(0.22).items()}
    )
    state = trajopt.StateMultibody(robot)
    motors, motion = trajopt.ActuationModelFull(state), trajopt.ResidualModelState(state)
    limits = trajopt.ConstraintStack.of_robot(state, motors, collisions=scene, obstacles=2)
    still = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 3))
    costs = trajopt.CostStack(state).add("still", motion, weight=0.1, activation=still)
    costs.add("torque", trajopt.ResidualModelControl(state), weight=1e-3)
    end = trajopt.CostStack(state).add("still", motion, weight=10.0, activation=still)
    end.add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", GOAL), weight=1e3)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    at_end = trajopt.ConstraintStack.of_robot(state, collisions=scene, obstacles=2)
    terminal = trajopt.ActionModelTerminal(end, constraints=at_end)
    x0 = np.array([2.2, -2.4, 0.6, 0.0, 0.0, 0.0])  # [rad], [rad/s]
    return trajopt.ShootingProblem(x0, [trajopt.IntegratedActionModelEuler(arm, dt=0.02)] * 60, terminal)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem for two heights of the slot; `plot` writes scene.png."""
    problem = reach()
    solution = SolverSQP(problem).solve()
    print(solution)
    for name, at in wall(0.32).items():
        problem.set_parameter(f"collisions.{name}", [*at, 0.0, 0.0, 0.0, 1.0])
    print("10 cm higher:", SolverSQP(problem).solve(solution))
    if plot:
        trajopt.plotting.plot_motion(solution, 12, frame="tool", targets=GOAL).savefig("scene.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
