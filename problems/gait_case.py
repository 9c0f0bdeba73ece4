"""Ready problems of gaits: a case from the name of a robot, its row in `gait_tables`, and options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Generic

import numpy.typing as npt

from trajopt import solvers
from trajopt.checks import check_flag, check_non_negative
from trajopt.gaits import ContactSchedule, GaitModels, GaitOptions, Stance, gait_guess
from trajopt.gaits.posing import lowered
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.gait_tables import Leap, Row, Steps, changed, schedule_options
from trajopt.robots import configuration_on_ground, legged_robot, load_robot
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP, SQPOptions


@dataclass(frozen=True)
class Gait(Generic[Row]):
    """A gait of several robots.

    Attributes:
        name: Name of the family of problems.
        description: The motion, in one sentence.
        verb: The motion as a verb, for the description of a case.
        generate: Function that generates the schedule from a stance and keyword arguments.
        robots: Row of each robot, the default robot first.
        tolerance: Tolerance of the solver [cost].
        crocoddyl: Whether to use Crocoddyl's weights and contacts, for comparison. Our own make the feet follow their
            references.
    """

    name: str
    description: str
    verb: str
    generate: Callable[..., ContactSchedule]
    robots: dict[str, Row]
    _: KW_ONLY
    tolerance: float = 1e-9
    crocoddyl: bool = False

    def family(self, build: Callable[..., ProblemCase]) -> Family:
        """Family of problems that `build` builds from this gait."""
        robot, row = next(iter(self.robots.items()))
        return Family(
            name=self.name,
            description=self.description,
            build=functools.partial(build, self, robot=robot),
            robots=tuple(self.robots),
            usual={name: value for name, value in vars(row).items() if name in inspect.signature(build).parameters},
            reference_cost=row.cost,
            reference_source=row.source,
        )


def as_in_crocoddyl(gait: Gait[Row], robots: dict[str, Row]) -> Gait[Row]:
    """The same gait under the name "crocoddyl-...", with Crocoddyl's weights, contacts and references."""
    description = f"As in Crocoddyl: {gait.description[0].lower()}{gait.description[1:]}"
    name = f"crocoddyl-{gait.name}"
    return dataclasses.replace(gait, name=name, description=description, robots=robots, crocoddyl=True)


def step_case(
    gait: Gait[Steps],
    *,
    robot: str,
    step_length: float | None = None,
    step_height: float | None = None,
    step_knots: int | None = None,
    support_knots: int | None = None,
    cycles: int = 1,
    heading: float = 0.0,
    turn: float = 0.0,
    profile: str | None = None,
    dt: float | None = None,
    mu: float = 0.7,
    limits: bool = False,
) -> ProblemCase:
    """Builds the case of a robot that steps from rest; None stands for the robot's value in gait_tables.py.

    Args:
        gait: The gait.
        robot: Name of a robot in `gait.robots`.
        step_length: Length of a step; negative for backward steps. The first one is half as long, except in a bound
            [m].
        step_height: Height of a swing [m].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-].
        cycles: Number of steps of each foot [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        turn: Angle by which the feet turn to the left over the whole gait [rad].
        profile: Path of a swinging foot, "smooth" or "triangle", see `trajopt.gaits.Swing`.
        dt: Time step [s].
        mu: Friction coefficient [-].
        limits: Whether friction and wrench cones, torques, velocities and positions of the joints are hard
            constraints, for SolverSQP; if not, they are costs.
    """
    steps = changed(
        gait.robots[robot],
        step_length=step_length,
        step_height=step_height,
        step_knots=step_knots,
        support_knots=support_knots,
        profile=profile,
        dt=dt,
    )
    more = {"cycles": cycles, "heading": heading, "turn": turn}
    return _gait_case(gait, f"with steps of {steps.step_length:g} m.", robot, steps, more, mu, limits)


