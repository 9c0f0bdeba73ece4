"""The command `trajopt ik`: joint angles for a pose of a frame, or along a path of positions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import AsJson, Screen, assignments, check_outputs, clean_errors
from trajopt.errors import InvalidArgumentError
from trajopt.objects.lazy import above

if TYPE_CHECKING:
    from trajopt import ConstraintStack
    from trajopt.robots import Robot


def inverse_kinematics(
    robot: Annotated[str, typer.Option(help="Robot, or its file.")],
    frame: Annotated[str, typer.Option(help="Frame of the robot to place.")],
    position: Annotated[
        tuple[float, float, float] | None, typer.Option(metavar="X Y Z", help="Target position of its origin \\[m].")
    ] = None,
    quaternion: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(metavar="X Y Z W", help="Target orientation; free if left out."),
    ] = None,
    fixed: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=VALUE", help="Joint that does not move \\[m, rad].")
    ] = None,
    limits: Annotated[bool, typer.Option("--limits/--no-limits", help="Keep the robot's joint limits.")] = True,
    starts: Annotated[int, typer.Option(help="Largest number of start configurations.")] = 32,
    path: Annotated[
        Path | None, typer.Option(help="Instead of a position, a .csv file of positions: time \\[s], x, y, z \\[m].")
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Time step of the path's motion \\[s].")] = None,
    save: Annotated[Path | None, typer.Option(help="File for the motion along the path: .csv or .npz.")] = None,
    plot: Annotated[Path | None, typer.Option(help="File for a plot of the robot: .png, .pdf or .svg.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find joint angles for a pose. Exit code: 0 solved, 2 out of reach (the nearest pose is shown), 1 error."""
    from trajopt import ik

    with clean_errors():
        check_outputs(plot)
        held = assignments("--fixed", fixed)
        if (position is None) == (path is None):
            raise InvalidArgumentError("--position: expected either --position or --path; set one of both")
        if path is not None:
            if quaternion is not None:
                raise InvalidArgumentError("--quaternion: expected with --position only; a path has no orientations")
            raise typer.Exit(_follow_path(Screen(as_json=as_json), robot, frame, path, dt, limits, plot, save, held))
        assert position is not None
        for option, value in (("--dt", dt), ("--save", save)):
            if value is not None:
                raise InvalidArgumentError(f"{option}: expected with --path only; leave it out, or set --path")
        screen, (arm, tasks) = Screen(as_json=as_json), _tasks(robot, frame, position, quaternion)
        with screen.status("solving ..."):
            result = ik.solve(arm, tasks, limits=limits, starts=starts, fixed=held)
        screen.text(str(result))
        target = {"points": [position]} if quaternion is None else {"placements": [[*position, *quaternion]]}
        draw, write = above("plotting.plot_configurations"), above("plotting.window.write")
        unit = "mm" if quaternion is None else "mm, mrad"
        title = f"{arm.name}: {frame} is {1e3 * result.distance:.2g} {unit} from its target"
        screen.write("picture", plot, lambda file: write(draw(arm, result.q, title=title, **target), file))
        facts = ("q", "configurations", "status", "solved", "cost", "distance", "iterations", "starts", "active_limits")
        screen.finish(robot=arm.name, frame=frame, **{fact: getattr(result, fact) for fact in facts})
    raise typer.Exit(0 if result.solved else 2)


def _tasks(robot: str, frame: str, position: Any, quaternion: Any = None) -> tuple[Robot, ConstraintStack]:
    """Robot, and the constraint that places a frame of it at a position, and at an orientation if there is one."""
    from trajopt import ConstraintStack, ResidualModelFramePlacement, ResidualModelFrameTranslation, StateMultibody
    from trajopt.robots import load_robot

    state = StateMultibody(load_robot(robot))
    residual = (
        ResidualModelFrameTranslation(state, frame, position)
        if quaternion is None
        else ResidualModelFramePlacement(state, frame, [*position, *quaternion])
    )
    return state.robot, ConstraintStack(state).add(frame if frame.isidentifier() else "frame", residual, equals=0.0)


def _follow_path(
    screen: Screen,
    robot: str,
    frame: str,
    path: Path,
    dt: float | None,
    limits: bool,
    plot: Path | None,
    save: Path | None,
    fixed: dict[str, Any],
) -> int:
    """Solves for a frame that follows the positions of a file; returns the exit code."""
    from trajopt import ik
    from trajopt.cli.ik_path import read_path, write_path

    check_outputs(save=(save, (".csv", ".npz")))
    positions, step = read_path(path, dt)
    arm, tasks = _tasks(robot, frame, positions[0])
    with screen.status("solving ..."):
        track = ik.track(arm, tasks, positions, step, limits=limits, fixed=fixed)
    screen.text(str(track))
    screen.write("picture", plot, track.plot)
    names = tuple(tasks.state.coordinate_names[: arm.nq])
    screen.write("saved", save, lambda file: write_path(file, track, names))
    screen.finish(robot=arm.name, frame=frame, followed=track.followed, times=track.times, qs=track.qs)
    return 0 if track.followed else 2
