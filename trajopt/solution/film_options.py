"""Options of films, which solutions and logs pass on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy.typing as npt

from trajopt.robots.scene import ObstaclesLike

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan


class FilmOptions(TypedDict, total=False):
    """Options of `trajopt.display.film`; see there for their meaning."""

    fps: float | None
    speed: float | None
    seconds: float | None
    time: float | None
    size: tuple[int, int]
    camera: str | npt.ArrayLike
    obstacles: ObstaclesLike
    lines: Sequence[npt.ArrayLike]
    grid: OccupancyGrid | None
    scans: Scan | Sequence[Scan]
    progress: bool
