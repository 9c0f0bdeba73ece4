"""Valid arguments of views, and objects to call methods on; every server is closed after its call."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.controlled import plan
from tests.fuzz.worlds import World, folder, world
from trajopt.display import CallbackDisplay, Page, Timeline, View
from trajopt.display.layers import LAYERS, PANELS


def _solution(w: World, rng: Random) -> Any:
    return w.solution if not w.legged else w.legged_solution


def _solutions(w: World, rng: Random) -> Any:
    one = _solution(w, rng)
    return rng.choice([one, [one], (world("vector").drive,)])


def _iterates(w: World, rng: Random) -> Any:
    return [np.array(_solution(w, rng).xs) for _ in range(2)]


FIXED_DISPLAYED: dict[str, Callable[[World, Random], Any]] = {
    "Page": lambda w, rng: Page(words="solving"),
    "View": lambda w, rng: View(_solution(w, rng), iterates=_iterates(w, rng)),
    "Timeline": lambda w, rng: Timeline(_solution(w, rng)),
    "CallbackDisplay": lambda w, rng: CallbackDisplay(w.problem(rng, expressions=True), browser=False),
}
"""Objects to call methods on."""

DISPLAYED: dict[str, Callable[[World, Random], Any]] = {
    "host": lambda w, rng: "127.0.0.1",
    "port": lambda w, rng: 0,
    "browser": lambda w, rng: False,
    "View.solutions": _solution,
    "View.iterates": _iterates,
    "View.labels": lambda w, rng: ["one"],
    "View.layers": lambda w, rng: rng.choice([(), LAYERS[:3]]),
    "View.panels": lambda w, rng: rng.choice([(), PANELS]),
    "View.page": lambda w, rng: rng.choice([None, Page()]),
    "View.choose.iteration": lambda w, rng: rng.choice([0, 1]),
    "View.save.path": lambda w, rng: folder() / "view.html",
    "frames_per_second": lambda w, rng: rng.uniform(5.0, 30.0),
    "show.solutions": _solutions,
    "show.path": lambda w, rng: rng.choice([None, folder() / "shown.html"]),
    "show.labels": lambda w, rng: ["one"],
    "show.iterates": lambda w, rng: (),
    "show.layers": lambda w, rng: rng.choice([(), ["margins"]]),
    "show.obstacles": lambda w, rng: [[1.0, 2.0, 0.5]],
    "show.covariance": lambda w, rng: None,
    "film.solution": _solution,
    "film.path": lambda w, rng: folder() / rng.choice(["film.gif", "still.png"]),
    "film.fps": lambda w, rng: rng.uniform(5.0, 30.0),
    "film.speed": lambda w, rng: rng.uniform(0.5, 2.0),
    "film.seconds": lambda w, rng: None,
    "film.time": lambda w, rng: rng.choice([None, 0.0]),
    "film.size": lambda w, rng: (rng.randint(64, 99), rng.randint(64, 99)),
    "film.camera": lambda w, rng: rng.choice(["corner", "top", [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]]),
    "film.obstacles": lambda w, rng: [[1.0, 2.0, 0.5]],
    "Timeline.knots.times": lambda w, rng: [0.0, 0.1],
    "CallbackDisplay.problem": lambda w, rng: rng.choice([None, w.problem(rng)]),
    "CallbackDisplay.rate": lambda w, rng: rng.uniform(1.0, 30.0),
    "CallbackDisplay.pause": lambda w, rng: rng.uniform(0.0, 0.1),
    "CallbackDisplay.show_plan.step": plan,
}
"""By door and argument, or by argument."""
