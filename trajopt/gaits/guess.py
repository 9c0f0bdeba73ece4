"""First guesses for a gait: standing still, or walking as a pendulum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.lip import pendulum_plan
from trajopt.gaits.posing import poses
from trajopt.gaits.schedule import ContactSchedule
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


def gait_guess(problem: ShootingProblem, schedule: ContactSchedule, kind: str = "standing") -> tuple[Reals, Reals]:
    """A first guess: states (T + 1, nx), and the controls (T, nu) that hold each of them with the feet that stand.

    Args:
        problem: The gait's problem, from `gait_problem`.
        schedule: Its schedule.
        kind: "standing": x0 at all knots, as Crocoddyl's examples start. "references": feet and centre of mass as the
            schedule asks. "pendulum": feet likewise, the centre of mass as a linear inverted pendulum.

    Iterations of FDDP from the three: 12, 23, 14 for ANYmal's walk, 8, 9, 7 for its trot, 16, 15, 16 for Talos' legs
    ahead, 21, 16, 17 for six of their steps along a curve. Standing does for short gaits, the others for long ones.

    Raises:
        UnknownNameError: There is no such kind.
        InvalidArgumentError: The schedule is of another size; or in a phase all feet are in the air, and `kind` is not
            "standing".
    """
    for name, value, kinds in (("problem", problem, ShootingProblem), ("schedule", schedule, ContactSchedule)):
        if not isinstance(value, kinds):
            raise InvalidArgumentError(f"{name}: expected a {kinds.__name__}, got {type(value).__name__}")
    if kind not in KINDS:
        raise unknown_name("kind:", kind, KINDS)
    if problem.T != schedule.T:
        raise InvalidArgumentError(f"schedule: expected the problem's T = {problem.T}, got T = {schedule.T}")
    xs = KINDS[kind](problem, schedule)
    return xs, problem.quasi_static(xs[:-1])


def _standing(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    return np.tile(problem.x0, (problem.T + 1, 1))


def _references(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    """The centre of mass where it is asked to be, held between."""
    com, last = schedule.com_references.copy(), schedule.start.com
    if last is None:
        raise InvalidArgumentError("kind: 'references' needs a com in the schedule's start; Stance.of gives it")
    for t in range(len(com)):
        last = com[t] = last if np.isnan(com[t, 0]) else com[t]
    return _moving(problem, schedule, com)


def _pendulum(problem: ShootingProblem, schedule: ContactSchedule) -> Reals:
    q0 = problem.x0[: problem.state.nq]
    com = pin.centerOfMass(problem.state.model, problem.state.model.createData(), q0)
    return _moving(problem, schedule, pendulum_plan(schedule, com).com)


def _moving(problem: ShootingProblem, schedule: ContactSchedule, com: Reals) -> Reals:
    """States along the configurations for feet and centre of mass; velocities take each to the next."""
    flying = [phase.name for phase in schedule.phases if not phase.stance]
    if flying:
        raise InvalidArgumentError(
            f"kind: expected 'standing' for a gait in which all feet leave the ground (phases {', '.join(flying)})"
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


KINDS: dict[str, Callable[[ShootingProblem, ContactSchedule], Reals]] = {
    "standing": _standing,
    "references": _references,
    "pendulum": _pendulum,
}
