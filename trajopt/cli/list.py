"""The command `trajopt list`: ready problems and closed loops, with their robots and options."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import AsJson, Screen, clean_errors

if TYPE_CHECKING:
    from trajopt.problems import ProblemInfo

GROUPS = {
    "arms": ("arm-reach", "arm-limits", "arm-spheres", "minimum-jerk"),
    "legs": (
        *("quadruped-trot", "quadruped-walk", "quadruped-pace", "quadruped-bound", "quadruped-jump"),
        *("quadruped-stairs", "biped-walk", "biped-jump", "humanoid-reach", "humanoid-taichi", "com-circle"),
    ),
    "contacts that the simulator finds": (
        *("hopper", "stand-up", "walk-freely", "puck", "cart-push", "block-on-incline"),
    ),
    "wheels and wings": (
        *("unicycle", "parking", "parking-circles", "parking-wheels", "hermite-path", "quadrotor-obstacles"),
    ),
    "pendulums and carts": (
        *("pendulum", "pendulum-limits", "cart-pole", "cart-pole-limits", "double-pendulum", "lqr", "lqr-bounds"),
    ),
    "as in Crocoddyl": (
        *("arm-reach-crocoddyl", "arm-reach-seed", "crocoddyl-quadruped-trot", "crocoddyl-quadruped-walk"),
        *("crocoddyl-quadruped-pace", "crocoddyl-quadruped-bound", "crocoddyl-quadruped-jump"),
        *("crocoddyl-biped-walk", "crocoddyl-biped-jump"),
    ),
}
"""Ready problems by what moves; the most used ones come first."""


def list_problems(
    name: Annotated[str | None, typer.Argument(help="Problem whose robots and options to list.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the ready problems and closed loops, or the options of one."""
    from trajopt import problems
    from trajopt.problems import mpc

    with clean_errors():
        screen = Screen(wide=True, as_json=as_json)
        if name is None:
            known = {each: problems.describe(each) for each in problems.names()}
            known |= {each: mpc.describe(each) for each in mpc.names()}
            _list_all(screen, known, mpc.names())
            if as_json:
                screen.finish(problems=[_facts(about, mpc.names()) for about in known.values()])
        else:
            loop = name in mpc.names()
            about = mpc.describe(name) if loop else problems.describe(name)
            _list_one(screen, _as_loop(about) if loop else about)
            if as_json:
                screen.finish(**_facts(about, mpc.names()))


def _facts(about: ProblemInfo, loops: list[str]) -> dict[str, Any]:
    """Description of a problem for JSON."""
    command = f"trajopt {'mpc' if about.name in loops else 'solve'} {about.name}"
    return dataclasses.asdict(about) | {"command": command}


def _as_loop(about: ProblemInfo) -> ProblemInfo:
    """Adds to the description of a closed loop the command that runs it."""
    return dataclasses.replace(about, description=f"{about.description} Closed loop: trajopt mpc {about.name}.")


def _list_all(screen: Screen, known: dict[str, ProblemInfo], loops: list[str]) -> None:
    """Prints names and descriptions in groups."""
    from rich.table import Table

    left = dict(known)
    groups = {title: [name for name in names if left.pop(name, None)] for title, names in GROUPS.items()}
    groups["others"] = [name for name in left if name not in loops]
    groups["closed loops, run by trajopt mpc NAME"] = [name for name in left if name in loops]
    width = max(map(len, known))
    for title, names in groups.items():
        if names:
            screen.text(title, "bold")
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(no_wrap=True, min_width=width + 2)
            table.add_column()
            for name in names:
                table.add_row(f"  {name}", known[name].description)
            screen.console.print(table, markup=False, highlight=False)
    screen.text("trajopt list NAME tells robots and options of one.")


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
