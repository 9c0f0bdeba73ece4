"""A gait for a robot that nobody tuned anything for, in a few lines."""

from __future__ import annotations

import trajopt
from trajopt import gaits
from trajopt.solvers import SolverFDDP

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


def trot() -> tuple[gaits.ContactSchedule, trajopt.Solution]:
    """Go2 trots two cycles ahead."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, FEET)
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=2)
    problem = gaits.gait_problem(robot, schedule)
    guess = gaits.gait_guess(problem, schedule)
    return schedule, SolverFDDP(problem).solve(*guess)
