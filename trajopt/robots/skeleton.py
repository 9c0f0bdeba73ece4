"""Skeleton of a moving body: points, and lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class Solid:
    """A convex solid that moves.

    Attributes:
        points: Points in the world whose convex hull is the solid, shape (T + 1, n, 3) [m].
        color: Colour; None for the default of the picture.
    """

    points: Reals
    color: str | None = None


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """Points of a body at every knot, and the lines between them.

    A robot derives one from its joints. An action model without a robot, or its differential model, may define a method
    `skeleton(xs, parameters)` that returns one for states (T + 1, nx); animations then show it. `parameters` are the
    problem's run-time parameters by name, with their values at the first knot.

    Attributes:
        points: Positions of the base, the joints and the ends in the world, shape (T + 1, n, 3) [m].
        bones: Pairs of points joined by a moving line.
        fixed: Pairs of points joined by a line that never moves: the base.
        sliders: Indices of points that slide in the world, such as a cart.
        tracks: Indices of points whose paths are drawn.
        solids: Solids that move with the body.
    """

    points: Reals
    bones: Sequence[tuple[int, int]]
    fixed: Sequence[tuple[int, int]] = ()
    sliders: Sequence[int] = ()
    tracks: Sequence[int] = ()
    solids: Sequence[Solid] = ()
