"""Shooting problem of a gait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy.typing as npt

from trajopt.checks import check_instance, check_known
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown
from trajopt.gaits.limits import GaitLimits
from trajopt.gaits.models import GaitModels
from trajopt.gaits.options import GaitOptions
from trajopt.gaits.reduced import REDUCED, ReducedGaitModels
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import check_legged, standing_configuration
from trajopt.gaits.timing import FreeTime
from trajopt.robots import Robot, Scene
from trajopt.shooting import ShootingProblem

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def gait_problem(
    robot: Robot,
    schedule: ContactSchedule,
    x0: npt.ArrayLike | None = None,
    *,
    options: GaitOptions | None = None,
    posture: npt.ArrayLike | None = None,
    costs: CostStack | None = None,
    constraints: ConstraintStack | None = None,
    limits: bool | GaitLimits = False,
    timing: FreeTime | None = None,
    model: str = "whole-body",
    plan: Solution | None = None,
    collisions: bool | Scene = False,
    margin: float = 0.0,
) -> ShootingProblem:
    """Builds the shooting problem of a gait; for several with the same models, use `GaitModels`, `ReducedGaitModels`.

    Args:
        robot: Robot with a floating base.
        schedule: The gait.
        x0: Initial state (nx,) or configuration (nq,); by default the configuration "standing" or "half_sitting".
        options: Weights and contact models; by default `GaitOptions()`.
        posture: Reference state (nx,) or configuration (nq,) of the state cost; by default "standing" or
            "half_sitting", or x0 if the robot has neither. In gaits that turn it turns with the feet, see
            `carried_postures`.
        costs: Further cost terms at all knots except touch-downs and the end, on StateMultibody(robot).
        constraints: Further constraints at these knots, for SolverSQP, see `GaitModels`.
        limits: Limits that are hard constraints, for SolverSQP: friction and wrench cones, torques, velocities and
            positions of the joints. True for all, False for none, or GaitLimits.
        timing: Bounds of the durations of the phases, which the solver then chooses, see `FreeTime`; by default those
            of the schedule are fixed.
        model: "whole-body" dynamics with torques as controls; or contact forces as controls of a single rigid body,
            "srbd", or of "centroidal" dynamics. These have fewer states and no joints; touch-downs take no knot, and of
            the limits only cones apply.
        plan: Solution of this gait with a reduced model; the centre of mass of the whole body then follows it. It is
            also a guess: `gait_guess(problem, schedule, plan=plan)`.
        collisions: Whether links keep apart from each other, or a Scene from which they keep apart as well, for
            SolverSQP: a constraint "collisions", as in `ConstraintStack.of_robot`. The ground is no obstacle.
        margin: Their least distance [m], between links at most 0.01 m if there are obstacles. Collision shapes contain
            the links, and leave standing robots little room.
    """
    check_instance("schedule", schedule, ContactSchedule)
    if check_known("model", model, ("whole-body", *REDUCED)) != "whole-body":
        own = ("costs", costs, None), ("constraints", constraints, None)
        for name, value, none in (*own, ("plan", plan, None), ("collisions", collisions, False)):
            if value is not none:
                raise InvalidArgumentError(f"{name}: expected {none} with model={model!r}, got {shown(value)}")
        unknown = posture is None and standing_configuration(check_legged(robot)) is None
        still = x0 if unknown else posture
        reduced = ReducedGaitModels(robot, schedule.start, options, model=model, posture=still, limits=limits)
        return reduced.problem(schedule, x0, timing=timing)
    models = GaitModels(
        robot,
        schedule.start,
        options,
        costs=costs,
        constraints=constraints,
        soft=schedule.soft,
        limits=limits,
        follows=plan is not None,
        terrain=schedule.terrain,
        collisions=collisions,
        margin=margin,
    )
    return models.problem(schedule, x0, posture=posture, timing=timing, plan=plan)
