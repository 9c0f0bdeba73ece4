"""Inverse kinematics of a gait: configurations from feet and centre of mass."""

from __future__ import annotations

import logging

import numpy as np
import pinocchio as pin

from trajopt.checks import check_instance, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.foothold import as_point
from trajopt.gaits.phase import Phase
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.robots import Robot
from trajopt.types import Reals

_logger = logging.getLogger(__name__)

FEET, COM, UPRIGHT, POSTURE = 1e2, 1e2, 1e0, 1e-1  # weights of errors [1/m, 1/rad]
LONGEST = 0.3
"""Largest change of a coordinate in one step [m, rad]; without it, legs out of reach of their feet whirl around."""
REACHED = 1e-3
"""Largest distance at which the centre of mass counts as reached [m]."""
FAR = 1e-2
"""Distance of a foot from its reference beyond which guesses and problems warn [m]."""


def foot_paths(schedule: ContactSchedule) -> Reals:
    """Reference placement of each foot at each knot (T + 1, feet, 3, 4) [-, m].

    A foot without a reference is at its last foothold. In a flight such a foot moves to the next one, and up and down
    with the references of the centre of mass.
    """
    check_instance("schedule", schedule, ContactSchedule)
    paths, number, stances = schedule.foot_references.copy(), schedule.phase_of_knot, schedule.stances
    com = schedule.com_references
    for i, name in enumerate(schedule.feet):
        for t in np.flatnonzero(np.isnan(paths[:, i, 0, 0])):
            paths[t, i] = stances[number[t]].feet[name].placement
    for n in [n for n, phase in enumerate(schedule.phases) if not phase.stance and phase.com]:
        knots = np.flatnonzero((number == n) & ~schedule.touchdowns)
        s = (np.arange(len(knots)) / len(knots))[:, None]
        landed = schedule.phases[n].com
        assert landed is not None
        line = com[knots[0], 2] + s[:, 0] * (landed[2] - com[knots[0], 2])
        for i, name in enumerate(schedule.feet):
            if np.isnan(schedule.foot_references[knots[0], i, 0, 0]):
                first, last = (np.array(stances[k].feet[name].position) for k in (n, n + 1))
                paths[knots, i, :, 3] = first + s * (last - first)
                paths[knots, i, 2, 3] += com[knots, 2] - line
    return paths


def poses(
    robot: Robot,
    schedule: ContactSchedule,
    com: Reals,
    q0: Reals,
    *,
    rotations: Reals | None = None,
    iterations: int = 4,
) -> Reals:
    """Configurations (T + 1, nq), each computed from the previous one by a few Gauss-Newton steps.

    By decreasing weight, they fit feet and centre of mass, an upright base, and the joints of q0.

    Args:
        robot: The robot.
        schedule: The gait, with the placements of the feet.
        com: Positions of the centre of mass (T + 1, 3) [m].
        q0: First configuration (nq,).
        rotations: Rotations of the base (T + 1, 3, 3) [-]; by default that of q0.
        iterations: Number of Gauss-Newton steps for each knot [-].
    """
    model, data, paths = robot.model, robot.model.createData(), foot_paths(schedule)
    ids = [robot.frame_id(name) for name in schedule.feet]
    soles = [foot.sole for foot in schedule.start.feet.values()]
    configurations, q = np.empty((schedule.T + 1, robot.nq)), q0.copy()
    turns = np.tile(_rotation(q0), (schedule.T + 1, 1, 1)) if rotations is None else rotations
    for t in range(schedule.T + 1):
        for _ in range(iterations if t else 0):
            rows = [_com_rows(model, data, q, com[t]), _base_rows(model, q, turns[t]), _joint_rows(model, q, q0)]
            rows += [_foot_rows(model, data, i, paths[t, j], sole) for j, (i, sole) in enumerate(zip(ids, soles))]
            error, jacobian = (np.concatenate(parts) for parts in zip(*rows))
            step = np.linalg.lstsq(jacobian, error, rcond=None)[0]
            q = pin.integrate(model, q, -step * min(1.0, LONGEST / np.abs(step).max(initial=LONGEST)))
        configurations[t] = q
    return configurations


