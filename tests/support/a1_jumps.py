"""Jumps of an A1 within its torque limits, with fixed and with free durations of phases."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

import trajopt
from trajopt import gaits
from trajopt.analysis import friction_use, legged_motion, reached
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import BoxFDDPOptions, FDDPOptions, SolverBoxFDDP, SolverFDDP

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
DT, GROUND = 0.01, 20  # time step [s], knots on the ground before and after the flight [-]
SHORTEST, LONGEST = 0.5, 2.0  # free durations, relative to those of the schedule [-]
WITHOUT, WITHIN = FDDPOptions(max_iterations=100), BoxFDDPOptions(max_iterations=300)
OPTIONS = gaits.GaitOptions(gains=gaits.holding_gains(LONGEST * DT))  # contacts hold in the longest steps
BEYOND, SPEED, FRICTION = 0.02, 1.1, 1.1  # most beyond positions [rad]; parts of limits of speed and of mu [-]


@functools.cache
def robot() -> trajopt.Robot:
    return trajopt.load_robot("a1")


@dataclass(frozen=True)
class Jump:
    """A jump that raises the centre of mass by `height` and moves the feet forward by `length` [m].

    The fixed durations are 0.2 s on the ground and the ballistic time of the height in the air; free ones are half to
    twice as long. Both ways have the same contacts and begin with the motion of fixed durations without limits of
    torques, which is the guess for SolverBoxFDDP.

    Attributes:
        height: Rise of the centre of mass [m].
        length: Way of the feet [m].
        ground: Number of knots on the ground before the flight, and after it [-].
        options: Weights and contacts.
    """

    height: float
    length: float
    ground: int = GROUND
    options: gaits.GaitOptions = OPTIONS

    @functools.cached_property
    def schedule(self) -> gaits.ContactSchedule:
        stance = gaits.Stance.of(robot(), FEET)
        length = (self.length, 0.0, 0.0)
        return gaits.quadruped_jump(
            stance, jump_height=self.height, jump_length=length, dt=DT, ground_knots=self.ground
        )

    @property
    def timing(self) -> gaits.FreeTime:
        durations = DT * np.array([phase.knots for phase in self.schedule.phases])
        return gaits.FreeTime((SHORTEST * durations).tolist(), (LONGEST * durations).tolist())

    def problem(self, timing: gaits.FreeTime | None = None) -> ShootingProblem:
        return gaits.gait_problem(robot(), self.schedule, options=self.options, timing=timing)

    @functools.cached_property
    def unlimited(self) -> Solution:
        problem = self.problem()
        return SolverFDDP(problem, WITHOUT).solve(*gaits.gait_guess(problem, self.schedule))

    def fixed(self) -> Solution:
        """Within limits of torques, in the durations of the schedule."""
        return SolverBoxFDDP(self.problem(), WITHIN).solve(self.unlimited.xs, self.unlimited.us)

    def free(self) -> Solution:
        """Within limits of torques, in durations that the solver chooses, first without limits."""
        problem = self.problem(self.timing)
        return SolverBoxFDDP(problem, WITHIN).solve(SolverFDDP(problem, WITHOUT).solve(self.unlimited))

    def arrives(self, solution: Solution) -> bool:
        """Whether a solve has converged to a motion with the height, the length and the footholds, within torques."""
        rows = reached(solution, legged_motion(solution))
        rise = [row.reached for row in rows if row.what == "rise"]
        lengths = np.array([row.reached for row in rows if row.what == "length"])
        landing = np.array([row.reached for row in rows if row.what == "landing"])
        return bool(
            solution.converged
            and np.abs(solution.us).max() <= robot().model.effortLimit[6:].max() + 1e-9
            and np.abs(solution.gaps()).max() < 1e-6
            and abs(rise[0] - self.height) < 0.02 * self.height
            and np.abs(lengths - self.length).max() < 0.01
            and np.abs(landing).max() < 0.005
        )

    def solved(self, solution: Solution) -> bool:
        """Whether the motion arrives, feet push within the friction cone, and joints keep their limits.

        These limits are costs, so that they are exceeded a little.
        """
        model, q, v = robot().model, solution.xs[:, 7 : robot().nq], solution.xs[:, robot().nq + 6 :]
        beyond = np.maximum(model.lowerPositionLimit[7:] - q, q - model.upperPositionLimit[7:])
        return bool(
            self.arrives(solution)
            and beyond.max() < BEYOND
            and (np.abs(v) / model.velocityLimit[6:]).max() < SPEED
            and friction_use(legged_motion(solution)) < FRICTION * self.options.mu
        )


def drawn(count: int, seed: int) -> list[Jump]:
    """Jumps of 0.1 to 0.5 m in height and 0.1 to 0.8 m in length, at random.

    Legs of length 2 l cos(φ) extend at l sin(φ) times the speed of the knees. Those that stand, with l = 0.2 m and
    φ = 0.905 rad, reach 3.3 m/s at 21 rad/s, which carries 0.55 m high.
    """
    rng = np.random.default_rng(seed)
    return [Jump(float(rng.uniform(0.1, 0.5)), float(rng.uniform(0.1, 0.8))) for _ in range(count)]
