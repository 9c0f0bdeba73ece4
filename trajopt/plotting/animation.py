"""Animations of a motion as line drawings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.callbacks.bar import counted, progress_bar
from trajopt.checks import check_array, check_positive
from trajopt.plotting.film import KNOT, Film, film_of
from trajopt.plotting.frames import Frame, frame_rate, frame_times, write_frames
from trajopt.plotting.ground import EARTH, GROUND
from trajopt.plotting.inline_film import inline_film
from trajopt.plotting.stage import FilmStage
from trajopt.plotting.style import GREY, PALETTE, RAMP, house_style
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan

_HOLD = 1.0  # duration of the last frame [s]
_SHADES = np.linspace(0.0, 0.85, 16)  # shades of each colour of a GIF towards white, for smooth edges of lines


def animate(
    solution: Solution,
    path: str | os.PathLike[str] | None = None,
    *,
    speed: float = 1.0,
    frames_per_second: float = 25.0,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    view: tuple[float, float] | None = None,
) -> Path:
    """Writes the motion as an animation: stick figure, contacts and forces, ground, goals, paths and obstacles.

    Between two knots points move along straight lines, and forces are constant. A legged robot is seen from its right,
    or from the front or behind if it moves sideways; points on the far side are shifted, so that all legs are visible.
    Knots without a time step last 50 ms.

    Args:
        solution: Solution with a robot, with states that are poses of a body, or with a model that has a method
            `skeleton`, see `trajopt.robots.Skeleton`.
        path: File to write: .gif, or .mp4, which needs the extra `film` or the program ffmpeg. By default a temporary
            .gif.
        speed: Playback speed relative to real time [-].
        frames_per_second: Frame rate, > 0 [1/s]; in a GIF rounded to a delay of whole 10 ms, at least 20 ms.
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m]. By default those of distance costs and constraints.
        lines: Polylines, such as gates, each with points (n, 2) or (n, 3) [m]; not drawn for a legged robot.
        grid: Map of the plane to draw, its occupied cells in grey.
        scans: LIDAR scan, or one for each knot, whose readings are drawn as points.
        view: Elevation and azimuth of the camera [deg], also for a legged robot; by default it looks across the main
            direction of the motion.

    Returns:
        The path. As the value of a cell, a notebook plays the film.

    Raises:
        InvalidArgumentError: The path cannot be written, there is no body to draw, there would be over 1,800 frames,
            or the obstacles have another shape.
        MissingDependencyError: The path ends with .mp4, and there is no ffmpeg.
    """
    path = inline_film(path)
    if view is not None:
        check_array("view", view, (2,), cure="elevation and azimuth [deg]")
    film = film_of(solution, obstacles, lines, grid=grid, scans=scans, view=view)
    write_film(film, path, speed, frames_per_second)
    return path


def write_film(film: Film, path: Path, speed: float, frames_per_second: float) -> None:
    """Writes a film as an animation, see `animate`; a bar or notices show how many frames are drawn."""
    speed = check_positive("speed", speed)
    rate = frame_rate(path, check_positive("frames_per_second", frames_per_second))
    times = frame_times(float(film.times[0]), float(film.times[-1]), speed, rate, argument="frames_per_second")
    with progress_bar("drawing", len(times), wanted=True) as show:
        frames = counted(drawn_frames(film, times, speed), len(times), show)
        write_frames(path, frames, rate, hold=_HOLD, palette=palette())


def drawn_frames(
    film: Film, times: Reals, speed: float = 1.0, *, size: tuple[int, int] | None = None
) -> Iterator[Frame]:
    """Draws a film at some times.

    Args:
        film: The film.
        times: Time of each frame (n,) [s].
        speed: Playback speed, which the frames tell if it is not 1 [-].
        size: Width and height [pixel]; by default that of the figure.
    """
    note = "" if speed == 1.0 else f"   {speed:g} × real time"
    with house_style():
        stage = FilmStage(film)
        if size is not None:
            stage.figure.set_dpi(float(np.min(np.array(size) / stage.figure.get_size_inches())))
        for time in times:
            unit = f"{time:.2f} s" if film.label.startswith("time") else f"knot {round(time / KNOT)}"
            stage.show(time, unit + note)
            stage.canvas.draw()
            yield _on_ground(np.array(stage.canvas.buffer_rgba())[:, :, :3], size)


def _on_ground(picture: Frame, size: tuple[int, int] | None) -> Frame:
    """Puts a picture in the middle of a white one of a size."""
    if size is None:
        return picture
    frame = np.full((size[1], size[0], 3), 255, dtype=np.uint8)
    height, width = min(picture.shape[0], size[1]), min(picture.shape[1], size[0])
    top, left = (size[1] - height) // 2, (size[0] - width) // 2
    frame[top : top + height, left : left + width] = picture[:height, :width]
    return frame


def palette() -> Any:
    """Returns a palette image with the colours of all frames, so that colours do not change between frames."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    lines = np.array([to_rgb(color) for color in (*RAMP, *PALETTE[:3], GREY, GROUND, "#222222", "#333333", "#555555")])
    planes = np.array([to_rgb(color) for color in ("white", EARTH, "#DDDDDD", "#F7F7F7")])
    shades = _SHADES[:, None, None] + (1.0 - _SHADES[:, None, None]) * lines
    table = np.round(255.0 * np.concatenate([planes, shades.reshape(-1, 3)])).astype(np.uint8)
    image = Image.new("P", (1, 1))
    image.putpalette(table.tobytes())
    return image
