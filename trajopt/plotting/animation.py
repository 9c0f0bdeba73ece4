"""Animations of a motion: GIF with Pillow, MP4 with ffmpeg."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_positive
from trajopt.errors import InvalidArgumentError, MissingDependencyError
from trajopt.files import check_output_path, output_file
from trajopt.plotting.film import KNOT, Film, film_of
from trajopt.plotting.ground import EARTH, GROUND
from trajopt.plotting.stage import FilmStage
from trajopt.plotting.style import GREY, PALETTE, RAMP, house_style
from trajopt.solution import Solution
from trajopt.types import Reals

SUFFIXES = (".gif", ".mp4")
_MOST = 1500  # frames; a minute at 25 frames per second
_HOLD = 1.0  # duration of the last frame [s]
_DPI = 100
_SHADES = np.linspace(0.0, 0.85, 16)  # shades of each colour of a GIF towards white, for smooth edges of lines


def animate(
    solution: Solution,
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    frames_per_second: float = 25.0,
    obstacles: npt.ArrayLike = (),
) -> Path:
    """Writes the motion as an animation: stick figure, contacts and forces, ground, goals, paths and obstacles.

    Between two knots points move along straight lines, and forces are constant. A legged robot is seen from its right
    side; points on its left are shifted forward, so that both sides are visible. Knots without a time step last 50 ms.

    Args:
        solution: Solution with a robot, with states that are poses of a body, or with a model that has a method
            `skeleton`, see `trajopt.robots.Skeleton`.
        path: File to write: .gif, or .mp4, which needs the program ffmpeg.
        speed: Playback speed relative to real time [-].
        frames_per_second: Frame rate, > 0 [1/s]; in a GIF rounded to a delay of whole 10 ms, at least 20 ms.
        obstacles: Upright cylinders (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m].

    Returns:
        The path.

    Raises:
        InvalidArgumentError: The path cannot be written, there is no body to draw, there would be over 1,500 frames,
            or the obstacles have another shape.
        MissingDependencyError: The path ends with .mp4, and ffmpeg is not installed.
    """
    path = check_animation_path(path)
    film = film_of(solution, obstacles)
    write_film(film, path, speed, frames_per_second)
    return path


def write_film(film: Film, path: Path, speed: float, frames_per_second: float) -> None:
    """Writes a film as an animation, see `animate`."""
    speed, rate = check_positive("speed", speed), check_positive("frames_per_second", frames_per_second)
    if path.suffix.lower() == ".gif":
        rate = 100.0 / max(2, round(100.0 / rate))
    times = frame_times(film, speed, rate)
    with house_style():
        stage = FilmStage(film)
        note = "" if speed == 1.0 else f"   {speed:g} × real time"
        with _writer(path, stage, rate) as take:
            for time in times:
                unit = f"{time:.2f} s" if film.label.startswith("time") else f"knot {round(time / KNOT)}"
                stage.show(time, unit + note)
                take()
            for _ in range(round(_HOLD * rate) if path.suffix.lower() == ".mp4" else 0):
                take()


def check_animation_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Checks that an animation can be written to a path, and returns the path.

    Raises:
        InvalidArgumentError: The suffix is not .gif or .mp4, or the folder does not exist or cannot be written.
        MissingDependencyError: The path ends with .mp4, and ffmpeg is not installed.
    """
    path = check_output_path(path, argument, SUFFIXES)
    if path.suffix.lower() == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise MissingDependencyError(
                f"{argument}: a .mp4 needs the program ffmpeg, which is not on the PATH; install it (apt install "
                "ffmpeg, brew install ffmpeg), or write a .gif"
            )
    return path


def frame_times(film: Film, speed: float, rate: float) -> Reals:
    """Returns the time of each frame (n,) [s], including the end.

    Args:
        film: The film.
        speed: Playback speed relative to real time [-].
        rate: Frame rate [1/s].

    Raises:
        InvalidArgumentError: There would be too many frames.
    """
    start, end = float(film.times[0]), float(film.times[-1])
    count = (end - start) / speed * rate
    if count > _MOST:
        raise InvalidArgumentError(
            f"speed, frames_per_second: expected at most {_MOST} frames, got {count:.0f} of {end - start:.4g} s; raise "
            "speed, or lower frames_per_second"
        )
    return np.minimum(start + np.arange(int(np.ceil(count - 1e-9)) + 1) * speed / rate, end)


@contextmanager
def _writer(path: Path, stage: FilmStage, rate: float) -> Iterator[Any]:
    """Context manager that yields a function to add the current stage as a frame; writes the file at the end."""
    if path.suffix.lower() == ".mp4":
        from matplotlib.animation import FFMpegWriter

        writer = FFMpegWriter(fps=rate, extra_args=["-pix_fmt", "yuv420p", "-f", "mp4"])  # type: ignore[arg-type]
        try:
            with output_file(path) as file, writer.saving(stage.figure, file.name, _DPI):
                yield writer.grab_frame
        except subprocess.CalledProcessError as error:
            raise InvalidArgumentError(
                f"path: {str(path)!r} cannot be written: ffmpeg ended with status {error.returncode}; is the disk full?"
            ) from error
        return
    from PIL import Image

    images: list[Any] = []
    palette = _palette()

    def take() -> None:
        stage.canvas.draw()
        pixels = np.asarray(stage.canvas.buffer_rgba())[:, :, :3]
        images.append(Image.fromarray(pixels).quantize(palette=palette, dither=Image.Dither.NONE))

    yield take
    delays = [round(1000.0 / rate)] * (len(images) - 1) + [round(1000.0 * _HOLD)]
    with output_file(path) as file:
        images[0].save(file, format="GIF", save_all=True, append_images=images[1:], duration=delays, loop=0)


def _palette() -> Any:
    """Palette image with the colours of all frames, so that colours do not change between frames."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    lines = np.array([to_rgb(color) for color in (*RAMP, *PALETTE[:3], GREY, GROUND, "#222222", "#333333", "#555555")])
    planes = np.array([to_rgb(color) for color in ("white", EARTH, "#DDDDDD", "#F7F7F7")])
    shades = _SHADES[:, None, None] + (1.0 - _SHADES[:, None, None]) * lines
    table = np.round(255.0 * np.concatenate([planes, shades.reshape(-1, 3)])).astype(np.uint8)
    image = Image.new("P", (1, 1))
    image.putpalette(table.tobytes())
    return image
