"""A quadruped climbs stairs, with hard limits."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.analysis import legged_motion, motion_report
from trajopt.checks import check_count, check_positive
from trajopt.gaits import GaitModels, GaitOptions, Stance, Terrain, gait_guess, quadruped_trot
from trajopt.problems.case import TRAJOPT_SQP, ProblemCase
from trajopt.problems.family import Family
from trajopt.robots import Robot, configuration_on_ground, legged_robot, load_robot
from trajopt.solution import Solution
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class Climb:
    """Stairs of a robot, and its steps on them.

    Attributes:
        rise: Height of a stair [m].
        depth: Depth of a stair [m].
        foot: Radius of the feet [m].
        ahead: Distance of the first edge from the front feet [m].
        strides: Number of steps of a foot per stair [-].
        more: Number of steps of each foot besides those on the stairs [-].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-].
        clearance: Distance of swinging feet from the stairs [m].
        cost: That of the default options [cost].
        knee: Angle of the knees at the start [rad]; None for that of the robot's standing configuration.
    """

    rise: float
    depth: float
    foot: float
    ahead: float
    strides: int
    more: int
    step_knots: int
    support_knots: int
    clearance: float
    cost: float
    knee: float | None = None


ROBOTS = {
    "go2": Climb(rise=0.1, depth=0.28, foot=0.0235, ahead=0.09, strides=1, more=1, step_knots=30, support_knots=6,
                 clearance=0.02, cost=2608.471948),
    "b1": Climb(rise=0.2, depth=0.35, foot=0.04, ahead=0.0875, strides=2, more=3, step_knots=26, support_knots=4,
                clearance=0.03, cost=5000.681747, knee=1.4),
}  # fmt: skip


def build(
    *,
    robot: str = "go2",
    stairs: int = 3,
    rise: float | None = None,
    depth: float | None = None,
    mu: float = 0.7,
) -> ProblemCase:
    """A trot up stairs that are as deep as one or two steps; it ends with all feet on the landing.

    Costs are those of all gaits. Friction cones, torques, velocities and positions of the joints are hard constraints,
    and shanks and base stay 1 cm away from the stairs. Feet are round.

    Args:
        robot: Name of the robot.
        stairs: Number of stairs [-].
        rise: Height of a stair [m].
        depth: Depth of a stair, which is also the length of one or two steps [m].
        mu: Friction coefficient [-].
    """
    climb, walker, legged = ROBOTS[robot], load_robot(robot), legged_robot(robot)
    count = check_count("stairs", stairs, least=1, most=20)
    high = climb.rise if rise is None else check_positive("rise", rise, unit="m")
    deep = climb.depth if depth is None else check_positive("depth", depth, unit="m")
    q0 = _standing(walker, legged.feet, configuration_on_ground(walker, legged.feet, legged.configuration), climb)
    stance = Stance.of(walker, legged.feet, q0)
    front = max(foot.position[0] for foot in stance.feet.values())
    terrain = Terrain.stairs(count, rise=high, depth=deep, start=front + climb.ahead)
    cycles = climb.strides * count + climb.more
    trot = quadruped_trot(
        stance,
        step_length=deep / climb.strides,
        step_height=0.05,
        step_knots=climb.step_knots,
        support_knots=climb.support_knots,
        final_knots=10,
        first_step="full",
        cycles=cycles,
    ).on(terrain, clearance=climb.clearance)
    models = GaitModels(walker, trot.start, GaitOptions(mu=mu), limits=True, terrain=terrain)
    problem = models.problem(trot, q0, posture=q0)
    xs, us = gait_guess(problem, trot)
    return FAMILY.case(
        problem=problem,
        description=f"{robot} climbs {count} stairs of {high:g} m.",
        xs=xs,
        us=us,
        reference_cost=climb.cost,
        report=functools.partial(report, terrain=terrain, foot=climb.foot, mu=mu),
    )


def _standing(robot: Robot, feet: tuple[str, ...], q: Reals, climb: Climb) -> Reals:
    """Configuration with round feet on the floor, and with other knees if the climb has some."""
    q = q.copy()
    if climb.knee is not None:
        q[7:] = np.tile([0.0, climb.knee / 2, -climb.knee], 4)
        data = robot.model.createData()
        pin.framesForwardKinematics(robot.model, data, q)
        q[2] -= np.mean([data.oMf[robot.frame_id(foot)].translation[2] for foot in feet])
    q[2] += climb.foot
    return q


def report(solution: Solution, terrain: Terrain, foot: float, mu: float) -> dict[str, str]:
    """Report of the legged motion, and the smallest distances from the stairs."""
    words = motion_report(solution, mu)
    places = np.concatenate([each.positions for each in legged_motion(solution).feet])
    words["feet"] = f"{1e3 * (terrain.distances(places).min() - foot):+.2f} mm above the stairs at least"
    rows = [rows.values.min() for rows in solution.description.constraints if rows.name == "terrain"]
    words["legs"] = f"shanks and base {1e3 * float(np.nanmin(rows)):.3g} mm from the stairs at least"
    return words


FAMILY = Family(
    name="quadruped-stairs",
    description="A quadruped climbs stairs.",
    build=build,
    robots=tuple(ROBOTS),
    usual={"rise": 0.1, "depth": 0.28},
    reference_cost=ROBOTS["go2"].cost,
    reference_source=TRAJOPT_SQP,
)
