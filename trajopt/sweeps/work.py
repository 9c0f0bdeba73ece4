"""Solution of a chunk of rows in a worker: one call for one problem."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_non_negative, check_number
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.kernels import get_num_threads, set_num_threads
from trajopt.solution import SolutionBatch, SolverStatus
from trajopt.solution.batch import ERROR
from trajopt.sweeps.designs import Block
from trajopt.sweeps.recipe import Built, Recipe
from trajopt.types import Reals

Arrays = dict[str, np.ndarray[Any, Any]]
"""Arrays of a chunk by name."""

_GUESS = ("xs", "us", "seed", "spread")  # values of a row that are no run-time parameters
SPREAD = 0.3  # default standard deviation of random guesses, in tangent space [-]
_kept = threading.local()


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Rows that one worker solves in one call.

    Attributes:
        recipe: Recipe of the problem.
        start: Number of the first row in the whole sweep [-].
        values: Values by name, (n, ...).
        trajectories: Whether results include states and controls.
        owner: Id of the process that runs the sweep; all other processes use one thread.
    """

    recipe: Recipe
    start: int
    values: Block
    trajectories: bool
    owner: int

    @property
    def n(self) -> int:
        """Number of rows [-]."""
        return len(next(iter(self.values.values())))


def built(recipe: Recipe) -> Built:
    """Builds the problem of a recipe, once in each thread; the last one is cached."""
    key = recipe.text
    if getattr(_kept, "key", None) != key:
        _kept.built, _kept.key = recipe.build(), key
    cached: Built = _kept.built
    return cached


def solve_chunk(chunk: Chunk) -> Arrays:
    """Solves all rows of a chunk; a row that raises an error gets its message in `error`.

    Returns:
        Arrays of n rows: `index`, `status`, `converged`, `cost`, `iterations`, `seconds`, `error`, and `p:<name>` for
        each parameter. With trajectories also `xs` (n, T + 1, nx) and `us` (n, T, nu), NaN in rows with an error.
    """
    if os.getpid() != chunk.owner and get_num_threads() != 1:
        set_num_threads(1)
    setup, n = built(chunk.recipe), chunk.n
    problem = setup.solver.problem
    shapes = {"cost": (), "seconds": (), "xs": (problem.T + 1, problem.state.nx), "us": (problem.T, problem.nu)}
    found = {name: np.full((n, *shape), np.nan) for name, shape in shapes.items()}
    found |= {name: np.full(n, first, dtype=object) for name, first in (("status", ERROR), ("error", ""))}
    found["iterations"] = np.zeros(n, dtype=np.int64)
    guesses = dict[int, tuple[Any, Any]]()
    for i in range(n):
        try:
            guesses[i] = guess_of(setup, {name: values[i] for name, values in chunk.values.items()})
        except Exception as error:
            found["error"][i] = _words(error)
    rows = list(guesses)
    try:
        values = {name: each[rows] for name, each in chunk.values.items()}
        solutions = solve_rows(setup, values, list(guesses.values())) if rows else None
    except TrajoptError as error:
        found["error"][rows] = _words(error)
    else:
        for name in found if solutions is not None else ():
            found[name][rows] = getattr(solutions, name)
    if SolverStatus.INTERRUPTED.name in found["status"]:
        raise KeyboardInterrupt
    if not chunk.trajectories:
        del found["xs"], found["us"]
    return {
        "index": np.arange(chunk.start, chunk.start + n, dtype=np.int64),
        "converged": found["status"] == SolverStatus.CONVERGED.name,
        **{name: each.astype(str) if each.dtype == object else each for name, each in found.items()},
        **{f"p:{name}": values for name, values in chunk.values.items()},
    }


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def solve_rows(setup: Built, values: Block, guesses: Sequence[tuple[Any, Any]]) -> SolutionBatch:
    """Solves a problem for rows of values by name, (n, ...), with a guess of `guess_of` for each.

    Raises:
        TrajoptError: The shape of a value does not fit.
    """
    xs, us = (None if each[0] is None else np.array(each) for each in zip(*guesses))
    parameters = {name: rows for name, rows in values.items() if name not in ("x0", *_GUESS)}
    return setup.solver.solve_batch(values.get("x0"), parameters, xs, us, progress=False)


def set_row(setup: Built, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Sets run-time parameters and `x0` of a problem to the values of a row by name, and returns the row's guess.

    A name such as "state.weight@terminal" selects the knots of a parameter: "running", "terminal" or "all".

    Raises:
        TrajoptError: There is no parameter of this name, or a value does not fit.
    """
    problem = setup.solver.problem
    for name, value in values.items():
        if name == "x0":
            problem.x0 = value
        elif name not in _GUESS:
            parameter, _, knots = name.partition("@")
            problem.set_parameter(parameter, value, knots or None)
    return guess_of(setup, values)


def guess_of(setup: Built, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Guess of a row from its values `xs`, `us`, `seed` and `spread`, and from `x0`.

    Returns:
        States (T + 1, nx) and controls (T, nu); each is None for the solver's own guess.

    Raises:
        TrajoptError: A value does not fit.
    """
    if "spread" in values and "seed" not in values:
        raise InvalidArgumentError("spread: expected a seed with it, got none; add one, such as {'seed': range(100)}")
    xs, us = values.get("xs", setup.xs), values.get("us", setup.us)
    if "seed" in values:
        x0 = values.get("x0", setup.solver.problem.x0)
        xs = _random_states(setup, x0, xs, values["seed"], values.get("spread", SPREAD))
    return xs, us


def _random_states(setup: Built, x0: Reals, xs: Reals | None, seed: Any, spread: Any) -> Reals:
    """Returns xs[t] ⊕ s sin(π t / T) d with d ~ N(0, 1); if the state has velocities, only positions change."""
    problem = setup.solver.problem
    state, T = problem.state, problem.T
    states = np.tile(x0, (T + 1, 1)) if xs is None else np.asarray(xs)
    whole = check_number("seed", seed)
    number = check_count("seed", int(whole) if whole.is_integer() else whole, most=2**53)
    direction = np.random.default_rng(number).standard_normal(state.ndx)
    direction[getattr(state, "nv", state.ndx) :] = 0.0
    steps = check_non_negative("spread", spread) * np.sin(np.pi * np.arange(T + 1) / max(T, 1))
    return np.array([state.integrate(x, step * direction) for x, step in zip(states, steps)])
