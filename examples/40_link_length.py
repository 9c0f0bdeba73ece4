"""The length of a link that makes a throw cheap, as an unknown of the problem and by a scan.

    minimise  Σ ½ 1e-2 |τ_t|² dt   over motion and length of the upper arm,   velocity of the tool = (0, 5) m/s at .4 s

`with_parameters` makes the position of the elbow in the upper arm a run-time parameter. `free` lets the solver choose
it, here along the link only; a scan sets it with `set_parameter` and compiles nothing more.

Look at: a short arm needs fast joints, a long one has a large inertia; the optimum is where the scan has its minimum.
Expected cost: 0.0098443524.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin

import trajopt
from trajopt.solvers import SolverSQP

NAME = "robot.joint_2.translation"


def velocity(x: ca.SX, robot: trajopt.dynamics.RobotExpressions) -> ca.SX:
    """Velocity of the tool in the vertical plane (2,) [m/s]."""
    whole = robot.frame_velocity("tool", pin.LOCAL_WORLD_ALIGNED)
    return ca.vertcat(whole[0], whole[2])


def throw() -> trajopt.ShootingProblem:
    """The arm begins at rest, stretched out, and throws upwards."""
    robot = trajopt.load_robot("planar-2r").with_parameters(["joint_2.translation"])
    state = trajopt.StateMultibody(robot)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    motors = trajopt.ActuationModelFull(state)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, effort)
    fast = trajopt.ResidualModelSymbolic(state, velocity, unit="m/s")
    goal = trajopt.ConstraintStack(state).add("velocity", fast, equals=[0.0, 5.0])
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    return trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelEuler(arm, dt=0.02)] * 20, end)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes link_length.png."""
    problem = throw()
    first = guess = SolverSQP(problem).solve()
    for length in np.linspace(0.5, 0.4, 6):
        problem.set_parameter(NAME, [length, 0.0, 0.0], knots="all")
        guess = SolverSQP(problem).solve(guess)
        print(f"{length:.2f} m: cost {guess.cost:.6f}")
    problem.set_parameter(NAME, [0.5, 0.0, 0.0], knots="all")
    problem.free(NAME, [0.2, 0.0, 0.0], [1.2, 0.0, 0.0])  # [m]
    solution = SolverSQP(problem).solve(first)
    print(f"best: {solution.unknowns[NAME][0]:.4f} m, cost {solution.cost:.6f}")
    if plot:
        solution.plot("link_length.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
