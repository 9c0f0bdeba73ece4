"""Command line `trajopt`: solve ready problems, list them, simulate, control, serve, inverse kinematics, plans, sweeps.

Exit codes of `solve`, `ik` and `plan`: 0 if it converged, 2 if it did not, 1 for an invalid argument.
"""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from trajopt.cli.cache import cache_app
from trajopt.cli.check import check_model
from trajopt.cli.identify import identify_robot
from trajopt.cli.ik import inverse_kinematics
from trajopt.cli.inverse_dynamics import forces_of_motion
from trajopt.cli.list import list_problems
from trajopt.cli.mpc import control
from trajopt.cli.plan import plan_motion
from trajopt.cli.serve import serve
from trajopt.cli.show import show_motion
from trajopt.cli.simulate import simulate_fall
from trajopt.cli.solve import solve_problem
from trajopt.cli.sweep import sweep
from trajopt.cli.warm import warm_up

EXAMPLES = """Examples:

trajopt solve quadruped-trot --plot trot.png

trajopt show panda

trajopt plan ur5 --to 1,-1,1,-1,0,0 --jerk 500 --plot plan.png

trajopt mpc arm-tracking --plant mujoco

trajopt solve arm-reach --robot ur10 --json"""
"""Last lines of the help."""

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Trajectory optimization for robots.",
    epilog=EXAMPLES,
)
app.command("solve")(solve_problem)
app.command("list")(list_problems)
app.command("show")(show_motion)
app.command("mpc")(control)
app.command("simulate")(simulate_fall)
app.command("inverse-dynamics")(forces_of_motion)
app.command("identify")(identify_robot)
app.command("ik")(inverse_kinematics)
app.command("plan")(plan_motion)
app.command("sweep")(sweep)
app.command("check")(check_model)
app.command("serve")(serve)
app.command("warm")(warm_up)
app.add_typer(cache_app, name="cache")


def main() -> None:
    """Runs the command line.

    Python's cyclic garbage collector would scan the objects of all libraries many times during imports and plotting,
    which takes a fifth of the time of a plot. Here it starts later, and it does not run at exit.
    """
    gc.set_threshold(100_000, 50, 100)
    try:
        app(prog_name="trajopt")
    finally:
        if "ompl" not in sys.modules:  # whose bindings would print a list of objects that remain
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
