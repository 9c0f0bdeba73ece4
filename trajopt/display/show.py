"""Solutions as a page: served, or written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy.typing as npt

from trajopt.checks import check_flag
from trajopt.display.browser import in_notebook
from trajopt.display.layers.given import given_layers
from trajopt.display.view import View
from trajopt.files import check_output_path
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.analysis import StateCovariance
    from trajopt.planar import OccupancyGrid, Scan
    from trajopt.solution import Solution


class ShowOptions(TypedDict, total=False):
    """Options of `show`, which are explained there."""

    labels: Sequence[str] | None
    iterates: Sequence[Reals]
    layers: Sequence[str]
    obstacles: npt.ArrayLike
    lines: Sequence[npt.ArrayLike]
    covariance: StateCovariance | None
    grid: OccupancyGrid | None
    scans: Scan | Sequence[Scan]
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
    obstacles: npt.ArrayLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    covariance: StateCovariance | None = None,
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
) -> View | Path:
    """Shows solutions over each other in the browser, or writes a file that does.

    Args:
        solutions: One or several; the first one has its own colours and all layers, others are translucent.
        path: File .html to write, which plays without a server and a network; None serves a page.
        labels: Name of each.
        iterates: Trajectories (T + 1, nx) of the first solution's iterations, to be chosen by a slider: those of
            `CallbackLogger(trajectories=True)`.
        layers: Labels of layers to show that are hidden at first: "margins", "friction cones".
        obstacles: Upright cylinders (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m], beside
            those that costs and constraints of the first solution keep clear of.
        lines: What stands beside the motion: lists of points (n, 2) or (n, 3) that lines join, such as gates [m].
        covariance: Covariances of the first solution, `solution.covariance(noise)`: ellipsoids of two standard
            deviations along the path of its tool, its feet or its body.
        grid: Map that stands around the motion as walls.
        scans: LIDAR scan, or one for each knot of the first solution: its beams, and the nearest wall.
        host: Address at which the server listens.
        port: Its port; 0 takes a free one.
        browser: Whether to open the page; without a screen, or in a notebook, where it stands in the cell, none is.

    Returns:
        The view, whose server runs until `close` or the end of the program: `view.wait()` keeps a script running. With
        a path the path.

    Raises:
        InvalidArgumentError: There is nothing to show, an argument does not fit, or the file cannot be written.
        UnknownNameError: There is no such layer.
        MissingDependencyError: The extra `display` is not installed.
    """
    check_flag("browser", browser)
    options: dict[str, Any] = {"labels": labels, "iterates": iterates, "host": host, "port": port}
    options["layers"] = given_layers(
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
