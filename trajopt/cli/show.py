"""The command `trajopt show`: shows a motion in the browser, or writes a page that plays it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trajopt.cli.common import ProblemOptions, ProblemRobot, Screen, assignments, clean_errors
from trajopt.errors import InvalidArgumentError

if TYPE_CHECKING:
    from trajopt.solution import Solution


def show_motion(
    name: Annotated[
        str,
        typer.Argument(
            help="Problem, as in `trajopt list`; file of a solution: .npz; or robot: a name, .urdf or .xml."
        ),
    ],
    robot: ProblemRobot = None,
    assigned: ProblemOptions = None,
    html: Annotated[
        Path | None, typer.Option(help="Page to write, .html, which plays the motion without a server.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the page on this machine; 0 selects a free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    camera: Annotated[str, typer.Option(help="First direction of the camera: corner, side, front or top.")] = "corner",
    follow: Annotated[bool, typer.Option("--follow", help="Let the camera follow a body that goes on.")] = False,
    shapes: Annotated[
        bool, typer.Option("--shapes", help="Draw the collision shapes of a robot, not its meshes.")
    ] = False,
) -> None:
    """Show a ready problem's motion, or a robot with a slider for each joint, in the browser, until Ctrl-C."""
    from trajopt.files import check_output_path

    with clean_errors():
        from trajopt.checks import check_known
        from trajopt.display.camera import DIRECTIONS
        from trajopt.display.extra import DISPLAY
        from trajopt.display.page import check_address

        DISPLAY.check("viser", "trimesh")
        if html is not None:
            check_output_path(html, "--html", (".html",))
        else:
            check_address("127.0.0.1", port)
        look: dict[str, Any] = {"camera": check_known("--camera", camera, DIRECTIONS), "follow": follow}
        screen = Screen()
        if _is_robot(name):
            if html is not None or robot is not None or assigned:
                raise InvalidArgumentError(
                    "--html, --robot, --set: expected none for a robot, whose page needs a server"
                )
            _show_robot(screen, name, port, browser, shapes)
            return
        if shapes:
            raise InvalidArgumentError("--shapes: expected none for a motion; use it with a robot")
        label = Path(name).stem if name.endswith(".npz") else name
        solve = _prepared(screen, name, robot, assigned)
        if html is None:
            show_until_closed(screen, solve, label, port, browser, status=True, **look)
            return
        from trajopt.display import show

        solution = solve()
        _say_status(screen, solution)
        show(solution, html, labels=[label], **look)
        screen.row("page", f"{html} ({html.stat().st_size / 1e6:.1f} MB)")


def _is_robot(name: str) -> bool:
    """Whether a name is a robot's, and no problem's."""
    from trajopt import problems
    from trajopt.robots.example import robot_names

    if name in problems.names() or name in problems.mpc.names():
        return False
    return name.lower().endswith((".urdf", ".xml", ".mjcf")) or name in robot_names()


def _show_robot(screen: Screen, name: str, port: int, browser: bool, shapes: bool) -> None:
    """Serves a page with a robot, or with its collision shapes, and its sliders, until Ctrl-C."""
    from trajopt.display import RobotPage
    from trajopt.robots import Robot, load_robot

    robot = load_robot(name)
    if shapes:
        screen.row("shapes", repr(robot.collision_shapes))
        robot = Robot(robot.model, name=robot.name, shapes=robot.collision_shapes.solids())
    with RobotPage(robot, port=port) as page:
        screen.row("page", f"{page.url} (Ctrl-C ends it)")
        if browser:
            page.open()
        page.wait()


def show_until_closed(
    screen: Screen,
    solve: Callable[[], Solution],
    label: str,
    port: int = 0,
    browser: bool = True,
    *,
    status: bool = False,
    camera: str = "corner",
    follow: bool = False,
) -> None:
    """Serves a page and prints its address, then shows there what `solve` returns, until Ctrl-C.

    Loading the page takes as long as solving most problems, so the browser loads it during the solve.

    Args:
        screen: Screen for messages.
        solve: Function that returns the solution.
        label: Name of the motion.
        port: Port of the page; 0 selects a free port.
        browser: Whether to open the page.
        status: Whether to print the solution's status.
        camera: First direction of the camera.
        follow: Whether the camera follows the body.
    """
    from trajopt.display.page import Page

    with Page(port=port, words=f"solving {label} ...") as page:
        screen.row("page", f"{page.url} (Ctrl-C ends it)")
        if browser:
            page.open()
        from trajopt.display.view import View

        solution = solve()
        if status:
            _say_status(screen, solution)
        with View(solution, labels=[label], page=page, camera=camera, follow=follow) as view:
            view.wait()


def _say_status(screen: Screen, solution: Solution) -> None:
    screen.row("status", str(solution.status), "bold green" if solution.converged else "bold yellow")


def _prepared(screen: Screen, name: str, robot: str | None, assigned: list[str] | None) -> Callable[[], Solution]:
    """Returns a function that solves a ready problem, or returns the solution of a file; reads files at once."""
    from trajopt import problems
    from trajopt.solution import Solution

    if name.endswith(".npz"):
        if robot is not None or assigned:
            raise InvalidArgumentError("--robot, --set: expected none for a file, which has its own robot and options")
        loaded = Solution.load(name)
        return lambda: loaded
    if name in problems.mpc.names():
        raise InvalidArgumentError(f"{name} is a closed loop: run trajopt mpc {name}")
    case = problems.load(name, robot, **assignments("--set", assigned))

    def solve() -> Solution:
        with screen.status(f"solving {name} ..."):
            return case.solve()

    return solve
