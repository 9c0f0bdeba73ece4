"""An arm follows a moving target within the limits of its joints and motors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_count, check_known, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.residuals import ResidualModelControlGrav, ResidualModelFrameTranslation, ResidualModelState
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

FRAME = "panda_hand_tcp"
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
START = (0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8)  # [rad]
RATES, SWINGS = np.array([2.0, 2.0, 4.0]), np.array([0.05, 0.15, 0.1])  # of the target [rad/s], [m]
PHASES, MIDDLE = np.array([-0.5 * np.pi, 0.0, 0.0]), np.array([0.05, 0.0, 0.0])  # put the target at its start at t = 0
PLANTS = ("model", "mujoco")
JUMP, HASTE = np.array([0.1, 0.35, 0.0]), 0.1  # displacement of the target [m] and its duration [s]


def arm(payload: float = 0.0) -> Robot:
    """Panda without fingers, 7 joints, with a mass in its hand [kg]."""
    robot = load_robot("panda").lock_joints(FINGERS)
    if payload == 0.0:
        return robot
    model = robot.model.copy()
    frame = model.frames[robot.frame_id(FRAME)]
    model.appendBodyToJoint(frame.parentJoint, pin.Inertia.FromSphere(payload, 0.03), frame.placement)
    return Robot(model, name=robot.name, source=robot.source, package_dirs=robot.package_dirs)


def target(start: Reals, jump: float, times: npt.ArrayLike) -> Reals:
    """Returns the positions of a moving target (..., 3) [m] at times (...) [s].

    The target runs through a loop that begins at `start`. From time `jump` on, the whole loop shifts by `JUMP` within
    `HASTE`.

    Args:
        start: Position at time 0, shape (3,) [m].
        jump: Time at which the shift begins [s].
        times: Times, of any shape [s].
    """
    t = np.asarray(times, dtype=np.float64)[..., None]
    away = np.minimum(np.maximum((t - jump) / HASTE, 0.0), 1.0) * JUMP
    return np.asarray(start + MIDDLE + SWINGS * np.sin(RATES * t + PHASES) + away)


def references(place: Callable[[Reals], Reals], times: Reals) -> dict[str, Reals]:
    """Parameters of knots at times (n,) [s]."""
    return {"hand.reference": place(times)}


def horizon(robot: Robot, *, N: int = 30, dt: float = 0.02) -> ShootingProblem:
    """Problem of `build` with N knots, at rest at the start; the target is the parameter "hand.reference"."""
    state = StateMultibody(robot)
    actuation, start = ActuationModelFull(state), state.at_rest(START)
    hand, weights = robot.placement(start[: robot.nq], FRAME)[:3, 3], np.repeat([0.1, 0.05], state.nv)

    def costs(factor: float) -> CostStack:
        stack = CostStack(state).add("hand", ResidualModelFrameTranslation(state, FRAME, hand), 1e3 * factor)
        return stack.add("posture", ResidualModelState(state, start), factor, ActivationModelWeightedQuad(weights))

    running = costs(1.0).add("torque", ResidualModelControlGrav(state, actuation), weight=1e-4)
    limits = ConstraintStack.of_robot(state, actuation)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=limits)
    end = ActionModelTerminal(costs(10 * dt), constraints=ConstraintStack.of_robot(state))
    return ShootingProblem(start, [IntegratedActionModelEuler(dynamics, dt)] * N, end)


def build(
    *,
    N: int = 30,
    dt: float = 0.02,
    period: float = 1e-3,
    payload: float = 0.0,
    jump: float = 5.0,
    plant: str = "model",
) -> MPCCase:
    """minimise ∫ ½ (1e3 |hand - target|² + 0.1 |q - q₀|² + 0.05 |v|² + 1e-4 |u - g(q)|²) dt, within the limits.

    The target moves along a loop of 0.3 m x 0.2 m x 0.1 m in 3.1 s. Once it moves away by 0.36 m in 0.1 s, faster than
    the joints can turn; the controller sees this N knots ahead. Torques are hard limits; positions and velocities of
    the joints are soft limits. The plant takes steps of at most 1 ms.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        payload: Mass in the hand of the plant, >= 0 [kg]; the controller does not know it.
        jump: Time at which the target moves away [s].
        plant: "model", the dynamics of the arm; or "mujoco".
    """
    robot = arm()
    problem = horizon(robot, N=check_count("N", N, least=1), dt=check_positive("dt", dt, unit="s"))
    place = functools.partial(target, robot.placement(problem.x0[: robot.nq], FRAME)[:3, 3], float(jump))
    step, mass = (
        min(check_positive("period", period, unit="s"), 1e-3),
        check_non_negative("payload", payload, unit="kg"),
    )
    moved: Any = None
    if check_known("plant", plant, PLANTS) == "mujoco":
        moved = mpc.MuJoCoPlant(arm(mass), dt=step)
    elif mass:
        moved = horizon(arm(mass), N=1, dt=step).running[0]
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        schedule=functools.partial(references, place),
        options={"hessian": "gauss-newton"},  # "exact" takes 0.1 ms more
        plant=moved,
        duration=10.0,
        dt_plant=step,
        follows=place,
        report=functools.partial(report, robot, place, float(jump)),
    )


def report(robot: Robot, place: Any, jump: float, log: Any) -> dict[str, str]:
    """Distance of the hand from the target, and margins to the joint limits."""
    nq, model = robot.nq, robot.model
    hand = np.array([robot.placement(x[:nq], FRAME)[:3, 3] for x in log.xs])
    away = np.linalg.norm(hand - place(log.times), axis=1)
    calm = away[(log.times > 0.5) & (np.abs(log.times - jump) > 1.0)]
    words = {}
    if len(calm):
        words["distance"] = f"{1e3 * calm.mean():.3g} mm on average, {1e3 * calm.max():.3g} mm at most"
    after = np.flatnonzero((log.times > jump) & (away > 0.01))
    if log.times[-1] > jump + 1.0:
        ahead = np.flatnonzero((log.times < jump) & (log.times > jump - 1.0) & (away > 0.01))
        first = jump - log.times[ahead[0]] if len(ahead) else 0.0
        last = log.times[after[-1]] - jump if len(after) else 0.0
        words["jump"] = f"begins {first:.3g} s before, within 10 mm {last:.3g} s after it"
    qs, vs = log.xs[:, :nq], log.xs[:, nq:]
    words["torques"] = f"{_percent(log.us, model.effortLimit)} of their limits at most"
    words["velocities"] = f"{_percent(vs, model.velocityLimit)} of their limits at most"
    room = np.minimum(qs - model.lowerPositionLimit, model.upperPositionLimit - qs).min()
    words["positions"] = f"{np.degrees(room):.3g} deg from their limits at least"
    return words


def _percent(values: Reals, limits: Reals) -> str:
    return f"{100 * (np.abs(values) / limits).max():.4g} %"


FAMILY = Family(
    name="arm-tracking",
    description="An arm follows a moving target within the limits of its joints and motors.",
    build=build,
)
