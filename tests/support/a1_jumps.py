"""Jumps of an A1 within its torque limits, with fixed and with free durations of phases."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

import trajopt
from trajopt import gaits
from trajopt.analysis import legged_motion, reached
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import BoxFDDPOptions, FDDPOptions, SolverBoxFDDP, SolverFDDP

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
DT, GROUND = 0.01, 12  # time step [s], knots on the ground before and after the flight [-]
WITHOUT, WITHIN = FDDPOptions(max_iterations=100), BoxFDDPOptions(max_iterations=300)
TIMING = gaits.FreeTime(0.005, 1.2)  # [s]


@functools.cache
def robot() -> trajopt.Robot:
    return trajopt.load_robot("a1")


@dataclass(frozen=True)
class Jump:
    """A jump that raises the centre of mass by `height` and moves the feet forward by `length` [m].

    The fixed durations are 0.12 s on the ground and the ballistic time of the height in the air. Both ways begin with
    the motion of fixed durations without limits of torques, which is the guess for SolverBoxFDDP.
    """

    height: float
    length: float

    @functools.cached_property
    def schedule(self) -> gaits.ContactSchedule:
        stance = gaits.Stance.of(robot(), FEET)
        length = (self.length, 0.0, 0.0)
        return gaits.quadruped_jump(stance, jump_height=self.height, jump_length=length, dt=DT, ground_knots=GROUND)

    def problem(self, timing: gaits.FreeTime | None = None) -> ShootingProblem:
        return gaits.gait_problem(robot(), self.schedule, timing=timing)

    @functools.cached_property
    def unlimited(self) -> Solution:
        problem = self.problem()
        return SolverFDDP(problem, WITHOUT).solve(*gaits.gait_guess(problem, self.schedule))

    def fixed(self) -> Solution:
        """Within limits of torques, in the durations of the schedule."""
        return SolverBoxFDDP(self.problem(), WITHIN).solve(self.unlimited.xs, self.unlimited.us)

    def free(self) -> Solution:
        """Within limits of torques, in durations that the solver chooses, first without limits."""
        problem = self.problem(TIMING)
        return SolverBoxFDDP(problem, WITHIN).solve(SolverFDDP(problem, WITHOUT).solve(self.unlimited))

    def solved(self, solution: Solution) -> bool:
        """Whether a solve has converged to a motion with the height, the length and the footholds, within limits."""
        rows = reached(solution, legged_motion(solution))
        rise = [row.reached for row in rows if row.what == "rise"]
        lengths = np.array([row.reached for row in rows if row.what == "length"])
        landing = np.array([row.reached for row in rows if row.what == "landing"])
        most = robot().model.effortLimit[6:]
        return bool(
            solution.converged
            and np.abs(solution.us).max() <= most.max() + 1e-9
            and np.abs(solution.gaps()).max() < 1e-6
            and abs(rise[0] - self.height) < 0.02 * self.height
            and np.abs(lengths - self.length).max() < 0.01
            and np.abs(landing).max() < 0.005
        )


def drawn(count: int, seed: int) -> list[Jump]:
    """Jumps of 0.1 to 1.2 m in height and 0.1 to 1 m in length, at random.

    Fixed durations solve 19 of the first 40 with seed 1, by which the heights were chosen: 36 of 40 up to 0.35 m.
    """
    rng = np.random.default_rng(seed)
    return [Jump(float(rng.uniform(0.1, 1.2)), float(rng.uniform(0.1, 1.0))) for _ in range(count)]
