"""Plans of a Panda and a UR5 in a shelf, clutter, a slot and two rooms with a door; SolverSQP from a line beside them.

A pair of start and goal counts if a plan or a search of a minute solves it. Checks are apart from what they check: Coal
on the meshes at configurations all along a motion, distances of all shapes between configurations less than 5 mm apart,
torques by Pinocchio, and jerks as differences of accelerations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.meshes import Meshes
from tests.benchmarks.planning_scenes import ROBOTS, SCENES, arm, pairs
from tests.benchmarks.table import table
from trajopt.kernels import wait_until_optimised
from trajopt.planning import Plan
from trajopt.planning.free_space import FreeSpace
from trajopt.retiming import RetimedPath
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

PAIRS, ALONE, LONG = 200, 10, 60.0  # pairs, of which SolverSQP gets some; time of a long search [s]
MARGIN, JERK, EXCESS = 0.01, 500.0, 1.001  # [m], [rad/s³], largest part of a limit [-]
STEP, MESHES = 5e-3, 40  # motion between two checks [m], and checks of a motion on meshes [-]
SOLVED, SECONDS = 0.95, 1.0  # bars: share of pairs, and median time [s]
PARTS = 4  # of a step of an optimised motion, checked on meshes [-]
KNOTS, SLOWER = 40, 1.2  # of SolverSQP, in this multiple of the plan's duration [-]
TITLE = f"""Plans between random configurations in different parts of a scene: margin {1e3 * MARGIN:g} mm, jerk
{JERK:g} rad/s³, velocities and torques of the robots' files. Times are processor times of one thread after compiling.
"least" is the smallest distance of shapes of all motions, between checks less than {1e3 * STEP:g} mm apart; "limit" the
largest part of a limit. SQP is SolverSQP alone from a straight line, of the first pairs, "optimised" their
`Plan.optimise` without collision and within limits, with code that is not compiled yet in its times (bars:
{SOLVED:.0%} solved, median {SECONDS:g} s, no collision, no limit exceeded by 0.1 %)."""


@dataclass(kw_only=True)
class Figures:
    """Plans in one scene.

    Attributes:
        pairs: Number of pairs that some search solves.
        solved: Number of pairs with a motion.
        seconds: Processor time of each plan [s].
        durations: Of the motions [s].
        least: Smallest distance of shapes along all motions [m].
        collisions: Number of motions in which Coal finds a collision.
        limit: Largest part of a limit.
        alone: Number of motions without collision that SolverSQP finds from a line.
        optimised: Number of plans for which `Plan.optimise` finds a motion without collision, within limits.
        nearest: Smallest distance of shapes along these [m].
        seconds_optimised: Processor time of each [s].
        tried: Number of pairs that both got.
        failures: Numbers of the pairs that only a long search solves.
    """

    pairs: int = 0
    solved: int = 0
    seconds: list[float] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)
    least: float = np.inf
    collisions: int = 0
    limit: float = 0.0
    alone: int = 0
    optimised: int = 0
    nearest: float = np.inf
    seconds_optimised: list[float] = field(default_factory=list)
    tried: int = 0
    failures: list[int] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether all bars hold."""
        safe = self.collisions == 0 and self.least >= 0.0 and self.limit <= EXCESS
        return safe and self.solved >= SOLVED * self.pairs and float(np.median(self.seconds)) <= SECONDS


def measure(count: int | None = None, alone: int = ALONE) -> dict[tuple[str, str], Figures]:
    """Figures by robot and scene.

    Args:
        count: Number of pairs in each scene; 200 by default.
        alone: Number of these that SolverSQP solves from a line.
    """
    return {(name, scene): _figures(name, scene, count or PAIRS, alone) for name in ROBOTS for scene in SCENES}


