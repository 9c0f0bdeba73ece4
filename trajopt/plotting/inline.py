"""Figure for notebooks with inline figures; a separate module, as its import needs matplotlib."""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.figure import Figure


class InlineFigure(Figure):
    """A figure that is shown once: as the value of a cell's last line, by `display`, or at the end of the cell."""

    def _ipython_display_(self) -> None:
        """Closes the figure, since open figures are shown again at the end of a cell.

        Raises:
            NotImplementedError: Always; IPython then shows the figure in the usual way.
        """
        plt.close(self)
        raise NotImplementedError
