"""Times mim-solvers' SolverCSQP on its examples, with 20 steps of ADMM in each iteration.

    DIR/bin/python mim_times.py --serve        a name per line on stdin, an answer per line on stdout

Names: ur5 (examples/ur5.py of mim-solvers), solo12 (examples/solo12.py, with Crocoddyl's compiled friction pyramid in
place of a cone in Python, so that nothing is evaluated in Python). Fields of an answer: `first_us` and `last_us`, the
fastest of several solves with one iteration and with `iterations` [µs]; `cost` of the guess, which tells whether both
sides solve the same problem; `version`. One thread.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import crocoddyl
import example_robot_data
import mim_solvers  # after crocoddyl: it does not find its libraries else
import numpy as np
import pinocchio as pin

STEPS = 20
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")


def ur5() -> tuple[crocoddyl.ShootingProblem, list, list]:
    """The arm, its tool's y and z at most 0.4, from zeros."""
    model = example_robot_data.load("ur5").model
    state = crocoddyl.StateMultibody(model)
    actuation, frame = crocoddyl.ActuationModelFull(state), model.getFrameId("tool0")
    terms = {
        "gravity": (crocoddyl.ResidualModelControlGrav(state), 1e-4),
        "posture": (crocoddyl.ResidualModelState(state, np.zeros(12)), 0.1),
    }
    tool = crocoddyl.ResidualModelFrameTranslation(state, frame, np.full(3, 0.4))
    position = crocoddyl.ResidualModelFrameTranslation(state, frame, np.zeros(3))
    room = crocoddyl.ConstraintModelResidual(state, position, -np.ones(3), np.array([1.0, 0.4, 0.4]))
    models = []
    for t in range(41):
        costs = crocoddyl.CostModelSum(state)
        for name, (residual, weight) in terms.items():
            costs.addCost(name, crocoddyl.CostModelResidual(state, residual), weight)
        costs.addCost("tool", crocoddyl.CostModelResidual(state, tool), 4.0 if t < 40 else 40.0)
        rows = crocoddyl.ConstraintModelManager(state, model.nv)
        if t:
            rows.addConstraint("room", room)
        dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, rows)
        models.append(crocoddyl.IntegratedActionModelEuler(dynamics, 0.05))
    problem = crocoddyl.ShootingProblem(np.zeros(12), models[:-1], models[-1])
    return problem, [np.zeros(12)] * 41, [np.zeros(6)] * 40


def solo12() -> tuple[crocoddyl.ShootingProblem, list, list]:
    """The quadruped's circle in 250 steps, from standing."""
    model, T, dt = example_robot_data.load("solo12").model, 250, 0.02
    ids = [model.getFrameId(foot) for foot in FEET]
    q0 = np.array([0, 0, 0.25, 0, 0, 0, 1, *[0, 0.8, -1.6] * 2, *[0, -0.8, 1.6] * 2])
    x0, data = np.r_[q0, np.zeros(18)], model.createData()
    pin.forwardKinematics(model, data, q0)
    pin.updateFramePlacements(model, data)
    centre = np.mean([data.oMf[i].translation for i in ids], axis=0)
    centre[2] = pin.centerOfMass(model, data, q0)[2]
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFloatingBase(state)
    nu, cone = actuation.nu, crocoddyl.FrictionCone(np.eye(3), 0.8, 4, False)
    weights = np.r_[[0.0] * 3, [500.0] * 3, [0.01] * 12, [10.0] * 6, [1.0] * 12] ** 2
    posture = crocoddyl.CostModelResidual(
        state, crocoddyl.ActivationModelWeightedQuad(weights), crocoddyl.ResidualModelState(state, x0, nu)
    )
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, nu))
    contacts = crocoddyl.ContactModelMultiple(state, nu)
    for foot, i in zip(FEET, ids):
        point = crocoddyl.ContactModel3D(state, i, np.zeros(3), pin.LOCAL_WORLD_ALIGNED, nu, np.zeros(2))
        contacts.addContact(foot, point)
    models = []
    for t in range(T + 1):
        costs = crocoddyl.CostModelSum(state, nu)
        costs.addCost("posture", posture, 0.1 * (1.0 if t < T else dt))
        if t < T:
            costs.addCost("effort", effort, 1e-3)
        angle = 2 * np.pi * 0.2 * dt * t
        goal = centre + 0.065 * np.array([np.sin(angle), np.cos(angle) - 1, 0.0])
        com = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelCoMPosition(state, goal, nu))
        costs.addCost("com", com, 1e5)
        rows = crocoddyl.ConstraintModelManager(state, nu)
        for foot, i in zip(FEET, ids if t < T else ()):
            residual = crocoddyl.ResidualModelContactFrictionCone(state, i, cone, nu, True)
            rows.addConstraint(foot, crocoddyl.ConstraintModelResidual(state, residual, cone.lb, cone.ub))
        dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(
            state, actuation, contacts, costs, rows, 0.0, True
        )
        models.append(crocoddyl.IntegratedActionModelEuler(dynamics, dt))
    problem = crocoddyl.ShootingProblem(x0, models[:-1], models[-1])
    xs = [x0] * (T + 1)
    return problem, xs, list(problem.quasiStatic(xs[:-1]))


PROBLEMS: dict[str, tuple[Callable[[], Any], int]] = {"ur5": (ur5, 11), "solo12": (solo12, 5)}
"""What builds a problem, and the number of iterations of a solve."""


@cache
def bench(name: str) -> tuple[Any, ...]:
    """A problem, its guess, the cost of that, and a solver."""
    problem, xs, us = PROBLEMS[name][0]()
    problem.nthreads = 1
    cost, solver = problem.calc(xs, us), mim_solvers.SolverCSQP(problem)
    solver.max_qp_iters, solver.with_callbacks = STEPS, False
    solver.termination_tolerance, solver.eps_abs, solver.eps_rel = 1e-16, 0.0, 0.0
    return xs, us, cost, solver


def answer(name: str, solves: int = 3) -> dict[str, Any]:
    """The row of one problem."""
    xs, us, cost, solver = bench(name)
    fastest = {"first_us": np.inf, "last_us": np.inf}
    for _ in range(solves):
        for field, iterations in (("first_us", 1), ("last_us", PROBLEMS[name][1])):
            start = time.perf_counter()
            solver.solve(xs, us, iterations)
            fastest[field] = min(fastest[field], 1e6 * (time.perf_counter() - start))
    version = importlib.metadata.version("mim-solvers")
    row = {**fastest, "iterations": solver.iter, "cost": cost}
    return {"problem": name, **row, "version": version}


def main() -> None:
    """Answer."""
    for line in sys.stdin:
        name = line.strip()
        print(json.dumps(answer(name) if name in PROBLEMS else {"error": f"unknown problem {name!r}"}), flush=True)


if __name__ == "__main__":
    main()
