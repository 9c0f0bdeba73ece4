"""Plot of a retimed path: velocities, accelerations, torques and jerks, relative to their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.plotting.style import GREY, drawing, label_row, legend_below, set_time_axis, whole_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.retiming import RetimedPath

POINTS = 1000


def plot_retimed(result: RetimedPath, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws each joint's velocity, acceleration, torque and jerk over time, as parts of the limits that there are.

    Args:
        result: The motion.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("retimed.png")` writes it.

    Raises:
        UnsupportedOperationError: The solver stopped before the path has a motion.
    """
    times = np.linspace(0.0, result.times[-1], POINTS)  # raises without a motion
    used = result.parts(times)
    with drawing(figure, 8.0, 1.4 + 1.6 * len(used)) as target:
        panels = np.ravel(target.subplots(len(used), 1, sharex=True, squeeze=False))
        for axes, (name, values) in zip(panels, used.items()):
            for i, joint in enumerate(result.robot.joint_names[-values.shape[1] :]):
                axes.plot(times, values[:, i], linewidth=1.2, label=joint)
            for bound in (-1.0, 1.0):
                axes.axhline(bound, color=GREY, linewidth=0.8, linestyle="--")
            axes.set_ylim(-1.15, 1.15)
            label_row(axes, name, "[of limit]", len(used))
        panels[0].set_title(f"{result.duration:.3f} s")
        set_time_axis(panels[-1], times, "time [s]")
        legend_below(target, panels[0].get_lines()[: result.robot.nv])
        return whole_figure(target)
