"""Every model of the library by name; one battery (test_models*.py) runs over all. New models are added here.

Longer than a file should be, because it is one list.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

import trajopt
from tests.support.constraint_models import constraints_of, limited_residuals
from tests.support.contact_models import contact_differentials, force_residuals, impulse_actions
from tests.support.contact_robots import ROBOTS, robot_state
from tests.support.inverse_dynamics import inverse_model
from tests.support.kinematic_residuals import kinematic_residuals
from tests.support.reduced_models import REDUCED
from tests.support.stage_models import stage_actions
from trajopt import planar
from trajopt.actions import ActionModelTerminal
from trajopt.dynamics import RobotExpressions
from trajopt.residuals import ResidualModelAbstract
from trajopt.robots import Robot, load_robot
from trajopt.states import StateAbstract, StateMultibody, StateVector

Reals = npt.NDArray[np.float64]

# States. "ball" is a body on a spherical joint, "drone" a free flyer that carries one link: small and curved.


def _body(rng: np.random.Generator) -> pin.Inertia:
    turned = pin.exp3(rng.normal(size=3))
    return pin.Inertia(1.3, 0.2 * rng.normal(size=3), turned @ np.diag([0.02, 0.05, 0.06]) @ turned.T)


def _curved_robot(joint: pin.JointModel, name: str, *, link: bool) -> Robot:
    rng, model = np.random.default_rng(3), pin.Model()
    model.name = name
    base = model.addJoint(0, joint, pin.SE3.Identity(), "base")
    model.appendBodyToJoint(base, _body(rng), pin.SE3.Identity())
    if link:
        base = model.addJoint(
            base, pin.JointModelRX(), pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3)), "link"
        )
        model.appendBodyToJoint(base, _body(rng), pin.SE3.Identity())
    placement = pin.SE3(pin.exp3(rng.normal(size=3)), 0.3 * rng.normal(size=3))
    model.addFrame(pin.Frame("tip", base, 0, placement, pin.FrameType.OP_FRAME))
    return Robot(model)


STATES: dict[str, Callable[[], StateAbstract]] = {
    "vector": lambda: StateVector(3),
    "planar-2r": lambda: StateMultibody(load_robot("planar-2r")),
    "planar-3r": lambda: StateMultibody(load_robot("planar-3r")),
    "cart-pole": lambda: StateMultibody(load_robot("cart-pole")),
    "double-pendulum": lambda: StateMultibody(load_robot("double-pendulum")),
    "ball": lambda: StateMultibody(_curved_robot(pin.JointModelSpherical(), "ball", link=False)),
    "drone": lambda: StateMultibody(_curved_robot(pin.JointModelFreeFlyer(), "drone", link=True)),
    "talos_arm": lambda: StateMultibody(load_robot("talos_arm")),
    "solo12": lambda: StateMultibody(load_robot("solo12")),
    **{name: lambda name=name: robot_state(name) for name in ROBOTS},  # type: ignore[misc]
}
TIP = {"planar-2r": "tool", "planar-3r": "tool", "talos_arm": "gripper_left_joint", "solo12": "FR_FOOT"}
TIP |= dict.fromkeys(("cart-pole", "double-pendulum", "ball", "drone"), "tip") | {"variable": "foot0"}


@cache
def state_of(name: str) -> Any:
    return STATES[name]()


@cache
def reference_of(name: str) -> Reals:
    """The state that references are taken from: at it the residuals of most models are zero."""
    state = state_of(name)
    return state.integrate(state.zero(), np.random.default_rng(5).uniform(-0.6, 0.6, state.ndx))


@cache
def tip_at_reference(name: str) -> pin.SE3:
    model, q = state_of(name).model, reference_of(name)[: state_of(name).nq]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(TIP[name])].copy()


# What a user writes


def swing(x: SX) -> SX:
    return ca.vertcat(ca.sin(x[0]), x[1] * x[0])


def effort_and_swing(x: SX, u: SX) -> SX:
    return ca.vertcat(u[0] * ca.cos(x[0]), x[1] + 0.3 * u[0], x[0] * x[1])


def above(x: SX, height: SX, slope: SX) -> SX:
    return x[0] - height - ca.dot(slope, x[:2])


def power(x: SX, u: SX, scale: SX) -> SX:
    return scale * u * x[-u.numel() :]


def tip_height(x: SX, robot: RobotExpressions, floor: SX) -> SX:
    return robot.frame_placement(robot.model.getFrameId("tip"))[1][2] - floor


def torque_above_gravity(robot: RobotExpressions, x: SX, u: SX) -> SX:
    return u - robot.gravity()


def mx_function() -> ca.Function:
    x, p = ca.MX.sym("x", 3), ca.MX.sym("p", 2)
    return ca.Function("f", [x, p], [ca.vertcat(p[0] * ca.sumsqr(x), ca.exp(p[1] * x[2]))])


def sx_function() -> ca.Function:
    x, u = SX.sym("x", 3), SX.sym("u", 2)
    return ca.Function("f", [x, u], [ca.vertcat(x[0] * u, x)])


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """m l² dv/dt = u - m g l sin q - c v, as a user writes it."""

    def __init__(self, costs: trajopt.CostStack, *, mass: float = 1.2, damping: float = 0.1, **options: Any) -> None:
        super().__init__(StateVector(2), 1, costs, **options)
        self.mass = self.parameter("mass", mass, unit="kg")
        self.damping = self.parameter("damping", damping, unit="N m s/rad")

    def acceleration(self, x: SX, u: SX) -> SX:
        return (u - self.damping * x[1]) / (0.25 * self.mass) - 9.81 / 0.5 * ca.sin(x[0])


class VanDerPol(trajopt.DifferentialActionModelSymbolic):
    """A first-order system."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(StateVector(2), 1, costs, lower=[-1.0], upper=[1.0], control_names=["push"])
        self.mu = self.parameter("mu", 1.3)

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[1], self.mu * (1 - x[0] ** 2) * x[1] - x[0] + u)


