"""New figures: in a window or a notebook where there is one, else apart from pyplot."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float, *, dpi: float = 100.0, apart: bool = False) -> Figure:
    """A new figure of size width × height [inch] with `dpi` pixels an inch.

    With a display or in a notebook it is one of pyplot's, so that `plt.show()` shows it. Without, or if `apart`, it
    belongs to no window and needs no `plt.close`.
    """
    from matplotlib.figure import Figure

    if apart or not _has_window():
        return Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), dpi=dpi, layout="constrained", FigureClass=_window_class())


def write(figure: Figure, path: Path) -> None:
    """Writes a figure that was made apart from windows to a file.

    `savefig` has the bytes of the same PNG after it has drawn the figure twice, the first time for its layout.
    """
    if path.suffix.lower() != ".png":
        figure.savefig(path)
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = figure.canvas
    FigureCanvasAgg(figure).print_png(path)
    figure.set_canvas(canvas)


def _has_window() -> bool:
    """Whether pyplot's figures are shown: its backend draws into windows or notebooks, and this is the main thread."""
    import matplotlib
    from matplotlib.backends import BackendFilter, backend_registry

    silent = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)
    return matplotlib.get_backend().lower() not in silent and threading.current_thread() is threading.main_thread()


def _window_class() -> type[Figure]:
    """Figure's class; in a notebook with inline pictures one that is shown once.

    There, open figures are shown when a cell ends, and a figure that is the value of the cell's last line once more.
    """
    import matplotlib
    from matplotlib.figure import Figure

    if not matplotlib.get_backend().lower().endswith("inline"):
        return Figure
    from trajopt.plotting.inline import InlineFigure

    return InlineFigure
