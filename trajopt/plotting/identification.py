"""Plot of an identification: states and controls of a log, measured and as identified, with their residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks import check_count
from trajopt.plotting.style import BLUE, GREY, RED, drawing, label_row, legend_below, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.identification import Identification

_BAND = 2.0  # half width of the band of the noise, in standard deviations [-]


def plot_identification(result: Identification, *, log: int = 0, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws each state and control of a log: as measured and as identified, and beside it measured minus identified.

    Controls are also drawn as the model before identification needs them for the same motion. The band of the
    residuals is ± two standard deviations of the noise: at least 95 % of them are inside if model and noise are right.

    Args:
        result: The identification.
        log: Number of the log.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("identified.png")` writes it.
    """
    number = check_count("log", log, most=len(result.logs) - 1)
    rows = _rows(result, number)
    with drawing(figure, 12.0, 1.2 + 1.25 * len(rows)) as target:
        panels = target.subplots(len(rows), 2, sharex=True, squeeze=False, width_ratios=(3, 2))
        for row, (curve, rest) in zip(rows, panels):
            row.draw(curve, rest, len(rows))
        several = (
            f"log {number} of {len(result.logs)} (0 to {len(result.logs) - 1}); all: " if len(result.logs) > 1 else ""
        )
        panels[0, 0].set_title(f"{several}chi²/dof = {result.chi2 / max(result.dof, 1):.3f}")
        panels[0, 1].set_title(f"measured - model after; band: noise, ±{_BAND:g} σ")
        for axes in panels[-1]:
            set_time_axis(axes, result.logs[number].times, "time [s]")
        entries = {line.get_label(): line for axes in panels[:, 0] for line in axes.get_lines()}
        legend_below(target, list(entries.values()))
        return whole_figure(target)


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A state or control over time."""

    name: str
    unit: str
    noise: float  # inf if it is not measured, NaN if unknown
    times: Reals
    measured: Reals
    after: Reals
    before: Reals | None = None

    def draw(self, curve: Axes, rest: Axes, count: int) -> None:
        """Draws the curves and the residuals."""
        if self.before is not None:
            curve.plot(self.times, self.before, color=RED, linewidth=1.1, label="model before")
        if np.isfinite(self.measured).all() and not np.isinf(self.noise):
            curve.plot(self.times, self.measured, ".", color=GREY, markersize=3.0, label="measured")
            rest.plot(self.times, self.measured - self.after, ".", color=BLUE, markersize=2.0)
            rest.axhspan(-_BAND * self.noise, _BAND * self.noise, color=GREY, alpha=0.15, linewidth=0)
        else:
            rest.text(0.5, 0.5, "not measured", transform=rest.transAxes, ha="center", va="center", color=GREY)
            rest.set_yticks([])
        curve.plot(self.times, self.after, color=BLUE, linewidth=1.1, label="model after")
        label_row(curve, self.name, f"[{self.unit}]" if self.unit not in ("", "-") else "", count)
        rest.tick_params(axis="y", labelsize=6.0)
        rest.locator_params(axis="y", nbins=2 if count > 6 else 4)


def _rows(result: Identification, log: int) -> list[_Row]:
    times, own = result.logs[log].times, result.logs[log]
    states = zip(result.state_names, result.state_units, result.state_noise, own.states.T, result.states[log].T)
    rows = [
        _Row(name=name, unit=unit, noise=float(noise), times=times, measured=measured, after=after)
        for name, unit, noise, measured, after in states
    ]
    controls = zip(
        *(result.control_names, result.control_units, result.control_noise),
        *(own.controls.T, result.controls[log].T, result.controls_before[log].T),
    )
    return rows + [
        _Row(name=f"u:{name}", unit=unit, noise=float(noise), times=times[:-1], measured=measured, after=after,
             before=before)
        for name, unit, noise, measured, after, before in controls
    ]  # fmt: skip
