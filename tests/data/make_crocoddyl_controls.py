"""Prints how Crocoddyl solves a reach of UR5 with controls that change within a step.

The figures of tests/actions/test_control_parametrization.py.

    DIR/bin/python make_crocoddyl_controls.py     DIR from tests/benchmarks/peers/make_env.sh

One line for each combination: directions computed and final cost of FDDP with its default options, from x0 at every
node and no torque. Then how far its derivative Fx of a step is from central differences at a random point: 5e-10 with
RK2 and RK4, 5e-4 with RK3, whose solves therefore have no figures here.
"""

import sys
from pathlib import Path

import crocoddyl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks" / "peers"))

import crocoddyl_problems

TYPES = {2: crocoddyl.RKType.two, 3: crocoddyl.RKType.three, 4: crocoddyl.RKType.four}
CONTROLS = {
    "zero": lambda nu, rk: crocoddyl.ControlParametrizationModelPolyZero(nu),
    "one": lambda nu, rk: crocoddyl.ControlParametrizationModelPolyOne(nu),
    "two": crocoddyl.ControlParametrizationModelPolyTwoRK,
}


def reach(control: str, rk: crocoddyl.RKType) -> crocoddyl.ShootingProblem:
    """Reach of UR5 in 20 steps of 50 ms, see `crocoddyl_problems.reach`."""

    def node(state, actuation, costs, step, integrator):  # type: ignore[no-untyped-def]
        total = crocoddyl.CostModelSum(state, actuation.nu)
        for name, (cost, weight) in costs.items():
            total.addCost(name, cost, weight)
        differential = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, total)
        return crocoddyl.IntegratedActionModelRK(differential, CONTROLS[control](actuation.nu, rk), rk, step)

    crocoddyl_problems.euler_or_rk4 = node
    start = np.array([0.0, -1.2, 1.2, 0.0, 0.0, 0.0])
    weights = {"pose": 1.0, "regularisation": 1e-2, "terminal_pose": 1e2}
    return crocoddyl_problems.reach("ur5", "tool0", (0.4, 0.3, 0.5), start, knots=20, step=0.05, rest="x0", **weights)


for name, order in (("zero", 2), ("one", 2), ("zero", 4), ("one", 4), ("two", 4)):
    problem = reach(name, TYPES[order])
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([problem.x0] * 21, [np.zeros(m.nu) for m in problem.runningModels], 200, False)
    print(name, f"RK{order}", solver.iter + 1, repr(solver.cost))
for order, rk in TYPES.items():
    model = reach("zero", rk).runningModels[0]
    data, other, x, u = model.createData(), model.createData(), model.state.rand(), np.ones(model.nu)
    model.calc(data, x, u)
    model.calcDiff(data, x, u)
    columns = []
    for direction in 1e-6 * np.eye(model.state.ndx):
        model.calc(other, model.state.integrate(x, direction), u)
        after = other.xnext.copy()
        model.calc(other, model.state.integrate(x, -direction), u)
        columns.append((after - other.xnext) / 2e-6)
    print(f"RK{order}", np.abs(np.transpose(columns) - data.Fx).max())
