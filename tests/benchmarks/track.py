"""Differential inverse kinematics: a Panda's hand on a circle, ours beside pin-pink with the same tasks and limits.

The hand's placement, a posture beside it, the robot's limits of position and velocity, the maker's of acceleration; a
step a millisecond. Times are those of a step: of ours alone in a whole path, and by `IKTracker.step` from Python.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import number, table
from tests.support.ik_paths import ACCELERATION, POSTURE, circle, hand_and_posture, panda
from tests.support.ik_robots import errors, placements
from trajopt.ik import IKTracker
from trajopt.ik.target_path import course
from trajopt.ik.tracker import Following

DT, SETTLING, DURATIONS = 1e-3, 0.1, (4.0, 1.2)
"""Time step [s], time of the posture [s], and durations of a circle: one within limits, one that is too fast [s]."""
POSTURE_COST = 1e-3  # of pin-pink, whose tasks are all weighted [cost/rad]
SCRIPTS = Path(__file__).with_name("peers")


def measure(pink: Path | None = None) -> list[dict[str, Any]]:
    """A row of figures for each circle; with those of pin-pink in the environment `pink`, if given."""
    return [_measured(pink, duration) for duration in DURATIONS]


def _measured(pink: Path | None, duration: float) -> dict[str, Any]:
    state = panda()
    robot, targets = state.robot, circle(duration, DT, radius=0.15, rest=1.0)
    tasks, given = hand_and_posture(state), {"velocity": None, "acceleration": ACCELERATION, "settling": SETTLING}
    following = Following(robot, tasks, DT, limits=True, tolerance=1e-4, **given)
    stepper = following.stepper(len(targets) - 1)
    stepper.q[0], stepper.p[:] = POSTURE, course(following.model, targets, DT, None)
    whole = min(_seconds(stepper.run) for _ in range(20)) / (len(targets) - 1)
    tracker, alone = IKTracker(robot, tasks, POSTURE, DT, **given), []
    for target in targets[1:]:
        alone.append(_seconds(lambda target=target: tracker.step({"hand.reference": target})))
    found = {
        "duration": duration,
        "steps": len(targets) - 1,
        "us": 1e6 * whole,
        "step_us": 1e6 * float(np.median(alone)),
    }
    found |= _quality(stepper.q, targets, "")
    return found | (_beside(pink, targets) if pink else {})


def _seconds(run: Any) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _quality(qs: Any, targets: Any, prefix: str) -> dict[str, float]:
    """Largest error of the hand, that at the end, and the largest acceleration in parts of its limit."""
    off = errors(placements(panda(), "panda_hand", qs), targets)
    v = np.diff(qs, axis=0, prepend=qs[:1]) / DT
    use = float(np.abs(np.diff(v, axis=0) / DT / ACCELERATION).max())
    return {f"{prefix}error": float(off.max()), f"{prefix}end": float(off[-1]), f"{prefix}use": use}


def _beside(pink: Path, targets: Any) -> dict[str, Any]:
    state = panda()
    with tempfile.TemporaryDirectory() as folder:
        state.model.saveToText(f"{folder}/model.txt")
        about = {"frame": "panda_hand", "dt": DT, "settling": SETTLING, "posture_cost": POSTURE_COST}
        about |= {"posture": POSTURE, "q0": POSTURE, "acceleration": ACCELERATION}
        np.savez(f"{folder}/path.npz", targets=targets, **about)
        command = [f"{pink}/bin/python", str(SCRIPTS / "pink_track.py"), folder]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
        with np.load(f"{folder}/found.npz") as loaded:
            qs, seconds = loaded["qs"], loaded["seconds"]
    done = {"pink_us": 1e6 * float(np.median(seconds)), "pink_steps": len(seconds)}
    return done | _quality(qs, targets[: len(qs)], "pink_")


def report(figures: list[dict[str, Any]]) -> str:
    """The figures as a table."""
    header = [
        "circle",
        "step in a path [µs]",
        "by IKTracker [µs]",
        "largest error",
        "at the end",
        "acceleration by limit",
    ]
    rows = []
    for row in figures:
        rows.append(
            [f"{row['duration']:g} s, ours", *(number(row[k]) for k in ("us", "step_us", "error", "end", "use"))]
        )
        if "pink_us" in row:
            ratio = f"pin-pink, {row['pink_us'] / row['us']:.0f} and {row['pink_us'] / row['step_us']:.0f} times"
            values = [number(row[k]) for k in ("pink_us", "pink_error", "pink_end", "pink_use")]
            rows.append([ratio, "", *values])
            if row["pink_steps"] < row["steps"]:
                rows[-1][0] += f"; no solution after {row['pink_steps']} of {row['steps']} steps"
    return table("Differential inverse kinematics: Panda's hand on a circle, 1 ms a step", header, rows)
