"""Solution of a chunk of rows in a worker: a loop over one problem."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_non_negative, check_number
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import get_num_threads, set_num_threads
from trajopt.solution import Solution, SolverStatus
from trajopt.sweeps.designs import Block
from trajopt.sweeps.recipe import Built, Recipe
from trajopt.types import Reals

Arrays = dict[str, np.ndarray[Any, Any]]
"""Arrays of a chunk by name."""

SPREAD = 0.3  # default standard deviation of random guesses, in tangent space [-]
_kept = threading.local()


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Rows that one worker solves, one after the other.

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


def built(recipe: Recipe, names: Iterable[str]) -> Built:
    """Builds the problem of a recipe, once in each thread; the last one is cached.

    Args:
        recipe: The recipe.
        names: Names of the values that rows set. Other names need a new problem, since values stay set.
    """
    key = recipe.text, sorted(names)
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
    setup, n = built(chunk.recipe, chunk.values), chunk.n
    problem = setup.solver.problem
    status, error = ["ERROR"] * n, [""] * n
    cost, seconds, iterations = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    xs = np.full((n, problem.T + 1, problem.state.nx), np.nan)
    us = np.full((n, problem.T, problem.nu), np.nan)
    for i in range(n):
        try:
            solution = solve_row(setup, {name: values[i] for name, values in chunk.values.items()})
        except Exception as raised:
            error[i] = f"{type(raised).__name__}: {raised}"
            continue
        if solution.status is SolverStatus.INTERRUPTED:
            raise KeyboardInterrupt
        status[i], cost[i], iterations[i] = solution.status.name, solution.cost, solution.iterations
        seconds[i], xs[i], us[i] = solution.seconds, solution.xs, solution.us
    return {
        "index": np.arange(chunk.start, chunk.start + n, dtype=np.int64),
        "status": np.array(status),
        "converged": np.array([each == SolverStatus.CONVERGED.name for each in status]),
        "cost": cost,
        "iterations": iterations,
        "seconds": seconds,
        "error": np.array(error),
        **{f"p:{name}": values for name, values in chunk.values.items()},
        **({"xs": xs, "us": us} if chunk.trajectories else {}),
    }


def solve_row(setup: Built, values: Mapping[str, Any]) -> Solution:
    """Solves a problem with the values of a row by name; see `set_row`.

    Raises:
        TrajoptError: A value does not fit, or the solve raised an error.
    """
    return setup.solver.solve(*set_row(setup, values))


def set_row(setup: Built, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Sets run-time parameters and `x0` of a problem, and returns the guess from `xs`, `us`, `seed` and `spread`.

    A name such as "state.weight@terminal" selects the knots of a parameter: "running", "terminal" or "all".

    Returns:
        Guess (xs, us) of states (T + 1, nx) and controls (T, nu); each is None for the solver's own guess.

    Raises:
        TrajoptError: There is no parameter of this name, or a value does not fit.
    """
    problem, guess = setup.solver.problem, {"xs": setup.xs, "us": setup.us}
    for name, value in values.items():
        if name in guess:
            guess[name] = value
        elif name == "x0":
            problem.x0 = value
        elif name not in ("seed", "spread"):
            parameter, _, knots = name.partition("@")
            problem.set_parameter(parameter, value, knots or None)
    if "spread" in values and "seed" not in values:
        raise InvalidArgumentError("spread: expected a seed with it, got none; add one, such as {'seed': range(100)}")
    if "seed" in values:
        guess["xs"] = _random_states(setup, guess["xs"], values["seed"], values.get("spread", SPREAD))
    return guess["xs"], guess["us"]


def _random_states(setup: Built, xs: Reals | None, seed: Any, spread: Any) -> Reals:
    """Returns xs[t] ⊕ s sin(π t / T) d with d ~ N(0, 1); if the state has velocities, only positions change."""
    problem = setup.solver.problem
    state, T = problem.state, problem.T
    states = np.tile(problem.x0, (T + 1, 1)) if xs is None else np.asarray(xs)
    whole = check_number("seed", seed)
    number = check_count("seed", int(whole) if whole.is_integer() else whole, most=2**53)
    direction = np.random.default_rng(number).standard_normal(state.ndx)
    direction[getattr(state, "nv", state.ndx) :] = 0.0
    steps = check_non_negative("spread", spread) * np.sin(np.pi * np.arange(T + 1) / max(T, 1))
    return np.array([state.integrate(x, step * direction) for x, step in zip(states, steps)])