class Attitude(trajopt.DifferentialActionModelSymbolic):
    """A first-order system on a curved state: the rate is a tangent vector."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(state_of("ball"), 3, costs)

    def xdot(self, x: SX, u: SX) -> SX:
        omega = x[4:]
        return ca.vertcat(omega + 0.2 * x[:3], u - ca.cross(omega, ca.DM([1.0, 2.0, 3.0]) * omega))


class DiscreteAttitude(trajopt.ActionModelDiscrete):
    """A discrete-time model on a curved state, with the exact Hessian of its cost."""

    def __init__(self, *, constraints: Any = None) -> None:
        super().__init__(state_of("ball"), 3, constraints=constraints)
        self.gain = self.parameter("gain", 0.1)

    def next_state(self, x: SX, u: SX) -> SX:
        return self.state.sx_integrate(x, ca.vertcat(self.gain * x[4:] + 0.05 * u, self.gain * u * x[0]))

    def running_cost(self, x: SX, u: SX) -> SX:
        return self.terminal_cost(x) + ca.sumsqr(u) * (1 + 0.2 * x[1])

    def terminal_cost(self, x: SX) -> SX:
        return ca.sumsqr(x - SX([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]))


class BlackBox(trajopt.ActionModelAbstract):
    """The pendulum above, written in numpy: explicit Euler step of 0.05 s."""

    def __init__(self, mass: float = 1.2) -> None:
        super().__init__(StateVector(2), 1)
        self.mass = mass

    def calc(self, data: trajopt.ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.5 * (x @ x) + (0.0 if u is None else 0.005 * u[0] ** 2)
        if u is not None:
            acceleration = (u[0] - 0.1 * x[1]) / (0.25 * self.mass) - 9.81 / 0.5 * np.sin(x[0])
            data.xnext[:] = x[0] + 0.05 * x[1], x[1] + 0.05 * acceleration

    def calc_diff(self, data: trajopt.ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lx, data.Lxx = x, np.eye(2)
        if u is not None:
            data.Lu, data.Luu = 0.01 * u, [[0.01]]
            data.Fx = [[1.0, 0.05], [-0.05 * 9.81 / 0.5 * np.cos(x[0]), 1 - 0.05 * 0.1 / (0.25 * self.mass)]]
            data.Fu = [[0.0], [0.05 / (0.25 * self.mass)]]


class ValuesOnly(trajopt.ActionModelAbstract):
    """A black box without derivatives, on a curved state; to be wrapped."""

    def __init__(self) -> None:
        super().__init__(state_of("ball"), 3)

    def calc(self, data: trajopt.ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = float(np.sum((x - 0.2) ** 2) + (0.0 if u is None else u @ u * np.exp(x[0])))
        if u is not None:
            data.xnext = self.state.integrate(x, np.concatenate([0.1 * x[4:], 0.1 * u * x[0]]))


# The list

_QUATERNION = [0.5, -0.5, 0.5, 0.5]


def _multibody_residuals(name: str) -> dict[str, Callable[[], ResidualModelAbstract]]:
    state, tip = lambda: state_of(name), lambda: tip_at_reference(name)
    com = [0.1, -0.2, 0.3]
    result: dict[str, Callable[[], ResidualModelAbstract]] = {
        "state": lambda: trajopt.ResidualModelState(state(), reference_of(name)),
        "placement": lambda: trajopt.ResidualModelFramePlacement(state(), TIP[name], tip()),
        "translation": lambda: trajopt.ResidualModelFrameTranslation(state(), TIP[name], tip().translation),
        "rotation": lambda: trajopt.ResidualModelFrameRotation(state(), TIP[name], tip().rotation),
        "com": lambda: trajopt.ResidualModelCoMPosition(state(), com),
    }
    for frame in ("local", "world", "local_world_aligned"):
        result[f"velocity-{frame}"] = lambda frame=frame: trajopt.ResidualModelFrameVelocity(
            state(), TIP[name], np.arange(6.0), reference_frame=frame
        )
    return {f"{key}-{name}": make for key, make in result.items()}


RESIDUALS: dict[str, Callable[[], ResidualModelAbstract]] = {
    "state-vector": lambda: trajopt.ResidualModelState(state_of("vector"), reference_of("vector")),
    "state-zero": lambda: trajopt.ResidualModelState(state_of("ball")),
    "control": lambda: trajopt.ResidualModelControl(state_of("ball")),
    "control-reference": lambda: trajopt.ResidualModelControl(state_of("ball"), [0.1, 0.2]),
    **{
        key: make
        for name in ("ball", "drone", "talos_arm", "solo12")
        for key, make in _multibody_residuals(name).items()
    },
    **kinematic_residuals(state_of),
    "rotation-quaternion": lambda: trajopt.ResidualModelFrameRotation(state_of("ball"), "tip", _QUATERNION),
    "placement-vector": lambda: trajopt.ResidualModelFramePlacement(state_of("ball"), "tip", [1, 2, 3, *_QUATERNION]),
    "symbolic-x": lambda: trajopt.ResidualModelSymbolic(state_of("vector"), swing),
    "symbolic-xu": lambda: trajopt.ResidualModelSymbolic(state_of("vector"), effort_and_swing),
    "symbolic-xp": lambda: trajopt.ResidualModelSymbolic(
        state_of("vector"), above, parameters={"height": 0.3, "slope": [0.1, 0.2]}, unit="m"
    ),
    "symbolic-xup": lambda: trajopt.ResidualModelSymbolic(state_of("ball"), power, parameters={"scale": 2.0}),
    "symbolic-mx": lambda: trajopt.ResidualModelSymbolic(
        state_of("vector"), mx_function(), parameters={"p": [0.5, 0.6]}
    ),
    "symbolic-sx": lambda: trajopt.ResidualModelSymbolic(state_of("vector"), sx_function()),
    "symbolic-robot": lambda: trajopt.ResidualModelSymbolic(
        state_of("drone"), tip_height, parameters={"floor": 0.1}, unit="m"
    ),
    "symbolic-robot-xu": lambda: trajopt.ResidualModelSymbolic(state_of("planar-2r"), torque_above_gravity),
    "symbolic-network": lambda: trajopt.ResidualModelSymbolic(state_of("vector"), seen_by_network),
    **limited_residuals(state_of),
    **force_residuals(),
}


def seen_by_network(x: SX, u: SX) -> SX:
    return network(int(x.numel() + u.numel()), 3)(ca.vertcat(x, u))


def log_cosh(r: SX, width: SX) -> SX:
    """An activation of the user's, with products of different elements."""
    return ca.sum1(ca.log(ca.cosh(r / width))) + 0.1 * r[0] * r[1]


