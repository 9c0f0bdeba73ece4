"""Initial guesses for a gait: standing, following the references, or walking as an inverted pendulum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from trajopt.checks import check_known
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.lip import pendulum_plan
from trajopt.gaits.posing import poses
from trajopt.gaits.schedule import ContactSchedule
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


def gait_guess(problem: ShootingProblem, schedule: ContactSchedule, kind: str | None = None) -> tuple[Reals, Reals]:
    """Computes an initial guess: states (T + 1, nx), and controls (T, nu) that balance each state at rest.

    Args:
        problem: Problem of the gait, from `gait_problem`.
        schedule: Schedule of the gait.
        kind: "standing" for x0 at all knots, as in Crocoddyl's examples. "references" for feet and centre of mass at
            the schedule's references, also in a flight with a path. "pendulum" for feet at the references and a centre
            of mass that moves as a linear inverted pendulum. By default "references", or "standing" if all feet leave
            the ground without a path.

    Raises:
        UnknownNameError: `kind` is unknown.
        InvalidArgumentError: Schedule and problem have different numbers of knots; or all feet are in the air in a
            phase without a path, and `kind` is not "standing".
    """
    for name, value, kinds in (("problem", problem, ShootingProblem), ("schedule", schedule, ContactSchedule)):
        if not isinstance(value, kinds):
            raise InvalidArgumentError(f"{name}: expected a {kinds.__name__}, got {type(value).__name__}")
    if kind is None:
        kind = "standing" if _flights(schedule) or schedule.start.com is None else "references"
    check_known("kind:", kind, KINDS)
    if problem.T != schedule.T:
        raise InvalidArgumentError(
            f"schedule: expected the problem's T = {problem.T}, got T = {schedule.T}; use its own"
        )
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
    return _moving(problem, schedule, com)


def _pendulum(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    q0 = problem.x0[: problem.state.nq]
    com = pin.centerOfMass(problem.state.model, problem.state.model.createData(), q0)
    return _moving(problem, schedule, pendulum_plan(schedule, com).com)


def _moving(problem: ShootingProblem, schedule: ContactSchedule, com: Reals) -> Reals:
    """States from feet and centre of mass; the velocity of each leads to the next configuration."""
    flying = _flights(schedule)
    if flying:
        raise InvalidArgumentError(
            "kind: expected 'standing', because all feet leave the ground without a path of the centre of mass in "
            f"phases {', '.join(flying)}"
        )
    robot, x0 = problem.state.robot, problem.x0
    qs = poses(robot, schedule, com, x0[: robot.nq])
    xs = np.hstack([qs, np.zeros((len(qs), robot.nv))])
    for t in range(len(qs) - 1):
        if schedule.touchdowns[t]:
            xs[t + 1, robot.nq :] = xs[t, robot.nq :]
        else:
            xs[t + 1, robot.nq :] = pin.difference(robot.model, qs[t], qs[t + 1]) / schedule.dt
    xs[0] = x0
    return xs


def _flights(schedule: ContactSchedule) -> list[str]:
    """Names of the phases in which all feet are in the air, and the centre of mass has no path."""
    return [phase.name for phase in schedule.phases if not phase.stance and (phase.com is None or phase.free)]


KINDS: dict[str, Callable[[ShootingProblem, ContactSchedule], Reals]] = {
    "standing": _standing,
    "references": _references,
    "pendulum": _pendulum,
}
