"""Films of a motion with the robot's meshes, which a browser draws; without a browser as line drawings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import check_solution
from trajopt.callbacks.bar import counted, progress_bar
from trajopt.checks import check_count, check_finite, check_flag, check_items, check_positive
from trajopt.display.camera import check_camera
from trajopt.display.layers import LAYERS
from trajopt.display.layers.around import around
from trajopt.display.layers.sensed import sensed
from trajopt.display.pictures import Shot, frames_of
from trajopt.display.timeline import Timeline
from trajopt.errors import InvalidArgumentError, shown
from trajopt.plotting.film import check_body
from trajopt.plotting.frames import SUFFIXES, check_film_path, frame_rate, frame_times, write_frames
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan

SIZE = (800, 450)  # width and height [pixel]
_LEAST, _LARGEST = 64, 4096  # width and height [pixel]
_STILL = ".png"
_VIDEO, _GIF = 30.0, 15.0  # frames per second; a browser without a graphics card takes a second for each [1/s]


def film(
    solution: Solution,
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    speed: float | None = None,
    seconds: float | None = None,
    time: float | None = None,
    size: tuple[int, int] = SIZE,
    camera: str | npt.ArrayLike = "corner",
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    progress: bool = True,
) -> Path:
    """Writes the motion as a film with the robot's meshes, contact forces, paths, goals, obstacles and the ground.

    Frame k shows time k speed / fps of the motion, and the last frame its end. A browser without a window draws the
    frames, as `show` does: Chromium, Chrome or Edge, if it is installed with the extra `display`. Otherwise they are
    line drawings, as of `trajopt.plotting.animate`, and a warning in the log says why.

    Args:
        solution: The solution.
        path: File to write: .mp4, .gif, or .png for one picture.
        fps: Frames per second, > 0 [1/s]; by default 30, of a GIF 15. In a GIF rounded to a delay of whole 10 ms, at
            least 20 ms.
        speed: Playback speed relative to real time, > 0 [-]; by default 1.
        seconds: Duration of the film, instead of a speed [s].
        time: Time that a .png shows, from 0 to the end of the motion [s]; by default 0.
        size: Width and height, 64 to 4096 [pixel].
        camera: "corner", "side", "front" or "top", each from as near as the whole motion is in the picture, or a
            position and a point to look at, shape (2, 3) [m]. Line drawings are from the same direction, without
            perspective; with "corner" they have a direction of their own.
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m], besides those in costs and constraints.
        lines: Polylines, such as gates, each with points (n, 2) or (n, 3) [m].
        grid: Map to draw as walls around the motion.
        scans: LIDAR scan, or one for each knot, drawn as in `show`.
        progress: Whether to show a progress bar on a terminal, and notices elsewhere.

    Returns:
        The path.

    Raises:
        InvalidArgumentError: The path cannot be written, there is no body to draw, there would be over 1,800 frames,
            or an argument does not fit.
        UnknownNameError: There is no camera of this name.
        MissingDependencyError: The path ends with .mp4, and there is no ffmpeg.
    """
    path = check_film_path(path, suffixes=(*SUFFIXES, _STILL))
    still = path.suffix.lower() == _STILL
    check_body(check_solution(solution))
    duration = Timeline(solution).duration
    usual = _GIF if path.suffix.lower() == ".gif" else _VIDEO
    rate = frame_rate(path, usual if fps is None else check_positive("fps", fps, unit="1/s"))
    pace = _pace(duration, speed, seconds)
    moment = _moment(duration, time, still)
    times = np.array([moment]) if still else frame_times(0.0, duration, pace, rate)
    shot = Shot(
        solution=solution,
        layers=(*LAYERS, *around(obstacles, lines), *sensed(grid, scans, solution)),
        drawn={"obstacles": obstacles, "lines": lines, "grid": grid, "scans": scans},
        camera=check_camera(camera),
        size=_pixels(size),
    )
    check_flag("progress", progress)
    with progress_bar("filming", len(times), wanted=progress) as show:
        show(0, "the browser starts")
        with frames_of(shot, times, pace) as (frames, colors):
            write_frames(path, counted(frames, len(times), show), rate, palette=colors)
    return path


def _pace(duration: float, speed: Any, seconds: Any) -> float:
    """Playback speed [-]."""
    if speed is not None and seconds is not None:
        raise InvalidArgumentError("speed, seconds: expected one of them, got both; leave one out")
    if seconds is not None:
        return duration / check_positive("seconds", seconds, unit="s") if duration > 0.0 else 1.0
    return 1.0 if speed is None else check_positive("speed", speed)


def _moment(duration: float, time: Any, still: bool) -> float:
    """Time that a picture shows [s]."""
    if time is None:
        return 0.0
    if not still:
        raise InvalidArgumentError(f"time: expected none for a film, got {shown(time)}; write a .png for one picture")
    moment = check_finite("time", time)
    if not 0.0 <= moment <= duration:
        raise InvalidArgumentError(f"time: expected 0 to {duration:.6g} s, the end of the motion, got {moment:.6g} s")
    return moment


def _pixels(size: Any) -> tuple[int, int]:
    pair = check_items("size", size, "pixels (width, height)")
    if len(pair) != 2:
        raise InvalidArgumentError(f"size: expected two numbers (width, height) [pixel], got {shown(size)}")
    width, height = (check_count(f"size[{i}]", n, least=_LEAST, most=_LARGEST) for i, n in enumerate(pair))
    return width, height
