"""The command `trajopt plan`: a motion of an arm around the obstacles of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from trajopt.cli.common import AsJson, Screen, check_input, check_outputs, clean_errors
from trajopt.errors import InvalidArgumentError
from trajopt.files import output_file, write_rows

if TYPE_CHECKING:
    from trajopt import Robot, Solution
    from trajopt.planning import Plan
    from trajopt.types import Reals


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
    paths: Annotated[
        int | None, typer.Option(help="Number of searches, of which the best is kept; by default 3 to 20.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the searches.")] = 0,
    time_limit: Annotated[float, typer.Option(help="Time of all searches \\[s].")] = 10.0,
    optimise: Annotated[
        bool, typer.Option("--optimise", help="Let SolverSQP make its accelerations small, with the same limits.")
    ] = False,
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
        around = None if scene is None else Scene.load(check_input("--scene", scene))
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
        solution = found.solution() if found.solved else None
        if optimise and solution is not None:
            with screen.status("optimising ..."):
                solution = found.optimise()
            screen.text(repr(solution))
        done = solution is not None and (solution.converged or not optimise)
        _finish(screen, found, solution, save, plot, optimised=optimise, done=done)
        if show and solution is not None:
            from trajopt.cli.show import show_until_closed

            show_until_closed(screen, lambda: solution, f"plan of {arm.name}")
    raise typer.Exit(0 if done else 2)


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


def _finish(
    screen: Screen,
    found: Plan,
    solution: Solution | None,
    save: Path | None,
    plot: Path | None,
    *,
    optimised: bool,
    done: bool,
) -> None:
    """Writes files and prints numbers."""
    from trajopt.analysis import clearance

    nq = found.robot.nq
    facts: dict[str, Any] = {"robot": found.robot.name, "status": found.status, "solved": done}
    if solution is not None:
        if optimised:
            facts |= {"status": solution.status, "cost": solution.cost, "iterations": solution.iterations}
        least = clearance(solution, found.scene) if optimised else found.clearance()
        times, qs = np.asarray(solution.times), solution.xs[:, :nq]
        screen.row("clearance", str(least))
        screen.write("picture", plot, solution.plot if optimised else found.plot)
        screen.write("saved", save, lambda file: _write(file, found.robot, times, qs, solution.xs[:, nq:]))
        facts |= {"duration": times[-1], "times": times, "qs": qs}
        facts |= {"clearance": least.distance, "bodies": least.bodies}
    screen.finish(**facts)


def _write(file: Path, robot: Robot, times: Reals, qs: Reals, vs: Reals) -> None:
    """Writes times, configurations and, to a .npz file, velocities."""
    if file.suffix == ".npz":
        with output_file(file, "--save") as opened:
            np.savez(opened, times=times, positions=qs, velocities=vs)
        return
    rows = [[repr(float(each)) for each in (t, *q)] for t, q in zip(times, qs)]
    write_rows(file, [["time [s]", *robot.joint_names], *rows])
