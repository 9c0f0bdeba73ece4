"""The command `trajopt list`: ready problems and closed loops, with their robots and options."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from trajopt.cli.common import Screen, clean_errors

if TYPE_CHECKING:
    from trajopt.problems import ProblemInfo


def list_problems(
    name: Annotated[str | None, typer.Argument(help="Problem whose robots and options to list.")] = None,
) -> None:
    """List the ready problems and closed loops, or the options of one."""
    from trajopt import problems
    from trajopt.problems import mpc

    with clean_errors():
        screen = Screen(wide=True)
        if name is None:
            loops = [_as_loop(mpc.describe(each)) for each in mpc.names()]
            _list_all(screen, [*(problems.describe(each) for each in problems.names()), *loops])
        else:
            _list_one(screen, _as_loop(mpc.describe(name)) if name in mpc.names() else problems.describe(name))


def _as_loop(about: ProblemInfo) -> ProblemInfo:
    """Adds to the description of a closed loop the command that runs it."""
    return dataclasses.replace(about, description=f"{about.description} Closed loop: trajopt mpc {about.name}.")


def _list_all(screen: Screen, infos: list[ProblemInfo]) -> None:
    """Prints a table of problems."""
    from rich.table import Table

    table = Table("name", "robots", "description", box=None, pad_edge=False, header_style="bold")
    table.add_column("reference cost", justify="right")
    for about in infos:
        cost = "" if about.reference_cost is None else f"{about.reference_cost:.6g}"
        table.add_row(about.name, _robots(about), about.description, cost)
    screen.console.print(table, markup=False, highlight=False)


def _list_one(screen: Screen, about: ProblemInfo) -> None:
    """Prints a problem's robots and options."""
    from rich.table import Table

    screen.row("problem", about.name)
    screen.row("about", about.description)
    screen.row("robots", _robots(about) or "a model of its own")
    table = Table("--set", "default", "meaning", box=None, pad_edge=False, header_style="bold")
    for option, default in about.options.items():
        usual = about.usual.get(option)
        of_robot = f"{usual} ({about.robots[0]})" if default is None and usual is not None else "none"
        table.add_row(option, of_robot if default is None else str(default), about.meanings.get(option, ""))
    screen.console.print(table, markup=False, highlight=False)


def _robots(about: ProblemInfo) -> str:
    return ", ".join([*about.robots, *(["or any arm, by name or file"] if about.any_robot else [])])
