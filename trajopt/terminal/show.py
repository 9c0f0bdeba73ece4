"""The command `trajopt show`: a motion in the browser, or as a page that plays by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trajopt.errors import InvalidArgumentError
from trajopt.terminal import assignments, clean_errors, new_console, show_row

if TYPE_CHECKING:
    from rich.console import Console

    from trajopt.solution import Solution


def show_motion(
    name: Annotated[str, typer.Argument(help="Problem, as in `trajopt list`, or the file of a solution: .npz.")],
    robot: Annotated[str | None, typer.Option(help="Robot, or its file, as in `trajopt list NAME`.")] = None,
    assigned: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the problem, as in `trajopt list NAME`."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Page to write, .html, that plays without a server; none is started.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the page on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Solve a ready problem and show its motion in the browser, until Ctrl-C."""
    from trajopt.plotting.style import check_output_path

    with clean_errors():
        check_display()
        from trajopt.display.view import check_address

        if html is not None:
            check_output_path(html, "--html", (".html",))
        else:
            check_address("127.0.0.1", port)
        console = new_console()
        solution = _solution(console, name, robot, assigned)
        show_row(console, "status", str(solution.status), "bold green" if solution.converged else "bold yellow")
        label = Path(name).stem if name.endswith(".npz") else name
        if html is None:
            show_until_closed(console, solution, label, port, browser)
            return
        from trajopt.display import show

        show(solution, html, labels=[label])
        show_row(console, "page", f"{html} ({html.stat().st_size / 1e6:.1f} MB)")


def check_display() -> None:
    """Raises MissingDependencyError unless the extra `display` is installed."""
    from trajopt.display.extra import import_trimesh, import_viser

    import_viser()
    import_trimesh()


def show_until_closed(console: Console, solution: Solution, label: str, port: int = 0, browser: bool = True) -> None:
    """Serves a view and says its address, until Ctrl-C."""
    from trajopt.display import show

    with show(solution, labels=[label], port=port, browser=browser) as view:
        show_row(console, "page", f"{view.url} (Ctrl-C ends it)")
        view.wait()


def _solution(console: Console, name: str, robot: str | None, assigned: list[str] | None) -> Solution:
    """The solution of a ready problem, or that of a file."""
    from trajopt import problems
    from trajopt.solution import Solution

    if name.endswith(".npz"):
        if robot is not None or assigned:
            raise InvalidArgumentError("--robot, --set: expected none with a file, whose solution has its own")
        return Solution.load(name)
    if name in problems.mpc.names():
        raise InvalidArgumentError(f"{name} is a closed loop: run trajopt mpc {name}")
    with console.status(f"solving {name} ..."):
        case = problems.load(name, robot, **assignments("--set", assigned))
        return case.solver(case.problem, case.options).solve(case.xs, case.us)
