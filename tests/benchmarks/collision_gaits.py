"""Ready gaits whose links keep apart: `python -m tests.benchmarks.collision_gaits [ROBOT...]`.

Each gait with hard limits is solved by SolverSQP with `collisions=True` and without, from `gait_guess`. The guess of a
ready problem is nearly its solution, which is one without `collisions`. Bars: Coal finds no two links of a solution in
collision that are apart in the initial configuration; at most 1.2 times the iterations.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
from typing import NamedTuple

import pinocchio as pin

import trajopt
from trajopt import problems
from trajopt.gaits import GaitModels, GaitOptions, gait_guess
from trajopt.robots import legged_robot
from trajopt.robots.collisions.surfaces import collision_geometry
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

QUADRUPED = tuple(f"quadruped-{name}" for name in ("walk", "trot", "pace", "bound", "jump"))
GAITS = {"go2": QUADRUPED, "anymal": QUADRUPED, "talos": ("biped-walk",), "talos_legs": ("biped-walk", "biped-jump")}
BAR = 1.2


class Figures(NamedTuple):
    """A gait's figures; pairs are those without and with `collisions`.

    Attributes:
        status: Status of both solves.
        iterations: Iterations of both solves.
        touching: Pairs of links that Coal finds in collision at a knot of both solutions.
        seconds: Processor time of both solves, after compiling.
    """

    status: tuple[str, str]
    iterations: tuple[int, int]
    touching: tuple[list[str], list[str]]
    seconds: tuple[float, float]


def touching(robot: trajopt.Robot, xs: Reals) -> list[str]:
    """Pairs of links, not neighbours, whose geometry collides at a later state but not at the first."""
    model, geometry = robot.model, collision_geometry(robot)
    for i, j in itertools.combinations(range(geometry.ngeoms), 2):
        a, b = (geometry.geometryObjects[k].parentJoint for k in (i, j))
        if a != b and model.parents[a] != b and model.parents[b] != a:
            geometry.addCollisionPair(pin.CollisionPair(i, j))
    data, results = model.createData(), geometry.createData()
    names, first = set[str](), set[str]()
    for t, x in enumerate(xs):
        pin.computeCollisions(model, data, geometry, results, x[: model.nq], False)
        for pair, result in zip(geometry.collisionPairs, results.collisionResults):
            if result.isCollision():
                links = (geometry.geometryObjects[k].parentFrame for k in (pair.first, pair.second))
                (names if t else first).add(" and ".join(model.frames[link].name for link in links))
    return sorted(names - first)


def measure(name: str, robot: str, *, timed: bool = True) -> Figures:
    """Solves a gait without and with `collisions`, twice if it is timed, since the first solve compiles."""
    case = problems.load(name, robot, limits=True)
    legged, walker, schedule = legged_robot(robot), trajopt.load_robot(robot), case.problem.schedule
    options = GaitOptions(mu=0.7)
    if legged.sole is not None:
        options = dataclasses.replace(options, sole=legged.sole)
    q0 = case.problem.x0[: walker.nq]
    models = GaitModels(walker, schedule.start, options, limits=True, collisions=True)
    parts = []
    for problem in (case.problem, models.problem(schedule, q0, posture=q0)):
        solver, guess = SolverSQP(problem, case.options), gait_guess(problem, schedule)
        if timed:
            solver.solve(*guess)
        start = time.process_time()
        solution = solver.solve(*guess)
        seconds = time.process_time() - start
        parts.append((solution.status.name, solution.iterations, touching(walker, solution.xs), seconds))
    return Figures(*zip(*parts))


def main(robots: list[str] | None = None) -> bool:
    """Prints a table; returns whether the bars hold."""
    good = True
    for robot in robots or GAITS:
        for name in GAITS[robot]:
            f = measure(name, robot)
            holds = not f.touching[1] and f.iterations[1] <= BAR * f.iterations[0] and f.status[1] == "CONVERGED"
            good &= holds
            print(
                f"{robot:<11}{name:<16}{' and '.join(f.status)}, {f.iterations[0]} and {f.iterations[1]} iterations, "
                f"{f.seconds[0]:.2f} and {f.seconds[1]:.2f} s, touching: {', '.join(f.touching[0]) or 'none'}; "
                f"{', '.join(f.touching[1]) or 'none'}{'' if holds else '   FAILS'}",
                flush=True,
            )
    return good


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:] or None))
