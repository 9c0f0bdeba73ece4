"""Prints how Crocoddyl solves a reach of UR5 whose motors are squashed into their limits.

The figures of tests/actions/test_squashed.py.

    DIR/bin/python make_crocoddyl_squashed.py     DIR from tests/benchmarks/peers/make_env.sh

One line for each smoothness: directions computed and final cost of FDDP with its default options, from x0 at every
node and no control, and the largest motor torque, as a fraction of its limit.
"""

import sys
from pathlib import Path

import crocoddyl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks" / "peers"))

import crocoddyl_problems

LIMITS = np.array([60.0, 150.0, 80.0, 20.0, 10.0, 5.0])  # [N m]


def reach(smoothness: float) -> crocoddyl.ShootingProblem:
    """Reach of UR5 in 20 steps of 50 ms, see `crocoddyl_problems.reach`."""

    def node(state, actuation, costs, step, integrator):  # type: ignore[no-untyped-def]
        squashing = crocoddyl.SquashingModelSmoothSat(-LIMITS, LIMITS, actuation.nu)
        squashing.smooth = smoothness
        squashed = crocoddyl.ActuationSquashingModel(actuation, squashing, actuation.nu)
        total = crocoddyl.CostModelSum(state, actuation.nu)
        for name, (cost, weight) in costs.items():
            total.addCost(name, cost, weight)
        differential = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, squashed, total)
        return crocoddyl.IntegratedActionModelEuler(differential, step)

    crocoddyl_problems.euler_or_rk4 = node
    start = np.array([0.0, -1.2, 1.2, 0.0, 0.0, 0.0])
    weights = {"pose": 1.0, "regularisation": 1e-2, "terminal_pose": 1e2}
    return crocoddyl_problems.reach("ur5", "tool0", (0.4, 0.3, 0.5), start, knots=20, step=0.05, rest="x0", **weights)


for smoothness in (0.1, 0.5):
    problem = reach(smoothness)
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([problem.x0] * 21, [np.zeros(m.nu) for m in problem.runningModels], 200, False)
    torques = np.array([data.differential.multibody.actuation.tau for data in problem.runningDatas])
    print(smoothness, solver.iter + 1, repr(solver.cost), np.abs(torques / LIMITS).max())
