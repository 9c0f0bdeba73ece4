"""Ready problems of gaits: from the name of a robot and its row in `gait_tables` to a case, with options."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy.typing as npt

from trajopt.analysis import motion_report
from trajopt.gaits import ContactSchedule, GaitModels, GaitOptions, Stance, gait_guess, holding_gains
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.gait_tables import Leap, Row, Steps, changed
from trajopt.robots import configuration_on_ground, legged_robot, load_robot
from trajopt.solvers import FDDPOptions, SolverFDDP

# Factor on the joint velocities of bipeds with `hold` [s/rad]. With Crocoddyl's 10, soles rise a fifth to a third of
# the step height; with 3, seven to eight tenths; with 1, all of it, but Talos' walk takes 82 iterations instead of 33.
LIFTING = 3.0


@dataclass(frozen=True, kw_only=True)
class Gait(Generic[Row]):
    """A gait of several robots.

    Attributes:
        name: Name of the family of problems.
        description: The motion, in one sentence.
        verb: The motion as a verb, for the description of a case.
        generate: Makes the schedule from a stance and keyword arguments.
        robots: Row of each robot, the default robot first.
        tolerance: Tolerance of the solver [cost].
    """

    name: str
    description: str
    verb: str
    generate: Callable[..., ContactSchedule]
    robots: dict[str, Row]
    tolerance: float = 1e-9

    def family(self, build: Callable[..., ProblemCase], **defaults: Any) -> Family:
        """The family of problems that `build` makes of this gait, with other defaults of some options."""
        robot, known = next(iter(self.robots.items()))
        return Family(
            name=self.name,
            description=self.description,
            build=functools.partial(build, self, robot=robot, **defaults),
            robots=tuple(self.robots),
            reference_cost=known.cost,
            reference_source=known.source,
        )


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
    profile: str | None = None,
    dt: float = 1e-2,
    mu: float = 0.7,
    inner: bool | None = None,
    cone: float | None = None,
) -> ProblemCase:
    """The case of a robot that steps, starting from rest; None is the robot's own value in gait_tables.py.

    Args:
        gait: The gait.
        robot: One of `gait.robots`.
        step_length: Length of a step, may be negative; the first one is half as long, except in a bound [m].
        step_height: Height of a swing [m].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-].
        cycles: Number of steps of each foot [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        profile: Path of a swinging foot, "smooth" or "triangle", see `trajopt.gaits.Swing`.
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid inside the friction cone; otherwise around it, where feet may slide
            a little.
        cone: Weight of a force, or of a sole's wrench, outside of its cone [cost/N²].
    """
    steps = changed(
        gait.robots[robot],
        length=step_length,
        height=step_height,
        knots=step_knots,
        support=support_knots,
        profile=profile,
        inner=inner,
        cone=cone,
    )
    schedule = functools.partial(
        gait.generate,
        step_length=steps.length,
        step_height=steps.height,
        step_knots=steps.knots,
        support_knots=steps.support,
        profile=steps.profile,
        cycles=cycles,
        heading=heading,
        dt=dt,
    )
    return _gait_case(gait, f"{robot} {gait.verb} in steps of {steps.length:g} m.", robot, schedule, mu, steps)


def jump_case(
    gait: Gait[Leap],
    *,
    robot: str,
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int | None = None,
    flying_knots: int | None = None,
    dt: float | None = None,
    mu: float = 0.7,
    inner: bool | None = None,
    cone: float | None = None,
) -> ProblemCase:
    """The case of a robot that jumps and lands on all feet; None is the robot's own value in gait_tables.py.

    Args:
        gait: The gait.
        robot: One of `gait.robots`.
        jump_height: Rise of the centre of mass above the line from start to landing [m].
        jump_length: Displacement of the feet, forward, left and up (3,) [m].
        ground_knots: Number of knots on the ground before the jump; after it as many, or half as many for a biped [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid inside the friction cone; otherwise around it, where feet may slide
            a little.
        cone: Weight of a force, or of a sole's wrench, outside of its cone [cost/N²].
    """
    leap = changed(
        gait.robots[robot],
        height=jump_height,
        length=jump_length,
        ground=ground_knots,
        flying=flying_knots,
        dt=dt,
        inner=inner,
        cone=cone,
    )
    schedule = functools.partial(
        gait.generate,
        jump_height=leap.height,
        jump_length=leap.length,
        ground_knots=leap.ground,
        flying_knots=leap.flying,
        dt=leap.dt,
    )
    return _gait_case(gait, f"{robot} {gait.verb} {leap.height:g} m high.", robot, schedule, mu, leap)


def _gait_case(
    gait: Gait[Row],
    description: str,
    robot: str,
    schedule: Callable[[Stance], ContactSchedule],
    mu: float,
    known: Row,
) -> ProblemCase:
    """The case of a robot that starts from rest, with Crocoddyl's costs and standing still as the initial guess."""
    legged, walker = legged_robot(robot), load_robot(robot)
    q0 = configuration_on_ground(walker, legged.feet, legged.configuration)
    motion = schedule(Stance.of(walker, legged.feet, q0, soles=legged.sole is not None))
    options = GaitOptions() if legged.sole is None else GaitOptions.soles(sole=legged.sole)
    options = dataclasses.replace(options, mu=mu, inner=known.inner, cone=known.cone)
    if known.hold:
        options = dataclasses.replace(options, gains=holding_gains(motion.dt))
    if known.hold and legged.sole is not None:
        weights = dataclasses.replace(options.state_weights, joint_velocities=LIFTING)
        options = dataclasses.replace(options, state_weights=weights)
    problem = GaitModels(walker, motion.start, options).problem(motion, q0, posture=q0)
    xs, us = gait_guess(problem, motion)
    return ProblemCase(
        name=gait.name,
        description=description,
        problem=problem,
        xs=xs,
        us=us,
        solver=SolverFDDP,
        options=FDDPOptions(max_iterations=200, tolerance=gait.tolerance),
        reference_cost=known.cost,
        reference_source=known.source if known.cost is not None else "",
        report=functools.partial(motion_report, mu=mu),
    )
