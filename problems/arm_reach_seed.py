"""Reach of a notebook of Crocoddyl: Talos' left arm in a quarter of a second, with small weights.

The scale makes the problem hard: the final cost is about 1e-4, torques of several hundred N m cost almost nothing, and
a stopping tolerance of 1e-9 is loose in comparison.
"""

from __future__ import annotations

import functools

from trajopt.checks import check_count
from trajopt.problems.arm_reach import distance_report
from trajopt.problems.arm_reach_crocoddyl import REACHES, reach_problem
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.robots import load_robot


def build(*, integrator: str = "euler", T: int = 250) -> ProblemCase:
    """Weights are 1e-3 for the goal, 1e-7 for state and control, and 1 for the goal at the end; dt = 1 ms.

    Args:
        integrator: "euler" (semi-implicit) or "rk4".
        T: Number of knots [-].

    Source: notebook "Crocoddyl: Contact RObot COntrol by Differential DYnamic programming Library", section III.a.
    """
    reach, arm = REACHES["talos_arm"], load_robot("talos_arm")
    problem = reach_problem(
        arm,
        reach,
        T=check_count("T", T, least=1),
        dt=1e-3,
        goal=1e-3,
        regularization=1e-7,
        end=1.0,
        integrator=integrator,
    )
    return FAMILY.case(
        description=f"Talos' left arm moves its gripper to (0, 0, 0.4) m in {T} ms ({integrator}).",
        problem=problem,
        report=functools.partial(distance_report, arm, reach.frame, reach.goal),
    )


FAMILY = Family(
    name="arm-reach-seed",
    description="Talos' left arm moves its gripper to (0, 0, 0.4) m in 250 ms, as in a notebook of Crocoddyl.",
    build=build,
    reference_cost=1.190471425e-4,
    reference_source=f"{TRAJOPT}; Crocoddyl 3.2.1 ends at 1.2168e-4 from the same guess",
)
