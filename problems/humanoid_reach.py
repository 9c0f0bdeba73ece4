"""A humanoid on both feet reaches with its left hand."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_count
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.humanoid import MU, LeftFootPhase, humanoid_problem
from trajopt.robots import Robot, load_robot
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions
from trajopt.types import Reals

HAND = "gripper_left_joint"
TARGET = (0.4, 0.0, 1.2)  # [m]


def build(
    *,
    robot: str = "talos",
    T: int = 60,
    dt: float = 5e-2,
    target: npt.ArrayLike = TARGET,
    damping: float | None = None,
    limits: str = "joints",
    cone: float = 1e-2,
) -> ProblemCase:
    """Builds a `humanoid_problem` with one phase, on both feet.

    Args:
        robot: "talos".
        T: Number of knots [-].
        dt: Time step [s].
        target: Goal of the left hand in the world (3,) [m].
        damping: Damping of contacts without stiffness [1/s], 0 in Crocoddyl's example. None keeps the soles at their
            initial placements, see `humanoid_problem`.
        limits: "joints", or "distance" as in Crocoddyl's example, see `humanoid_problem`.
        cone: Weight of a sole's wrench outside of its cone, which would let it slip or tip, >= 0 [cost/N²]; 0 in
            Crocoddyl's example.

    Source: Crocoddyl's example humanoid_manipulation.
    """
    humanoid = load_robot(robot)
    goal = check_array("target", target, (3,), cure="pass a point [m]")
    phases = [LeftFootPhase(knots=check_count("T", T, least=1))]
    problem = humanoid_problem(
        humanoid, phases, hand=HAND, target=goal, dt=dt, damping=damping, limits=limits, cone=cone
    )
    return FAMILY.case(
        description=f"{robot}: {HAND} moves to its goal in {T * dt:g} s, both soles on the ground.",
        problem=problem,
        options=FDDPOptions(max_iterations=500, initial_regularization=0.1),
        report=functools.partial(report, humanoid, {HAND: goal}),
    )


def report(robot: Robot, goals: Mapping[str, Reals], solution: Solution) -> dict[str, str]:
    """Final distances of frames from their goals, and the report of the legged motion."""
    words: dict[str, str] = {}
    for frame, goal in goals.items():
        distance = np.linalg.norm(robot.placement(solution.xs[-1, : robot.nq], frame)[:3, 3] - goal)
        words["distance"] = ", ".join(filter(None, [words.get("distance"), f"{1e3 * distance:.3g} mm ({frame})"]))
    from trajopt.analysis import motion_report

    return {**words, **motion_report(solution, MU)}


FAMILY = Family(
    name="humanoid-reach",
    description="A humanoid on both feet reaches with its left hand.",
    build=build,
    robots=("talos",),
    reference_cost=2.84413874,
    reference_source=TRAJOPT,
)
