"""mim-solvers' SQP on the samples that it was published with (problems: tests/support/stagewise_sampling.py).

    DIR/bin/python mim_sampling.py < samples.json

Reads {"iiwa": file, "tolerance": t, "samples": {problem: {"iterations": n, "samples": [...]}}} and writes
{"mim_solvers": version, "outcomes": {problem: [[solved, iterations, cost], ...]}}, with a filter as long as the solve
and x0 at every node with quasi-static controls as the guess, as its authors have it. Solved is a KKT residual below the
tolerance.
"""

import json
import sys

import crocoddyl
import example_robot_data
import mim_solvers
import numpy as np
import pinocchio as pin
from crocoddyl_humanoid import taichi
from crocoddyl_problems import double_pendulum
from crocoddyl_reference import one_thread

CENTRE, TORQUE = 0.1525, 1e-6 / 6.6e-5  # of a rotor [m], [N m / N]


def kuka(iiwa: str) -> crocoddyl.ShootingProblem:
    """An arm reaches for (0.7, 0, 1.1) in half a second."""
    model = pin.buildModelFromUrdf(iiwa)
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    x0 = np.concatenate([[0.1, 0.7, 0.0, 0.7, -0.5, 1.5, 0.0], np.zeros(7)])
    tool = crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId("contact"), np.array([0.7, 0.0, 1.1]))

    def node(dt: float) -> crocoddyl.IntegratedActionModelEuler:
        costs = crocoddyl.CostModelSum(state)
        costs.addCost("posture", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, x0)), 0.1)
        costs.addCost("tool", crocoddyl.CostModelResidual(state, tool), 1.0)
        if dt:
            gravity = crocoddyl.ResidualModelControlGrav(state)
            costs.addCost("gravity", crocoddyl.CostModelResidual(state, gravity), 1e-4)
        return crocoddyl.IntegratedActionModelEuler(
            crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), dt
        )

    return crocoddyl.ShootingProblem(x0, [node(1e-2)] * 50, node(0.0))


def quadrotor() -> crocoddyl.ShootingProblem:
    """A quadrotor flies to (1, 0, 1), upright, in a second."""
    model = example_robot_data.load("hector").model
    state = crocoddyl.StateMultibody(model)
    kinds = (crocoddyl.ThrusterType.CW, crocoddyl.ThrusterType.CCW)
    places = ((CENTRE, 0.0), (0.0, CENTRE), (-CENTRE, 0.0), (0.0, -CENTRE))
    thrusters = [
        crocoddyl.Thruster(pin.SE3(np.eye(3), np.array([x, y, 0.0])), TORQUE, kinds[i % 2], -1e6, 1e6)
        for i, (x, y) in enumerate(places)
    ]
    actuation = crocoddyl.ActuationModelFloatingBaseThrusters(state, thrusters)
    goal = pin.SE3(np.eye(3), np.array([1.0, 0.0, 1.0]))
    placement = crocoddyl.ResidualModelFramePlacement(state, model.getFrameId("base_link"), goal, 4)
    near = crocoddyl.ActivationModelWeightedQuad(np.repeat([0.1, 1000.0, 1000.0], [3, 3, 6]))
    level = crocoddyl.ResidualModelState(state, state.zero(), 4)
    running, terminal = crocoddyl.CostModelSum(state, 4), crocoddyl.CostModelSum(state, 4)
    running.addCost("state", crocoddyl.CostModelResidual(state, near, level), 1e-6)
    running.addCost("thrust", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 4)), 1e-6)
    running.addCost("pose", crocoddyl.CostModelResidual(state, placement), 1e-2)
    terminal.addCost("pose", crocoddyl.CostModelResidual(state, placement), 3.0)
    nodes = [
        crocoddyl.IntegratedActionModelEuler(
            crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), 3e-2
        )
        for costs in (running, terminal)
    ]
    return crocoddyl.ShootingProblem(state.zero(), [nodes[0]] * 33, nodes[1])


def take(problem: crocoddyl.ShootingProblem, name: str, sample: list) -> None:
    """Gives a problem a sample: the goal of Talos' hand, or the initial state."""
    if name != "taichi":
        problem.x0 = np.array(sample)
        return
    goal = pin.SE3(np.eye(3), np.array(sample))
    for model in [*problem.runningModels, problem.terminalModel]:
        model.differential.costs.costs["hand"].cost.residual.reference = goal


def outcomes(problem: crocoddyl.ShootingProblem, name: str, asked: dict, tolerance: float) -> list:
    """[solved, iterations, cost] of each sample."""
    solver, most, found = mim_solvers.SolverSQP(problem), asked["iterations"], []
    solver.termination_tolerance = tolerance
    solver.use_filter_line_search = True
    solver.filter_size = most
    for sample in asked["samples"]:
        take(problem, name, sample)
        xs = [problem.x0] * (problem.T + 1)
        solver.solve(xs, list(problem.quasiStatic(xs[:-1])), most, False)
        solved = solver.iter < most and tolerance > solver.KKT
        found.append([bool(solved), int(solver.iter), float(solver.cost)])
    return found


def main() -> None:
    """Read, solve, write."""
    asked = json.load(sys.stdin)
    build = {
        "kuka": lambda: kuka(asked["iiwa"]),
        "quadrotor": quadrotor,
        "double-pendulum": double_pendulum,
        "taichi": lambda: taichi("x0"),
    }
    found = {
        name: outcomes(one_thread(build[name]()), name, part, asked["tolerance"])
        for name, part in asked["samples"].items()
    }
    print(json.dumps({"mim_solvers": getattr(mim_solvers, "__version__", "0.3.0"), "outcomes": found}))


if __name__ == "__main__":
    main()
