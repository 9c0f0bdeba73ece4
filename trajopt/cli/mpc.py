"""The command `trajopt mpc`: runs a ready controller with its plant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import (
    AnimationFile,
    AsJson,
    ControllerOptions,
    PlotFile,
    Screen,
    assignments,
    check_outputs,
    clean_errors,
)

if TYPE_CHECKING:
    from trajopt.mpc import ClosedLoop


def control(
    name: Annotated[str | None, typer.Argument(help="Controller; leave it out to list all.")] = None,
    duration: Annotated[float | None, typer.Option(help="Duration \\[s].")] = None,
    assigned: ControllerOptions = None,
    plant: Annotated[str | None, typer.Option(help="Plant, such as mujoco; by default that of the case.")] = None,
    delay: Annotated[float | None, typer.Option(help="Time from a measurement to its control \\[s].")] = None,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of measurements.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 0,
    disturbed: Annotated[bool, typer.Option("--pushes/--no-pushes", help="Push the plant.")] = True,
    plot: PlotFile = None,
    animate: AnimationFile = None,
    save: Annotated[Path | None, typer.Option(help="File for the log: .npz.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain what went wrong and what to try.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the progress bar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a model-predictive controller with its plant. Exit code: 0 done, 2 a step failed, 1 error."""
    import numpy as np

    from trajopt.problems import mpc

    with clean_errors():
        check_outputs(plot, animate, save=(save, (".npz",)))
        screen = Screen(as_json=as_json)
        if name is None:
            _list(as_json)
            return
        with screen.status(f"building {name} ..."):
            chosen = {} if plant is None else {"plant": plant}
            case = mpc.load(name, **assignments("--set", assigned) | chosen)
        options = {"duration": duration, "delay": delay, "noise": noise}
        changed: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
        if not disturbed:
            changed["disturbance"] = None
        log = case.simulate(seed=seed, progress=not quiet and screen.console.is_terminal, **changed)
        width = _show(screen, case, log, explain)

        around = case.surroundings

        def draw(path: Path) -> None:
            log.plot(path, title=case.name, **around)

        screen.write("picture", plot, draw, width)
        screen.write("animation", animate, lambda path: log.film(path, **around), width)
        screen.write("saved", save, log.save, width)
        facts = ("cost", "counts", "stopped", "missed", "violated", "first_solve")
        times = {"feedback_99": np.percentile(log.feedback_times, 99.0), "step_99": np.percentile(log.step_times, 99.0)}
        screen.finish(loop=case.name, duration=log.times[-1], **{f: getattr(log, f) for f in facts}, seconds=times)
    raise typer.Exit(2 if log.counts["failed"] or log.stopped else 0)


def _show(screen: Screen, case: Any, log: ClosedLoop, explain: bool) -> int:
    """Prints the result in a few lines; returns the width of the keyword column."""
    from trajopt.mpc.report import advice

    failed = bool(log.counts["failed"] or log.stopped)
    rows = [*log.report().items(), *case.report(log).items()]
    width = max(11, *(len(key) + 1 for key, _ in rows))
    for key, words in rows:
        style = ("bold yellow" if failed else "bold green") if key == "steps" else None
        screen.row(key, words, style, width)
    if explain:
        text = "\n".join(advice(log)) or f"{'explained':<{width}} nothing to improve"
        screen.text(text)
    return width


def _list(as_json: bool) -> None:
    """Prints a table of the ready controllers."""
    from rich.table import Table

    from trajopt.problems import mpc

    if as_json:
        Screen(as_json=True).finish(
            loops=[{"name": name, "about": mpc.describe(name).description} for name in mpc.names()]
        )
        return

    table = Table("name", "description", box=None, pad_edge=False, header_style="bold")
    for about in map(mpc.describe, mpc.names()):
        table.add_row(about.name, about.description)
    Screen(wide=True).console.print(table, markup=False, highlight=False)
