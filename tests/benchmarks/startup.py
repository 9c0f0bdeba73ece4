"""From starting `python` to a solution: cold, with an empty cache of compiled code, and from the cache."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

from tests.benchmarks.cases import Case
from tests.benchmarks.machine import ROOT
from tests.benchmarks.startup_child import LIBRARIES
from tests.benchmarks.table import bar, table

RUNS = 5
BARS = {  # until the solution [s]; a command until its process ends
    "arm_t100": {"cold": 20.0, "warm": 3.0},
    "arm_seed_rk4": {"cold": 30.0, "warm": 3.0},
    "hyq_walk": {"cold": 60.0},
    "hyq_trot": {"cold": 60.0},
    "humanoid_reach": {"cold": 180.0},
    "trajopt solve arm-reach": {"warm": 1.0},
    "trajopt solve arm-reach --plot": {"warm": 2.0},
    "trajopt solve arm-reach-crocoddyl": {"warm": 3.0},
    "trajopt solve quadruped-trot": {"cold": 60.0, "cold, quick code only": 10.0, "warm": 4.0},
    "trajopt solve humanoid-reach": {"cold": 180.0, "cold, quick code only": 20.0},
}
IMPORTS = {"libraries": ", ".join(LIBRARIES), "trajopt": "trajopt, trajopt.solvers"}
MOST_IMPORTS = 2.0  # CPU time of trajopt's imports in those of its libraries [-]
REACH = ("arm-reach", "arm-reach --plot")
COMMANDS = {"arm_t100": "arm-reach-crocoddyl", "hyq_trot": "quadruped-trot", "humanoid_reach": "humanoid-reach"}
TITLE = """Start-up: seconds from starting python to the end of the first iteration, to the solution, and until the code
of large problems is optimised, which goes on in the background. Medians in fresh processes. Cold: with an empty
cache, all compiling included; warm: the next process. Default threads, the problem's own solver and options, no
plot where none is named."""
HEADER = ["start", "first iteration [s]", "solution [s]", "optimised [s]", "required [s]"]

CPU = "imports, CPU"
MOMENTS = ("first iteration", "total", "optimised")  # since the start; the other figures are durations

Figures = dict[str, dict[str, float]]

_folder = tempfile.TemporaryDirectory(prefix="trajopt-bytecode-")
_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _folder.name}  # pip installs packages with bytecode


def measure(cases: dict[str, Case]) -> Figures:
    """Medians by kind of start: "imports", and "NAME, cold" and "NAME, warm" of each problem [s]."""
    runs: dict[str, list[dict[str, float]]] = {}
    _imports(IMPORTS["trajopt"])  # writes the bytecode
    for _ in range(RUNS):
        runs.setdefault("imports", []).append(_child("imports"))
        runs.setdefault(CPU, []).append({label: _imports(names) for label, names in IMPORTS.items()})
        for name in cases:
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold", "warm"):
                    runs.setdefault(f"{name}, {kind}", []).append(_child(name, cache))
        for problem in (*REACH, *(COMMANDS[name] for name in cases if name in COMMANDS)):
            for kind, seconds in _commands(problem).items():
                runs.setdefault(f"trajopt solve {problem}, {kind}", []).append({"total": seconds})
    return {kind: {label: median(run[label] for run in rows) for label in rows[0]} for kind, rows in runs.items()}


def _child(name: str, cache: str = "off") -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.startup_child", name, str(time.monotonic())]
    return dict(json.loads(run(command, cache)))


def _imports(names: str) -> float:
    """User and system time of a process that imports modules and ends [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([sys.executable, "-c", f"import {names}"], "off")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _commands(problem: str) -> dict[str, float]:
    """The command line, until its process ends [s]."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
        starts = {"cold": (cache, "on"), "warm": (cache, "on"), "cold, quick code only": (other, "off")}
        return {kind: _command(problem, folder, optimise) for kind, (folder, optimise) in starts.items()}


def _command(problem: str, cache: str, optimise: str) -> float:
    name, *options = problem.split()
    with tempfile.TemporaryDirectory() as folder:
        pictures = [os.path.join(folder, "reach.png")] if options else []
        start = time.monotonic()
        run([sys.executable, "-m", "trajopt", "solve", name, *options, *pictures], cache, optimise)
        return time.monotonic() - start


def run(command: list[str], cache: str, optimise: str = "on", **more: str) -> str:
    """What a process prints that has a cache of its own; `more` are variables of its environment."""
    environment = {**os.environ, "TRAJOPT_CACHE_DIR": cache, "TRAJOPT_OPTIMISE": optimise, **_BYTECODE, **more}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def report(figures: Figures) -> str:
    """Totals with their bars, then what they went into."""
    totals = []
    for kind, times in figures.items():
        if kind == CPU:
            continue
        name, _, state = kind.partition(", ")
        limit = BARS.get(name, {}).get(state)
        required = "" if limit is None else bar(times["total"], limit, at_least=False)
        before, after = (f"{times[key]:.2f}" if key in times else "" for key in ("first iteration", "optimised"))
        totals.append([kind, before, f"{times['total']:.2f}", after, required])
    return "\n".join([table(TITLE, HEADER, totals), *_breakdown(figures)])


def _breakdown(figures: Figures) -> list[str]:
    """One table for the imports, one for the solves."""
    starts = {kind: times for kind, times in figures.items() if "first solve" in times}
    imports = {label: seconds for label, seconds in figures["imports"].items() if label != "total"}
    bare = ", ".join(f"{label} {seconds:.2f}" for label, seconds in imports.items())
    libraries, ours = (figures[CPU][label] for label in IMPORTS)
    ratio = bar(ours / libraries, MOST_IMPORTS, at_least=False)
    told = (
        f"Imports alone [s]: {bare}\n"
        f"CPU time of imports: libraries {libraries:.2f} s, trajopt and its solvers with them {ours:.2f} s, "
        f"{ours / libraries:.2f} times as much, required {ratio}\n"
    )
    if not starts:
        return [told]
    labels = [label for label in next(iter(starts.values())) if label not in MOMENTS]
    rows = [[label, *(f"{times[label]:.3f}" for times in starts.values())] for label in labels]
    title = "Where it goes [s]; programs (built or loaded), text, compiling, linking, cache: parts of the first solve"
    return [told, table(title, ["part", *starts], rows)]
