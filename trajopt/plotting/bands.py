"""Bands below a time axis that show where each constraint is at a bound or violated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.constraints import ConstraintRows
from trajopt.plotting.style import BLUE, GREY, PALETTE, RED
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 8
"""Largest number of bands."""
BAND = 0.17
"""Height of a band in a figure [inch]."""
_LOOKS = ((PALETTE[5], "at a lower bound"), (BLUE, "at an upper bound"), (GREY, "equation"), (RED, "violated"))
_EMPTY = "#EDEDED"
_LETTERS = 24  # longest name of a band, in characters [-]
_WORDS = 28  # longest text in a band, in characters [-]


def bands_height(constraints: Sequence[ConstraintRows]) -> float:
    """Returns the height of the bands of constraints in a figure [inch]; 0 without constraints."""
    return BAND * min(len(constraints), MOST) + 0.06 if constraints else 0.0


def draw_bands(axes: Axes, constraints: Sequence[ConstraintRows], abscissa: Reals) -> None:
    """Draws a band for each constraint: pale where a knot has it, blue where it is active, red where it is violated.

    It is light blue where a row is at its lower bound, dark at its upper one, and has both colours where rows differ.
    The part of a knot ends where the next knot begins. A knot without duration, such as a touch-down and the end of
    the horizon, is a diamond. With more than eight constraints, violated and active ones are drawn first.

    Args:
        axes: Axes to draw into.
        constraints: The constraints.
        abscissa: Time of each knot (T + 1,) [s], or its number.
    """
    chosen = _chosen(constraints)
    for level, rows in enumerate(reversed(chosen)):
        present = np.zeros(len(abscissa), dtype=np.bool_)
        present[rows.knots] = True
        _fill(axes, level, present, abscissa, {"color": _EMPTY, "zorder": 1})
        low, high, *others = _flags(rows)
        for (color, _), flags in zip(_LOOKS, (low, high & ~low, *others)):
            _fill(axes, level, flags, abscissa, {"color": color, "zorder": 2, "label": "_band"})
        _fill(axes, level, low & high, abscissa, {"color": _LOOKS[1][0], "zorder": 3, "label": "_band"}, half=True)
        if rows.knots.tolist() == [len(abscissa) - 1]:
            words, color = _words(rows)
            axes.annotate(words, (float(abscissa[-1]), level), (-8, 0), textcoords="offset points", ha="right",
                          va="center", fontsize=7.5, color=color, annotation_clip=False)  # fmt: skip
    axes.set_yticks(range(len(chosen)), labels=[_short(rows.name) for rows in reversed(chosen)], fontsize=7.5)
    axes.set_ylim(-0.6, len(chosen) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.spines["left"].set_visible(False)


def band_entries(constraints: Sequence[ConstraintRows]) -> list[Any]:
    """Returns legend entries for the colours that occur in the bands of constraints."""
    from matplotlib.patches import Patch

    used = [any(_flags(rows)[i].any() for rows in _chosen(constraints)) for i in range(len(_LOOKS))]
    return [Patch(color=color, linewidth=0, label=name) for (color, name), there in zip(_LOOKS, used) if there]


def _chosen(constraints: Sequence[ConstraintRows]) -> list[ConstraintRows]:
    """Selects the constraints to draw, in their order."""
    weights = [(rows.violated.any(), int(rows.active.any(axis=1).sum())) for rows in constraints]
    first = sorted(range(len(constraints)), key=lambda i: weights[i], reverse=True)[:MOST]
    return [constraints[i] for i in sorted(first)]


def _flags(rows: ConstraintRows) -> tuple[npt.NDArray[np.bool_], ...]:
    """Flags of the knots for each colour."""
    violated = np.asarray((rows.violated & rows.enforced).any(axis=1))
    active = rows.active & ~rows.equations & rows.enforced & ~violated[:, None]
    below = rows.values - rows.lower < rows.upper - rows.values
    low, high = (active & below).any(axis=1), (active & ~below).any(axis=1)
    equations = (rows.equations & rows.enforced).any(axis=1) & ~violated & ~low & ~high
    return tuple(np.asarray(flags) for flags in (low, high, equations, violated))


def _fill(
    axes: Axes, level: int, flags: npt.NDArray[np.bool_], abscissa: Reals, look: dict[str, Any], *, half: bool = False
) -> None:
    """Draws the parts of a band whose knots have a flag (T + 1,); the upper half only if `half`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags[:-1].astype(int), [0]])))
    spans = [(abscissa[a], abscissa[b] - abscissa[a]) for a, b in zip(edges[::2], edges[1::2])]
    lasting = [span for span in spans if span[1] > 0.0]
    if lasting:
        axes.broken_barh(lasting, (level, 0.36) if half else (level - 0.36, 0.72), linewidth=0, **look)
    moments = [begin for begin, length in spans if length == 0.0] + ([abscissa[-1]] if flags[-1] else [])
    if moments:
        whole: dict[str, Any] = {"fillstyle": "top", "markeredgewidth": 0} if half else {}
        mark = {"marker": "D", "markersize": 5, "linestyle": "", "clip_on": False, **look, **whole}
        axes.plot(moments, [level] * len(moments), **{**mark, "zorder": look["zorder"] + 2})


def _words(rows: ConstraintRows) -> tuple[str, str]:
    """Text for a terminal constraint, and its colour: the violation, or the largest multiplier."""
    knot, row, excess = rows.largest(np.where(rows.violated & rows.enforced, rows.violations, 0.0))
    unit = f" {rows.units[row]}" if rows.units[row] else ""
    if excess > 0.0:
        return _fitting(_row(rows, row), f"off by {excess:.3g}{unit}"), RED
    if rows.multipliers is None:
        return "", GREY
    knot, row, size = rows.largest(rows.multipliers)
    words = _fitting(_row(rows, row), f"multiplier {rows.multipliers[knot, row]:.3g}") if size > 0.0 else ""
    return words, "#555555"


def _fitting(row: str, words: str) -> str:
    """Words with the name of a row, or without it where they would reach the band's label."""
    return f"{row}{words}" if len(row) + len(words) <= _WORDS else words


def _row(rows: ConstraintRows, row: int) -> str:
    return "" if len(rows.rows) == 1 else f"{rows.rows[row]}: "


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 3]}..."
