"""Seconds to compile the expansions of an arm and of a quadruped: by a C compiler, and by our own compiler."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median

import casadi as ca

from tests.benchmarks.edits_child import SCENARIOS
from tests.benchmarks.startup import run
from tests.benchmarks.table import number, table
from trajopt.kernels import lane_count
from trajopt.kernels.compiler import OPTIMISED, QUICK
from trajopt.kernels.expression import Expression
from trajopt.kernels.functions import Wanted, forget, function_codes
from trajopt.shooting import programs

RUNS = 3
WAYS = ("gcc -O0", "gcc -O2", "quick", "optimised")
TITLE = f"""Compiling the functions of an expansion, without any cache: the C code that CasADi generates for one knot,
by gcc; our own compiler for {lane_count()} knots at once, quick and optimised. Medians."""
HEADER = ["expansion", "instructions", *(f"{way} [s]" for way in WAYS)]

Figures = dict[str, dict[str, float]]


def measure(count: int | None = None, scenarios: Sequence[str] = ("panda", "go2")) -> Figures:
    """Instructions and medians by scenario; without a C compiler, without its seconds."""
    command = [sys.executable, "-m", "tests.benchmarks.code_generation", str(count or RUNS)]
    return {name: json.loads(run([*command, name], "off")) for name in scenarios}


def _measured(count: int, name: str) -> dict[str, float]:
    """In a process without a cache: the medians of a scenario."""
    found = _functions(name)
    rounds = [{way: _seconds(call) for way, call in _ways(found).items()} for _ in range(count)]
    medians = {way: median(one[way] for one in rounds) for way in rounds[0]}
    return {"instructions": sum(f.instructions for f in found), **medians}


def _functions(name: str) -> list[Expression]:
    """The functions that an expansion of a running knot calls."""
    problem, _ = SCENARIOS[name]("warm")
    return programs.expansion(problem.running[0], problem.nu).functions


def _ways(functions: list[Expression]) -> dict[str, Callable[[], None]]:
    gcc = {f"gcc {level}": functools.partial(_by_gcc, functions, level) for level in ("-O0", "-O2")}
    ours = {"quick": QUICK, "optimised": OPTIMISED}
    return (gcc if shutil.which("gcc") else {}) | {
        way: functools.partial(_ours, functions, level) for way, level in ours.items()
    }


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _by_gcc(functions: list[Expression], level: str) -> None:
    """Generates C code and compiles it, as CasADi's users do."""
    with tempfile.TemporaryDirectory() as folder:
        generator = ca.CodeGenerator("expansion.c")
        for i, one in enumerate(functions):
            generator.add(ca.Function(f"f{i}", one.function.sx_in(), one.function.call(one.function.sx_in())))
        generator.generate(f"{folder}/")
        command = ["gcc", level, "-shared", "-fPIC", "-o", "expansion.so", "expansion.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _ours(functions: list[Expression], level: int) -> None:
    forget()
    function_codes([Wanted(one, lane_count(), level) for one in functions])


def report(figures: Figures) -> str:
    """The table."""
    rows = [
        [name, f"{seconds['instructions']:,}", *(number(seconds[way]) if way in seconds else "" for way in WAYS)]
        for name, seconds in figures.items()
    ]
    return table(TITLE, HEADER, rows)


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]), sys.argv[2])))