def jump_case(
    gait: Gait[Leap],
    *,
    robot: str,
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int | None = None,
    flying_knots: int | None = None,
    crouch: float | None = None,
    dt: float | None = None,
    mu: float = 0.7,
    limits: bool = False,
) -> ProblemCase:
    """Builds the case of a robot that jumps and lands on all feet; None stands for the value in gait_tables.py.

    Args:
        gait: The gait.
        robot: Name of a robot in `gait.robots`.
        jump_height: Rise of the centre of mass above the line from start to landing [m].
        jump_length: Displacement of the feet, forward, left and up (3,) [m].
        ground_knots: Number of knots on the ground before the jump; after it there are as many, or half for a biped
            [-].
        flying_knots: Number of knots of the rise, and again of the fall [-].
        crouch: Distance by which the centre of mass is lower than usual before and after the jump, >= 0 [m].
        dt: Time step [s].
        mu: Friction coefficient [-].
        limits: Whether friction and wrench cones, torques, velocities and positions of the joints are hard
            constraints, for SolverSQP; if not, they are costs.
    """
    leap = changed(
        gait.robots[robot],
        jump_height=jump_height,
        jump_length=jump_length,
        ground_knots=ground_knots,
        flying_knots=flying_knots,
        crouch=None if crouch is None else check_non_negative("crouch", crouch, unit="m"),
        dt=dt,
    )
    return _gait_case(gait, f"with a rise of {leap.jump_height:g} m.", robot, leap, {}, mu, limits)


def _gait_case(
    gait: Gait[Row],
    manner: str,
    robot: str,
    row: Row,
    more: dict[str, float],
    mu: float,
    limits: bool,
) -> ProblemCase:
    """Case of a robot that starts from rest; the guess follows the references, or stands still as in Crocoddyl.

    With limits, the guess is the motion of a box solver with hard torque limits and the other limits as costs, from
    which few iterations remain. The motion without limits is a worse guess: with clipped torques, ANYmal's bound falls
    over.

    Args:
        gait: The gait.
        manner: How the robot moves, for the description.
        robot: Name of the robot.
        row: Parameters of its motion.
        more: Options of the schedule that are not in the row.
        mu: Friction coefficient [-].
        limits: Whether limits are hard constraints.
    """
    legged, walker = legged_robot(robot), load_robot(robot)
    q0 = configuration_on_ground(walker, legged.feet, legged.configuration)
    soles = legged.sole is not None
    if isinstance(row, Leap) and row.crouch:
        q0 = lowered(walker, Stance.of(walker, legged.feet, q0, soles=soles), q0, row.crouch)
    motion = gait.generate(Stance.of(walker, legged.feet, q0, soles=soles), **schedule_options(row), **more)
    options = GaitOptions.crocoddyl(soles=soles, mu=mu) if gait.crocoddyl else GaitOptions(mu=mu)
    if legged.sole is not None:
        options = dataclasses.replace(options, sole=legged.sole)
    check_flag("limits", limits)
    problem = GaitModels(walker, motion.start, options).problem(motion, q0, posture=q0)
    xs, us = gait_guess(problem, motion, "standing" if gait.crocoddyl else None)
    solver_options = FDDPOptions(max_iterations=200, tolerance=gait.tolerance)
    if limits:
        box_options = solvers.BoxFDDPOptions(max_iterations=200, tolerance=gait.tolerance)
        within = solvers.SolverBoxFDDP(problem, box_options).solve(xs, us)
        xs, us = within.xs, within.us
        problem = GaitModels(walker, motion.start, options, limits=True).problem(motion, q0, posture=q0)
    return ProblemCase(
        name=gait.name,
        description=f"{robot} {gait.verb} {manner}",
        problem=problem,
        xs=xs,
        us=us,
        solver=solvers.SolverSQP if limits else SolverFDDP,
        options=SQPOptions() if limits else solver_options,
        reference_cost=row.cost,
        reference_source=row.source if row.cost is not None else "",
        report=functools.partial(_report, mu=mu),
    )


def _report(solution: Solution, mu: float) -> dict[str, str]:
    """Report of the legged motion."""
    from trajopt.analysis import motion_report

    return motion_report(solution, mu)