ACTIVATIONS: dict[str, Callable[[], trajopt.ActivationModelAbstract]] = {  # of residuals of size 4
    "quad": trajopt.ActivationModelQuad,
    "weighted": lambda: trajopt.ActivationModelWeightedQuad([0.0, 0.5, 2.0, 30.0]),
    "barrier": lambda: trajopt.ActivationModelQuadraticBarrier(
        [-0.5, -np.inf, 0.2, -np.inf], [0.5, 0.1, np.inf, np.inf]
    ),
    "weighted-barrier": lambda: trajopt.ActivationModelWeightedQuadraticBarrier(
        [-0.5, -np.inf, 0.2, -np.inf], [0.5, 0.1, np.inf, np.inf], [1.0, 0.0, 3.0, 2.0]
    ),
    "smooth-1": lambda: trajopt.ActivationModelSmooth1Norm(0.3),
    "smooth-2": lambda: trajopt.ActivationModelSmooth2Norm(0.3),
    "flat-exp": lambda: trajopt.ActivationModelQuadFlatExp(2.0),
    "flat-log": lambda: trajopt.ActivationModelQuadFlatLog(2.0),
    "norm-barrier": lambda: trajopt.ActivationModel2NormBarrier(1.7, exact=True),
    "symbolic": lambda: trajopt.ActivationModelSymbolic(log_cosh, parameters={"width": 0.4}),
}

