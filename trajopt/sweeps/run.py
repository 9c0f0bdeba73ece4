"""The function `trajopt.sweep`: checks the arguments, distributes the rows and opens the store."""

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
from trajopt.solution.components import units_of
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
    """Solves a problem for many values of its parameters, initial states and guesses, and stores results on disk.

    Repeat the same call to continue an interrupted sweep, with any executor. Workers call `solve_batch`; results are
    bit-identical to those of one such call with all rows.

    Args:
        case_or_recipe: A ready problem, its name, a `Recipe`, or a function in a module that returns a ProblemCase or
            a solver.
        parameters: Values by name, (n, ...), one row per solve; `grid(...)` or `random(...)` of `trajopt.sweeps`; or a
            generator of dictionaries, one per row, which is consumed during the sweep. Names are run-time parameters,
            optionally at some knots ("state.weight@terminal"), the initial state `x0` (nx,), and the guess: `xs`
            (T + 1, nx), `us` (T, nu), or a `seed` for random states around the guess, scaled by `spread`.
        executor: Any executor of `concurrent.futures`, such as `dask_client.get_executor()`; None for processes of
            this machine.
        chunk: Number of rows in a task of a worker, and in a file [-].
        store: Folder of the results. Rows of earlier calls with the same recipe stay in it, and are not solved again;
            `Sweep.read` has those of the last call.
        workers: Number of processes of this machine; None for the number of physical cores [-].
        trajectories: Whether to store states and controls.
        ahead: Number of chunks that the executor has at a time, at least twice its workers [-].
        progress: Whether to show a progress bar on a terminal.

    Returns:
        The outcomes of all rows.

    Raises:
        InvalidArgumentError: An argument does not fit, or the store belongs to another recipe.
        UnknownNameError: The problem has no parameter of this name.
        MissingDependencyError: pyarrow is not installed.
        KeyboardInterrupt: Ctrl-C; the message says where the finished rows are, and the same call continues.
        SweepError: The executor ended, a chunk failed too often, or the disk is full.
    """
    Extra("trajopt.sweep", "pyarrow", "sweep").check("pyarrow")
    size = check_count("chunk", chunk, least=1)
    recipe = Recipe.of(case_or_recipe)
    check_flag("trajectories", trajectories)
    values, n = blocks(parameters, size)
    first = next(values, None)
    if first is None:
        raise InvalidArgumentError("parameters: expected at least one row, got an empty generator")
    setup = recipe.build()
    if isinstance(case_or_recipe, ProblemCase):
        check_unchanged(case_or_recipe, setup)
    mark = fingerprint(setup)
    set_row(setup, {name: column[0] for name, column in first.items()})
    chunks, most = (
        _chunks(recipe, itertools.chain([first], values), size, trajectories),
        check_count("ahead", ahead, least=1),
    )
    with _executor(executor, workers) as used, shown_progress(n, check_flag("progress", progress)) as tell:
        problem = setup.solver.problem
        units = {
            name: each for name, each in units_of(problem).items() if name in {key.partition("@")[0] for key in first}
        }
        place = Store(store, recipe, mark, problem.state.coordinate_names, units, n)
        engine = Engine(executor=used, store=place, ahead=most, tell=tell, begin=functools.partial(_compile, setup))
        try:
            engine.run(chunks)
        except KeyboardInterrupt:
            words = f"the sweep was interrupted; finished rows are in {place.folder}: the same call goes on from there"
            raise KeyboardInterrupt(words) from None
    try:
        place.close(engine.keys)
        outcomes = Sweep.read(place.folder)
        outcomes.to_parquet(place.folder / "table.parquet")
    except (OSError, InvalidArgumentError) as error:  # for example a full disk
        raise SweepError(
            f"store: all rows are solved, but {place.folder} cannot be completed: {error}; free some space, and repeat "
            "the call"
        ) from error
    return outcomes


def _chunks(recipe: Recipe, values: Iterable[Block], size: int, trajectories: bool) -> Iterator[Chunk]:
    for number, block in enumerate(values):
        yield Chunk(recipe=recipe, start=number * size, values=block, trajectories=trajectories, owner=os.getpid())


def _compile(setup: Built, chunk: Chunk) -> None:
    """Compiles the code of the first chunk to solve in this process, for all workers that share its cache."""
    solver = setup.solver
    if not type(solver).__module__.startswith("trajopt."):
        return
    options = dataclasses.replace(solver.options, max_iterations=1)
    # an error in row 0 is an error of the call; an error in a later row is the result of that row
    with contextlib.suppress(TrajoptError if chunk.start else ModelEvaluationError):
        xs, us = set_row(setup, {name: values[0] for name, values in chunk.values.items()})
        one = type(solver)(solver.problem, options)
        alone, batch = one.solve(xs, us), one.solve_batch(solver.problem.x0[None], xs=xs, us=us, progress=False)
        if SolverStatus.INTERRUPTED.name in (alone.status.name, *batch.status):
            raise KeyboardInterrupt
    for thread in threading.enumerate():  # otherwise each worker would optimise the same code
        if thread.name == "trajopt-optimise":
            thread.join()


@contextlib.contextmanager
def _executor(executor: Executor | None, workers: int | None) -> Iterator[Executor]:
    """Context manager of the executor: the user's, or processes of this machine that end with the sweep."""
    if executor is not None:
        if workers is not None:
            raise InvalidArgumentError(
                f"workers: expected None together with an executor, got {workers}; set the number of workers there"
            )
        yield check_instance("executor", executor, Executor, "a Dask client has one: client.get_executor()")
        return
    processes = Processes(physical_cores() if workers is None else check_count("workers", workers, least=1, most=4096))
    try:
        yield processes
    finally:
        processes.shutdown(cancel_futures=True)
