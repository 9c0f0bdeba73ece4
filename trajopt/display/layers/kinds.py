"""Selection of a view's layers, with the objects that its caller adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from trajopt.analysis import StateCovariance
from trajopt.analysis.basics import check_solution
from trajopt.checks import check_known, check_texts
from trajopt.display.layers import LAYERS, LayerKind
from trajopt.display.layers.around import around
from trajopt.display.layers.sensed import sensed
from trajopt.display.layers.uncertainty import uncertain
from trajopt.robots.scene import ObstaclesLike

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan


def layer_kinds(
    solutions: Any,
    *,
    layers: Sequence[str],
    obstacles: ObstaclesLike,
    lines: Sequence[npt.ArrayLike],
    covariance: StateCovariance | None,
    grid: OccupancyGrid | None,
    scans: Scan | Sequence[Scan],
) -> tuple[LayerKind, ...]:
    """Returns the kinds of layers that a view may have.

    Args:
        solutions: The displayed solutions.
        layers: Labels of hidden layers to show, as in `trajopt.display.show`; likewise the other arguments.
        obstacles: Obstacles besides those in costs and constraints.
        lines: Polylines.
        covariance: Covariances of the first solution.
        grid: Map.
        scans: One scan, or one for each knot.

    Raises:
        InvalidArgumentError: An argument does not fit.
        UnknownNameError: There is no layer of this name.
    """
    several = solutions if isinstance(solutions, (list, tuple)) else [solutions]
    more: tuple[LayerKind, ...] = ()
    if several:
        first = check_solution(several[0])
        more = (*uncertain(covariance, first), *sensed(grid, scans, first))
    kinds = (*LAYERS, *around(obstacles, lines), *more)
    wanted = {check_known("layers", name, [kind.label for kind in kinds]) for name in check_texts("layers", layers)}
    return tuple(replace(kind, on=True) if kind.label in wanted else kind for kind in kinds)