ACTUATIONS: dict[str, Callable[[], trajopt.ActuationModelFull]] = {
    "full-talos_arm": lambda: trajopt.ActuationModelFull(state_of("talos_arm")),
    "full-ball": lambda: trajopt.ActuationModelFull(state_of("ball")),
    "floating-solo12": lambda: trajopt.ActuationModelFloatingBase(state_of("solo12")),
    "floating-drone": lambda: trajopt.ActuationModelFloatingBase(state_of("drone")),
    "thrusters-drone": lambda: trajopt.ActuationModelFloatingBaseThrusters(
        state_of("drone"), [trajopt.Thruster((0.1, 0.2, 0.0), 0.01), trajopt.Thruster((-0.1, 0.0, 0.1), 0.02, "cw")]
    ),
    "squashed-talos_arm": lambda: trajopt.ActuationModelSquashed(trajopt.ActuationModelFull(state_of("talos_arm"))),
    "matrix-gears": lambda: trajopt.ActuationModelMatrix(
        state_of("planar-3r"), [[50.0, 0, 0], [0, 3, 3], [0, 3, -3]], lower=[-1, -2, -2], upper=[1, 2, 2]
    ),
    "matrix-cart-pole": lambda: trajopt.ActuationModelMatrix(state_of("cart-pole"), [[1.0], [0.0]]),
    "matrix-drone": lambda: trajopt.ActuationModelMatrix(
        state_of("drone"), np.random.default_rng(1).normal(size=(7, 4))
    ),
}


def costs_of(name: str, *, controlled: bool = True) -> trajopt.CostStack:
    """Costs of a robot: one term of each kind of residual and activation."""
    state = state_of(name)
    ndx = state.ndx
    bounds = np.linspace(0.05, 0.3, ndx)
    bounds[0] = np.inf
    stack = trajopt.CostStack(state)
    stack.add("goal", trajopt.ResidualModelFramePlacement(state, TIP[name], tip_at_reference(name)), 2.0)
    stack.add(
        "x_reg", trajopt.ResidualModelState(state), 0.1, trajopt.ActivationModelWeightedQuad(np.arange(1.0, ndx + 1))
    )
    stack.add(
        "limits", trajopt.ResidualModelState(state), 3.0, trajopt.ActivationModelQuadraticBarrier(-bounds, bounds)
    )
    stack.add("speed", trajopt.ResidualModelFrameVelocity(state, TIP[name]), 0.3)
    if controlled:
        stack.add("u_reg", trajopt.ResidualModelControl(state), 0.01)
        stack.add("power", trajopt.ResidualModelSymbolic(state, power, parameters={"scale": 2.0}), 0.05)
    return stack


