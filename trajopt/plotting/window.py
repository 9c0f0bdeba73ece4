"""Creation of figures: in a window or notebook if there is one, otherwise without pyplot."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.files import output_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float, *, dpi: float = 100.0, apart: bool = False) -> Figure:
    """Returns a new figure of size width × height [inch] with `dpi` pixels per inch.

    On a display or in a notebook it is a figure of pyplot, so that `plt.show()` shows it. Otherwise, or if `apart`, it
    has no window and needs no `plt.close`.
    """
    from matplotlib.figure import Figure

    from trajopt.plotting.layout import LinedUpLayout

    look: dict[str, Any] = {"figsize": (width, height), "dpi": dpi, "layout": LinedUpLayout(), "facecolor": "white"}
    if apart or not _has_window():
        return Figure(**look)
    from matplotlib import pyplot as plt

    return plt.figure(**look, FigureClass=_window_class())


def write(figure: Figure, path: Path) -> None:
    """Writes a figure to a file.

    For a PNG this gives the same bytes as `savefig`, which draws the figure twice, the first time for its layout.

    Raises:
        InvalidArgumentError: The file cannot be written, for example on a full disk.
    """
    with output_file(path) as file:
        if path.suffix.lower() != ".png":
            figure.savefig(file, format=path.suffix[1:].lower())
            return
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = figure.canvas
        try:
            FigureCanvasAgg(figure).print_png(file)
        finally:
            figure.set_canvas(canvas)


def _has_window() -> bool:
    """Whether pyplot's figures are shown: its backend draws to windows or notebooks, in the main thread."""
    import matplotlib
    from matplotlib.backends import BackendFilter, backend_registry

    silent = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)
    return matplotlib.get_backend().lower() not in silent and threading.current_thread() is threading.main_thread()


def _window_class() -> type[Figure]:
    """Returns the figure class; in a notebook with inline figures one that is shown once.

    Such a notebook shows open figures at the end of a cell, and again a figure that is the value of its last line.
    """
    import matplotlib
    from matplotlib.figure import Figure

    if not matplotlib.get_backend().lower().endswith("inline"):
        return Figure
    from trajopt.plotting.inline import InlineFigure

    return InlineFigure
