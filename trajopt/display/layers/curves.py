"""Curves of states, controls and costs over time, with a line at the current time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.analysis.lines import panels_of
from trajopt.display.layers.base import Panel
from trajopt.display.layers.films import film
from trajopt.errors import TrajoptError
from trajopt.plotting.style import GREY, PALETTE
from trajopt.solution import Solution
from trajopt.types import Reals

_STEPS = 200  # number of positions of the time line, which limits redrawing of the page [-]
_ROOM = 0.06  # margin above and below the curves, relative to their range [-]
_TALL = 230  # height of a chart [pixel]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Curves that share an axis.

    Attributes:
        title: Quantity and unit, with limb or joint if there are several.
        names: Name of each curve (n,).
        times: Abscissa (m,) [s]; for controls, which are constant over a knot, each knot occurs twice.
        values: Curves (n, m); NaN without a value.
    """

    title: str
    names: tuple[str, ...]
    times: Reals
    values: Reals

    @property
    def ends(self) -> tuple[float, float]:
        """Range (low, high) of the ordinate that shows all finite values, with a margin."""
        finite = self.values[np.isfinite(self.values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        room = _ROOM * (high - low) or 1e-3 * max(abs(low), 1.0)
        return low - room, high + room

    def at(self, time: float) -> tuple[Reals, ...]:
        """Returns the table columns (n + 2, m + 2): times, curves, and a vertical line at a time [s]."""
        k = int(np.searchsorted(self.times, time, side="right"))
        own = [np.insert(row, k, [np.interp(time, self.times, row)] * 2) for row in self.values]
        line = np.insert(np.full(len(self.times), np.nan), k, self.ends)
        return np.insert(self.times, k, [time, time]), *own, line


def charts_of(solution: Solution) -> list[Chart]:
    """Returns the charts of a solution: states, controls and torques as in `plot_solution`, then cost terms.

    Args:
        solution: The solution.
    """
    times = film(solution).times
    charts = []
    for panel in panels_of(solution):
        first = panel[0]
        words = " ".join(dict.fromkeys(word for word in (first.limb, first.owner, first.quantity) if word))
        held = len(first.values) < len(times)
        values = np.array([line.values for line in panel])
        charts.append(
            Chart(
                title=f"{words} [{first.unit}]" if first.unit else words,
                names=tuple(line.name for line in panel),
                times=np.repeat(times, 2)[1:-1] if held else times,
                values=np.repeat(values, 2, axis=1) if held else values,
            )
        )
    terms = _cost_terms(solution)
    if terms:
        charts.append(
            Chart(title="cost by term [cost]", names=tuple(terms), times=times, values=np.array([*terms.values()]))
        )
    return charts


def _cost_terms(solution: Solution) -> dict[str, Reals]:
    """Cost terms over the knots (T + 1,); empty if they cannot be computed."""
    try:
        return dict(solution.description.cost_terms or {})
    except TrajoptError:  # for example a state of a failed solve that is not finite
        return {}


class Curves(Panel):
    """One chart, selected from a list, with a grey line at the current time."""

    def __init__(self, gui: Any, solution: Solution) -> None:
        super().__init__(gui, solution)
        self.charts = {chart.title: chart for chart in charts_of(solution)}
        self._label, self._end = film(solution).label, float(film(solution).times[-1])
        titles = tuple(self.charts)
        self._time, self._place = 0.0, 0
        self._choice = gui.add_dropdown("quantity", titles, initial_value=titles[0])
        self._plot = gui.add_uplot(**self._look(self.charts[titles[0]]), height=_TALL)
        self._choice.on_update(lambda _: self._draw())

    @property
    def shown(self) -> Chart:
        """The selected chart."""
        return self.charts[self._choice.value]

    def at(self, time: float) -> None:
        self._time = time
        place = round(_STEPS * time / self._end) if self._end > 0.0 else 0
        if place != self._place:
            self._place, self._plot.data = place, self.shown.at(time)

    def _draw(self) -> None:
        """Draws the selected chart."""
        for name, value in self._look(self.shown).items():
            setattr(self._plot, name, value)

    def _look(self, chart: Chart) -> dict[str, Any]:
        """Arguments of viser's chart."""
        series: list[dict[str, Any]] = [{"label": "time [s]"}]
        series += [
            {"label": name, "stroke": PALETTE[i % len(PALETTE)], "width": 1.5} for i, name in enumerate(chart.names)
        ]
        series.append({"label": "now", "stroke": GREY, "width": 1.5})
        return {
            "data": chart.at(self._time),
            "series": tuple(series),
            "scales": {"x": {"time": False}, "y": {"range": chart.ends}},
            "axes": ({"label": "time [s]"}, {"label": chart.title}),
            "legend": {"live": True},
        }


def has_curves(solution: Solution) -> bool:
    """Whether there is more than one knot, so that curves can be drawn."""
    return len(solution.xs) > 1
