"""The command `trajopt identify`: masses, inertias and friction of a robot from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trajopt.checks import check_positive
from trajopt.cli.common import PlotFile, Screen, assignments, check_input, check_outputs, clean_errors
from trajopt.objects.lazy import above


def identify_robot(
    robot: Annotated[str, typer.Argument(help="Robot: a name, such as panda, or a .urdf.")],
    log: Annotated[Path, typer.Argument(help="Measurements: .csv with columns time, q:JOINT, v:JOINT, u:JOINT; .npz.")],
    unknown: Annotated[
        list[str], typer.Option("--unknown", help="Parameter, such as forearm.mass or joint3.damping; repeatable.")
    ],
    noise: Annotated[
        list[str], typer.Option("--noise", help="Standard deviation: q=1e-4, v=1e-3 and u=0.1, each once.")
    ],
    width: Annotated[
        float | None, typer.Option(help="Speed at which dry friction reaches 76 % of its limit \\[rad/s, m/s].")
    ] = None,
    plot: PlotFile = None,
) -> None:
    """Identify masses, inertias and friction of a robot from measured motions and torques."""
    from trajopt.dynamics.friction import SmoothFriction
    from trajopt.identification import Log, identify
    from trajopt.robots import load_robot

    with clean_errors():
        check_outputs(plot)
        check_input("LOG", log)
        friction = None if width is None else SmoothFriction(check_positive("--width", width))
        loaded = load_robot(robot)
        names = [name.strip() for text in unknown for name in text.split(",")]
        recorded = Log.read(loaded, log)
        result = identify(loaded, recorded, names, noise=assignments("--noise", noise), friction=friction)
        screen = Screen()
        screen.text(repr(result))
        screen.text(result.explain())
        write = above("plotting.window.write")
        screen.write("picture", plot, lambda path: write(result.plot(), path))
