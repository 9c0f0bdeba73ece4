"""Figure of a notebook with inline pictures; a module of its own, as it needs matplotlib when it is imported."""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.figure import Figure


class InlineFigure(Figure):
    """A figure that is shown once: as the value of a cell's last line, by `display`, or at the end of the cell."""

    def _ipython_display_(self) -> None:
        """Closes the figure, as open ones are shown at the end of a cell; then IPython shows it as any other.

        Raises:
            NotImplementedError: Always; it makes IPython go on to the figure's picture.
        """
        plt.close(self)
        raise NotImplementedError
