"""From starting `python` to a solution: cold, with an empty cache of compiled code, and from the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.benchmarks.cases import Case
from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import bar, table

RUNS = {True: 5, False: 3}  # of a case with bars, without
BARS = {"arm_t100": {"cold": 20.0, "warm": 3.0}, "arm_seed_rk4": {"cold": 30.0, "warm": 3.0}}  # [s]
TITLE = """Start-up: seconds from starting python to the end of the first iteration, to the solution, and until the code
of large problems is optimised, which goes on in the background. Medians in fresh processes. Cold: with an empty
cache, all compiling included; warm: the next process. Default threads, the problem's own solver and options, no
plot."""
HEADER = ["start", "first iteration [s]", "solution [s]", "optimised [s]", "required [s]"]

MOMENTS = ("first iteration", "total", "optimised")  # since the start; the other figures are durations

Figures = dict[str, dict[str, float]]

_folder = tempfile.TemporaryDirectory(prefix="trajopt-bytecode-")
_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _folder.name}  # pip installs packages with bytecode


def measure(cases: dict[str, Case]) -> Figures:
    """Medians by kind of start: "imports", and "NAME, cold" and "NAME, warm" of each problem [s]."""
    runs: dict[str, list[dict[str, float]]] = {}
    for i in range(max(RUNS.values())):
        runs.setdefault("imports", []).append(_child("imports"))
        for name in (name for name, case in cases.items() if i < RUNS[case.bars]):
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold", "warm"):
                    runs.setdefault(f"{name}, {kind}", []).append(_child(name, cache))
                if name == "arm_t100":
                    runs.setdefault("trajopt solve arm-reach, warm", []).append(_command(cache))
    return {kind: {label: median(run[label] for run in rows) for label in rows[0]} for kind, rows in runs.items()}


def _child(name: str, cache: str = "off") -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.startup_child", name, str(time.monotonic())]
    return dict(json.loads(_run(command, cache)))


def _command(cache: str) -> dict[str, float]:
    """The command line, until its process ends."""
    start = time.monotonic()
    _run([sys.executable, "-m", "trajopt", "solve", "arm-reach"], cache)
    return {"total": time.monotonic() - start}


def _run(command: list[str], cache: str) -> str:
    environment = {**os.environ, "TRAJOPT_CACHE_DIR": cache, **_BYTECODE}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[2]).name} {command[3]}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def report(figures: Figures) -> str:
    """Totals with their bars, then what they went into."""
    totals = []
    for kind, times in figures.items():
        name, _, state = kind.rpartition(", ")
        limit = BARS.get(name, {}).get(state) or (3.0 if kind.startswith("trajopt") else None)
        required = "" if limit is None else bar(times["total"], limit, at_least=False)
        before, after = (f"{times[key]:.2f}" if key in times else "" for key in ("first iteration", "optimised"))
        totals.append([kind, before, f"{times['total']:.2f}", after, required])
    return "\n".join([table(TITLE, HEADER, totals), *_breakdown(figures)])


def _breakdown(figures: Figures) -> list[str]:
    """One table for the imports, one for the solves."""
    starts = {kind: times for kind, times in figures.items() if "first solve" in times}
    imports = {label: seconds for label, seconds in figures["imports"].items() if label != "total"}
    bare = ", ".join(f"{label} {seconds:.2f}" for label, seconds in imports.items())
    told = f"Imports alone [s]: {bare}\n"
    if not starts:
        return [told]
    labels = [label for label in next(iter(starts.values())) if label not in MOMENTS]
    rows = [[label, *(f"{times[label]:.3f}" for times in starts.values())] for label in labels]
    title = "Where it goes [s]; programs (built or loaded), text, compiling, linking, cache: parts of the first solve"
    return [told, table(title, ["part", *starts], rows)]
