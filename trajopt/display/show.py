"""Display of solutions as a page that is served or written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy.typing as npt

from trajopt.checks import check_flag
from trajopt.display.browser import in_notebook
from trajopt.display.layers.kinds import layer_kinds
from trajopt.display.view import View
from trajopt.files import check_output_path
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.analysis import StateCovariance
    from trajopt.planar import OccupancyGrid, Scan
    from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution


class ShowOptions(TypedDict, total=False):
    """Options of `show`; see there for their meaning."""

    labels: Sequence[str] | None
    iterates: Sequence[Reals]
    layers: Sequence[str]
    obstacles: ObstaclesLike
    lines: Sequence[npt.ArrayLike]
    covariance: StateCovariance | None
    grid: OccupancyGrid | None
    scans: Scan | Sequence[Scan]
    camera: str
    follow: bool
    host: str
    port: int
    browser: bool


@overload
def show(solutions: Solution | Sequence[Solution], path: None = None, **options: Unpack[ShowOptions]) -> View: ...


@overload
def show(solutions: Solution | Sequence[Solution], path: str | Path, **options: Unpack[ShowOptions]) -> Path: ...


def show(
    solutions: Solution | Sequence[Solution],
    path: str | Path | None = None,
    *,
    labels: Sequence[str] | None = None,
    iterates: Sequence[Reals] = (),
    layers: Sequence[str] = (),
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    covariance: StateCovariance | None = None,
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    camera: str = "corner",
    follow: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
) -> View | Path:
    """Shows solutions over each other in the browser, or writes a page that does.

    Args:
        solutions: One solution or several; the first has its own colours and all layers, others are translucent.
        path: File .html to write, which plays without a server or network; None to serve a page.
        labels: Name of each solution.
        iterates: Trajectories (T + 1, nx) of the first solution's iterations, selected by a slider, for example from
            `CallbackLogger(trajectories=True)`.
        layers: Labels of hidden layers to show: "strobe", "ghosts", "friction cones", "margins".
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m],
            besides those in costs and constraints of the first solution.
        lines: Polylines to draw, such as gates, each with points (n, 2) or (n, 3) [m].
        covariance: Covariances of the first solution, `solution.covariance(noise)`, drawn as ellipsoids of two
            standard deviations along the path of its tool, feet or body.
        grid: Map to draw as walls around the motion.
        scans: LIDAR scan, or one for each knot of the first solution, drawn with its beams and the nearest wall.
        camera: First direction of the camera: "corner", "side", "front" or "top".
        follow: Whether the camera follows the first body, for motions that go on; a file keeps it.
        host: Address at which the server listens.
        port: Port of the server; 0 selects a free port.
        browser: Whether to open the page; without a screen, or in a notebook, it is not opened.

    Returns:
        With a path the path. Otherwise the view, whose server runs until `close` or the end of the program;
        `view.wait()` keeps a script running, and a notebook shows the view in its cell.

    Raises:
        InvalidArgumentError: There is nothing to show, an argument does not fit, or the file cannot be written.
        UnknownNameError: There is no layer or camera of this name.
        MissingDependencyError: The extra `display` is not installed.
    """
    check_flag("browser", browser)
    options: dict[str, Any] = {"labels": labels, "iterates": iterates, "host": host, "port": port}
    options |= {"camera": camera, "follow": follow}
    options["layers"] = layer_kinds(
        solutions, layers=layers, obstacles=obstacles, lines=lines, covariance=covariance, grid=grid, scans=scans
    )
    if path is not None:
        path = check_output_path(path, "path", (".html",))
        with View(solutions, playing=False, **options) as view:
            return view.save(path)
    view = View(solutions, **options)
    if browser and not in_notebook():
        view.open()
    return view
