"""Optimal motion near that of a plan, with the same limits and margin."""

from __future__ import annotations

import numpy as np

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeInvDynamics
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_count
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.planning.free_space import FreeSpace
from trajopt.residuals import ResidualModelControl, ResidualModelJointAcceleration, ResidualModelState
from trajopt.retiming import RetimedPath
from trajopt.retiming.limits import JointLimits
from trajopt.robots import Scene
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateMultibody
from trajopt.types import Reals

ROUNDS = 8  # most solves [-]
FINE = 16  # points in each step at which distances are computed [-]
ROUND_OFF = 1e-6  # by which less than a margin counts as kept [m]
MORE = 1.2  # a margin between knots is raised by this multiple of what it lacks [-]
_MOST = 10_000  # knots
ACCELERATIONS = "accelerations"  # constraint with the limits of accelerations
WEIGHT = 1e-2  # of accelerations [cost s³/rad², cost s³/m²]


class MotionProblem:
    """Least ∫ ½ 0.01 |dv/dt|² dt of motions from rest to rest along which links keep a margin, with dv/dt as controls.

    Args:
        motion: The motion that is its guess, and whose limits it keeps.
        scene: Obstacles; None for none.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].
        dt: Largest time between two knots [s].

    The problem takes one step longer than the motion: accelerations that are constant in steps can't be as fast at
    limits. Then there is a motion within the limits, whose velocities are those of the motion, averaged over a step.

    Attributes:
        problem: The problem.
    """

    def __init__(self, motion: RetimedPath, scene: Scene | None, margin: float, dt: float) -> None:
        self._robot, self._limits = motion.robot, motion.limits
        steps = int(min(np.ceil(motion.duration / dt - 1e-9), 2**62))
        steps = max(check_count("dt: number of knots", steps, most=_MOST), 2)
        self._dt, self._N, self._space = motion.duration / steps, steps + 1, FreeSpace(motion.robot, scene, margin)
        state = StateMultibody(motion.robot)
        q, v, _ = motion.at(motion.duration * np.linspace(0.0, 1.0, self._N + 1))
        self._xs = np.concatenate([q, v * steps / self._N], axis=1)
        costs = CostStack(state).add("acceleration", ResidualModelJointAcceleration(state), WEIGHT)
        rows = _rows(state, scene, margin, motion.limits)
        dynamics = DifferentialActionModelFreeInvDynamics(state, ActuationModelFull(state), costs, constraints=rows)
        stop = ConstraintStack(state).add("goal", ResidualModelState(state, self._xs[-1]), equals=0.0)
        knot = IntegratedActionModelRK4(dynamics, dt=self._dt)  # exact; with Euler's, q and v differ between knots
        end = ActionModelTerminal(CostStack(state), constraints=stop)
        self.problem = ShootingProblem(self._xs[0], [knot] * self._N, end)
        self._least = np.tile(self.problem.get_parameter("collisions.lower", 0), (self._N, 1))
        self._set_accelerations()

    def solve(self) -> Solution:
        """The solution of SolverSQP, with raised margins until distances between knots keep it, too."""
        solver = SolverSQP(self.problem, SQPOptions(hessian="gauss-newton"))  # exact: a tenth does not converge
        solution = solver.solve(self._xs, np.diff(self._xs[:, self._robot.nq :], axis=0) / self._dt)
        for _ in range(ROUNDS - 1):
            lacks = self._lacks(solution)
            if lacks.max() <= ROUND_OFF:
                break
            self._raise_margins(lacks)
            solution = solver.solve(solution)
        return solution

    def _lacks(self, solution: Solution) -> Reals:
        """By how much bodies are too near each other in each step (N,), at most [m]."""
        q = solution.xs[:, : self._robot.nq]
        parts = np.arange(1, FINE + 1) / FINE
        fine = q[:-1, None] + parts[:, None] * np.diff(q, axis=0)[:, None]
        lacks = self._space.lacks(fine.reshape(-1, self._robot.nq)).reshape(self._N, FINE)
        return np.maximum(lacks.max(axis=1), 0.0)

    def _raise_margins(self, lacks: Reals) -> None:
        """Raises the margins of the knots at both ends of a step."""
        more = np.where(lacks > ROUND_OFF, MORE * lacks, 0.0)
        self._least += np.maximum(more, np.append(0.0, more[:-1]))[:, None]
        self.problem.set_parameter("collisions.lower", self._least, knots=range(self._N))

    def _set_accelerations(self) -> None:
        """Sets limits of accelerations, which begin and end at 0 where the jerk has a limit."""
        if f"{ACCELERATIONS}.lower" not in self.problem.parameters:
            return
        t = np.arange(self._N)[:, None]
        ramp = self._limits.jerk * self._dt * np.minimum(t + 1, self._N - t)
        most = np.minimum(self._limits.acceleration, ramp)
        for side, bounds in (("lower", -most), ("upper", most)):
            self.problem.set_parameter(f"{ACCELERATIONS}.{side}", list(bounds), knots=range(self._N))


def _rows(state: StateMultibody, scene: Scene | None, margin: float, limits: JointLimits) -> ConstraintStack:
    """Limits of a motion, and distances."""
    rows = ConstraintStack.of_robot(
        state, collisions=True if scene is None else scene, margin=margin, velocities=False, torques=False
    )
    velocity = ResidualModelState(state, elements=list(range(state.nv, 2 * state.nv)))
    for name, residual, most in (
        ("velocities", velocity, limits.velocity),
        ("torques", ResidualModelControl(state), limits.torque),
        (ACCELERATIONS, ResidualModelJointAcceleration(state), np.minimum(limits.acceleration, limits.jerk)),
    ):  # bounds of accelerations are set later
        if np.isfinite(most).any():
            rows.add(name, residual, lower=-most, upper=most)
    return rows
