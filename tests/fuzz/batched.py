"""Valid arguments of many solves in one call, of continuation, comparisons and derivatives of solutions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.worlds import World, world
from trajopt import solvers
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions

_SOLVERS = ("SolverFDDP", "SolverDDP", "SolverBoxFDDP", "SolverBoxDDP", "SolverSQP", "SolverFatrop", "SolverIpopt")


def _starts(w: World, rng: Random) -> Any:
    small = w if not w.legged else world("arm")
    return np.array([small.x(rng) for _ in range(rng.choice([1, 2, 5]))])


def _weights(w: World, rng: Random) -> Any:
    return rng.choice([None, {"goal.weight": [0.5]}])


def _solver(w: World, rng: Random) -> Any:
    return solvers.SolverFDDP(w.problem(rng, expressions=True), solvers.FDDPOptions(max_iterations=3))


def _begun(w: World) -> InteriorPoint:
    """Interior points at their first iterate."""
    method = InteriorPoint(w.qp)
    method.begin(InteriorPointOptions())
    return method


def _small(w: World) -> World:
    return w if not w.legged else world("arm")


BATCHED: dict[str, Callable[[World, Random], Any]] = {
    **{f"{name}.solve_batch.x0": _starts for name in _SOLVERS},
    **{f"{name}.solve_batch.parameters": _weights for name in _SOLVERS},
    **{f"{name}.solve_batch.{guess}": lambda w, rng: None for name in _SOLVERS for guess in ("xs", "us")},
    **{f"{name}.solve.{guess}": lambda w, rng: None for name in _SOLVERS for guess in ("xs", "us")},
    "continuation.solver": _solver,
    "continuation.parameter": lambda w, rng: "goal.weight",
    "continuation.values": lambda w, rng: [0.5, 1.0],
    **{f"continuation.{guess}": lambda w, rng: None for guess in ("xs", "us")},
    "compare.solutions": lambda w, rng: (_small(w).solution, _small(w).solution),
    "compare.labels": lambda w, rng: None,
    "plot_batch.solutions": lambda w, rng: w.solutions,
    "ShootingProblem.free.name": lambda w, rng: "dt",
    "ShootingProblem.free.lower": lambda w, rng: 0.01,
    "ShootingProblem.free.upper": lambda w, rng: 0.1,
    "ShootingProblem.free.guess": lambda w, rng: None,
    "ShootingProblem.free.knots": lambda w, rng: "running",
    "ShootingProblem.replace_x0.value": lambda w, rng: _small(w).state.zero(),
    "ShootingProblem.replace_x0.start": lambda w, rng: None,
    "SolutionLibrary.nearest.x0": lambda w, rng: _small(w).state.zero(),
    "SolutionLibrary.nearest.parameters": lambda w, rng: None,
    "SolutionLibrary.nearest.count": lambda w, rng: rng.choice([1, 2]),
    "View.look_from.direction": lambda w, rng: rng.choice(["corner", "side", "front", "top"]),
    **{f"InteriorPoint.{name}.options": lambda w, rng: InteriorPointOptions() for name in ("begin", "go_on")},
    "regularization_increase": lambda w, rng: rng.uniform(1.5, 10.0),
}
"""By door and argument."""

FIXED_BATCHED: dict[str, Callable[[World, Random], Any]] = {"InteriorPoint": lambda w, rng: _begun(w)}
"""Objects to call methods on."""