def small_costs(state: StateAbstract) -> trajopt.CostStack:
    """Costs of a user's system, with a term that mixes state and control."""
    stack = trajopt.CostStack(state)
    stack.add("x_reg", trajopt.ResidualModelState(state), 0.5)
    stack.add("mixed", trajopt.ResidualModelSymbolic(state, effort_and_swing), 0.2)
    return stack.add("u_reg", trajopt.ResidualModelControl(state), 0.1)


def free_dynamics(name: str, *, controlled: bool = True, **options: Any) -> Any:
    state = state_of(name)
    if name in ("drone", "solo12", "variable"):
        actuation: Any = trajopt.ActuationModelFloatingBase(state)
    elif name == "cart-pole":
        actuation = trajopt.ActuationModelMatrix(state, [[1.0], [0.0]])
    else:
        actuation = trajopt.ActuationModelFull(state)
    costs = costs_of(name, controlled=controlled)
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, **options)


def squashed(name: str, *, most: float = 3.0) -> trajopt.DifferentialActionModelFreeFwdDynamics:
    """Motors of so many N m at every joint, less in one direction, squashed."""
    state = state_of(name)
    motors = trajopt.ActuationModelSquashed(
        trajopt.ActuationModelFull(state),
        lower=np.full(state.nv, 1.0 - most),
        upper=np.full(state.nv, most),
        smoothness=0.2,
    )
    effort = trajopt.ConstraintStack(state).add(
        "effort", trajopt.ResidualModelJointEffort(state, motors), lower=-np.ones(state.nv), upper=np.ones(state.nv)
    )
    costs = costs_of(name).add("gravity", trajopt.ResidualModelControlGrav(state, motors), 0.1)
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=effort)


def diff_drive(state: StateVector) -> planar.DifferentialActionModelDiffDrive:
    return planar.DifferentialActionModelDiffDrive(small_costs(state), radius=0.4, half_track=0.7)


def network(inputs: int, outputs: int, *, hidden: tuple[int, ...] = (9, 6)) -> trajopt.Network:
    """A network of random weights, with an activation of its own in each hidden layer and in the last."""
    rng, sizes = np.random.default_rng(7), [inputs, *hidden, outputs]
    weights = [rng.normal(size=(m, n)) / np.sqrt(n) for n, m in pairwise(sizes)]
    activations = [("tanh", "silu", "gelu")[i % 3] for i in range(len(hidden))]
    biases = [rng.normal(size=m) for m in sizes[1:]]
    return trajopt.Network(weights, biases, activation=activations, output="softplus", output_scale=[2.0] * outputs)


def angle_features(x: SX, u: SX) -> list[SX]:
    return [ca.sin(x[0]), ca.cos(x[0]), x[1], u[0]]


def push(x: SX, u: SX) -> SX:
    return 4.0 * u - 0.3 * x[1]


def learned(state: StateAbstract, network: trajopt.Network, nu: int, **options: Any) -> Any:
    return trajopt.DifferentialActionModelNetwork(state, nu, small_costs(state), network, **options)