def _figures(name: str, scene: str, count: int, alone: int) -> Figures:
    robot, world, found = arm(name), SCENES[scene][0](), Figures()
    meshes, space = Meshes(robot, world), FreeSpace(robot, world, MARGIN)
    drawn = pairs(name, scene, count)
    trajopt.plan(robot, *drawn[0], world, margin=MARGIN, jerk=JERK)
    wait_until_optimised()
    for number, (start, goal) in enumerate(drawn):
        begin = time.process_time()
        plan = trajopt.plan(robot, start, goal, world, margin=MARGIN, jerk=JERK, seed=number)
        seconds = time.process_time() - begin
        if plan.motion is None:
            known = trajopt.plan(robot, start, goal, world, margin=MARGIN, jerk=JERK, paths=1, time_limit=LONG)
            if not known.solved:
                continue
            found.failures.append(number)
        found.pairs += 1
        found.seconds.append(seconds)
        if plan.motion is None:
            continue
        found.solved += 1
        found.durations.append(plan.motion.duration)
        qs = _between(space, plan.motion)
        found.least = min(found.least, *(space.nearest(q)[0] for q in qs))
        found.collisions += any(meshes.collide(q) for q in qs[:: max(len(qs) // MESHES, 1)])
        found.limit = max(found.limit, _largest_part(robot, plan.motion))
        if number < alone:
            found.tried += 1
            found.alone += _alone(robot, world, plan)
            begin = time.process_time()
            solution = plan.optimise()
            found.seconds_optimised.append(time.process_time() - begin)
            found.nearest = min(found.nearest, trajopt.analysis.clearance(solution, world).distance)
            found.optimised += _is_good(robot, meshes, solution)
    return found


def _between(space: FreeSpace, motion: RetimedPath) -> Reals:
    """Configurations of a motion between which no end of a body's axis moves further than a step."""
    times = np.linspace(0.0, motion.duration, 101)
    while True:
        qs = motion.at(times)[0]
        ends = space.points(qs)
        far = np.linalg.norm(np.diff(ends, axis=0), axis=3).max(axis=(1, 2)) > STEP
        if not far.any():
            return qs
        middle = 0.5 * (times[:-1] + times[1:])
        times = np.sort(np.concatenate([times, middle[far]]))


def _largest_part(robot: trajopt.Robot, motion: RetimedPath) -> float:
    """Largest part of limits of velocities, torques and jerks at 1,000 times."""
    times = np.linspace(0.0, motion.duration, 1_000)
    model, data = robot.model, robot.model.createData()
    q, v, a = motion.at(times)
    torques = np.array([pin.rnea(model, data, *each) for each in zip(q, v, a)])
    jerks = np.diff(a[1:-1], axis=0) / np.diff(times[1:-1])[:, None]
    parts = (v / model.velocityLimit, torques / model.effortLimit, jerks / JERK)
    return max(float(np.abs(part).max()) for part in parts)


def _alone(robot: trajopt.Robot, scene: trajopt.Scene, plan: Plan) -> bool:
    """Whether SolverSQP finds a motion without collision from a straight line."""
    assert plan.motion is not None
    dt = SLOWER * plan.motion.duration / KNOTS
    state, zeros = trajopt.StateMultibody(robot), np.zeros(robot.nv)
    motors = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    limits = trajopt.ConstraintStack.of_robot(state, motors, collisions=scene, margin=MARGIN)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    first, last = (np.r_[q, zeros] for q in (plan.corners[0], plan.corners[-1]))
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, last), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = trajopt.ShootingProblem(first, [trajopt.IntegratedActionModelEuler(model, dt=dt)] * KNOTS, end)
    line = first + np.linspace(0.0, 1.0, KNOTS + 1)[:, None] * (last - first)
    line[1:-1, robot.nq :] = (plan.corners[-1] - plan.corners[0]) / (KNOTS * dt)
    held = np.array([pin.rnea(robot.model, robot.model.createData(), q, zeros, zeros) for q in line[:-1, : robot.nq]])
    solution = SolverSQP(problem).solve(line, held)
    return bool(solution.converged and trajopt.analysis.clearance(solution, scene).distance >= 0.0)


def _is_good(robot: trajopt.Robot, meshes: Meshes, solution: trajopt.Solution) -> bool:
    """Whether a solution of `Plan.optimise` converged, touches nothing by Coal, and is within limits at knots."""
    q, v, a, dt = solution.xs[:, : robot.nq], solution.xs[:, robot.nq :], solution.us, solution.times[1]
    model, data = robot.model, robot.model.createData()
    torques = np.array([pin.rnea(model, data, *each) for each in zip(q[:-1], v[:-1], a)])
    rest = np.zeros((1, robot.nv))
    jerks = np.diff(np.concatenate([rest, a, rest]), axis=0) / dt
    parts = (v / model.velocityLimit, torques / model.effortLimit, jerks / JERK)
    within = max(float(np.abs(part).max()) for part in parts) <= EXCESS
    steps = np.arange(PARTS)[:, None] / PARTS
    between = (q[:-1, None] + steps * np.diff(q, axis=0)[:, None]).reshape(-1, robot.nq)
    return bool(solution.converged and within and not any(meshes.collide(each) for each in between))


def report(figures: dict[tuple[str, str], Figures]) -> str:
    """The table."""
    header = ["robot, scene", "solved", "median [s]", "95 % [s]", "duration [s]", "least [mm]", "collide", "limit"]
    rows = []
    for (name, scene), f in figures.items():
        times = [f"{np.percentile(f.seconds, part):.2f}" for part in (50, 95)]
        cells = [f"{name}: {scene}", f"{f.solved} of {f.pairs}", *times, f"{np.median(f.durations):.2f}"]
        cells += [f"{1e3 * f.least:.1f}", f"{f.collisions}", f"{f.limit:.4f}", f"{f.alone} of {f.tried}"]
        median = np.median(f.seconds_optimised) if f.seconds_optimised else np.nan
        cells += [f"{f.optimised} of {f.tried}", f"{median:.2f}", f"{1e3 * f.nearest:.1f}"]
        rows.append([*cells, "yes" if f.kept else "NO"])
    return table(TITLE, [*header, "SQP", "optimised", "median [s]", "least [mm]", "bars"], rows)


def failures(figures: dict[tuple[str, str], Figures]) -> bool:
    """Whether a motion touches something or exceeds a limit."""
    return any(f.collisions or f.least < 0.0 or f.limit > EXCESS for f in figures.values())
