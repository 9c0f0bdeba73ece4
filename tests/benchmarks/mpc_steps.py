"""Steps of model-predictive control: time, limits, compilations, and memory after many of them.

`python -m tests.benchmarks.mpc_steps NAME COUNT...` is a process that takes steps and prints its memory.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.benchmarks.machine import ROOT
from tests.benchmarks.memory import give_back, resident
from tests.benchmarks.table import bar, number, table
from trajopt.kernels import compiler, wait_until_optimised
from trajopt.problems import mpc as closed_loops

CASES = {"arm-tracking": (1.0, 0.5), "quadruped-trot-mpc": (10.0, 5.0)}
"""Problems, with what a whole step and its feedback phase may take [ms], 99 % of the steps."""
STEPS = {"arm-tracking": (1_000, 10_000, 100_000), "quadruped-trot-mpc": (1_000, 10_000)}
"""After how many steps memory is looked at."""
WARM = 20  # steps before the count begins
AGAIN = 5_000  # steps after which a process that looks at memory begins anew, as references end
NOISE = 1e-4
PROCESSOR = 1_000  # steps whose processor time is taken
SOFT = ("positions", "velocities")
"""Limits of states, which are softened."""
LIMIT, ROWS = 1e-6, 1e-3  # by how much controls, and nonlinear hard rows, may be beyond their limits
TITLE = """Model-predictive control in real time: closed loops of 10 s, one thread; times of steps [ms]. A whole step is
preparation and feedback. Compiled: programs that were compiled or loaded after the first steps. Beyond: largest excess
of controls, and largest violation of a hard row of the controller's first knot by the true state and control. A
processor's time is that of 1,000 more steps, where the plant does what was planned, with noise: for busy machines."""
HEADER = ["problem", "steps", "phase", "median", "99 %", "required", "99.9 %", "largest", "share"]
OUTCOME = [
    "problem",
    "solved",
    "partial",
    "failed",
    "compiled",
    "controls beyond",
    "required",
    "hard rows beyond",
    "required",
]
MEMORY = """Memory of one process after so many steps [MiB], once garbage is collected and free memory is given back."""

Figures = dict[str, dict[str, Any]]


class Compilations:
    """Counts programs that are compiled, or loaded, while it is entered."""

    def __enter__(self) -> Compilations:
        self._link, self.count = compiler.link, 0

        def counted(*args: Any) -> Any:
            self.count += 1
            return self._link(*args)

        compiler.link = counted  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        compiler.link = self._link  # type: ignore[assignment]


def measure(*, memory: bool = True, duration: float | None = None) -> Figures:
    """Times [s], outcomes and memory [MiB] of each problem."""
    return {name: _loop(name, duration) | ({"memory": _memory(name)} if memory else {}) for name in CASES}


def _loop(name: str, duration: float | None) -> dict[str, Any]:
    case = closed_loops.load(name)
    case.simulate(WARM * case.controller.dt)
    wait_until_optimised()
    with Compilations() as compiled:
        log = case.simulate(duration)
    with Compilations() as again:
        cpu = _processor_times(case)
    beyond = {each: float(np.max(values)) for each, values in log.violations.items()}
    return {
        "preparation": log.preparation_times[1:].tolist(),
        "feedback": log.feedback_times[1:].tolist(),
        "cpu": cpu,
        "counts": log.counts,
        "compiled": compiled.count + again.count,
        "controls": float(np.max(log.control_excess)),
        "rows": beyond,
        "report": case.report(log),
    }


def _processor_times(case: Any) -> list[float]:
    """Processor time of whole steps [s], which other work on the machine disturbs less than time."""
    times = []
    for step in _steps(case):
        times.append(step)
        if len(times) == PROCESSOR:
            break
    return times


def _steps(case: Any) -> Iterator[float]:
    """Takes steps for ever, each from where the last plan leads to, with noise; their processor times [s]."""
    controller, rng = case.controller, np.random.default_rng(0)
    state, part = controller.problem.state, controller.dt / controller.offsets[1]
    for i in itertools.count():
        if i % AGAIN == 0:
            step = controller.reset(case.x0)
        ahead = part * state.difference(step.xs[0], step.xs[1])
        x = state.integrate(step.xs[0], ahead + NOISE * rng.normal(size=state.ndx))
        started = time.thread_time()
        step = controller.step(x)
        yield time.thread_time() - started


def _memory(name: str) -> list[dict[str, float]]:
    counts = [str(count) for count in STEPS[name]]
    command = [sys.executable, "-m", "tests.benchmarks.mpc_steps", name, *counts]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, float]] = json.loads(done.stdout)
    return found


def report(figures: Figures) -> str:
    """The tables."""
    times, outcomes, memory = [], [], []
    for name, found in figures.items():
        phases = {key: 1e3 * np.array(found[key]) for key in ("preparation", "feedback")}
        whole = phases["preparation"] + phases["feedback"]
        required = dict(zip(("whole", "feedback"), CASES[name]))
        required["whole, processor"] = CASES[name][0]
        for phase, values in {"whole": whole, **phases, "whole, processor": 1e3 * np.array(found["cpu"])}.items():
            late = float(np.percentile(values, 99))
            limit = bar(late, required[phase], at_least=False) if phase in required else ""
            cells = [number(each) for each in (np.median(values), late, np.percentile(values, 99.9), values.max())]
            share = f"{100 * values.sum() / whole.sum():.0f} %" if phase in found else ""
            times.append([name, str(len(values)), phase, cells[0], cells[1], limit, *cells[2:], share])
        counts, rows = found["counts"], found["rows"]
        hard = {each: value for each, value in rows.items() if each not in SOFT}
        worst = max(hard, key=lambda each: hard[each], default=None)
        kept = [number(found["controls"]), bar(found["controls"], LIMIT, at_least=False)]
        counted = [str(counts[key]) for key in ("solved", "partial", "failed")]
        row = [] if worst is None else [f"{worst}: {number(hard[worst])}", bar(hard[worst], ROWS, at_least=False)]
        outcomes.append([name, *counted, str(found["compiled"]), *kept, *(row or ["", ""])])
        for each in found.get("memory", ()):
            memory.append([name, f"{each['steps']:.0f}", f"{each['resident']:.1f}", f"{each['live']:.1f}"])
    text = table(TITLE, HEADER, times) + table("", OUTCOME, outcomes)
    text += "\n".join(f"{name}: {found['report']}" for name, found in figures.items()) + "\n"
    return text + (table(MEMORY, ["problem", "steps", "then", "then, live"], memory) if memory else "")


def sizes(name: str, counts: list[int]) -> list[dict[str, float]]:
    """Memory after so many steps."""
    found = []
    for i, _ in enumerate(_steps(closed_loops.load(name)), 1):
        if i in counts:
            size = resident()
            give_back()
            found.append({"steps": i, "resident": size, "live": resident()})
        if i == counts[-1]:
            return found
    return found


if __name__ == "__main__":
    print(json.dumps(sizes(sys.argv[1], [int(each) for each in sys.argv[2:]])))
