"""A humanoid reaches with a hand, lifts its left foot, and holds it in the air, as in taichi."""

from __future__ import annotations

import functools

import numpy.typing as npt

from trajopt.checks import check_array, check_count
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.humanoid import LeftFootPhase, humanoid_problem
from trajopt.problems.humanoid_reach import HAND, TARGET, report
from trajopt.robots import load_robot
from trajopt.solvers import FDDPOptions

ASIDE = (0.0, 0.4, 0.0)  # first goal of the left foot [m]
LIFTED = (0.3, 0.15, 0.35)  # second goal of the left foot [m]


def build(
    *,
    robot: str = "talos",
    knots: int = 40,
    dt: float = 5e-2,
    target: npt.ArrayLike = TARGET,
    aside: npt.ArrayLike = ASIDE,
    lifted: npt.ArrayLike = LIFTED,
    damping: float | None = None,
    limits: str = "joints",
    cone: float = 1e-2,
) -> ProblemCase:
    """Builds a `humanoid_problem` with three phases: one on both feet, two on the right one.

    Args:
        robot: "talos".
        knots: Number of knots of each phase [-].
        dt: Time step [s].
        target: Goal of the left hand in the world (3,) [m].
        aside: Goal of the left foot in the second phase (3,) [m].
        lifted: Goal of the left foot in the third phase (3,) [m].
        damping: Damping kd of contacts without stiffness [1/s]. None keeps the soles at their initial placements, see
            `humanoid_problem`. With kd = 40 of Crocoddyl's example, kd dt = 2 reverses the velocity of the feet in
            each step. Without a cone, forces then alternate by 150 N between knots, down to -148 N.
        limits: "joints", or "distance" as in Crocoddyl's example, see `humanoid_problem`.
        cone: Weight of a sole's wrench outside of its cone, which would let it slip or tip, >= 0 [cost/N²]; 0 in
            Crocoddyl's example.

    Source: Crocoddyl's example humanoid_taichi, without its torque limits.
    """
    humanoid = load_robot(robot)
    places = {name: check_array(name, value, (3,)) for name, value in (("aside", aside), ("lifted", lifted))}
    count, goal = check_count("knots", knots, least=1), check_array("target", target, (3,), cure="pass a point [m]")
    phases = [LeftFootPhase(knots=count), *(LeftFootPhase(knots=count, lifted=p) for p in places.values())]
    problem = humanoid_problem(
        humanoid, phases, hand=HAND, target=goal, dt=dt, damping=damping, limits=limits, cone=cone
    )
    left = "left_sole_link"
    return FAMILY.case(
        description=f"{robot} reaches with {HAND}, and stands on one foot for {2 * knots * dt:g} s.",
        problem=problem,
        options=FDDPOptions(max_iterations=500),
        report=functools.partial(report, humanoid, {HAND: goal, left: places["lifted"]}),
    )


FAMILY = Family(
    name="humanoid-taichi",
    description="A humanoid reaches with its left hand and lifts its left foot.",
    build=build,
    robots=("talos",),
    reference_cost=3.31163523,
    reference_source=TRAJOPT,
)
