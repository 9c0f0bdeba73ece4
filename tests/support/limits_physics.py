"""What Pinocchio says of a motion's limits, knot by knot: nothing here comes from the models that were solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.gaits import ContactSchedule, Phase, Stance
from trajopt.problems import ProblemCase, com_circle
from trajopt.robots import Robot, legged_robot, load_robot
from trajopt.solution import Solution

Reals = npt.NDArray[np.float64]
LIMIT, SLIP, BALANCE = 1e-6, 1e-3, 1e-8
"""Bars: beyond a limit [of the weight, N m, rad/s, rad], how far a foot that stands moves [m], and forces that contacts
do not explain, of the weight [-]."""
LIMITS = ("friction", "pull", "tipping", "torque", "velocity", "position")
FRAME = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


@dataclass(frozen=True)
class Excess:
    """By how much a motion is beyond its limits, 0 or less where they hold.

    Attributes:
        friction: Tangential force beyond μ times the normal one, of the weight [-].
        pull: Force that pulls at the ground, of the weight [-].
        tipping: Distance of a sole's centre of pressure from the sole, times the normal force, of weight times length
            of the sole [-].
        torque: Torque beyond its limit [N m].
        velocity: Velocity of a joint beyond its limit [rad/s].
        position: Position of a joint beyond its limit [rad].
        slip: Largest distance of a standing foot from where its stance began [m].
        imbalance: Largest force that the contacts do not explain, of the weight [-].
    """

    friction: float
    pull: float
    tipping: float
    torque: float
    velocity: float
    position: float
    slip: float
    imbalance: float

    def failures(self) -> list[str]:
        """Names of the bars that are not reached."""
        kept = {limit: getattr(self, limit) < LIMIT for limit in LIMITS}
        kept |= {"slip": self.slip < SLIP, "imbalance": self.imbalance < BALANCE}
        return [name for name, holds in kept.items() if not holds]


def excess_of_case(case: ProblemCase, solution: Solution, robot: str) -> Excess:
    """By how much a solution of a ready problem is beyond its limits."""
    legs, walker = legged_robot(robot), load_robot(robot)
    schedule, mu = case.problem.schedule, 0.7
    if schedule is None:  # all feet stand
        stance, mu = Stance.of(walker, com_circle.FEET, np.array(com_circle.POSTURE)), 0.8
        still = Phase(name="circle", knots=case.problem.T + 1, stance=stance.names)
        schedule = ContactSchedule(start=stance, phases=(still,), dt=float(case.problem.times[1]))
    return excess_of(walker, schedule, solution, mu, legs.sole)


def excess_of(
    robot: Robot, schedule: ContactSchedule, solution: Solution, mu: float, sole: tuple[float, float] | None
) -> Excess:
    """By how much a motion of symplectic Euler steps and impulses is beyond its limits.

    Forces are those that explain the accelerations of the motion: M a + h - B u = Jᵀ f, by least squares.

    Args:
        robot: The robot.
        schedule: The gait.
        solution: The motion.
        mu: Friction coefficient [-].
        sole: Length and width of its soles [m]; None for point feet.
    """
    model, data = robot.model, robot.model.createData()
    nq, nv, feet = model.nq, model.nv, schedule.start.names
    frames = [model.getFrameId(foot) for foot in feet]
    weight = 9.81 * pin.computeTotalMass(model)
    friction = pull = tipping = imbalance = -np.inf
    for t in range(schedule.T):
        q, v = solution.xs[t, :nq], solution.xs[t, nq:]
        after = solution.xs[t + 1, nq:]
        impact = bool(schedule.touchdowns[t])
        if impact:
            load = pin.crba(model, data, q)
            load = (np.triu(load) + np.triu(load, 1).T) @ (after - v) / schedule.dt  # as a force over one step
        else:
            load = pin.rnea(model, data, q, v, (after - v) / schedule.dt)
            load[6:] -= solution.us[t]
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        touching = [i for i in range(len(feet)) if schedule.active[t, i]]
        size = 3 if sole is None else 6
        J = np.zeros((size * len(touching), nv))
        for row, i in enumerate(touching):
            J[size * row : size * (row + 1)] = pin.getFrameJacobian(model, data, frames[i], FRAME)[:size]
        forces = np.linalg.lstsq(J.T, load, rcond=1e-10)[0] if touching else np.zeros(0)
        imbalance = max(imbalance, float(np.abs(J.T @ forces - load).max()) / weight)
        ground = list(schedule.stances[schedule.phase_of_knot[t]].feet.values())
        for i, force in zip(touching, forces.reshape(-1, size)):
            friction = max(friction, float(np.hypot(*force[:2]) - mu * force[2]) / weight)
            pull = max(pull, -float(force[2]) / weight)
            if sole is not None:
                torque = ground[i].placement[:, :3].T @ force[3:]
                beyond = [abs(torque[k]) - side / 2 * force[2] for k, side in ((1, sole[0]), (0, sole[1]))]
                tipping = max(tipping, max(beyond) / weight / sole[0])
    joints = slice(6, None)
    low, high = model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
    position = np.maximum(low - solution.xs[1:, 7:nq], solution.xs[1:, 7:nq] - high)[:, low < high]
    fastest = model.velocityLimit[joints]
    velocity = (np.abs(solution.xs[1:, nq:][:, joints]) - fastest)[:, fastest > 0]
    effort = model.effortLimit[joints]
    torque = np.abs(solution.us) - np.where(effort > 0, effort, np.inf)
    return Excess(
        friction,
        pull,
        tipping,
        float(torque.max()),
        float(velocity.max(initial=-np.inf)),
        float(position.max(initial=-np.inf)),
        _slip(robot, schedule, solution),
        imbalance,
    )


def _slip(robot: Robot, schedule: ContactSchedule, solution: Solution) -> float:
    model, data, worst = robot.model, robot.model.createData(), 0.0
    places = np.empty((schedule.T + 1, len(schedule.start.names), 3))
    for t, x in enumerate(solution.xs):
        pin.framesForwardKinematics(model, data, x[: model.nq])
        for i, foot in enumerate(schedule.start.names):
            places[t, i] = data.oMf[model.getFrameId(foot)].translation
    for i in range(places.shape[1]):
        began = None
        for t in range(schedule.T):
            if not schedule.active[t, i]:
                began = None
                continue
            began = places[t, i] if began is None else began
            worst = max(worst, float(np.linalg.norm(places[t + 1, i] - began)))
    return worst
