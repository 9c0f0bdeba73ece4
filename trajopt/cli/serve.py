"""The command `trajopt serve`: serves the steps of a ready controller to other processes."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from trajopt.cli.common import ControllerOptions, Screen, assignments, clean_errors


def serve(
    name: Annotated[str, typer.Argument(help="Controller, as in `trajopt mpc`.")],
    address: Annotated[
        str, typer.Option(help="Address for requests; port * selects a free port.")
    ] = "tcp://127.0.0.1:5555",
    publish: Annotated[
        str | None, typer.Option(help="Address at which plans are published; by default they are not.")
    ] = None,
    remote: Annotated[bool, typer.Option("--remote", help="Let addresses be such that others can reach them.")] = False,
    assigned: ControllerOptions = None,
) -> None:
    """Answer requests with controls and gains for measured states, until Ctrl-C. Exit code: 0 ended, 1 error."""
    from trajopt.mpc.server import MPCServer
    from trajopt.mpc.server.addresses import check_address
    from trajopt.problems import mpc

    with clean_errors():
        screen = Screen()
        for option, value in (("--address", address), ("--publish", publish)):
            if value is not None:
                check_address(option, value, allow_remote=remote, cure="pass --remote")
        with screen.status(f"building {name} ..."):
            case = mpc.load(name, **assignments("--set", assigned))
            case.controller.reset(case.x0)
            server = MPCServer(case.controller, address, publish=publish, allow_remote=remote)
            server.start()
        with contextlib.suppress(KeyboardInterrupt), server:
            screen.row("controller", f"{name}: {case.controller!r}")
            screen.row("address", server.address)
            if server.publish is not None:
                screen.row("publishes", server.publish)
            server.wait()
        for key, words in server.report().items():
            screen.row(key, words)
