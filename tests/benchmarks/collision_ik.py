"""Inverse kinematics with self-collision and a table: `python -m tests.benchmarks.collision_ik [POSES] [ROBOT...]`.

Targets are placements of the hand at random configurations in which Coal finds the meshes of all links apart from each
other and from the table. A Talos stands on fixed legs. Bars: Coal finds no
collision in what is solved; the median time of a pose, of those that both solve, is at most 2 times that without
collision rows (Panda) and 4 times (Talos). Times are processor times, interleaved pose by pose.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import NamedTuple

import numpy as np

import trajopt
from tests.benchmarks.meshes import Meshes
from tests.support.ik_robots import placement_task, placements
from trajopt.ik import IKSolver, IKStatus
from trajopt.kernels import wait_until_optimised
from trajopt.robots.collisions.samples import random_configurations
from trajopt.types import Reals

ROBOTS = {"panda": ("panda_hand", 2.0), "talos": ("gripper_left_base_link", 4.0)}
"""Frame of the hand, and bar of the time, by robot."""
TABLES = {
    "panda": trajopt.Box([0.6, 1.0, 0.04], placement=[0.65, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]),
    "talos": trajopt.Box([0.6, 1.2, 0.04], placement=[0.7, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0]),
}
POSES = 1_000


def standing(robot: trajopt.Robot) -> dict[str, Reals]:
    """Coordinates of base and legs of a Talos in its reference configuration, by joint."""
    model, q = robot.model, robot.configurations["half_sitting"]
    names = [name for name in model.names if name.startswith(("root", "leg"))]
    joints = [model.joints[model.getJointId(name)] for name in names]
    return {name: q[joint.idx_q : joint.idx_q + joint.nq] for name, joint in zip(names, joints)}


def reachable(robot: trajopt.Robot, meshes: Meshes, frame: str, count: int) -> Reals:
    """Placements (count, 4, 4) of a frame at random configurations without collision, of joints that move it."""
    state, model = trajopt.StateMultibody(robot), robot.model
    rest = robot.configurations.get("half_sitting")
    arm = model.supports[model.frames[robot.frame_id(frame)].parentJoint].tolist() if rest is not None else range(99)
    still = [model.joints[i] for i in range(1, model.njoints) if i not in arm or model.joints[i].nq > 1]
    configurations, seed = list[Reals](), 2026
    while len(configurations) < count:
        for q in random_configurations(model, 1_000, seed):
            for joint in still:
                q[joint.idx_q : joint.idx_q + joint.nq] = rest[joint.idx_q : joint.idx_q + joint.nq]
            if not meshes.collide(q):
                configurations.append(q)
        seed += 1
    return placements(state, frame, np.array(configurations[:count]))


class Figures(NamedTuple):
    """What was measured; pairs are those without and with collision rows.

    Attributes:
        rows: Number of collision rows.
        pairs: Number of pairs of shapes of the robot.
        solved: Whether each pose is solved (poses, 2).
        collide: Whether Coal finds a collision in each result (poses, 2).
        seconds: Processor time of each pose (poses, 2).
        batch_solved: Number of poses that a batch solves.
        batch_collide: Number of these in which Coal finds a collision.
        batch_seconds: Processor time of a batch.
    """

    rows: int
    pairs: int
    solved: np.ndarray
    collide: np.ndarray
    seconds: np.ndarray
    batch_solved: list[int]
    batch_collide: list[int]
    batch_seconds: list[float]


def measure(name: str, poses: int) -> Figures:
    """Solves the poses of a robot one by one, and as a batch."""
    frame, _ = ROBOTS[name]
    robot, table = trajopt.load_robot(name), TABLES[name]
    scene = trajopt.Scene({"table": table})
    meshes = Meshes(robot, scene)
    wanted = reachable(robot, meshes, frame, poses)
    task, fixed = placement_task(trajopt.StateMultibody(robot), frame), standing(robot) if name == "talos" else {}
    solvers = [IKSolver(robot, task, fixed=fixed, collisions=on) for on in (False, scene)]
    for solver in solvers:
        rows = sum(each.value.size for each in solver.solve({"tool.reference": wanted[0]}).residuals.values())
        solver.solve_batch({"tool.reference": wanted[:8]})
    wait_until_optimised()
    seconds, solved, collide = np.empty((poses, 2)), np.zeros((poses, 2), bool), np.zeros((poses, 2), bool)
    for (i, target), (k, solver) in itertools.product(enumerate(wanted), enumerate(solvers)):
        start = time.process_time()
        result = solver.solve({"tool.reference": target})
        seconds[i, k] = time.process_time() - start
        solved[i, k], collide[i, k] = result.status is IKStatus.SOLVED, meshes.collide(result.q)
    figures = Figures(rows - 6, len(robot.collision_shapes.pairs), solved, collide, seconds, [], [], [])
    for solver in solvers:
        start = time.process_time()
        batch = solver.solve_batch({"tool.reference": wanted})
        figures.batch_seconds.append(time.process_time() - start)
        figures.batch_solved.append(int(batch.solved.sum()))
        figures.batch_collide.append(sum(meshes.collide(q) for q in batch.q[batch.solved]))
    return figures


def main(poses: int = POSES, names: list[str] | None = None) -> bool:
    """Prints a table; returns whether all bars hold."""
    good = True
    print(f"{poses} poses; without and with collision rows")
    for name in names or ROBOTS:
        f, bar = measure(name, poses), ROBOTS[name][1]
        alone, bad = np.median(f.seconds[f.solved.all(axis=1)], axis=0), (f.solved & f.collide).sum(axis=0)
        ratio, worst, batch = alone[1] / alone[0], f.seconds.max(axis=0), np.array(f.batch_seconds) / poses
        print(
            f"{name}: {f.rows} rows for {f.pairs} pairs and the table; {f.solved[:, 0].sum()} and "
            f"{f.solved[:, 1].sum()} solved, of which {bad[0]} and {bad[1]} collide; median {1e3 * alone[0]:.2f} and "
            f"{1e3 * alone[1]:.2f} ms, {ratio:.2f} times (bar {bar:g}); at most {1e3 * worst[0]:.0f} and "
            f"{1e3 * worst[1]:.0f} ms\n  batch: {f.batch_solved[0]} and {f.batch_solved[1]} solved, of which "
            f"{f.batch_collide[0]} and {f.batch_collide[1]} collide; {1e6 * batch[0]:.0f} and {1e6 * batch[1]:.0f} us",
            flush=True,
        )
        good &= bool(bad[1] == f.batch_collide[1] == 0 and ratio <= bar)
    return good


if __name__ == "__main__":
    arguments = sys.argv[1:]
    count = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else POSES
    sys.exit(not main(count, arguments or None))
