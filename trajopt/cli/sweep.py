"""The command `trajopt sweep`: solves a ready problem for many values of its parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import (
    SOLVERS,
    PlotFile,
    ProblemOptions,
    ProblemRobot,
    Screen,
    assignments,
    check_outputs,
    clean_errors,
)
from trajopt.errors import InvalidArgumentError
from trajopt.objects.extras import Extra

if TYPE_CHECKING:
    from trajopt.sweeps import Sweep

KINDS = ("summary", "map", "costs", "parallel")
WAIT = 20.0  # time limit for the answer of a Dask scheduler [s]


def sweep(
    name: Annotated[str, typer.Argument(help="Problem, as in `trajopt list`.")],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=LOW:HIGH[:COUNT]",
            help="Range of a parameter, x0, us, seed, or a component such as goal\\[2]=0.3:0.6: random, or with COUNT "
            "a grid. Repeat it for more ranges.",
        ),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of random rows; 100 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of random rows.")] = 0,
    store: Annotated[Path, typer.Option(help="Folder of the results; the same call continues there.")] = Path("runs"),
    chunk: Annotated[int, typer.Option(help="Rows in a task of a worker.")] = 64,
    workers: Annotated[int | None, typer.Option(help="Processes of this machine; by default one per core.")] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://head:8786.")] = None,
    robot: ProblemRobot = None,
    solver: Annotated[str | None, typer.Option(help="Solver, as in `trajopt solve`.")] = None,
    assigned: ProblemOptions = None,
    solver_options: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Option of the solver.")
    ] = None,
    trajectories: Annotated[
        bool, typer.Option("--trajectories/--no-trajectories", help="Store states and controls.")
    ] = True,
    plot: PlotFile = None,
    kind: Annotated[str, typer.Option(help="Content of the plot: summary, map, costs or parallel.")] = "summary",
    csv: Annotated[Path | None, typer.Option(help="File for a table: .csv.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain one failure for each reason.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the progress bar.")] = False,
) -> None:
    """Solve a ready problem for many values. Exit code: 0 done, 2 no row converged or some raised, 1 error."""
    from trajopt.checks import check_known
    from trajopt.cli.ranges import parameters_of
    from trajopt.sweeps import sweep as run

    with clean_errors():
        check_outputs(plot, csv=(csv, (".csv",)))
        check_known("--kind: kind", kind, KINDS)
        screen = Screen()
        recipe = _recipe(name, robot, assignments("--set", assigned), solver, assignments("--option", solver_options))
        with screen.status(f"building {name} ..."):
            parameters = parameters_of(vary, recipe.build().solver.problem, n, seed)
        with _dask(dask, workers) as executor:
            where: dict[str, Any] = {"executor": executor, "store": store, "workers": workers, "chunk": chunk}
            outcomes = run(recipe, parameters, **where, trajectories=trajectories, progress=not quiet)
        _show(screen, outcomes, explain)
        screen.write("picture", plot, lambda path: outcomes.plot(path, kind=kind))
        screen.write("table", csv, outcomes.to_csv)
    raise typer.Exit(0 if outcomes.converged.any() and not (outcomes.error != "").any() else 2)


def _recipe(
    name: str, robot: str | None, options: dict[str, Any], solver: str | None, solver_options: dict[str, Any]
) -> Any:
    """Builds the recipe of a ready problem."""
    from trajopt import problems
    from trajopt.errors import unknown_name
    from trajopt.sweeps import Recipe

    if name in problems.mpc.names():
        raise InvalidArgumentError(f"{name} is a closed loop, which sweeps do not support: run trajopt mpc {name}")
    if solver is not None and solver not in SOLVERS:
        raise unknown_name("--solver: solver", solver, SOLVERS)
    chosen = None if solver is None else SOLVERS[solver]
    return Recipe(problem=name, robot=robot, options=options, solver=chosen, solver_options=solver_options)


@contextlib.contextmanager
def _dask(address: str | None, workers: int | None) -> Iterator[Executor | None]:
    """Context manager of the executor of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    if workers is not None:
        raise InvalidArgumentError(f"--workers: expected none with --dask, which has its own workers, got {workers}")
    distributed = Extra("--dask", "distributed", "sweep").load("distributed")
    try:
        client = distributed.Client(address, timeout=WAIT)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidArgumentError(
            f"--dask: expected the address of a scheduler that answers, got {address!r} ({error}); use the one that "
            "dask scheduler prints, such as tcp://127.0.0.1:8786"
        ) from error
    with client:
        yield client.get_executor()


def _show(screen: Screen, outcomes: Sweep, explain: bool) -> None:
    """Prints the outcomes in a few lines."""
    screen.row("rows", f"{len(outcomes)} in {outcomes.folder}")
    complete = outcomes.converged.all()
    for key, words in outcomes.report().items():
        style = ("bold green" if complete else "bold yellow") if key == "converged" else None
        screen.row(key, words, style)
    if outcomes.converged.any():
        best = outcomes.best()
        row = int((outcomes.index == best.index).argmax())
        values = [f"{key} = {column[row]:.6g}" for key, column in list(outcomes.varied.items())[:6]]
        screen.row("best", ", ".join([f"row {best.index}: cost {best.cost:.8g}", *values]))
    if not explain:
        return
    for failure in outcomes.failures().values():
        screen.text(f"\n{failure}\n{failure.explain()}")
    if complete:
        screen.row("explained", "nothing failed")
