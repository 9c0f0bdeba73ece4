"""A crane that is built in code carries its load across the yard and puts it down at rest.

    minimise  Σ dt (½ 1e-2 |u|² + ½ |swing|²)  +  ½ 1e3 |p_goal - p(q_T)|²  +  ½ 1e3 |x_T|² of the swing and all speeds
    subject to  M(q) dv/dt + h(q, v) = (u, 0, 0),  symplectic Euler, dt = 20 ms, 125 knots

Links, joints and solids make a Robot: its inertias are those of the solids, and pictures show the solids. The trolley
slides along two axes, and the rope, a rod, swings about two more axes without motors.

Look at: the trolley pulls the load, which overtakes it halfway; at the end the rope is vertical, and the load is 6 mm
from its goal. Expected cost: 4.5516351.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.articulations import ArticulationBuilder, Axis, joint_table
from trajopt.solvers import SolverFDDP


def crane() -> trajopt.Robot:
    """The robot: a trolley of 9 kg on a bridge, and a load of 9 kg on 1 m of rope."""
    builder = ArticulationBuilder()
    builder.add_link("trolley")
    builder.add_box("trolley", (0.3, 0.3, 0.1), density=1e3, color="tab:gray")  # [m], [kg/m³]
    builder.add_link("load")
    builder.add_capsule("load", 0.01, end=(0.0, 0.0, -0.9), color="tab:brown")  # [m]
    builder.add_box("load", (0.2, 0.2, 0.2), placement=(0.0, 0.0, -1.0), color="tab:orange")
    rails = [Axis(axis, lower=-1.2, upper=1.2, effort=60.0) for axis in ("x", "y")]  # [m], [N]
    builder.add_d6("world", "trolley", linear=rails, X_p=(0.0, 0.0, 1.5))
    builder.add_universal("trolley", "load", axes=("x", "y"))
    builder.add_frame("hook", "load", (0.0, 0.0, -1.0))
    return builder.build("crane")


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes robot_in_code.png."""
    robot = crane()
    for row in joint_table(robot):
        print(f"{row.parent} - {row.child}: {row.type}, {row.n_linear} sliding and {row.n_angular} turning axes")

    state = trajopt.StateMultibody(robot)
    actuation = trajopt.ActuationModelMatrix(state, np.eye(4, 2))  # nothing drives the rope
    motion = trajopt.ResidualModelState(state)
    swing = trajopt.ActivationModelWeightedQuad([0, 0, 1, 1, 0, 0, 0, 0])
    rest = trajopt.ActivationModelWeightedQuad([0, 0, 1, 1, 1, 1, 1, 1])

    running = trajopt.CostStack(state)
    running.add("force", trajopt.ResidualModelControl(state), weight=1e-2)  # [cost/(N² s)]
    running.add("swing", motion, weight=1.0, activation=swing)  # [cost/(rad² s)]
    terminal = trajopt.CostStack(state)
    goal = trajopt.ResidualModelFrameTranslation(state, "hook", [0.8, 0.5, 0.5])  # [m]
    terminal.add("goal", goal, weight=1e3)  # [cost/m²]
    terminal.add("rest", motion, weight=1e3, activation=rest)

    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=2e-2)  # [s]
    x0 = np.r_[-0.8, -0.5, np.zeros(6)]  # [m], then at rest
    problem = trajopt.ShootingProblem(x0, [knot] * 125, terminal)

    solution = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()]).solve()
    print(f"the load swings by {np.degrees(np.abs(solution.xs[:, 2:4]).max()):.1f} degrees at most")
    if plot:
        trajopt.plotting.plot_motion(solution, view=(20.0, -75.0)).savefig("robot_in_code.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
