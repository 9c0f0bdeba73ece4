"""Command line `trajopt`: solves ready problems, lists them, and shows or clears the cache of compiled code.

Exit codes of `solve`: 0 if the solver converged, 2 if it did not, 1 for an invalid argument.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.errors import TrajoptError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

    from trajopt.problems import ProblemCase
    from trajopt.solution import Solution

SOLVERS = {"ddp": "SolverDDP", "fddp": "SolverFDDP"}
"""Solver classes of `trajopt.solvers` by their names on the command line."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Trajectory optimization for robots.",
)
cache_app = typer.Typer(no_args_is_help=True, help="The cache of compiled code on disk.")
app.add_typer(cache_app, name="cache")


def main() -> None:
    """Runs the command line."""
    app(prog_name="trajopt")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trajopt {version('trajopt')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Trajectory optimization for robots."""


@app.command()
def solve(
    name: Annotated[str, typer.Argument(help="Problem, as in `trajopt list`.")],
    robot: Annotated[str | None, typer.Option(help="Robot, if the problem is for several.")] = None,
    solver: Annotated[str | None, typer.Option(help=f"Solver: {' or '.join(SOLVERS)}.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Largest number of iterations.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf or .svg.")] = None,
    save: Annotated[Path | None, typer.Option(help="Solution to write: .npz.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the cost and suggest what to try.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the table of iterations.")] = False,
) -> None:
    """Solve a ready problem. Exit code: 0 converged, 2 not converged, 1 error."""
    from trajopt.plotting.style import PICTURE_SUFFIXES, check_output_path

    with _clean_errors():
        if plot is not None:
            check_output_path(plot, "--plot", PICTURE_SUFFIXES)
        if save is not None:
            check_output_path(save, "--save", (".npz",))
        console = _console()
        solution = _solve(console, name, robot, solver, max_iterations, quiet, plot)
        if explain:
            console.print(solution.explain(), markup=False, highlight=False, soft_wrap=True)
        if save is not None:
            solution.save(save)
            console.print(f"saved       {save}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(0 if solution.converged else 2)


@app.command("list")
def list_problems() -> None:
    """List the ready problems."""
    from rich.table import Table

    from trajopt import problems

    with _clean_errors():
        table = Table("name", "robots", "description", box=None, pad_edge=False, header_style="bold")
        table.add_column("reference cost", justify="right")
        for name in problems.names():
            about = problems.describe(name)
            cost = "" if about.reference_cost is None else f"{about.reference_cost:.6g}"
            table.add_row(name, ", ".join(about.robots), about.description, cost)
        console = _console()
        if not console.is_terminal:  # a pipe has no width: one line for each problem
            console.width = max(console.width, 1000)
        console.print(table, markup=False, highlight=False)


@cache_app.command("info")
def cache_info() -> None:
    """Show the folder and the size of the cache."""
    from trajopt import cache

    with _clean_errors():
        info = cache.info()
        if info.directory is None:
            typer.echo("off: every start compiles (set TRAJOPT_CACHE_DIR to a folder)")
            return
        typer.echo(f"folder   {info.directory}")
        typer.echo(f"entries  {info.entries}")
        typer.echo(f"size     {info.size / 2**20:.1f} MiB of at most {info.limit / 2**20:.0f} MiB")


@cache_app.command("clear")
def cache_clear() -> None:
    """Remove every entry of the cache."""
    from trajopt import cache

    with _clean_errors():
        count = cache.clear()
        typer.echo(f"removed {count} {'entry' if count == 1 else 'entries'}")


def _solve(
    console: Console,
    name: str,
    robot: str | None,
    solver: str | None,
    max_iterations: int | None,
    quiet: bool,
    plot: Path | None,
) -> Solution:
    """Builds and solves a problem, prints the result and draws it; returns the solution."""
    from trajopt import problems
    from trajopt.callbacks import CallbackVerbose

    if solver is not None and solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    if name not in problems.names():
        raise unknown_name("problem", name, problems.names())
    begin = time.perf_counter()
    with console.status(f"building {name} ..."):
        case = problems.load(name, robot=robot)
    solver_class, options = _solver_and_options(case, solver, max_iterations)
    callbacks = () if quiet else (CallbackVerbose(console=console, closing=False),)
    solution = solver_class(case.problem, options, callbacks=callbacks).solve(case.xs, case.us)
    building = time.perf_counter() - begin - solution.seconds
    _report(console, case, solution, building)
    if plot is not None:
        from trajopt.plotting import plot_summary

        plot_summary(solution, plot, title=f"{case.name}: {case.description}")
        _row(console, "picture", str(plot))
    return solution


def _solver_and_options(case: ProblemCase, name: str | None, max_iterations: int | None) -> tuple[Any, Any]:
    """Solver class and options of a case; a solver given by `name` inherits the options that the case changes."""
    from trajopt import solvers

    solver_class = case.solver if name is None else getattr(solvers, SOLVERS[name])
    options: Any = case.options
    if type(options) is not solver_class.options_type:
        usual, own = type(options)(), {field.name for field in dataclasses.fields(solver_class.options_type)}
        given = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
        changed = {key: value for key, value in given.items() if key in own and value != getattr(usual, key)}
        options = solver_class.options_type(**changed)
    if max_iterations is not None:
        options = dataclasses.replace(options, max_iterations=max_iterations)
    return solver_class, options


def _report(console: Console, case: ProblemCase, solution: Solution, building: float) -> None:
    """Prints the result in a few lines."""
    _row(console, "status", str(solution.status), "bold green" if solution.converged else "bold yellow")
    _row(console, "cost", f"{solution.cost:.8g}")
    if case.reference_cost is not None:
        difference = solution.cost - case.reference_cost
        source = f"; {case.reference_source}" if case.reference_source else ""
        _row(console, "reference", f"{case.reference_cost:.8g} (difference {difference:+.1e}){source}")
    _row(console, "iterations", str(solution.iterations))
    _row(console, "time", f"{building:.2f} s to build and compile, {solution.seconds:.3f} s to solve")
    for key, value in case.report(solution).items():
        _row(console, key, value)


def _row(console: Console, key: str, value: str, style: str | None = None) -> None:
    console.print(f"{key:<11} {value}", style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _console() -> Console:
    from rich.console import Console

    return Console()


@contextmanager
def _clean_errors() -> Iterator[None]:
    """Turns a TrajoptError into one line and exit code 1, and Ctrl-C outside of a solve into exit code 130."""
    try:
        yield
    except TrajoptError as error:
        from rich.console import Console

        message = " ".join(str(error).split())
        console = Console(stderr=True)
        console.print(f"error: {message}", style="red", markup=False, highlight=False, emoji=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None
