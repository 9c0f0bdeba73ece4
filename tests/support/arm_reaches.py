"""Random reaches of twelve arms, without constraints: problems on which Gauss-Newton steps get short.

Start and goal are configurations within ±1.5 to 2 rad, the goal is a placement (60 %) or a position of the last frame;
50 to 150 steps of 10 to 20 ms, symplectic Euler, of every third problem RK4; weights are 1 of the goal, 1e-4 to 10^-1.5
of the state about x0 (0.01 times that of positions), 1e-4 to 1e-2 of torques, and 1e2 to 1e4 of the goal at the end.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull
from trajopt.costs import CostStack
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelState,
)
from trajopt.robots import load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverAbstract
from trajopt.states import StateMultibody
from trajopt.types import Reals

ARMS = (
    "ur5",
    "panda",
    "talos_arm",
    "kinova",
    "xarm7",
    "z1",
    "ur10",
    "bravo7_no_ee",
    "ur3",
    "ur5_gripper",
    "ur10_limited",
    "ur3_gripper",
)
COUNT = 108


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A reach as numbers, which Crocoddyl's script reads too.

    Attributes:
        robot: Name of the arm in example-robot-data.
        rk4: Whether its steps are RK4's.
        placement: Whether the goal is a placement, not a position.
        q0: First configuration (nq,).
        goal: Placement of the goal in the world (4, 4).
        T: Number of steps [-].
        dt: Time step [s].
        state: Weight of the state.
        control: Weight of torques.
        end: Weight of the goal at the end.
    """

    robot: str
    rk4: bool
    placement: bool
    q0: Reals
    goal: Reals
    T: int
    dt: float
    state: float
    control: float
    end: float


def reach(seed: int) -> Reach:
    """The reach of a seed."""
    rng, name = np.random.default_rng(seed), ARMS[seed % len(ARMS)]
    model = load_robot(name).model
    neutral, width = pin.neutral(model), rng.uniform(1.5, 2.0)
    q0, q1 = (pin.integrate(model, neutral, rng.uniform(-width, width, model.nv)) for _ in range(2))
    data = model.createData()
    pin.framesForwardKinematics(model, data, q1)
    return Reach(
        robot=name,
        rk4=seed % 3 == 2,
        placement=bool(rng.uniform() < 0.6),
        q0=q0,
        goal=data.oMf[model.nframes - 1].homogeneous,
        T=int(rng.integers(50, 151)),
        dt=float(rng.uniform(1e-2, 2e-2)),
        state=float(10.0 ** rng.uniform(-4.0, -1.5)),
        control=float(10.0 ** rng.uniform(-4.0, -2.0)),
        end=float(10.0 ** rng.uniform(2.0, 4.0)),
    )


@functools.cache
def _models(
    name: str, *, rk4: bool, placement: bool
) -> tuple[IntegratedActionModelEuler | IntegratedActionModelRK4, ActionModelTerminal]:
    """Models of a knot and of the end, whose numbers are parameters."""
    robot = load_robot(name)
    state, frame = StateMultibody(robot), robot.frame_names[-1]
    goal = (
        ResidualModelFramePlacement(state, frame, pin.SE3.Identity())
        if placement
        else ResidualModelFrameTranslation(state, frame, np.zeros(3))
    )
    uneven = ActivationModelWeightedQuad(np.repeat([0.01, 1.0], state.nv))
    costs = CostStack(state).add("goal", goal, weight=1.0)
    costs.add("state", ResidualModelState(state, state.zero()), weight=1.0, activation=uneven)
    costs.add("control", ResidualModelControl(state), weight=1.0)
    end = ActionModelTerminal(CostStack(state).add("goal", goal, weight=1.0))
    dynamics = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), costs)
    return (IntegratedActionModelRK4 if rk4 else IntegratedActionModelEuler)(dynamics, dt=0.01), end


def problem(r: Reach) -> ShootingProblem:
    """The problem of a reach."""
    node, end = _models(r.robot, rk4=r.rk4, placement=r.placement)
    x0 = np.concatenate([r.q0, np.zeros(node.state.ndx // 2)])
    made = ShootingProblem(x0, [node] * r.T, end)
    made.set_parameter("goal.reference", pin.SE3(r.goal) if r.placement else r.goal[:3, 3])
    made.set_parameter("goal.weight", r.end, knots=r.T)
    made.set_parameter("state.reference", x0)
    made.set_parameter("state.weight", r.state)
    made.set_parameter("control.weight", r.control)
    made.set_parameter("dt", r.dt)
    return made


def solve(solver: SolverAbstract) -> Solution:
    """From x0 at every knot, and the controls that hold it there."""
    return solver.solve(np.tile(solver.problem.x0, (solver.problem.T + 1, 1)))
