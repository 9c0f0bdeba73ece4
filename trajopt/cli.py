"""Command line `trajopt`: solves ready problems, lists them, simulates, controls, serves, finds joint angles, sweeps.

Exit codes of `solve` and `ik`: 0 if it converged, 2 if it did not, 1 for an invalid argument.
"""

from __future__ import annotations

import dataclasses
import gc
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.terminal import SOLVERS, assignments, clean_errors, new_console, show_row
from trajopt.terminal.cache import cache_app
from trajopt.terminal.ik import inverse_kinematics
from trajopt.terminal.inverse_dynamics import forces_of_motion
from trajopt.terminal.mpc import control
from trajopt.terminal.serve import serve
from trajopt.terminal.show import show_motion, show_until_closed
from trajopt.terminal.sweep import sweep
from trajopt.terminal.warm import warm_up

if TYPE_CHECKING:
    from rich.console import Console

    from trajopt.problems import ProblemCase, ProblemInfo
    from trajopt.solution import Solution

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Trajectory optimization for robots.",
)
app.add_typer(cache_app, name="cache")
app.command("mpc")(control)
app.command("serve")(serve)
app.command("show")(show_motion)
app.command("inverse-dynamics")(forces_of_motion)
app.command("ik")(inverse_kinematics)
app.command("sweep")(sweep)
app.command("warm")(warm_up)


def main() -> None:
    """Runs the command line.

    Python's search for cycles would look at all objects of all libraries again and again while they are imported and
    used: a fifth of the time of a picture. Here it begins later, and is left out at the end.
    """
    gc.set_threshold(100_000, 50, 100)
    try:
        app(prog_name="trajopt")
    finally:
        gc.freeze()


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
    robot: Annotated[
        str | None,
        typer.Option(help="Robot, or its file, as in `trajopt list NAME`."),
    ] = None,
    solver: Annotated[str | None, typer.Option(help=f"Solver: {', '.join(SOLVERS)}.")] = None,
    assigned: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the problem, as in `trajopt list NAME`."),
    ] = None,
    solver_options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Option of the solver, such as max_iterations=300."),
    ] = None,
    limits: Annotated[
        bool,
        typer.Option("--limits", help="Make the limits of a gait hard constraints: cones, torques, joints."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Picture: .png, .pdf or .svg; walkers get more pages."),
    ] = None,
    animate: Annotated[Path | None, typer.Option(help="Moving picture to write: .gif, or .mp4 by ffmpeg.")] = None,
    save: Annotated[Path | None, typer.Option(help="Solution to write: .npz.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the cost and suggest what to try.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show the motion in the browser, until Ctrl-C.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the table of iterations.")] = False,
) -> None:
    """Solve a ready problem. Exit code: 0 converged, 2 not converged, 1 error."""
    from trajopt.callbacks import CallbackVerbose

    with clean_errors():
        _check_outputs(plot, animate, save, show)
        console, begin = new_console(), time.perf_counter()
        values = assignments("--set", assigned) | ({"limits": True} if limits else {})
        case = _load(console, name, robot, values)
        if animate is not None:
            _check_animated(case)
        solver_class, options = _solver_and_options(case, solver, assignments("--option", solver_options))
        callbacks = () if quiet else (CallbackVerbose(console=console, closing=False),)
        solution = solver_class(case.problem, options, callbacks=callbacks).solve(case.xs, case.us)
        _report(console, case, solution, time.perf_counter() - begin - solution.seconds - solution.compile_seconds)
        if plot is not None:
            from trajopt.plotting import plot_pages

            pages = plot_pages(solution, plot, title=case.name, obstacles=case.obstacles)
            files = [plot if page == "summary" else plot.with_stem(f"{plot.stem}-{page}") for page in pages]
            show_row(console, "picture", ", ".join(map(str, files)))
        if animate is not None:
            solution.animate(animate, obstacles=case.obstacles)
            show_row(console, "animation", str(animate))
        if explain:
            console.print(solution.explain(), markup=False, highlight=False, soft_wrap=True)
        if save is not None:
            solution.save(save)
            console.print(f"saved       {save}", markup=False, highlight=False, soft_wrap=True)
        if show:
            show_until_closed(console, lambda: solution, case.name)
    raise typer.Exit(0 if solution.converged else 2)