INVERSE = ("planar-3r", "cart-pole", "ball", "drone", "talos_arm")
DIFFERENTIALS: dict[str, Callable[[], trajopt.DifferentialActionModelAbstract]] = {
    **{
        name: lambda name=name: free_dynamics(name)  # type: ignore[misc]
        for name in ("planar-2r", "planar-3r", "cart-pole", "double-pendulum", "ball", "drone", "talos_arm", "solo12")
    },
    "planar-3r-squashed": lambda: squashed("planar-3r"),
    "talos_arm-friction": lambda: free_dynamics("talos_arm", friction="smooth"),
    "variable": lambda: free_dynamics("variable", friction="smooth"),
    "pendulum": lambda: Pendulum(small_costs(StateVector(2))),
    "van-der-pol": lambda: VanDerPol(small_costs(StateVector(2))),
    "attitude": lambda: Attitude(small_costs(state_of("ball"))),
    "network": lambda: learned(StateVector(2), network(4, 1), 1, features=angle_features, nominal=push),
    "network-rate": lambda: learned(StateVector(2), network(3, 2), 1),
    "network-ball": lambda: learned(state_of("ball"), network(10, 3), 3),
    "planar-2r-torque": lambda: free_dynamics("planar-2r", torque=network(4, 2)),
    "drone-torque": lambda: free_dynamics("drone", torque=network(15, 7)),
    "diff-drive": lambda: diff_drive(planar.state_of_pose()),
    "diff-drive-rates": lambda: diff_drive(planar.state_of_wheels()),
    "unicycle-drive": lambda: planar.DifferentialActionModelUnicycle(small_costs(planar.state_of_pose())),
    "unicycle-speeds": lambda: planar.DifferentialActionModelUnicycle(small_costs(planar.state_of_twist())),
    "constrained-pendulum": lambda: Pendulum(small_costs(StateVector(2)), constraints=constraints_of(StateVector(2))),
    **{
        f"constrained-{k}": lambda k=k: free_dynamics(k, constraints=constraints_of(state_of(k)))
        for k in ("drone", "planar-2r")
    },
    **{f"inverse-{n}": lambda n=n: inverse_model(free_dynamics(n)) for n in INVERSE},  # type: ignore[misc]
    **contact_differentials(),
    **REDUCED,
}


def lqr(*, constraints: Any = None) -> trajopt.ActionModelLQR:
    rng = np.random.default_rng(2)
    A, B = np.eye(4) + 0.1 * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    Q, R = rng.normal(size=(4, 4)), rng.normal(size=(2, 2))
    more = {
        "N": 0.1 * rng.normal(size=(4, 2)),
        "f": rng.normal(size=4),
        "q": rng.normal(size=4),
        "r": rng.normal(size=2),
    }
    return trajopt.ActionModelLQR(A, B, Q @ Q.T, R @ R.T + np.eye(2), **more, constraints=constraints)


def rk4_with(kind: Callable[[int], Any], differential: Any) -> trajopt.IntegratedActionModelRK4:
    """A model whose control changes within a step."""
    return trajopt.IntegratedActionModelRK4(differential, dt=0.05, control=kind(differential.nu))


BY_RK4 = (
    *("planar-2r", "cart-pole", "ball", "drone", "talos_arm", "variable", "pendulum", "van-der-pol", "attitude"),
    *("network", "constrained-pendulum", "constrained-drone", "contact-hopper", "contact-none", "centroidal"),
    *("contact-constrained-forces", "inverse-cart-pole", "inverse-hopper"),
)
"""Dynamics that RK4 integrates, too: each kind of state, of constraints and of contacts; it sees no more of them."""

