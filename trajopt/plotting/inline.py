"""Figure of a notebook with inline pictures; a module of its own, as it needs matplotlib when it is imported."""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.figure import Figure


class InlineFigure(Figure):
    """A figure that leaves it to the end of the cell to show it, while it is open."""

    def _ipython_display_(self) -> None:
        """Displays nothing; raises NotImplementedError for a closed figure, which IPython then shows as any other."""
        if not plt.fignum_exists(self.number):
            raise NotImplementedError