@app.command()
def simulate(
    robot: Annotated[str, typer.Argument(help="Robot: a name, such as hyq, or a .urdf.")],
    mode: Annotated[str, typer.Option(help="Step: RK1F, RK1I, RK2I, RK4I, BACKWARD_RK1F or BACKWARD_RK1I.")] = "RK1F",
    duration: Annotated[float, typer.Option(help="Duration \\[s].")] = 1.0,
    dt: Annotated[float, typer.Option(help="Time step \\[s].")] = 1e-3,
    height: Annotated[float, typer.Option(help="Height of the lowest foot above the floor at the start \\[m].")] = 0.1,
    configuration: Annotated[str | None, typer.Option(help="Posture to hold, such as standing.")] = None,
    kp: Annotated[float | None, typer.Option(help="Stiffness of all joints [N m/rad].")] = None,
    kd: Annotated[float | None, typer.Option(help="Damping of all joints [N m s/rad].")] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Base: free_flyer, euler, planar or fixed; by default a .urdf floats, or is fixed where its root "
            "link has no mass."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture: .png, .pdf or .svg.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Moving picture to write: .gif, or .mp4 by ffmpeg.")] = None,
) -> None:
    """Let a robot fall on a floor while its joints hold a posture."""
    from trajopt.files import check_output_path
    from trajopt.plotting.rollout import animate_rollout, plot_rollout, rollout_report
    from trajopt.plotting.style import PICTURE_SUFFIXES
    from trajopt.simulator.diffne import DiffNERobotModel
    from trajopt.simulator.diffne.drop import Drop, stepping_mode

    with clean_errors():
        if plot is not None:
            check_output_path(plot, "--plot", PICTURE_SUFFIXES)
        if animate is not None:
            check_output_path(animate, "--animate", (".gif", ".mp4"))
        console, begin = new_console(), time.perf_counter()
        drop = Drop(configuration=configuration, height=height, duration=duration, dt=dt, kp=kp, kd=kd)
        m = DiffNERobotModel(None, robot, base=base)
        m.create_simulator(mode=stepping_mode(mode))
        with console.status(f"simulating {robot} ..."):
            rollout = drop.run(m)
        for key, words in rollout_report(rollout).items():
            show_row(console, key, words)
        show_row(console, "time", f"{time.perf_counter() - begin:.2f} s")
        if plot is not None:
            plot_rollout(rollout).savefig(plot)
            show_row(console, "picture", str(plot))
        if animate is not None:
            animate_rollout(rollout, animate)
            show_row(console, "animation", str(animate))


@app.command("list")
def list_problems(
    name: Annotated[str | None, typer.Argument(help="Problem, to list its robots and options.")] = None,
) -> None:
    """List the ready problems and closed loops, or the options of one."""
    from trajopt import problems
    from trajopt.problems import mpc

    with clean_errors():
        console = new_console()
        if not console.is_terminal:  # a pipe has no width: one line for each problem
            console.width = max(console.width, 1000)
        if name is None:
            loops = [_as_loop(mpc.describe(known)) for known in mpc.names()]
            _list_all(console, [*(problems.describe(known) for known in problems.names()), *loops])
        else:
            _list_one(console, _as_loop(mpc.describe(name)) if name in mpc.names() else problems.describe(name))


def _as_loop(about: ProblemInfo) -> ProblemInfo:
    """A closed loop, whose description says which command runs it."""
    return dataclasses.replace(about, description=f"{about.description} Closed loop: trajopt mpc {about.name}.")


def _list_all(console: Console, infos: list[ProblemInfo]) -> None:
    """Prints a table of problems."""
    from rich.table import Table

    table = Table("name", "robots", "description", box=None, pad_edge=False, header_style="bold")
    table.add_column("reference cost", justify="right")
    for about in infos:
        cost = "" if about.reference_cost is None else f"{about.reference_cost:.6g}"
        table.add_row(about.name, _robots(about), about.description, cost)
    console.print(table, markup=False, highlight=False)


def _list_one(console: Console, about: ProblemInfo) -> None:
    """Prints a problem's robots and options."""
    from rich.table import Table

    show_row(console, "problem", about.name)
    show_row(console, "about", about.description)
    show_row(console, "robots", _robots(about) or "a model of its own")
    table = Table("--set", "default", "meaning", box=None, pad_edge=False, header_style="bold")
    for option, default in about.options.items():
        usual = about.usual.get(option)
        of_robot = f"{usual} ({about.robots[0]})" if default is None and usual is not None else "none"
        table.add_row(option, of_robot if default is None else str(default), about.meanings.get(option, ""))
    console.print(table, markup=False, highlight=False)


