"""The same systems three ways: from the library, written by a user with CasADi, written by a user with numpy.

Cart-pole with x = (y, φ, dy/dt, dφ/dt), φ = 0 hanging, u = (f,):

    d²y/dt² = (f + m_p sin φ (l (dφ/dt)² + g cos φ)) / (m_c + m_p sin²φ)
    d²φ/dt² = -(d²y/dt² cos φ + g sin φ) / l

with the cost ½ |x - (0, π, 0, 0)|² + ½ 1e-2 f² per second, and symplectic Euler.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

import trajopt
from trajopt import ActionData, CostStack, ShootingProblem
from trajopt.lie import log6
from trajopt.states.base import StateAbstract

Reals = npt.NDArray[np.float64]

T = 100
STEP = 1e-2  # [s]
CART_MASS, POLE_MASS, LENGTH, GRAVITY = 1.0, 0.1, 0.5, 9.81  # [kg], [kg], [m], [m/s²]
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])
FORCE = 1e-2  # weight of the force [cost / N²]
START = np.array([0.0, 3.0, 0.0, 0.0])
TOOL, GOAL = "gripper_left_joint", np.array([0.0, 0.0, 0.4])  # [m]


class CartPole(trajopt.DifferentialActionModelSymbolic):
    """Cart-pole as a user writes it with CasADi (formula: module docstring)."""

    def acceleration(self, x: SX, u: SX) -> SX:
        """Accelerations (2,) [m/s², rad/s²]."""
        sine, cosine = ca.sin(x[1]), ca.cos(x[1])
        pull = POLE_MASS * sine * (LENGTH * x[3] ** 2 + GRAVITY * cosine)
        cart = (u + pull) / (CART_MASS + POLE_MASS * sine**2)
        return ca.vertcat(cart, -(cart * cosine + GRAVITY * sine) / LENGTH)


class CartPoleNumpy(trajopt.ActionModelAbstract):
    """Cart-pole as a black box in numpy (formula: module docstring)."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(4), 1)

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Next state and cost."""
        error = x - UPRIGHT
        if u is None:
            data.cost = 0.5 * error @ error
            return
        sine, cosine = np.sin(x[1]), np.cos(x[1])
        cart = (u[0] + POLE_MASS * sine * (LENGTH * x[3] ** 2 + GRAVITY * cosine)) / (CART_MASS + POLE_MASS * sine**2)
        rates = x[2:] + STEP * np.array([cart, -(cart * cosine + GRAVITY * sine) / LENGTH])
        data.xnext = np.concatenate([x[:2] + STEP * rates, rates])
        data.cost = STEP * 0.5 * (error @ error + FORCE * u @ u)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Derivatives."""
        scale = 1.0 if u is None else STEP
        data.Lx, data.Lxx = scale * (x - UPRIGHT), scale * np.eye(4)
        if u is None:
            return
        data.Lu, data.Luu = STEP * FORCE * u, STEP * FORCE * np.eye(1)
        sine, cosine, spin = np.sin(x[1]), np.cos(x[1]), LENGTH * x[3] ** 2
        inertia = CART_MASS + POLE_MASS * sine**2
        cart = (u[0] + POLE_MASS * sine * (spin + GRAVITY * cosine)) / inertia
        by_angle = POLE_MASS * (spin * cosine + GRAVITY * np.cos(2 * x[1]) - 2 * sine * cosine * cart) / inertia
        by_rate = 2 * POLE_MASS * LENGTH * sine * x[3] / inertia
        turn = -(by_angle * cosine - cart * sine + GRAVITY * cosine) / LENGTH
        by_state = np.array([[0, by_angle, 0, by_rate], [0, turn, 0, -by_rate * cosine / LENGTH]])
        by_force = np.array([[1.0], [-cosine / LENGTH]]) / inertia
        rates, by_u = np.eye(4)[2:] + STEP * by_state, STEP * by_force
        data.Fx = np.vstack([np.eye(4)[:2] + STEP * rates, rates])
        data.Fu = np.vstack([STEP * by_u, by_u])


def cart_poles() -> dict[str, ShootingProblem]:
    """The cart-pole three ways."""
    robot = trajopt.StateMultibody(trajopt.load_robot("cart-pole"))
    actuation = trajopt.ActuationModelMatrix(robot, [[1.0], [0.0]])
    running, terminal = _upright(robot)
    built_in = trajopt.DifferentialActionModelFreeFwdDynamics(robot, actuation, running)
    vector = trajopt.StateVector(4)
    user_running, user_terminal = _upright(vector)
    written = CartPole(vector, 1, user_running)
    black_box = CartPoleNumpy()
    return {
        "built in": _problem(built_in, terminal),
        "CasADi": _problem(written, user_terminal),
        "numpy": ShootingProblem(START, [black_box] * T, black_box),
    }


def _upright(state: StateAbstract) -> tuple[CostStack, CostStack]:
    costs = CostStack(state).add("upright", trajopt.ResidualModelState(state, UPRIGHT), weight=1.0)
    running = costs.add("force", trajopt.ResidualModelControl(state), weight=FORCE)
    return running, CostStack(state).add("upright", trajopt.ResidualModelState(state, UPRIGHT), weight=1.0)


def _problem(model: trajopt.DifferentialActionModelAbstract, terminal: CostStack) -> ShootingProblem:
    return ShootingProblem(START, [trajopt.IntegratedActionModelEuler(model, dt=STEP)] * T, terminal)


def arms() -> dict[str, ShootingProblem]:
    """The reach of Talos' arm with the library's costs, and with the same costs written by a user."""
    return {"built in": _arm(written=False), "CasADi": _arm(written=True)}


def _arm(*, written: bool) -> ShootingProblem:
    state = trajopt.StateMultibody(trajopt.load_robot("talos_arm"))
    goal, rest, effort = _user_residuals(state) if written else _library_residuals(state)
    running = CostStack(state).add("goal", goal, weight=1.0)
    running.add("x_reg", rest, weight=1e-4).add("u_reg", effort, weight=1e-4)
    terminal = CostStack(state).add("goal", goal, weight=1e3)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    x0 = np.r_[0.173046, 1.0, -0.52366, 0.0, 0.0, 0.1, -0.005, np.zeros(state.nv)]
    return ShootingProblem(x0, [trajopt.IntegratedActionModelEuler(dynamics, dt=STEP)] * T, terminal)


def _library_residuals(state: trajopt.StateMultibody) -> tuple[trajopt.ResidualModelAbstract, ...]:
    goal = trajopt.ResidualModelFramePlacement(state, TOOL, pin.SE3(np.eye(3), GOAL))
    return goal, trajopt.ResidualModelState(state), trajopt.ResidualModelControl(state)


def _user_residuals(state: trajopt.StateMultibody) -> tuple[trajopt.ResidualModelAbstract, ...]:
    tool = state.robot.frame_id(TOOL)

    def placement(x: SX, robot: trajopt.dynamics.RobotExpressions, goal: SX) -> SX:
        rotation, position = robot.frame_placement(tool)
        return log6(rotation, position - goal)

    def rest(x: SX) -> SX:
        return x

    def effort(x: SX, u: SX) -> SX:
        return u

    symbolic = trajopt.ResidualModelSymbolic
    return symbolic(state, placement, parameters={"goal": GOAL}), symbolic(state, rest), symbolic(state, effort)
