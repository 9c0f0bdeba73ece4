"""Times MuJoCo's steps and their finite differences, state after state.

    DIR/bin/python mujoco_times.py --serve        a JSON object per line on stdin, an answer per line on stdout

A question has `model`, a file of MuJoCo's XML, and `states`, a file of numpy arrays qpos, qvel and ctrl, one row a
state. Fields of the answer: `step_us` and `transition_us`, the time of `mj_step` and of `mjd_transitionFD` (one-sided
differences of 1e-6) for a state, that of setting the state taken away [µs]; `contacts`, their mean number; `qacc` of
the first state, which tells whether both sides have the same robot; `version`. One thread.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import mujoco
import numpy as np

EVERY = 10  # transitions are timed for every tenth state


@cache
def bench(model_file: str, states_file: str) -> tuple[Any, ...]:
    """Model, data and states."""
    model = mujoco.MjModel.from_xml_path(model_file)
    states = np.load(states_file)
    return model, mujoco.MjData(model), states["qpos"], states["qvel"], states["ctrl"]


def answer(model_file: str, states_file: str) -> dict[str, Any]:
    """One measurement."""
    model, data, qpos, qvel, ctrl = bench(model_file, states_file)
    n = 2 * model.nv
    A, B = np.zeros((n, n)), np.zeros((n, model.nu))

    def per_state(work: Callable[[], None], every: int) -> float:
        chosen = range(0, len(qpos), every)
        start = time.perf_counter()
        for i in chosen:
            data.qpos, data.qvel, data.ctrl = qpos[i], qvel[i], ctrl[i]
            work()
        return 1e6 * (time.perf_counter() - start) / len(chosen)

    touching = []
    idle = per_state(lambda: None, 1)
    step = per_state(lambda: mujoco.mj_step(model, data), 1) - idle
    per_state(lambda: (mujoco.mj_forward(model, data), touching.append(data.ncon)), 1)
    transition = per_state(lambda: mujoco.mjd_transitionFD(model, data, 1e-6, False, A, B, None, None), EVERY) - idle
    data.qpos, data.qvel, data.ctrl = qpos[0], qvel[0], ctrl[0]
    mujoco.mj_forward(model, data)
    row = {"step_us": step, "transition_us": transition, "contacts": float(np.mean(touching))}
    return {**row, "qacc": data.qacc.tolist(), "version": mujoco.__version__}


def main() -> None:
    """Answer."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(answer(question["model"], question["states"])), flush=True)


if __name__ == "__main__":
    main()
