"""Plot of an identification: controls of a log, measured and of the model before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks import check_count
from trajopt.plotting.style import BLUE, GREY, RED, drawing, label_row, legend_below, set_time_axis, whole_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.identification import Identification


def plot_identification(result: Identification, *, log: int = 0, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws each control of a log: as measured, and as the model before and after identification needs for the motion.

    Args:
        result: The identification.
        log: Number of the log.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("identified.png")` writes it.
    """
    number = check_count("log", log, most=len(result.logs) - 1)
    times, measured = result.logs[number].times[:-1], result.logs[number].controls
    count = measured.shape[1]
    with drawing(figure, 11.0, 1.2 + 1.25 * count) as target:
        panels = np.ravel(target.subplots(count, 1, sharex=True, squeeze=False))
        for i, axes in enumerate(panels):
            axes.plot(times, measured[:, i], ".", color=GREY, markersize=3.0, label="measured")
            axes.plot(times, result.controls_before[number][:, i], color=RED, linewidth=1.1, label="model before")
            axes.plot(times, result.controls[number][:, i], color=BLUE, linewidth=1.1, label="model after")
            unit = result.control_units[i]
            label_row(axes, result.control_names[i], f"[{unit}]" if unit not in ("", "-") else "", count)
        several = (
            f"log {number} of {len(result.logs)} (0 to {len(result.logs) - 1}); all: " if len(result.logs) > 1 else ""
        )
        panels[0].set_title(f"{several}chi²/dof = {result.chi2 / max(result.dof, 1):.3f}")
        set_time_axis(panels[-1], result.logs[number].times, "time [s]")
        legend_below(target, panels[0].get_lines())
        return whole_figure(target)
