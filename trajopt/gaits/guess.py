"""Initial guesses for a gait: standing, following the references, or walking as an inverted pendulum."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from trajopt.actions.differential import DifferentialActionModelReducedAbstract
from trajopt.checks import check_known
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.carried import turning
from trajopt.gaits.lip import pendulum_plan
from trajopt.gaits.plans import ReducedPlan
from trajopt.gaits.posing import FAR, foot_misses, poses
from trajopt.gaits.reduced import is_reduced, without_impulses
from trajopt.gaits.schedule import ContactSchedule
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

_logger = logging.getLogger(__name__)


def gait_guess(
    problem: ShootingProblem, schedule: ContactSchedule, kind: str | None = None, *, plan: Solution | None = None
) -> tuple[Reals, Reals]:
    """Computes an initial guess: states (T + 1, nx), and controls (T, nu) that balance each state at rest.

    Args:
        problem: Problem of the gait, from `gait_problem`.
        schedule: Schedule of the gait.
        kind: "standing" for x0 at all knots, as in Crocoddyl's examples. "references" for feet and centre of mass at
            the schedule's references, also in a flight with a path. "pendulum" for feet at the references and a centre
            of mass that moves as a linear inverted pendulum. By default "references", or "standing" if all feet leave
            the ground without a path.
        plan: Solution of a reduced model of this schedule, see `gait_problem`, instead of a kind. The centre of mass
            moves as planned, and so does the rotation of a single rigid body.

    Raises:
        UnknownNameError: `kind` is unknown.
        InvalidArgumentError: Schedule and problem have different numbers of knots; or all feet are in the air in a
            phase without a path, and `kind` is not "standing".
    """
    for name, value, kinds in (("problem", problem, ShootingProblem), ("schedule", schedule, ContactSchedule)):
        if not isinstance(value, kinds):
            raise InvalidArgumentError(f"{name}: expected a {kinds.__name__}, got {type(value).__name__}")
    if is_reduced(problem):
        schedule = without_impulses(schedule)
    if plan is not None and kind is not None:
        raise InvalidArgumentError(f"kind, plan: expected one of them, got {kind!r} and a plan")
    if kind is None and plan is None:
        kind = "standing" if _flights(schedule) or schedule.start.com is None else "references"
    if plan is None:
        check_known("kind:", kind, KINDS)
    if problem.T != schedule.T:
        raise InvalidArgumentError(
            f"schedule: expected the problem's T = {problem.T}, got T = {schedule.T}; use its own"
        )
    if plan is not None:
        planned = ReducedPlan.of(plan, schedule)
        rotations = _turning(problem, schedule) if planned.rotations is None else planned.rotations
        xs = _moving(problem, schedule, planned.com, rotations)
    else:
        assert kind is not None
        xs = KINDS[kind](problem, schedule)
    return xs, problem.quasi_static(xs[:-1])


def _standing(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    return np.tile(problem.x0, (problem.T + 1, 1))


def _references(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    """States with the centre of mass at its references, or at the last one before knots without a reference."""
    com, last = schedule.com_references.copy(), schedule.start.com
    if last is None:
        raise InvalidArgumentError(
            "kind: expected 'standing', got 'references' for a schedule without an initial com; use Stance.of to set "
            "one"
        )
    for t in range(len(com)):
        last = com[t] = last if np.isnan(com[t, 0]) else com[t]
    return _moving(problem, schedule, com, _turning(problem, schedule))


def _turning(problem: ShootingProblem, schedule: ContactSchedule) -> Reals | None:
    """Rotations of the base (T + 1, 3, 3) in a gait that turns or is on terrain; None for that of x0."""
    if problem.state.robot is None or (is_reduced(problem) and schedule.terrain is not None):
        return None
    return turning(problem.state.robot, schedule, problem.x0[: problem.state.nq])


def _pendulum(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    return _moving(problem, schedule, pendulum_plan(schedule, _start(problem)).com, _turning(problem, schedule))


def _start(problem: ShootingProblem) -> Reals:
    """Centre of mass (3,) of the initial state [m]."""
    dynamics = problem.running[0].model_parts.differential
    if isinstance(dynamics, DifferentialActionModelReducedAbstract):
        return dynamics.centre_of_mass(problem.x0)
    return np.asarray(problem.state.robot.com(problem.x0[: problem.state.nq]))


def _moving(problem: ShootingProblem, schedule: ContactSchedule, com: Reals, rotations: Reals | None = None) -> Reals:
    """States from feet and centre of mass; the velocity of each leads to the next configuration."""
    if is_reduced(problem):
        return _shifted(problem, schedule, com, rotations)
    flying = _flights(schedule)
    if flying:
        raise InvalidArgumentError(
            "kind: expected 'standing', because all feet leave the ground without a path of the centre of mass in "
            f"phases {', '.join(flying)}"
        )
    robot, x0 = problem.state.robot, problem.x0
    qs = poses(robot, schedule, com, x0[: robot.nq], rotations=rotations)
    _warn_of_misses(foot_misses(robot, schedule, qs)[1:], schedule)
    xs = np.hstack([qs, np.zeros((len(qs), robot.nv))])
    for t in range(len(qs) - 1):
        if schedule.touchdowns[t]:
            xs[t + 1, robot.nq :] = xs[t, robot.nq :]
        else:
            xs[t + 1, robot.nq :] = pin.difference(robot.model, qs[t], qs[t + 1]) / schedule.dt
    xs[0] = x0
    return xs


def _warn_of_misses(misses: Reals, schedule: ContactSchedule) -> None:
    """Warns of feet that inverse kinematics left away from their references at knots 1..T."""
    if not np.any(misses > FAR):
        return
    knot, foot = (int(i) for i in np.unravel_index(misses.argmax(), misses.shape))
    _logger.warning(
        "gait_guess: %s is %.2g m away from its reference at knot %d, and feet miss theirs at %d of %d knots; the "
        "guess is a poor one. Are footholds or the path of the centre of mass out of reach? Shorten the steps, or "
        "start from kind='standing'",
        list(schedule.feet)[foot],
        misses[knot, foot],
        knot + 1,
        int(np.count_nonzero((misses > FAR).any(axis=1))),
        schedule.T,
    )


def _shifted(problem: ShootingProblem, schedule: ContactSchedule, com: Reals, rotations: Reals | None) -> Reals:
    """States of a reduced model: those of x0, moved with the centre of mass, whose velocity leads to the next one.

    A single rigid body also turns.
    """
    xs, model = np.tile(problem.x0, (len(com), 1)), problem.state
    xs[:, :3] += com - _start(problem)
    velocity = np.diff(com, axis=0, append=com[-1:]) / schedule.dt
    if model.robot is None:
        xs[:, 3:6] = velocity
    else:
        axes = np.tile(pin.Quaternion(problem.x0[3:7]).matrix(), (len(com), 1, 1)) if rotations is None else rotations
        xs[:, 3:7] = [pin.Quaternion(each).coeffs() for each in axes]
        xs[:, 7:10] = np.einsum("tji,tj->ti", axes, velocity)
    xs[0] = problem.x0
    return xs


def _flights(schedule: ContactSchedule) -> list[str]:
    """Names of the phases in which all feet are in the air, and the centre of mass or a foot that hangs has no path."""
    lost, column = [], {foot: i for i, foot in enumerate(schedule.feet)}
    for number, phase in enumerate(schedule.phases):
        first = schedule.foot_references[schedule.phase_of_knot == number][0, :, 0, 0]
        hangs = any(np.isnan(first[column[foot]]) for foot in phase.free)
        if not phase.stance and (phase.com is None or hangs):
            lost.append(phase.name)
    return lost


KINDS: dict[str, Callable[[ShootingProblem, ContactSchedule], Reals]] = {
    "standing": _standing,
    "references": _references,
    "pendulum": _pendulum,
}
