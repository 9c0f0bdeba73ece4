"""Prints how Crocoddyl flies a hexarotor with an arm, Borinot, to a place.

The figures of tests/actions/test_flying_arm.py.

    DIR/bin/python make_crocoddyl_flying_arm.py     DIR from tests/benchmarks/peers/make_env.sh

One line for each integrator and control: directions computed and final cost of FDDP with its default options, from x0
at every node and no control; then the cost of a rollout under thrusts of 6 N and no torques. Derivatives of RK3 are
wrong in Crocoddyl 3.2.1, see make_crocoddyl_controls.py, so that its solve has no figure.
"""

import sys
from pathlib import Path

import crocoddyl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks" / "peers"))

from crocoddyl_flying_arm import KNOTS, flight

for name, order in (("zero", 0), ("zero", 2), ("one", 2), ("zero", 3), ("zero", 4), ("one", 4), ("two", 4)):
    problem = flight(name, order)
    solver = crocoddyl.SolverFDDP(problem)
    model = problem.runningModels[0]
    solver.solve([problem.x0] * (KNOTS + 1), [np.zeros(model.nu)] * KNOTS, 200, False)
    parts = model.nu // 8
    u = np.tile([*[6.0] * 6, 0.0, 0.0], parts)
    rollout = problem.calc(problem.rollout([u] * KNOTS), [u] * KNOTS)
    print(name, f"RK{order}", solver.iter + 1, repr(solver.cost), repr(rollout))
