"""The command `trajopt plan`: a motion of an arm around the obstacles of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from trajopt.cli.common import AsJson, Screen, check_outputs, clean_errors
from trajopt.errors import InvalidArgumentError
from trajopt.files import output_file, write_rows

if TYPE_CHECKING:
    from trajopt import Robot
    from trajopt.planning import Plan


def plan_motion(
    robot: Annotated[str, typer.Argument(help="Robot, or its file.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS", help="Goal, such as 0,0.5,...: joints; with --frame X,Y,Z or X,Y,Z,QX,QY,QZ,QW."
        ),
    ],
    scene: Annotated[
        Path | None, typer.Option(help="File of obstacles: .json or .yaml, see trajopt.Scene.load.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="NUMBERS", help="Joints at the start; those of the robot's rest.")
    ] = None,
    frame: Annotated[str | None, typer.Option(help="Frame that the goal places.")] = None,
    fixed: Annotated[
        str | None, typer.Option(metavar="JOINTS", help="Joints to lock, such as finger1,finger2.")
    ] = None,
    margin: Annotated[float, typer.Option(help="Least distance of links and obstacles \\[m].")] = 0.01,
    acceleration: Annotated[float | None, typer.Option(help="Largest acceleration of joints \\[rad/s²].")] = None,
    jerk: Annotated[float | None, typer.Option(help="Largest jerk of joints \\[rad/s³].")] = None,
    paths: Annotated[int, typer.Option(help="Number of searches, of which the best is kept.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of the searches.")] = 0,
    time_limit: Annotated[float, typer.Option(help="Time of all searches \\[s].")] = 10.0,
    save: Annotated[Path | None, typer.Option(help="File for the motion: .csv or .npz.")] = None,
    plot: Annotated[Path | None, typer.Option(help="File for a picture: .png, .pdf or .svg.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the motion in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find a motion around obstacles. Exit code: 0 solved, 2 no path or goal out of reach, 1 error."""
    from trajopt import Scene, load_robot, plan

    with clean_errors():
        check_outputs(plot)
        check_outputs(save=(save, (".csv", ".npz")))
        screen, arm = Screen(as_json=as_json), load_robot(robot)
        if fixed is not None:
            arm = arm.lock_joints([name.strip() for name in fixed.split(",")])
        around = None if scene is None else Scene.load(scene)
        first = arm.configurations.get("default") if start is None else _numbers("--from", start)
        goal, placed = _goal(arm, frame, _numbers("--to", to))
        with screen.status("planning ..."):
            found = plan(
                arm,
                np.zeros(arm.nq) if first is None else first,
                goal,
                around,
                frame=placed,
                margin=margin,
                paths=paths,
                seed=seed,
                time_limit=time_limit,
                acceleration=acceleration,
                jerk=jerk,
            )
        screen.text(repr(found))
        _finish(screen, found, save, plot)
        if show and found.solved:
            from trajopt.cli.show import show_until_closed

            show_until_closed(screen, found.solution, f"plan of {arm.name}")
    raise typer.Exit(0 if found.solved else 2)


def _numbers(option: str, text: str) -> Any:
    try:
        return np.array([float(each) for each in text.split(",")])
    except ValueError:
        raise InvalidArgumentError(f"{option}: expected numbers such as 0,0.5,-1.2, got {text!r}") from None


def _goal(robot: Robot, frame: str | None, numbers: Any) -> tuple[Any, str | None]:
    """Goal and frame of `plan`: a configuration, the placement of a frame, or a task for its position."""
    from trajopt import ConstraintStack, ResidualModelFrameTranslation, StateMultibody

    if frame is None or len(numbers) == 7:
        return numbers, frame
    state = StateMultibody(robot)
    return ConstraintStack(state).add("goal", ResidualModelFrameTranslation(state, frame, numbers), equals=0.0), None


def _finish(screen: Screen, found: Plan, save: Path | None, plot: Path | None) -> None:
    """Writes files and prints numbers."""
    facts: dict[str, Any] = {"robot": found.robot.name, "status": found.status, "solved": found.solved}
    if found.motion is not None:
        least = found.clearance()
        screen.row("clearance", str(least))
        screen.write("picture", plot, found.plot)
        screen.write("saved", save, lambda file: _write(file, found))
        facts |= {"duration": found.motion.duration, "times": found.motion.times, "qs": found.motion.qs}
        facts |= {"clearance": least.distance, "bodies": least.bodies}
    screen.finish(**facts)


def _write(file: Path, found: Plan) -> None:
    """Writes times, configurations and, to a .npz file, velocities."""
    motion = found.motion
    assert motion is not None
    if file.suffix == ".npz":
        with output_file(file, "--save") as opened:
            np.savez(opened, times=motion.times, positions=motion.qs, velocities=motion.vs)
        return
    rows = [[repr(float(each)) for each in (t, *q)] for t, q in zip(motion.times, motion.qs)]
    write_rows(file, [["time [s]", *found.robot.joint_names], *rows])
