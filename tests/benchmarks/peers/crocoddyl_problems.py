"""Reference problems, built with Crocoddyl's Python API, for the traces in tests/data and for crocoddyl_times.py.

`REFERENCES` maps a name to how the problem is built, with which solver and from which guess it is solved, and what
Crocoddyl 3.2.1 on pin 4.0.0 is known to answer. An integrated model (Euler, RK4) multiplies its running cost by the
time step and its terminal cost by nothing.

Needs the environment of make_env.sh.
"""

from functools import partial

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin
from crocoddyl.utils.pendulum import ActuationModelDoublePendulum, CostModelDoublePendulum
from crocoddyl_cart_pole import ActionModelCartPole
from crocoddyl_flying_arm import FLYING_REFERENCES
from crocoddyl_humanoid import HUMANOID_REFERENCES
from crocoddyl_legged import LEGGED_REFERENCES
from crocoddyl_reference import references, scaled_effort


def unicycle(x0: tuple[float, float, float], knots: int) -> crocoddyl.ShootingProblem:
    """Unicycle x = (px, py, θ) [m, m, rad], u = (v, ω) [m/s, rad/s], driven to the origin.

    x⁺ = x + h (v cos θ, v sin θ, ω), h = 0.1 s; cost ½ (10² |x|² + 1² |u|²), not multiplied by h; terminal ½ 10² |x|².
    """
    model = crocoddyl.ActionModelUnicycle()
    model.dt = 0.1
    model.costWeights = np.array([10.0, 1.0])
    return crocoddyl.ShootingProblem(np.array(x0), [model] * knots, model)


def unicycle_with_limits() -> crocoddyl.ShootingProblem:
    """The same from (-1, -1, 1) in 40 steps, with |v| <= 0.8 m/s and |ω| <= 1.2 rad/s."""
    problem = unicycle((-1.0, -1.0, 1.0), 40)
    limits = np.array([0.8, 1.2])
    problem.runningModels[0].u_lb, problem.runningModels[0].u_ub = -limits, limits
    return problem


def cart_pole() -> crocoddyl.ShootingProblem:
    """Cart-pole balanced over 50 steps of 0.05 s from x0 = (0, 0, 1, 0.5) (model: crocoddyl_cart_pole.py)."""
    model = ActionModelCartPole()
    return crocoddyl.ShootingProblem(np.array([0.0, 0.0, 1.0, 0.5]), [model] * 50, model)


def double_pendulum() -> crocoddyl.ShootingProblem:
    """Double pendulum swung up by a torque on its first joint: x = (q1, q2, v1, v2), q = 0 upright, u = (τ1,).

    Robot `double_pendulum` of example-robot-data, its damping ignored, x0 = (3.14, 0, 0, 0), T = 100, h = 0.01 s,
    semi-implicit Euler. With r = (sin q1, sin q2, 1 - cos q1, 1 - cos q2, v1, v2) and w = (1, 1, 1, 1, 0.1, 0.1):

        G(x) = ½ Σ wᵢ rᵢ² = (1 - cos q1) + (1 - cos q2) + 0.05 (v1² + v2²)
        running: h (1e-3 G(x) + 1e-2 ½ u²),  terminal: 100 G(x)

    The Hessian of G is the exact one, diag(cos q1, cos q2, 0.1, 0.1), and negative in q1 at x0; Gauss-Newton would give
    diag(1, 1, 0.1, 0.1).
    """
    step = 1e-2
    state = crocoddyl.StateMultibody(example_robot_data.load("double_pendulum").model)
    actuation = ActuationModelDoublePendulum(state, actLink=1)
    activation = crocoddyl.ActivationModelWeightedQuad(np.array([1.0, 1.0, 1.0, 1.0, 0.1, 0.1]))
    goal = CostModelDoublePendulum(state, activation, actuation.nu)
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu))
    running = euler_or_rk4(state, actuation, {"goal": (goal, 1e-3), "effort": (effort, 1e-2)}, step)
    terminal = euler_or_rk4(state, actuation, {"goal": (goal, 100.0)}, step)
    return crocoddyl.ShootingProblem(np.array([3.14, 0.0, 0.0, 0.0]), [running] * 100, terminal)


def reach(
    robot: str,
    frame: str,
    target: tuple[float, float, float],
    q0: np.ndarray | str,
    *,
    knots: int,
    step: float,
    pose: float,
    regularisation: float,
    terminal_pose: float,
    rest: str = "zero",
    integrator: str = "euler",
    effort: float = 1.0,
) -> crocoddyl.ShootingProblem:
    """A fully actuated arm moves a frame to the pose T* = (identity, target), u the joint torques [N m].

    running: h (½ w_pose |log6(T*⁻¹ T_world_frame(q))|² + ½ w_reg |x ⊖ x_rest|² + ½ w_reg |u|²),
    terminal: ½ w_terminal |log6(T*⁻¹ T_world_frame(q))|², Gauss-Newton Hessians. The armature counts, joint friction
    and damping do not.

    Args:
        robot: Name in example-robot-data.
        frame: Name of the frame that is to reach the target.
        target: Position of the target [m].
        q0: Initial configuration, (nq,) or a name among the robot's; the initial velocity is zero.
        knots: Number of steps T.
        step: Time step h [s].
        pose: Weight w_pose of the frame's placement.
        regularisation: Weight w_reg of state and control.
        terminal_pose: Weight w_terminal of the last placement.
        rest: x_rest, "zero" for the state's zero, "x0" for the initial state.
        integrator: "euler" (semi-implicit) or "rk4".
        effort: Largest torques, which only box solvers keep, in units of the robot's [-].
    """
    model = scaled_effort(example_robot_data.load(robot).model, effort)
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    q0 = model.referenceConfigurations[q0] if isinstance(q0, str) else q0
    x0 = np.concatenate([q0, np.zeros(model.nv)])
    goal = pin.SE3(np.eye(3), np.array(target))
    residuals = {
        "pose": crocoddyl.ResidualModelFramePlacement(state, model.getFrameId(frame), goal, actuation.nu),
        "state": crocoddyl.ResidualModelState(state, x0 if rest == "x0" else state.zero(), actuation.nu),
        "control": crocoddyl.ResidualModelControl(state, actuation.nu),
    }
    costs = {name: crocoddyl.CostModelResidual(state, residual) for name, residual in residuals.items()}
    weights = {"pose": pose, "state": regularisation, "control": regularisation}
    weighted = {name: (costs[name], weight) for name, weight in weights.items()}
    running = euler_or_rk4(state, actuation, weighted, step, integrator)
    terminal = euler_or_rk4(state, actuation, {"pose": (costs["pose"], terminal_pose)}, 0.0, integrator)
    return crocoddyl.ShootingProblem(x0, [running] * knots, terminal)


