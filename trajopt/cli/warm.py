"""The command `trajopt warm`: compiles the code of a robot's problems ahead."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from trajopt.cli.common import Screen, clean_errors
from trajopt.errors import InvalidArgumentError


def warm_up(
    robot: Annotated[str, typer.Argument(help="Robot with gaits, such as go2, or an arm: a name or a file.")],
) -> None:
    """Compile the code of a robot's gaits, or of a reach of an arm, ahead; later starts load it from the cache."""
    from trajopt import cache, kernels
    from trajopt.problems import warm

    with clean_errors():
        if cache.directory() is None:
            raise InvalidArgumentError("warm: the cache is off; set TRAJOPT_CACHE_DIR to a folder")
        screen, begun, before = Screen(), time.perf_counter(), cache.info().size
        warm(robot, begin=lambda name: screen.row("compiling", f"{name} of {robot} ..."))
        size = (cache.info().size - before) / 2**20
        screen.row("compiled", f"{kernels.compilations()} pieces of code, {size:.1f} MiB more in the cache")
        screen.row("time", f"{time.perf_counter() - begun:.1f} s")
