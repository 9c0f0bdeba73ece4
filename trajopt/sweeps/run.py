"""The function `trajopt.sweep`: checks everything here first, then hands out rows and opens the store."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from trajopt.checks import check_count, check_flag, check_instance
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, TrajoptError
from trajopt.kernels.threads import physical_cores
from trajopt.objects.extras import Extra
from trajopt.problems import ProblemCase
from trajopt.solution import SolverStatus
from trajopt.sweeps.designs import Block, Design, blocks
from trajopt.sweeps.engine import Engine
from trajopt.sweeps.errors import SweepError
from trajopt.sweeps.fingerprint import check_unchanged, fingerprint
from trajopt.sweeps.outcomes import Sweep
from trajopt.sweeps.processes import Processes
from trajopt.sweeps.progress import shown_progress
from trajopt.sweeps.recipe import Built, Recipe
from trajopt.sweeps.store import Store
from trajopt.sweeps.work import Chunk, set_row


def sweep(
    case_or_recipe: Any,
    parameters: Mapping[str, Any] | Design | Iterable[Mapping[str, Any]],
    *,
    executor: Executor | None = None,
    chunk: int = 64,
    store: str | Path = "runs/",
    workers: int | None = None,
    trajectories: bool = True,
    ahead: int = 256,
    progress: bool = True,
) -> Sweep:
    """Solves a problem for many values of its parameters, initial states and guesses; results are on disk at once.

    The same call goes on where an earlier one was cut off, on whatever executor, and gives the bits of a plain loop.

    Args:
        case_or_recipe: A ready problem, its name, a `Recipe`, or a function in a module that returns a
            ProblemCase or a solver.
        parameters: Values by name, (n, ...), one row a solve; `grid(...)` or `random(...)` of `trajopt.sweeps`; or a
            generator of dictionaries, one a row, which is consumed as the sweep goes on. Names are those of run-time
            parameters, also at some knots ("state.weight@terminal"), `x0` (nx,), and of the guess: `xs` (T + 1, nx),
            `us` (T, nu), or a `seed` of random states around it, which vary by `spread`.
        executor: Any executor of `concurrent.futures`, `dask_client.get_executor()` among them; processes of this
            machine by default.
        chunk: Rows that a worker gets at a time, and a file has [-].
        store: Folder of the results.
        workers: Number of those processes; that of physical cores by default [-].
        trajectories: Whether to keep states and controls.
        ahead: Chunks that the executor has at a time, at least twice its workers [-].
        progress: Whether to show a bar, on a terminal.

    Returns:
        The outcomes of all rows.

    Raises:
        InvalidArgumentError: An argument does not fit, or the store is that of something else.
        UnknownNameError: The problem has no such parameter.
        MissingDependencyError: pyarrow is not installed.
        SweepError: The executor ended, a chunk failed too often, or the disk is full.
    """
    Extra("trajopt.sweep", "pyarrow").check("pyarrow")
    size = check_count("chunk", chunk, least=1)
    recipe = Recipe.of(case_or_recipe)
    check_flag("trajectories", trajectories)
    values, n = blocks(parameters, size)
    first = next(values, None)
    if first is None:
        raise InvalidArgumentError("parameters: expected at least one row, got a generator without any")
    made = recipe.build()
    if isinstance(case_or_recipe, ProblemCase):
        check_unchanged(case_or_recipe, made)
    mark = fingerprint(made)
    set_row(made, {name: column[0] for name, column in first.items()})
    chunks, most = (
        _chunks(recipe, itertools.chain([first], values), size, trajectories),
        check_count("ahead", ahead, least=1),
    )
    with _executor(executor, workers) as found, shown_progress(n, check_flag("progress", progress)) as tell:
        place = Store(store, recipe, mark)
        engine = Engine(executor=found, store=place, ahead=most, tell=tell, begin=functools.partial(_compile, made))
        engine.run(chunks)
    try:
        place.close(engine.keys)
        outcomes = Sweep.read(place.folder)
        outcomes.to_parquet(place.folder / "table.parquet")
    except OSError as error:  # such as a disk that is full
        raise SweepError(
            f"store: all rows are done, but {place.folder} cannot be completed: {error}; make room, and the same call "
            "completes it"
        ) from error
    return outcomes


def _chunks(recipe: Recipe, values: Iterable[Block], size: int, trajectories: bool) -> Iterator[Chunk]:
    for number, block in enumerate(values):
        yield Chunk(recipe=recipe, start=number * size, values=block, trajectories=trajectories, owner=os.getpid())


def _compile(made: Built, chunk: Chunk) -> None:
    """Compiles the code of the first chunk that has to be solved, here, for all workers of this cache."""
    solver = made.solver
    if not type(solver).__module__.startswith("trajopt."):
        return
    options = dataclasses.replace(solver.options, max_iterations=1)
    # values of the first row that do not fit fit in no row; those of a later one are its own result
    with contextlib.suppress(TrajoptError if chunk.start else ModelEvaluationError):
        xs, us = set_row(made, {name: values[0] for name, values in chunk.values.items()})
        if type(solver)(solver.problem, options).solve(xs, us).status is SolverStatus.INTERRUPTED:
            raise KeyboardInterrupt
    for thread in threading.enumerate():  # else each worker would optimise the same code
        if thread.name == "trajopt-optimise":
            thread.join()


@contextlib.contextmanager
def _executor(given: Executor | None, workers: int | None) -> Iterator[Executor]:
    """The executor, or processes of this machine, which end with the sweep."""
    if given is not None:
        if workers is not None:
            raise InvalidArgumentError(f"workers: expected None beside an executor, which has its own, got {workers}")
        yield check_instance("executor", given, Executor, "a Dask client has one: client.get_executor()")
        return
    processes = Processes(physical_cores() if workers is None else check_count("workers", workers, least=1, most=4096))
    try:
        yield processes
    finally:
        processes.shutdown(cancel_futures=True)
