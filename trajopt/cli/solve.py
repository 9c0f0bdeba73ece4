"""The command `trajopt solve`: solves a ready problem, with plots and files of its solution."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import (
    SOLVERS,
    AnimationFile,
    AsJson,
    PlotFile,
    ProblemOptions,
    ProblemRobot,
    Screen,
    assignments,
    check_outputs,
    clean_errors,
)
from trajopt.cli.show import show_until_closed
from trajopt.errors import InvalidArgumentError, unknown_name

if TYPE_CHECKING:
    from trajopt.problems import ProblemCase
    from trajopt.solution import Solution


def solve_problem(
    name: Annotated[str, typer.Argument(help="Problem, as in `trajopt list`.")],
    robot: ProblemRobot = None,
    solver: Annotated[str | None, typer.Option(help=f"Solver: {', '.join(SOLVERS)}.")] = None,
    assigned: ProblemOptions = None,
    solver_options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Option of the solver, such as max_iterations=300."),
    ] = None,
    limits: Annotated[
        bool, typer.Option("--limits", help="Make the limits of a gait or an arm hard constraints.")
    ] = False,
    plot: PlotFile = None,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="With --plot, also write FILE-solver (convergence, costs) and other pages."),
    ] = False,
    animate: AnimationFile = None,
    save: Annotated[Path | None, typer.Option(help="File for the solution: .npz.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the cost and suggest what to try.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show the motion in the browser, until Ctrl-C.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the table of iterations.")] = False,
    as_json: AsJson = False,
) -> None:
    """Solve a ready problem. Exit code: 0 converged, 2 not converged, 1 error."""
    from trajopt.analysis.advice.missed_goals import misses
    from trajopt.callbacks import CallbackVerbose

    with clean_errors():
        check_outputs(plot, animate, save=(save, (".npz",)))
        if pages and plot is None:
            raise InvalidArgumentError("--pages: expected with --plot only; set --plot FILE, or leave it out")
        if show:
            from trajopt.display.extra import DISPLAY

            DISPLAY.check("viser", "trimesh")
        screen, begin = Screen(as_json=as_json), time.perf_counter()
        values = assignments("--set", assigned) | ({"limits": True} if limits else {})
        case = _load(screen, name, robot, values)
        if animate is not None:
            _check_animated(case)
        solver_class, options = _solver_and_options(case, solver, assignments("--option", solver_options))
        callbacks = () if quiet or as_json else (CallbackVerbose(console=screen.console, closing=False),)
        solution = solver_class(case.problem, options, callbacks=callbacks).solve(case.xs, case.us)
        _report(screen, case, solution, time.perf_counter() - begin - solution.seconds - solution.compile_seconds)
        if plot is not None:
            from trajopt.plotting import plot_pages, plot_summary

            draw = plot_pages if pages else plot_summary
            drawn: Any = draw(solution, plot, title=case.name, obstacles=case.obstacles)
            further = [page for page in drawn if page != "summary"] if pages else []
            screen.row("picture", ", ".join(map(str, [plot, *(plot.with_stem(f"{plot.stem}-{p}") for p in further)])))
        screen.write("animation", animate, lambda path: solution.film(path, obstacles=case.obstacles))
        screen.write("saved", save, solution.save)
        for miss in misses(solution):  # last, where a reader looks first
            screen.row("goal", miss, "bold yellow")
        if explain:
            screen.text(solution.explain())
        facts = ("status", "converged", "cost", "iterations", "seconds", "compile_seconds")
        screen.finish(problem=case.name, **{fact: getattr(solution, fact) for fact in facts})
        if show:
            show_until_closed(screen, lambda: solution, case.name)
    raise typer.Exit(0 if solution.converged else 2)


def _load(screen: Screen, name: str, robot: str | None, values: dict[str, Any]) -> ProblemCase:
    """Loads a ready problem with options."""
    from trajopt import problems

    if name in problems.mpc.names():
        raise InvalidArgumentError(f"{name} is a closed loop: run trajopt mpc {name}")
    if name not in problems.names():
        raise unknown_name("problem", name, problems.names())
    if "robot" in values:
        raise InvalidArgumentError(f"--set: expected no robot, which has its own option; use --robot {values['robot']}")
    if "limits" in values and "limits" not in problems.describe(name).options:
        limited = f"{name}-limits"
        cure = f"use {limited}, the problem with limits" if limited in problems.names() else "leave it out"
        raise InvalidArgumentError(
            f"--limits: expected a gait or arm-reach, got {name}, which has no such option; {cure}"
        )
    with screen.status(f"building {name} ..."):
        return problems.load(name, robot, **values)


def _check_animated(case: ProblemCase) -> None:
    """Raises before the solve if the problem has no body to draw."""
    import numpy as np

    from trajopt.plotting.film import check_body
    from trajopt.solution.solution import motion_solution

    problem = case.problem
    xs, us = np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu))
    try:
        check_body(motion_solution(problem, xs, us, solver=""))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"--animate: {case.name} has no body to draw; leave it out ({error})") from error


def _solver_and_options(case: ProblemCase, name: str | None, values: dict[str, Any]) -> tuple[Any, Any]:
    """Solver class and options with other values; a solver set by `name` takes over the case's changed options."""
    from trajopt import solvers

    if name is not None and name not in SOLVERS:
        raise unknown_name("solver", name, SOLVERS)
    solver_class = case.solver if name is None else getattr(solvers, SOLVERS[name])
    options: Any = case.options
    own = [field.name for field in dataclasses.fields(solver_class.options_type)]
    if type(options) is not solver_class.options_type:
        usual = type(options)()
        current = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
        changed = {key: value for key, value in current.items() if key in own and value != getattr(usual, key)}
        options = solver_class.options_type(**changed)
    for key in values:
        if key not in own:
            raise unknown_name(f"{solver_class.__name__}: option", key, own)
    return solver_class, dataclasses.replace(options, **values)


def _report(screen: Screen, case: ProblemCase, solution: Solution, building: float) -> None:
    """Prints the result in a few lines."""
    from trajopt.analysis import constraints_report, limits_report
    from trajopt.analysis.advice.missed_goals import out_of_reach

    far = out_of_reach(solution)
    words = f"{str(solution.status).partition(':')[0]}, the target is out of reach" if far else str(solution.status)
    screen.row("status", words, "bold green" if solution.converged and not far else "bold yellow")
    screen.row("cost", f"{solution.cost:.8g}")
    if case.reference_cost is not None:
        difference = solution.cost - case.reference_cost
        source = f"; {case.reference_source}" if case.reference_source else ""
        screen.row("reference", f"{case.reference_cost:.8g} (difference {difference:+.1e}){source}")
    screen.row("iterations", str(solution.iterations))
    solving = f"{solution.compile_seconds:.2f} s to load or compile code, {solution.seconds:.3f} s to solve"
    screen.row("time", f"{building:.2f} s to build the problem, {solving}")
    for key, value in (case.report(solution) | limits_report(solution) | constraints_report(solution)).items():
        screen.row(key, value)
