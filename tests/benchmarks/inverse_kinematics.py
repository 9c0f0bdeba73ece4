"""Inverse kinematics by TRAC-IK's published protocol: random reachable poses of arms, within limits, to 1e-5.

Poses are those of uniform configurations within limits. One counts as solved if Pinocchio's forward kinematics says so,
every element of the twist from the target to within 1e-5 (metres, radians), and no joint is beyond its limits by a bit.
All starts count in the time. One thread.

Panda among five spheres: its links in capsules, which keep away from spheres and from each other. A pose counts as
solved if it is reached and Pinocchio finds no collision.

Beside it pin-pink, in an environment of its own: iterated to the same tolerance from the first start that ours takes
for each pose, with that start alone on both sides.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import bar, number, table
from tests.support import ik_obstacles
from tests.support.ik_robots import ARMS, arm, errors, placement_task, placements, reachable, within
from trajopt.ik import IKSolver
from trajopt.kernels import compilations

POSES = 10_000
TOLERANCE = 1e-5  # of every element of the twist [m, rad]
SOLVED, ALONE, TOGETHER = 0.999, 0.38, 100.0
"""Bars: part that is solved [-], median time of a pose alone [ms], mean time of a pose in a batch [µs]."""


OBSTACLE_POSES, AMONG_OBSTACLES = 500, 0.98
"""Poses among obstacles [-], and the part of them that is to be solved."""
PEER_POSES, PEER_ITERATIONS = 1_000, 100
SCRIPTS = Path(__file__).with_name("peers")


def measure(pink: Path | None = None, *, poses: int = POSES, rounds: int = 3) -> dict[str, Any]:
    """Figures of each arm by name.

    Args:
        pink: Environment of `peers/make_ik_env.sh`; None leaves pin-pink out.
        poses: Number of poses of each arm [-].
        rounds: Times that a batch is solved; the fastest counts [-].

    Raises:
        SystemExit: There is no such environment; says how to make one.
    """
    if pink is not None and not (pink / "bin" / "python").exists():
        raise SystemExit(f"--pink: no {pink}/bin/python; make it: {SCRIPTS / 'make_ik_env.sh'} {pink}")
    figures = {name: _measured(name, poses, rounds) for name in ARMS}
    figures["panda"]["obstacles"] = _among_obstacles()
    for name in ARMS if pink else ():
        figures[name]["one_start"] = _beside(pink, name)
    return figures


def _measured(name: str, poses: int, rounds: int) -> dict[str, Any]:
    state, frame = arm(name)
    targets = reachable(state, frame, poses, 2026)
    solver = IKSolver(state.robot, placement_task(state, frame))
    solver.solve_batch({"tool.reference": targets[:100]})
    solver.solve({"tool.reference": targets[0]})
    before, times = compilations(), []
    for _ in range(rounds):
        begin = time.perf_counter()
        batch = solver.solve_batch({"tool.reference": targets})
        times.append(time.perf_counter() - begin)
    alone, found = np.empty(poses), []
    for i, target in enumerate(targets):
        begin = time.perf_counter()
        result = solver.solve({"tool.reference": target})
        alone[i] = time.perf_counter() - begin
        found.append(result.q)
    return {
        "poses": poses,
        "solved_together": _solved(state, frame, batch.q, targets),
        "solved_alone": _solved(state, frame, np.array(found), targets),
        "together_us": 1e6 * min(times) / poses,
        "alone_ms": 1e3 * float(np.median(alone)),
        "alone_95_ms": 1e3 * float(np.quantile(alone, 0.95)),
        "starts_together": float(np.mean(batch.starts)),
        "compiled": compilations() - before,
    }


def _among_obstacles() -> dict[str, float]:
    state, frame = arm("panda")
    targets = ik_obstacles.free_targets(OBSTACLE_POSES, 2026)
    solver = IKSolver(state.robot, ik_obstacles.tasks(state, frame))
    solver.solve_batch({"tool.reference": targets[:100]})
    begin = time.perf_counter()
    batch = solver.solve_batch({"tool.reference": targets})
    seconds = time.perf_counter() - begin
    reached = (errors(placements(state, frame, batch.q), targets) <= TOLERANCE) & within(state, batch.q)
    free = ik_obstacles.least_distances(state, batch.q) > 0.0
    return {
        "solved": float(np.mean(reached & free)),
        "colliding": int(np.sum(batch.solved & ~free)),
        "us": 1e6 * seconds / OBSTACLE_POSES,
    }


def _beside(pink: Path | None, name: str) -> dict[str, float]:
    """Ours and pin-pink from one start a pose."""
    state, frame = arm(name)
    targets = reachable(state, frame, PEER_POSES, 2026)
    solver = IKSolver(state.robot, placement_task(state, frame), tolerance=TOLERANCE)
    starts = np.array([solver.first_start({"tool.reference": target}) for target in targets])
    begin = time.perf_counter()
    batch = solver.solve_batch({"tool.reference": targets}, starts=1)
    ours = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        state.model.saveToText(f"{folder}/model.txt")
        about = {"frame": frame, "tolerance": TOLERANCE, "limit": PEER_ITERATIONS}
        np.savez(f"{folder}/poses.npz", starts=starts, targets=targets, **about)
        command = [f"{pink}/bin/python", str(SCRIPTS / "pink_ik.py"), folder]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
        with np.load(f"{folder}/found.npz") as found:
            q, seconds = found["q"], found["seconds"]
    return {
        "solved": _solved(state, frame, batch.q, targets),
        "us": 1e6 * ours / PEER_POSES,
        "pink_solved": _solved(state, frame, q, targets),
        "pink_us": 1e6 * float(np.mean(seconds)),
        "pink_median_us": 1e6 * float(np.median(seconds)),
    }


def _solved(state: Any, frame: str, q: Any, targets: Any) -> float:
    """Part of the targets that configurations reach within limits, by Pinocchio."""
    reached = errors(placements(state, frame, q), targets) <= TOLERANCE
    return float(np.mean(reached & within(state, q)))


def report(figures: dict[str, Any]) -> str:
    """The figures as a table."""
    header = ["arm", "solved alone", "in a batch", "bar", "alone, median [ms]", "bar", "95 %"]
    header += ["in a batch [µs]", "bar", "starts", "compiled"]
    rows = []
    for name, row in figures.items():
        least = min(row["solved_alone"], row["solved_together"])
        rows.append(
            [
                name,
                f"{100 * row['solved_alone']:.2f} %",
                f"{100 * row['solved_together']:.2f} %",
                bar(least, SOLVED, at_least=True),
                number(row["alone_ms"]),
                bar(row["alone_ms"], ALONE, at_least=False),
                number(row["alone_95_ms"]),
                number(row["together_us"]),
                bar(row["together_us"], TOGETHER, at_least=False),
                number(row["starts_together"]),
                str(row["compiled"]),
            ]
        )
    count = next(iter(figures.values()))["poses"]
    title = f"Inverse kinematics: {count:,} random reachable poses, within limits, to 1e-5"
    among = figures["panda"]["obstacles"]
    words = (
        f"Panda among five spheres, {OBSTACLE_POSES} poses: {100 * among['solved']:.1f} % solved "
        f"({bar(among['solved'], AMONG_OBSTACLES, at_least=True)}), {among['colliding']} of the answers in collision, "
        f"{among['us']:.0f} µs a pose in a batch\n"
    )
    return "\n".join([table(title, header, rows), words, *_report_beside(figures)])


def _report_beside(figures: dict[str, Any]) -> list[str]:
    """Ours and pin-pink from one start a pose, as a table, if that was measured."""
    beside = {name: row["one_start"] for name, row in figures.items() if "one_start" in row}
    rows = [
        [
            name,
            f"{100 * row['solved']:.1f} %",
            number(row["us"]),
            f"{100 * row['pink_solved']:.1f} %",
            number(row["pink_us"]),
            number(row["pink_median_us"]),
        ]
        for name, row in beside.items()
    ]
    header = ["arm", "solved", "mean [µs]", "pink solved", "mean [µs]", "median [µs]"]
    title = (
        f"One start a pose, the same for both, {PEER_POSES:,} poses; pin-pink stops after {PEER_ITERATIONS} iterations"
    )
    return [table(title, header, rows)] if rows else []
