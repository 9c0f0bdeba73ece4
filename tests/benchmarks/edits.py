"""From an edit of a script to the first iteration of its solve, and what compilers of C take for the same functions."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.benchmarks.machine import ROOT
from tests.benchmarks.startup import run
from tests.benchmarks.table import bar, number, table

RUNS = 5
FIRST, AGAIN = "cold", "warm"
EDITS = ("built-in term", "own term", "activation", "constraint", "integrator")
FORMULA = "formula of the model"
KINDS = {
    **dict.fromkeys(("panda", "go2", "talos reach", "talos walk", "a1"), (FIRST, *EDITS, AGAIN)),
    "pendulum": (FIRST, *EDITS, FORMULA, AGAIN),
}
CHANGE = ("19.62 * casadi.sin(x[0])", "19.62 * casadi.sin(x[0]) - 0.1 * x[1]")  # the pendulum gets a damper
TERM = {"panda": (0.5, 0.6), "go2": (1.5, 2.0), "talos reach": (3.0, 4.0), "talos walk": (3.0, 4.0)}
COLD = {"panda": 1.5, "go2": 6.0, "talos reach": 10.0, "talos walk": 10.0}
WARM = {"panda": 0.15, "go2": 0.4, "talos reach": 0.8, "talos walk": 0.8}
BARS = {
    **{(name, kind): bars for name, bars in TERM.items() for kind in ("built-in term", "own term")},
    **{(name, FIRST): (limit, None) for name, limit in COLD.items()},
    **{(name, AGAIN): (limit, None) for name, limit in WARM.items()},
}
"""Wall seconds and processor seconds, those of children among them."""
TITLE = """From an edit to the first iteration: seconds from the end of the imports to the end of the first iteration,
with robot, problem and guess; wall time, and processor time of the process and of its children. Medians in fresh
processes. Cold: with an empty cache; the process stays until all code is optimised. Others start with a copy of the
cache that it leaves: after an edit of its script or, warm, without one. A constraint comes with SolverSQP, all others
with SolverFDDP."""
HEADER = ["scenario", "start", "wall [s]", "required", "process [s]", "children [s]", "required"]
SCRIPT = Path(__file__).with_name("edits_child.py")

Figures = dict[str, dict[str, dict[str, float]]]


def measure(count: int | None = None, scenarios: tuple[str, ...] = tuple(KINDS)) -> Figures:
    """Medians by scenario and kind of start."""
    figures: Figures = {}
    for name in scenarios:
        rounds = [_round(name) for _ in range(count or RUNS)]
        figures[name] = {
            kind: {part: median(one[kind][part] for one in rounds) for part in rounds[0][kind]} for kind in KINDS[name]
        }
    return figures


def _round(name: str) -> dict[str, dict[str, float]]:
    """A session with an empty cache, then each edit with a copy of what it leaves."""
    with tempfile.TemporaryDirectory(prefix="trajopt-edits-") as place:
        folder = Path(place)
        found = {FIRST: _start(folder, name, "session", folder / "kept")}
        for kind in KINDS[name][1:]:
            shutil.copytree(folder / "kept", folder / "copy")
            found[kind] = _start(folder, name, kind, folder / "copy")
            shutil.rmtree(folder / "copy")
    return found


def _start(folder: Path, name: str, edit: str, cache: Path) -> dict[str, float]:
    """A run of the script, which is a file of the user's own."""
    script = folder / "script.py"
    text = SCRIPT.read_text()
    assert text.count(CHANGE[0]) == 1
    script.write_text(text.replace(*CHANGE) if edit == FORMULA else text)
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    return dict(json.loads(run([sys.executable, str(script), name, edit], str(cache), PYTHONPATH=paths)))


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, kinds in figures.items():
        for kind, seconds in kinds.items():
            wall, processor = BARS.get((name, kind), (None, None))
            together = seconds["cpu"] + seconds["children"]
            cells = [number(seconds["wall"]), _required(seconds["wall"], wall), number(seconds["cpu"])]
            rows.append([name, kind, *cells, number(seconds["children"]), _required(together, processor)])
        rows.append([])
    return table(TITLE, HEADER, rows[:-1])


def _required(seconds: float, limit: float | None) -> str:
    return "" if limit is None else bar(seconds, limit, at_least=False)