ACTIONS: dict[str, Callable[[], trajopt.ActionModelAbstract]] = {
    **{
        f"euler-{k}": lambda make=make: trajopt.IntegratedActionModelEuler(make(), dt=0.02)
        for k, make in DIFFERENTIALS.items()
    },
    **{
        f"euler-world-{k}": lambda k=k: trajopt.IntegratedActionModelEuler(DIFFERENTIALS[k](), dt=0.02, base="world")
        for k in ("drone", "planar-2r", "solo12", "contact-hopper")
    },
    **{
        f"rk4-{k}": lambda make=make: trajopt.IntegratedActionModelRK4(make(), dt=0.05)
        for k, make in DIFFERENTIALS.items()
        if k in BY_RK4
    },
    **{
        f"rk-{method}-{k}": lambda method=method, k=k: trajopt.IntegratedActionModelRK(
            DIFFERENTIALS[k](), dt=0.05, tableau=getattr(trajopt.Tableau, method.upper())
        )
        for method, k in (
            *(("euler", "pendulum"), ("midpoint", "planar-2r"), ("midpoint", "ball"), ("heun", "cart-pole")),
            *(("kutta", "planar-2r"), ("kutta", "attitude"), ("kutta", "drone"), ("kutta", "van-der-pol")),
        )
    },
    **{
        f"implicit-{method}-{k}": lambda method=method, k=k: trajopt.IntegratedActionModelImplicit(
            DIFFERENTIALS[k](), dt=0.05, method=method
        )
        for method, k in (
            *(("midpoint", "planar-2r"), ("midpoint", "attitude"), ("midpoint", "contact-hopper")),
            *(("midpoint", "constrained-pendulum"), ("midpoint", "inverse-cart-pole")),
            *(("euler", "van-der-pol"), ("euler", "ball"), ("euler", "network")),
        )
    },
    **{
        f"rk4-linear-{k}": lambda k=k: rk4_with(trajopt.ControlParametrizationPolyOne, DIFFERENTIALS[k]())
        for k in ("constrained-pendulum", "contact-hopper")
    },
    **{
        f"rk4-parabola-{k}": lambda k=k: rk4_with(trajopt.ControlParametrizationPolyTwoRK, DIFFERENTIALS[k]())
        for k in ("cart-pole", "ball", "planar-2r")
    },
    **{
        f"motors-{k}": lambda k=k: trajopt.ActionModelMotors(
            trajopt.IntegratedActionModelEuler(DIFFERENTIALS[k](), dt=0.05), 0.08
        )
        for k in ("planar-2r", "contact-hopper", "constrained-pendulum")
    },
    **stage_actions(DIFFERENTIALS),
    "lqr": lqr,
    "unicycle": lambda: trajopt.ActionModelUnicycle((2.0, 0.5), dt=0.2),
    "discrete-attitude": DiscreteAttitude,
    "constrained-attitude": lambda: DiscreteAttitude(constraints=constraints_of(state_of("ball"))),
    "constrained-lqr": lambda: lqr(constraints=constraints_of(StateVector(4))),
    "black-box": BlackBox,
    "num-diff-black-box": lambda: trajopt.ActionModelNumDiff(ValuesOnly()),
    "num-diff-unicycle": lambda: trajopt.ActionModelNumDiff(trajopt.ActionModelUnicycle()),
    **impulse_actions(),
}

TERMINALS: dict[str, Callable[[], trajopt.ActionModelAbstract]] = {
    **{
        f"stack-{k}": lambda k=k: ActionModelTerminal(costs_of(k, controlled=False))
        for k in ("ball", "drone", "talos_arm", "solo12")
    },
    "constrained-stack": lambda: ActionModelTerminal(
        costs_of("drone", controlled=False), constraints=constraints_of(state_of("drone"), controlled=False)
    ),
    "constrained-euler": lambda: trajopt.IntegratedActionModelEuler(
        free_dynamics("ball", controlled=False, constraints=constraints_of(state_of("ball"), controlled=False)), dt=0.0
    ),
    "euler-ball": lambda: trajopt.IntegratedActionModelEuler(free_dynamics("ball", controlled=False), dt=0.0),
    "rk4-ball": lambda: trajopt.IntegratedActionModelRK4(free_dynamics("ball", controlled=False), dt=0.5),
    "motors-ball": lambda: trajopt.ActionModelMotors(costs_of("ball", controlled=False), motors=2),
    "lqr": lqr,
    "unicycle": trajopt.ActionModelUnicycle,
    "discrete-attitude": DiscreteAttitude,
    "black-box": BlackBox,
    "num-diff": lambda: trajopt.ActionModelNumDiff(ValuesOnly()),
}


def points(state: StateAbstract) -> list[Reals]:
    """Two random states, the neutral one, the reference, 1e-9 and 1e-3 beside it, and rotations by π - 1e-3 from it."""
    rng = np.random.default_rng(9)
    names = [name for name in STATES if state_of(name) == state]
    start = reference_of(names[0]) if names else state.zero()
    spread = [state.integrate(state.zero(), rng.normal(size=state.ndx) * 0.7) for _ in range(2)]
    beside = [state.integrate(start, size * rng.uniform(-1, 1, state.ndx)) for size in (1e-9, 1e-3)]
    turn = np.where([n.startswith("q:") and n.endswith(".rx") for n in state.tangent_names], np.pi - 1e-3, 0.0)
    return [*spread, state.zero(), start, *beside, state.integrate(start, turn)]
