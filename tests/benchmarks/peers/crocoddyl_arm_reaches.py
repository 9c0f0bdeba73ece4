"""Crocoddyl on random arm reaches (problems: tests/support/arm_reaches.py).

    DIR/bin/python crocoddyl_arm_reaches.py < reaches.json

Reads {"reaches": [{...}, ...], "max_iterations": n} and writes {"crocoddyl": version, "outcomes": {solver:
[[converged, iterations, cost, seconds], ...]}} for the solvers ddp and fddp with Crocoddyl's default options, from x0
at every node and the controls that hold it there.
"""

import json
import sys
import time

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin
from crocoddyl_problems import euler_or_rk4
from crocoddyl_reference import SOLVERS, one_thread


def problem(reach: dict) -> crocoddyl.ShootingProblem:
    """The problem of a reach."""
    model = example_robot_data.load(reach["robot"]).model
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    goal, frame = np.array(reach["goal"]), model.nframes - 1
    x0 = np.concatenate([np.array(reach["q0"]), np.zeros(model.nv)])
    residual = (
        crocoddyl.ResidualModelFramePlacement(state, frame, pin.SE3(goal), actuation.nu)
        if reach["placement"]
        else crocoddyl.ResidualModelFrameTranslation(state, frame, goal[:3, 3], actuation.nu)
    )
    uneven = crocoddyl.ActivationModelWeightedQuad(np.repeat([0.01, 1.0], model.nv))
    costs = {
        "goal": crocoddyl.CostModelResidual(state, residual),
        "state": crocoddyl.CostModelResidual(state, uneven, crocoddyl.ResidualModelState(state, x0, actuation.nu)),
        "control": crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu)),
    }
    weights = {"goal": 1.0, "state": reach["state"], "control": reach["control"]}
    weighted = {name: (costs[name], weight) for name, weight in weights.items()}
    running = euler_or_rk4(state, actuation, weighted, reach["dt"], "rk4" if reach["rk4"] else "euler")
    terminal = euler_or_rk4(state, actuation, {"goal": (costs["goal"], reach["end"])}, 0.0)
    return crocoddyl.ShootingProblem(x0, [running] * reach["T"], terminal)


def outcome(reach: dict, solver: str, most: int) -> list:
    """[converged, iterations, cost, seconds]."""
    made = one_thread(problem(reach))
    one = SOLVERS[solver](made)
    xs = [made.x0] * (made.T + 1)
    us = list(made.quasiStatic(xs[:-1]))
    begun = time.perf_counter()
    converged = one.solve(xs, us, most, False, 1e-9)
    return [bool(converged), min(one.iter + 1, most), one.cost, time.perf_counter() - begun]


def main() -> None:
    """Read, solve, write."""
    asked = json.load(sys.stdin)
    found = {
        solver: [outcome(reach, solver, asked["max_iterations"]) for reach in asked["reaches"]]
        for solver in ("ddp", "fddp")
    }
    print(json.dumps({"crocoddyl": crocoddyl.__version__, "outcomes": found}))


if __name__ == "__main__":
    main()
