"""A backend of matplotlib with windows that exist on paper: what `plt.show()` would show is in `SHOWN`."""

from __future__ import annotations

from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

SHOWN: list[Any] = []
"""Figures that were shown."""


class FigureManager(FigureManagerBase):
    """A window on paper."""

    def show(self) -> None:
        """Notes the figure."""
        SHOWN.append(self.canvas.figure)

    @classmethod
    def start_main_loop(cls) -> None:
        """Returns at once."""


class FigureCanvas(FigureCanvasAgg):
    """A canvas in such a window."""

    manager_class = FigureManager  # type: ignore[assignment]