def foot_misses(robot: Robot, schedule: ContactSchedule, qs: Reals) -> Reals:
    """Distance of each foot from its reference (T + 1, feet) [m] in configurations (T + 1, nq)."""
    model, data, paths = robot.model, robot.model.createData(), foot_paths(schedule)
    places = np.empty((len(qs), len(schedule.feet), 3))
    ids = [robot.frame_id(name) for name in schedule.feet]
    for place, q in zip(places, qs):
        pin.framesForwardKinematics(model, data, q)
        place[:] = [data.oMf[i].translation for i in ids]
    return np.asarray(np.linalg.norm(places - paths[:, :, :, 3], axis=2))


def warn_of_start(robot: Robot, schedule: ContactSchedule, q: Reals) -> None:
    """Warns of a foot that stands in the first phase, but is elsewhere in the initial configuration (nq,)."""
    away = np.where(schedule.active[0], foot_misses(robot, schedule, q[None])[0], 0.0)
    if away.max() > FAR:
        _logger.warning(
            "x0: %s stands %.2g m away from its foothold at the start of the schedule, and its contact will pull it "
            "there through air or ground; pass the x0 of Stance.of(robot, feet, x0)",
            schedule.feet[int(away.argmax())],
            float(away.max()),
        )


def _com_rows(model: pin.Model, data: pin.Data, q: Reals, goal: Reals) -> tuple[Reals, Reals]:
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    jacobian = pin.jacobianCenterOfMass(model, data, q)
    return COM * (data.com[0] - goal), COM * jacobian


def _rotation(q: Reals) -> Reals:
    return np.array(pin.Quaternion(q[3:7]).matrix())


def _base_rows(model: pin.Model, q: Reals, rotation: Reals) -> tuple[Reals, Reals]:
    """Error and Jacobian of the base's rotation relative to another one."""
    turn = pin.log3(rotation.T @ _rotation(q))
    jacobian = np.zeros((3, model.nv))
    jacobian[:, 3:6] = pin.Jlog3(pin.exp3(turn))
    return UPRIGHT * turn, UPRIGHT * jacobian


def _joint_rows(model: pin.Model, q: Reals, q0: Reals) -> tuple[Reals, Reals]:
    jacobian = np.zeros((model.nv - 6, model.nv))
    jacobian[:, 6:] = np.eye(model.nv - 6)
    return POSTURE * pin.difference(model, q0, q)[6:], POSTURE * jacobian


def _foot_rows(model: pin.Model, data: pin.Data, frame: int, goal: Reals, sole: bool) -> tuple[Reals, Reals]:
    if not sole:
        jacobian = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3]
        return FEET * (data.oMf[frame].translation - goal[:, 3]), FEET * jacobian
    error = pin.SE3(goal[:, :3], goal[:, 3]).actInv(data.oMf[frame])
    local = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL)
    return FEET * pin.log6(error).vector, FEET * (pin.Jlog6(error) @ local)


def lowered(robot: Robot, stance: Stance, q0: Reals, by: float) -> Reals:
    """Configuration (nq,) with the same feet as a stance, and a centre of mass that is lower by a distance.

    Args:
        robot: The robot.
        stance: Stance of the robot.
        q0: Configuration in the stance (nq,).
        by: Distance [m].

    Raises:
        InvalidArgumentError: The robot has no such configuration.
    """
    start = check_instance("stance", stance, Stance).com or (0.0, 0.0, 0.0)
    com = np.array(start) - [0.0, 0.0, check_non_negative("by", by, unit="m")]
    down = Phase(name="down", knots=10, stance=stance.names, com=as_point("com", com), com_start=start)
    schedule = ContactSchedule(start=stance, phases=(down,), dt=0.1)
    q = poses(robot, schedule, schedule.com_references, q0)[-1]
    low, high = robot.model.lowerPositionLimit[7:], robot.model.upperPositionLimit[7:]
    beyond = (low < high) & ((q[7:] < low) | (q[7:] > high))
    if beyond.any() or np.abs(robot.com(q) - com).max() > REACHED:
        raise InvalidArgumentError(
            f"crouch: expected a distance by which {robot.name} can lower its centre of mass on its feet and within "
            f"its joint limits, got {by:g} m of {start[2]:.3g} m; use a smaller one"
        )
    return q
