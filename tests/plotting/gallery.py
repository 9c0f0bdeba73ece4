"""Draws all ready problems and closed loops on pages of thumbnails: python -m tests.plotting.gallery FOLDER [NAME ...].

Solutions are kept in FOLDER/solved, so that a second run only draws. Closed loops are cut short.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib

from trajopt import problems
from trajopt.mpc import ClosedLoop
from trajopt.plotting import plot_pages
from trajopt.solution import Solution

MOST = 100  # iterations
LOOP = 1.5  # duration of a closed loop [s]
THUMBNAIL, COLUMNS, ROWS = (700, 450), 2, 3  # size [pixel] and number on a page


def solved(name: str, folder: Path) -> tuple[Any, Solution]:
    """A ready problem, and its solution from the folder or from a solve."""
    case, file = problems.load(name), folder / "solved" / f"{name}.npz"
    if not file.exists():
        most = min(case.options.max_iterations, MOST)
        case.solve(max_iterations=most).save(file)
    return case, Solution.load(file, case.problem)


def run(name: str, folder: Path) -> tuple[Any, ClosedLoop]:
    """A ready closed loop, and its log from the folder or from a run."""
    case, file = problems.mpc.load(name), folder / "solved" / f"{name}.npz"
    if not file.exists():
        case.simulate(duration=LOOP).save(file)
    return case, ClosedLoop.load(file)


def draw(name: str, folder: Path) -> list[Path]:
    """Writes the pages of a problem, or the picture of a closed loop; returns the files."""
    file = folder / f"{name}.png"
    if name in problems.mpc.names():
        case, log = run(name, folder)
        log.plot(file, title=name, **case.surroundings)
        return [file]
    case, solution = solved(name, folder)
    pages = plot_pages(solution, file, title=name, obstacles=case.obstacles)
    return [file, *(file.with_stem(f"{name}-{page}") for page in pages if page != "summary")]


def write_thumbnails(files: list[Path], folder: Path) -> list[Path]:
    """Writes pages of thumbnails of pictures; returns their files."""
    from PIL import Image

    pages, (width, height) = [], THUMBNAIL
    for first in range(0, len(files), COLUMNS * ROWS):
        page = Image.new("RGB", (COLUMNS * width, ROWS * height), "white")
        for i, file in enumerate(files[first : first + COLUMNS * ROWS]):
            picture = Image.open(file).convert("RGB")
            picture.thumbnail(THUMBNAIL)
            page.paste(picture, (i % COLUMNS * width, i // COLUMNS * height))
        pages.append(folder / f"thumbnails-{len(pages) + 1}.png")
        page.save(pages[-1])
    return pages


def main(folder: Path, *names: str) -> None:
    """Draws problems, by default all of them."""
    matplotlib.use("agg")
    (folder / "solved").mkdir(parents=True, exist_ok=True)
    files = []
    for name in names or [*problems.names(), *problems.mpc.names()]:
        begin = time.perf_counter()
        files += draw(name, folder)
        print(f"{name:<28} {time.perf_counter() - begin:6.1f} s", flush=True)
    print(*write_thumbnails(files, folder), sep=os.linesep)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
