"""The file of a view: recorded messages, with a title, legend, layers and curves around the scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from trajopt.analysis.gaps import no_motion
from trajopt.display.actor import Actor
from trajopt.display.layers import PanelKind
from trajopt.display.layers.curves import Chart, Curves, charts_of, has_curves
from trajopt.display.player import Player
from trajopt.display.scripts import file_script, without_scripts
from trajopt.display.stage import light_as_usual
from trajopt.plotting.style import PALETTE
from trajopt.solution import Solution
from trajopt.types import Reals

FRAMES = 1500  # largest number of frames
_MICRO = 6  # digits of times [s]
_DIGITS = 5  # significant digits of curves


def offline_page(
    server: Any, player: Player, actors: dict[str, Actor], panels: Sequence[PanelKind], rate: float
) -> str:
    """Returns a page that plays the motion without a server.

    Args:
        server: viser's server.
        player: Clock of the view.
        actors: Bodies and layers by label.
        panels: Kinds of panels of the view.
        rate: Frame rate, > 0 [1/s].
    """
    first = next(iter(actors.values()))
    times, stops = moments(player.knots, player.duration, rate)
    with _all_visible(actors) as layers, _still(player):
        recording = server.get_scene_serializer()
        for before, time in pairwise(times.tolist()):
            recording.insert_sleep(time - before)
            player.time = time
        if player.duration:
            recording.insert_sleep(1.0 / rate)  # the player begins anew as soon as it is at the end
        light_as_usual(recording)
        without_scripts(recording)
        _without_switches(recording, {layer["path"] for layer in layers})
        page = str(recording.as_html())
    title = ", ".join(actors)
    solution = first.solution
    data = {
        "title": title,
        "words": _words(solution),
        "layers": layers,
        "charts": _charts(solution, panels),
        "palette": PALETTE,
        "stops": stops.tolist(),
    }
    page = page.replace("<title>Viser</title>", f"<title>{escape(title)}</title>", 1)
    before, end, after = page.rpartition("</body>")
    return before + file_script(data) + end + after


def moments(knots: Reals, duration: float, rate: float) -> tuple[Reals, Reals]:
    """Returns times of recorded frames (n,), from 0 to the duration, and those to which arrow keys go (m,) [s].

    Arrow keys go from knot to knot, and knots are frames too, unless that is more than 1,500.

    Args:
        knots: Times of the knots, ascending [s].
        duration: Time of the last knot [s].
        rate: Frame rate [1/s].
    """
    even = np.minimum(np.arange(int(np.ceil(duration * rate - 1e-9)) + 1) / rate, duration).round(_MICRO)
    stops = np.unique(np.round(knots, _MICRO))
    both = np.union1d(even, stops)
    return (both, stops) if len(both) <= FRAMES else (even, even)


@contextmanager
def _still(player: Player) -> Iterator[None]:
    """Context in which the clock is at the start and does not run; it goes on where it was."""
    playing, time = player.playing, player.time
    player.pause()
    player.time = 0.0
    try:
        yield
    finally:
        player.time = time
        if playing:
            player.play()


@contextmanager
def _all_visible(actors: dict[str, Actor]) -> Iterator[list[dict[str, Any]]]:
    """Context in which all solutions and layers are built and move; yields entries of the file's checkboxes.

    Those that were hidden are hidden again at the end.
    """
    first = next(iter(actors.values()))
    things: dict[str, Any] = dict(actors) if len(actors) > 1 else {}
    things |= first.layers
    before = {label: thing.visible for label, thing in things.items()}
    for thing in things.values():
        thing.visible = True
    try:
        yield [
            {"label": label, "note": thing.note, "color": thing.legend, "path": thing.path, "on": before[label]}
            for label, thing in things.items()
            if thing.visible  # a layer whose numbers cannot be computed stays hidden
        ]
    finally:
        for label, thing in things.items():
            thing.visible = before[label]


def _charts(solution: Solution, panels: Sequence[PanelKind]) -> list[dict[str, Any]]:
    """Charts as plain data, if the view has a panel of curves."""
    if not has_curves(solution) or not any(kind.build is Curves for kind in panels):
        return []
    return [_chart(chart) for chart in charts_of(solution)]


def _chart(chart: Chart) -> dict[str, Any]:
    low, high = chart.ends
    every = [[_short(value) for value in row] for row in (chart.times, *chart.values)]
    return {
        "title": chart.title,
        "names": chart.names,
        "times": every[0],
        "values": every[1:],
        "low": low,
        "high": high,
    }


def _short(value: float) -> float | None:
    """A number with few digits; None for NaN, which JSON does not have."""
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None


def _words(solution: Solution) -> str:
    """Result of a solve in one line."""
    T, times = len(solution.xs) - 1, solution.times
    knots = f"{T} knots" if times is None else f"{T} knots, {times[-1] - times[0]:.4g} s"
    cost = f"cost {solution.cost:.6g}; " if np.isfinite(solution.cost) else ""
    return "; ".join([f"{solution.solver}: {solution.status}", *filter(None, [no_motion(solution)]), f"{cost}{knots}"])


def _without_switches(recording: Any, paths: set[str]) -> None:
    """Removes from a recording what shows and hides layers, which the file's checkboxes do."""
    kind = "SetSceneNodeVisibilityMessage"
    messages = recording._messages
    recording._messages = [(t, m) for t, m in messages if m["type"] != kind or m["name"] not in paths]