def euler_or_rk4(
    state: crocoddyl.StateMultibody,
    actuation: crocoddyl.ActuationModelAbstract,
    costs: dict[str, tuple[crocoddyl.CostModelAbstract, float]],
    step: float,
    integrator: str = "euler",
) -> crocoddyl.IntegratedActionModelAbstract:
    """A node of free forward dynamics with the costs {name: (cost, weight)} and a time step [s]."""
    total = crocoddyl.CostModelSum(state, actuation.nu)
    for name, (cost, weight) in costs.items():
        total.addCost(name, cost, weight)
    differential = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, total)
    if integrator == "rk4":
        return crocoddyl.IntegratedActionModelRK(differential, crocoddyl.RKType.four, step)
    return crocoddyl.IntegratedActionModelEuler(differential, step)


def kinova() -> crocoddyl.ShootingProblem:
    """Kinova arm from `arm_up` to (0.6, 0.2, 0.5) m in 100 steps of 0.01 s: Crocoddyl's arm_manipulation_fwddyn.

    nq = 9, nv = 6: three joints turn without end and hold (cos, sin). The robot's `arm_up` is written with ten digits,
    so those pairs are of unit length only to about 1e-9.
    """
    return reach(
        "kinova",
        "j2s6s200_end_effector",
        (0.6, 0.2, 0.5),
        "arm_up",
        knots=100,
        step=1e-2,
        pose=1.0,
        regularisation=0.1,
        terminal_pose=1e3,
        rest="x0",
    )


def talos_arm(
    knots: int,
    step: float,
    pose: float,
    regularisation: float,
    terminal_pose: float,
    integrator: str = "euler",
    effort: float = 1.0,
) -> crocoddyl.ShootingProblem:
    """The left arm of Talos moves `gripper_left_joint` to (0, 0, 0.4) m; arguments as in `reach`."""
    return reach(
        "talos_arm",
        "gripper_left_joint",
        (0.0, 0.0, 0.4),
        np.array([0.173046, 1.0, -0.52366, 0.0, 0.0, 0.1, -0.005]),
        knots=knots,
        step=step,
        pose=pose,
        regularisation=regularisation,
        terminal_pose=terminal_pose,
        integrator=integrator,
        effort=effort,
    )


REFERENCES = {
    **references(
        "unicycle-t20",
        partial(unicycle, (-1.0, -1.0, 1.0), 20),
        {"ddp": (8, 249.5608979308), "fddp": (8, 249.5608979308)},
    ),
    **references(
        "unicycle-t200",
        partial(unicycle, (1.0, 0.0, 0.0), 200),
        {"ddp": (2, 80.90169943749), "fddp": (2, 80.90169943749)},
    ),
    **references("cart-pole", cart_pole, {"fddp": (3, 4.843614219835)}, python_model=True),
    **references("double-pendulum", double_pendulum, {"fddp": (54, 2.058750842289e-02)}, python_model=True),
    **references("arm-kinova", kinova, {"fddp": (73, 8.125078008411)}),
    # The weights of Crocoddyl's own arm benchmark, which only times them.
    **references(
        "arm-benchmark",
        partial(talos_arm, knots=100, step=1e-2, pose=1.0, regularisation=0.1, terminal_pose=1e3),
        {"ddp": (63, 12.23463605209), "fddp": (41, 6.135661839402)},
        guess="quasi-static",
    ),
    **references(
        "arm-t100",
        partial(talos_arm, knots=100, step=1e-2, pose=1.0, regularisation=1e-4, terminal_pose=1e3),
        {"fddp": (40, 0.3038669230708)},
        guess="quasi-static",
    ),
    **references(
        "arm-seed",
        partial(talos_arm, knots=250, step=1e-3, pose=1e-3, regularisation=1e-7, terminal_pose=1.0),
        {"ddp": None, "fddp": (49, 1.216760502134e-04)},
        guess="quasi-static",
    ),
    **references(
        "arm-seed-rk4",
        partial(talos_arm, knots=250, step=1e-3, pose=1e-3, regularisation=1e-7, terminal_pose=1.0, integrator="rk4"),
        {"ddp": (90, 7.630372058133e-04)},
        guess="quasi-static",
    ),
    **references("unicycle-limits", unicycle_with_limits, {"box-ddp": None, "box-fddp": None}),
    **references(
        "arm-limits",
        partial(talos_arm, knots=100, step=1e-2, pose=1.0, regularisation=0.1, terminal_pose=1e3, effort=0.4),
        {"box-ddp": None, "box-fddp": None},
        guess="quasi-static",
    ),
    **LEGGED_REFERENCES,
    **HUMANOID_REFERENCES,
    **FLYING_REFERENCES,
}
