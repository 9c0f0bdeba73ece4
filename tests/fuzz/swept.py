"""Valid arguments of sweeps, and objects to call methods on: stores of a few rows in a temporary folder."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World, folder
from tests.sweeps import stores
from tests.sweeps.executors import Here
from trajopt.sweeps import Recipe, Sweep, grid

OPTIONS = {"T": 3, "nx": 2, "nu": 1}
_PLOTS = ("Sweep.plot", "plot_sweep", "plot_success_map")


def _recipe(w: World, rng: Random) -> Recipe:
    return Recipe(problem="lqr", options=OPTIONS)


@functools.cache
def _solved() -> Sweep:
    """Rows that were solved, and can be solved again; the last two end with an error."""
    x0 = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1e200, 0.0], [1e200, 1.0]])
    place = folder() / "solved"
    return trajopt.sweep(_recipe(None, Random(0)), {"x0": x0}, executor=Here(), store=place, progress=False)  # type: ignore[arg-type]


@functools.cache
def _written() -> Sweep:
    """Rows whose numbers nothing computed, some of which did not converge."""
    failed, errors = {1: "MAX_ITERATIONS", 5: "MAX_ITERATIONS"}, {2: "ModelEvaluationError: knot 1"}
    return Sweep.read(stores.write(folder() / "written", stores.grid(3), failed, errors))


def _sweep(w: World, rng: Random) -> Sweep:
    return rng.choice([_solved, _written])()


def _row(w: World, rng: Random) -> Any:
    return _solved()[rng.randrange(len(_solved()))]


def _values(w: World, rng: Random) -> Any:
    x0 = [[rng.uniform(-1, 1), 0.0], [0.0, 1.0]]
    return rng.choice(
        [{"x0": x0}, grid({"x0": x0}), trajopt.sweeps.random({"x0": [[0.0, 0.0], [1.0, 1.0]]}, 2), [{"x0": x0[0]}]]
    )


FIXED_SWEPT: dict[str, Callable[[World, Random], Any]] = {
    "Sweep": _sweep,
    "Outcome": _row,
    "Recipe": _recipe,
    "Failures": lambda w, rng: _sweep(w, rng).failures(),
    "Failure": lambda w, rng: next(iter(_solved().failures().values())),
}
"""Objects to call methods on."""

SWEPT: dict[str, Callable[[World, Random], Any]] = {
    "sweep.case_or_recipe": lambda w, rng: rng.choice([_recipe(w, rng), trajopt.problems.load("lqr", **OPTIONS)]),
    "sweep.parameters": _values,
    "sweep.executor": lambda w, rng: Here(),
    "sweep.workers": lambda w, rng: None,
    "sweep.store": lambda w, rng: folder() / f"store{rng.randrange(3)}",
    "sweep.ahead": lambda w, rng: rng.choice([1, 8]),
    "sweep": _sweep,
    **{f"{plot}.kind": lambda w, rng: rng.choice(["map", "costs", "parallel", "summary"]) for plot in _PLOTS[:2]},
    "Recipe.problem": lambda w, rng: rng.choice(["lqr", "pendulum", "tests.sweeps.builders:arm"]),
    "Recipe.robot": lambda w, rng: None,
    "Recipe.options": lambda w, rng: rng.choice([{}, {"T": 3}]),
    "Recipe.solver": lambda w, rng: rng.choice([None, "SolverFDDP"]),
    "Recipe.solver_options": lambda w, rng: rng.choice([{}, {"max_iterations": 3}]),
    "Recipe.read.text": lambda w, rng: _recipe(w, rng).text,
    "Sweep.read.folder": lambda w, rng: _sweep(w, rng).folder,
    "Sweep.where.name": lambda w, rng: "cost",
    **{f"Sweep.to_{kind}.path": lambda w, rng, kind=kind: folder() / f"table.{kind}" for kind in ("csv", "parquet")},
    "Failures.get.key": lambda w, rng: rng.choice(["MAX_ITERATIONS", "none"]),
    "Failures.get.default": lambda w, rng: None,
    "Failure.explain.row": lambda w, rng: 0,
    "grid.axes": lambda w, rng: {"goal.weight": [1.0, 10.0], "x0": [[0.0, 1.0], [1.0, 1.0]]},
    "random.ranges": lambda w, rng: {"goal.weight": [1.0, 10.0], "x0": [[0.0, 1.0], [1.0, 1.0]]},
    "random.log": lambda w, rng: rng.choice([(), ["goal.weight"]]),
    "random.seed": lambda w, rng: rng.randrange(10),
    **{f"{plot}.{axis}": lambda w, rng: None for plot in _PLOTS for axis in "xy"},
}
"""By door and argument, or by argument."""