def _robots(about: ProblemInfo) -> str:
    return ", ".join([*about.robots, *(["or any arm, by name or file"] if about.any_robot else [])])


def _load(console: Console, name: str, robot: str | None, values: dict[str, Any]) -> ProblemCase:
    """A ready problem with options."""
    from trajopt import problems

    if name in problems.mpc.names():
        raise InvalidArgumentError(f"{name} is a closed loop: run trajopt mpc {name}")
    if name not in problems.names():
        raise unknown_name("problem", name, problems.names())
    if "robot" in values:
        raise InvalidArgumentError(f"--set: a robot has an option of its own: --robot {values['robot']}")
    if "limits" in values and "limits" not in problems.describe(name).options:
        limited = f"{name}-limits"
        cure = f"{limited} is the problem with limits" if limited in problems.names() else "leave it out"
        raise InvalidArgumentError(f"--limits: expected a gait, got {name}, which has no such option; {cure}")
    with console.status(f"building {name} ..."):
        return problems.load(name, robot, **values)


def _check_outputs(plot: Path | None, animate: Path | None, save: Path | None, show: bool) -> None:
    """Refuses files that can't be written, and a view without its libraries, before a problem is built."""
    if plot is not None or save is not None:
        from trajopt.files import check_output_path
        from trajopt.plotting.style import PICTURE_SUFFIXES

        if plot is not None:
            check_output_path(plot, "--plot", PICTURE_SUFFIXES)
        if save is not None:
            check_output_path(save, "--save", (".npz",))
    if animate is not None:
        from trajopt.plotting.animation import check_animation_path

        check_animation_path(animate, "--animate")
    if show:
        from trajopt.display.extra import check_display

        check_display()


def _check_animated(case: ProblemCase) -> None:
    """Refuses a problem without a body to draw, before it is solved."""
    import numpy as np

    from trajopt.plotting.film import check_body
    from trajopt.solution import Solution, SolverStatus

    problem = case.problem
    still = Solution(
        xs=np.tile(problem.x0, (problem.T + 1, 1)), us=np.zeros((problem.T, problem.nu)), cost=0.0,
        status=SolverStatus.MAX_ITERATIONS, iterations=0, history=(), solver="", seconds=0.0, x0=problem.x0,
        problem=problem, parameters=problem.parameter_values(),
    )  # fmt: skip
    try:
        check_body(still)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"--animate: {case.name} has no body to draw; leave it out ({error})") from error


def _solver_and_options(case: ProblemCase, name: str | None, values: dict[str, Any]) -> tuple[Any, Any]:
    """Solver class and options of a case with other values; a solver given by `name` inherits what the case changes."""
    from trajopt import solvers

    if name is not None and name not in SOLVERS:
        raise unknown_name("solver", name, SOLVERS)
    solver_class = case.solver if name is None else getattr(solvers, SOLVERS[name])
    options: Any = case.options
    own = [field.name for field in dataclasses.fields(solver_class.options_type)]
    if type(options) is not solver_class.options_type:
        usual = type(options)()
        given = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
        changed = {key: value for key, value in given.items() if key in own and value != getattr(usual, key)}
        options = solver_class.options_type(**changed)
    for key in values:
        if key not in own:
            raise unknown_name(f"{solver_class.__name__}: option", key, own)
    return solver_class, dataclasses.replace(options, **values)


def _report(console: Console, case: ProblemCase, solution: Solution, building: float) -> None:
    """Prints the result in a few lines."""
    from trajopt.analysis import constraints_report, limits_report
    from trajopt.solution.misses import misses

    show_row(console, "status", str(solution.status), "bold green" if solution.converged else "bold yellow")
    show_row(console, "cost", f"{solution.cost:.8g}")
    if case.reference_cost is not None:
        difference = solution.cost - case.reference_cost
        source = f"; {case.reference_source}" if case.reference_source else ""
        show_row(console, "reference", f"{case.reference_cost:.8g} (difference {difference:+.1e}){source}")
    show_row(console, "iterations", str(solution.iterations))
    solving = f"{solution.compile_seconds:.2f} s to load or compile code, {solution.seconds:.3f} s to solve"
    show_row(console, "time", f"{building:.2f} s to build the problem, {solving}")
    for key, value in (case.report(solution) | limits_report(solution) | constraints_report(solution)).items():
        show_row(console, key, value)
    for words in misses(solution):
        show_row(console, "goal", words)
