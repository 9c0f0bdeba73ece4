"""One start of a program that solves a problem: `python -m tests.benchmarks.startup_child NAME SPAWNED`.

It is what a user's script would be, with a clock. Prints one JSON object: seconds from SPAWNED (`time.monotonic()` of
the parent) to the solution, and what they went into.

`imports` in place of NAME imports the libraries that trajopt needs, and nothing else.
"""

import functools
import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LIBRARIES = ("numpy", "casadi", "pinocchio", "llvmlite.binding")

# Where a first solve spends its time. A function that the others call counts for itself only.
WATCHED = {
    "programs": [
        ("trajopt.shooting.programs", ["expansion", "terminal_expansion", "step", "terminal_step"]),
    ],
    "text": [("trajopt.kernels.emission", ["EmittedFunction"]), ("trajopt.kernels.machine", ["entry_text"])],
    "compiling": [("trajopt.kernels.compiler", ["machine_code", "machine_codes"])],
    "linking": [("trajopt.kernels.compiler", ["link"])],
    "cache": [("trajopt.cache", ["load", "store", "key"])],
}


class Clock:
    """Time by label; a watched function inside another one stops the other's time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(WATCHED, 0.0)
        self._running: list[str] = []
        self._since = 0.0

    def _switch(self) -> None:
        now = time.monotonic()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def watch(self, label: str, module: str, name: str) -> None:
        """Replaces a function of a module by one that is timed."""
        place = importlib.import_module(module)
        function: Callable[..., Any] = getattr(place, name)

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():  # code that is optimised meanwhile
                return function(*args, **kwargs)
            self._switch()
            self._running.append(label)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._running.pop()

        setattr(place, name, watched)


def imports(spawned: float) -> dict[str, float]:
    """Seconds until Python runs, of the import of each library, and of all together."""
    times = {"interpreter": time.monotonic() - spawned}
    for name in LIBRARIES:
        start = time.monotonic()
        importlib.import_module(name)
        times[name] = time.monotonic() - start
    return {**times, "total": time.monotonic() - spawned}


def solve(name: str, spawned: float) -> dict[str, float]:
    """Seconds from the start of Python to the solution, and what they went into."""
    marks = [spawned, time.monotonic()]
    from tests.benchmarks.cases import CASES
    from trajopt.kernels import wait_until_optimised

    marks.append(time.monotonic())
    clock = Clock()
    for label, places in WATCHED.items():
        for module, names in places:
            for function in names:
                clock.watch(label, module, function)
    case = CASES[name].load()
    marks.append(time.monotonic())
    iterations: list[float] = []
    case.solve(callbacks=[lambda _: iterations.append(time.monotonic())])
    marks.append(time.monotonic())
    wait_until_optimised()
    moments = {"first iteration": iterations[0], "total": marks[-1], "optimised": time.monotonic()}
    names_of = ("interpreter", "import", "robot and models", "first solve")
    times = {label: end - start for label, start, end in zip(names_of, marks, marks[1:])}
    times |= clock.seconds
    start = time.monotonic()
    case.solve()
    times["solve again"] = time.monotonic() - start
    return times | {name: moment - spawned for name, moment in moments.items()}


def main() -> None:
    """Measure, and print."""
    name, spawned = sys.argv[1], float(sys.argv[2])
    print(json.dumps(imports(spawned) if name == "imports" else solve(name, spawned)))


if __name__ == "__main__":
    main()
