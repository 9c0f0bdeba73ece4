"""Reach of UR5 in 20 steps of 50 ms, as `reach` of tests/data/make_crocoddyl_controls.py builds it with Crocoddyl."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

import trajopt
from trajopt.actuation import ActuationModelAbstract
from trajopt.robots import load_robot
from trajopt.solvers import FDDPOptions, SolverFDDP

X0 = np.array([0.0, -1.2, 1.2, *np.zeros(9)])

Integrator = Callable[[trajopt.DifferentialActionModelFreeFwdDynamics], trajopt.ActionModelAbstract]
Actuation = Callable[[trajopt.StateMultibody], ActuationModelAbstract]


def solved_reach(integrator: Integrator, actuation: Actuation = trajopt.ActuationModelFull) -> trajopt.Solution:
    """The solution by FDDP with Crocoddyl's options, from x0 at every knot and no control."""
    state = trajopt.StateMultibody(load_robot("ur5"))
    pose = trajopt.ResidualModelFramePlacement(state, "tool0", pin.SE3(np.eye(3), np.array([0.4, 0.3, 0.5])))
    running, end = trajopt.CostStack(state), trajopt.CostStack(state)
    running.add("pose", pose, weight=1.0)
    running.add("posture", trajopt.ResidualModelState(state, X0), weight=1e-2)
    running.add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    end.add("pose", pose, weight=1e2)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation(state), running)
    problem = trajopt.ShootingProblem(X0, [integrator(arm)] * 20, end)
    guess = np.tile(X0, (21, 1)), np.zeros((20, problem.nu))
    return SolverFDDP(problem, FDDPOptions.crocoddyl(max_iterations=200)).solve(*guess)
