"""The command `trajopt cache`: content of the disk cache."""

from __future__ import annotations

import typer

from trajopt import cache
from trajopt.cli.common import Screen, clean_errors

cache_app = typer.Typer(no_args_is_help=True, help="The cache of programs and compiled code on disk.")


@cache_app.command("info")
def cache_info() -> None:
    """Show folder and size of the cache, and its content by robot and kind."""
    with clean_errors():
        info = cache.info()
        if info.directory is None:
            typer.echo("off: every start compiles (set TRAJOPT_CACHE_DIR to a folder)")
            return
        typer.echo(f"folder   {info.directory}")
        typer.echo(f"entries  {info.entries}")
        typer.echo(f"size     {info.size / 2**20:.1f} MiB of at most {info.limit / 2**20:.0f} MiB")
        if info.entries:
            _list(cache.contents())


def _list(contents: list[cache.Content]) -> None:
    """Prints a table with a row for each robot and kind, and a column for each form."""
    from rich.table import Table

    sizes = {(each.robot, each.kind, each.form): each for each in contents}
    forms = [form for form in (*cache.FORMS, cache.OTHER) if any(each.form == form for each in contents)]
    table = Table("robot", "kind", box=None, pad_edge=False, header_style="bold")
    for form in forms:
        table.add_column(form, justify="right")
    last = ""
    for robot, kind in dict.fromkeys((each.robot, each.kind) for each in contents):
        table.add_row("" if robot == last else robot, kind, *(_cell(sizes.get((robot, kind, f))) for f in forms))
        last = robot
    screen = Screen(wide=True)
    screen.console.print()
    screen.console.print(table, markup=False, highlight=False)


def _cell(content: cache.Content | None) -> str:
    """Number and size of entries as text."""
    return "" if content is None else f"{content.entries}, {content.size / 2**10:.0f} KiB"


@cache_app.command("clear")
def cache_clear() -> None:
    """Remove every entry of the cache."""
    with clean_errors():
        count = cache.clear()
        typer.echo(f"removed {count} {'entry' if count == 1 else 'entries'}")
