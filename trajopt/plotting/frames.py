"""Files of frames: GIF by Pillow, MP4 by ffmpeg, PNG of one frame."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.files import check_output_path, output_file
from trajopt.objects.extras import Extra
from trajopt.types import Reals

Frame = npt.NDArray[np.uint8]  # (height, width, 3), colours red, green, blue

FILM = Extra("a .mp4", "imageio-ffmpeg", "film", "or write a .gif")
"""Package of the extra `film`: ffmpeg, for machines without this program."""
SUFFIXES = (".gif", ".mp4")
_MOST = 1800  # frames; a minute at 30 frames per second
_WHITE = 248  # least value of a colour that becomes white: Pillow takes 250 for 255 where the palette has both [-]
_SAMPLES = 8  # frames from which the colours of a GIF are chosen


def check_film_path(path: str | os.PathLike[str], argument: str = "path", suffixes: tuple[str, ...] = SUFFIXES) -> Path:
    """Checks that a film can be written to a path, and returns the path.

    Raises:
        InvalidArgumentError: The suffix is not one of `suffixes`, or the folder does not exist or cannot be written.
        MissingDependencyError: The path ends with .mp4, and there is no ffmpeg.
    """
    path = check_output_path(path, argument, suffixes)
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        FILM.check("imageio_ffmpeg")
    return path


def frame_rate(path: Path, rate: float) -> float:
    """Returns the nearest frame rate that a file can have [1/s]; frames of a GIF last whole 10 ms, at least 20 ms."""
    return 100.0 / max(2, round(100.0 / rate)) if path.suffix.lower() == ".gif" else rate


def frame_times(start: float, end: float, speed: float, rate: float, *, argument: str = "fps") -> Reals:
    """Returns the time of each frame (n,) [s]: frame k shows start + k speed / rate, and the last one the end.

    Args:
        start: Start of the motion [s].
        end: End of the motion [s].
        speed: Playback speed relative to real time [-].
        rate: Frame rate [1/s].
        argument: Name of the rate in the error.

    Raises:
        InvalidArgumentError: There would be too many frames.
    """
    count = (end - start) / speed * rate
    if count > _MOST:
        raise InvalidArgumentError(
            f"speed, {argument}: expected at most {_MOST} frames, got {count:.0f} of {end - start:.4g} s; raise "
            f"speed, or lower {argument}"
        )
    return np.minimum(start + np.arange(int(np.ceil(count - 1e-9)) + 1) * speed / rate, end)


def write_frames(path: Path, frames: Iterable[Frame], rate: float, *, hold: float = 0.0, palette: Any = None) -> None:
    """Writes frames to a .gif or .mp4 file, or the first one to a .png file.

    Args:
        path: The file.
        frames: At least one frame; all have the same size. Those of a .mp4 lose their last row or column where their
            number is odd.
        rate: Frame rate, see `frame_rate` [1/s].
        hold: Duration of the last frame, if longer than that of the others [s].
        palette: Image with the colours of a GIF; None to choose them from the frames.

    Raises:
        InvalidArgumentError: The file cannot be written.
        MissingDependencyError: The path ends with .mp4, and there is no ffmpeg.
    """
    suffix = path.suffix.lower()
    if suffix == ".mp4":
        _write_mp4(path, frames, rate, hold)
    elif suffix == ".gif":
        _write_gif(path, frames, rate, hold, palette)
    else:
        from PIL import Image

        with output_file(path) as file:
            Image.fromarray(next(iter(frames))).save(file, format="PNG")


def _write_gif(path: Path, frames: Iterable[Frame], rate: float, hold: float, palette: Any) -> None:
    """Writes a GIF with the same colours in all frames, without dithering, so that still parts do not flicker."""
    from PIL import Image

    shape: tuple[int, ...] = ()
    packed = []  # a minute of frames takes a gigabyte
    for frame in frames:
        shape = frame.shape
        packed.append(zlib.compress(frame.tobytes(), 1))

    def image(k: int) -> Any:
        return Image.fromarray(np.frombuffer(zlib.decompress(packed[k]), np.uint8).reshape(shape))

    if palette is None:
        palette = _colors(
            [np.asarray(image(k)) for k in np.unique(np.linspace(0, len(packed) - 1, _SAMPLES, dtype=int))]
        )
    images = [image(k).quantize(palette=palette, dither=Image.Dither.NONE) for k in range(len(packed))]
    delay = round(1000.0 / rate)
    delays = [delay] * (len(images) - 1) + [max(delay, round(1000.0 * hold))]
    with output_file(path) as file:
        images[0].save(file, format="GIF", save_all=True, append_images=images[1:], duration=delays, loop=0)


def _colors(frames: Sequence[Frame]) -> Any:
    """Image with white and the 255 colours that are nearest to all other pixels of some frames."""
    from PIL import Image

    pixels = np.concatenate([frame.reshape(-1, 3) for frame in frames])
    others = pixels[pixels.min(axis=1) < _WHITE]
    nearest = Image.fromarray((others if len(others) else pixels)[None]).quantize(255, dither=Image.Dither.NONE)
    palette = Image.new("P", (1, 1))
    palette.putpalette([255, 255, 255, *(nearest.getpalette() or ())[: 3 * 255]])
    return palette


def _write_mp4(path: Path, frames: Iterable[Frame], rate: float, hold: float) -> None:
    """Sends frames to ffmpeg as they come."""
    program = shutil.which("ffmpeg") or FILM.load("imageio_ffmpeg").get_ffmpeg_exe()
    several = map(_even, frames)
    last = next(several)
    with output_file(path) as file:
        process = _started(program, last, rate, file.name)
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):  # ffmpeg has ended, and says why
                process.stdin.write(last.tobytes())
                for last in several:
                    process.stdin.write(last.tobytes())
                process.stdin.write(round(hold * rate) * last.tobytes())
            _, words = process.communicate()
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode != 0:
            raise OSError(f"ffmpeg ended with status {process.returncode}: {_last_line(words)}")


def _even(frame: Frame) -> Frame:
    """A frame without its last row or column where their number is odd, as the format needs."""
    return frame[: len(frame) // 2 * 2, : frame.shape[1] // 2 * 2]


def _started(program: str, frame: Frame, rate: float, path: str) -> subprocess.Popen[bytes]:
    """Starts ffmpeg for frames of the size of `frame`."""
    height, width = frame.shape[:2]
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-framerate", f"{rate:.6g}", "-i", "-"]
    target = ["-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", path]
    command = [program, "-y", "-loglevel", "error", *source, *target]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _last_line(words: bytes) -> str:
    lines = words.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
