"""Texts of a figure as they are drawn: none leaves the figure, and no two overlap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 1.0  # overlap that antialiasing leaves invisible [pixel]


@contextmanager
def recorded() -> Iterator[list[tuple[str, Bbox]]]:
    """Records each text that matplotlib draws, with its bounding box [pixel]."""
    drawn: list[tuple[str, Bbox]] = []
    draw = Text.draw

    def record(self: Text, renderer: object, *args: object, **kwargs: object) -> None:
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))  # type: ignore[arg-type]
        draw(self, renderer, *args, **kwargs)  # type: ignore[arg-type]

    Text.draw = record  # type: ignore[method-assign]
    try:
        yield drawn
    finally:
        Text.draw = draw  # type: ignore[method-assign]


def text_faults(figure: Figure) -> list[str]:
    """Describes each text that leaves the figure, each pair that overlaps, and each legend that covers a panel.

    The figure is drawn once, as for a file.
    """
    with recorded() as drawn:
        figure.draw_without_rendering()
    return faults_of(figure, drawn)


def faults_of(figure: Figure, drawn: list[tuple[str, Bbox]]) -> list[str]:
    """Faults of a drawn figure with these texts."""
    faults = []
    width, height = figure.bbox.width, figure.bbox.height
    for text, box in drawn:
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK:
            faults.append(f"{text!r} leaves the figure: {box.extents.round().tolist()} of {width:.0f} x {height:.0f}")
    for (one, a), (other, b) in itertools.combinations(drawn, 2):
        if _overlap(a, b) and not (one == other and a.extents.tolist() == b.extents.tolist()):
            faults.append(f"{one!r} overlaps {other!r} at {a.extents.round().tolist()}")
    panels = [axes for axes in figure.findobj(Axes) if axes.name != "3d" and axes.get_visible()]
    for legend in figure.findobj(Legend):
        for axes in panels:
            if _overlap(legend.get_window_extent(), axes.get_window_extent()):
                faults.append(f"a legend with {legend.get_texts()[0].get_text()!r} covers {axes.get_ylabel()!r}")
    return faults


def _overlap(a: Bbox, b: Bbox) -> bool:
    across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return across > SLACK and up > SLACK


def check_texts(figure: Figure) -> None:
    """Asserts that all texts of a figure are inside it, apart from each other and beside its panels' legends."""
    faults = text_faults(figure)
    assert not faults, "\n".join(faults)
