"""Live view of a solve or a controller, which shows each new trajectory."""

from __future__ import annotations

import logging
import threading
import time
from html import escape
from typing import Any

import numpy as np

from trajopt.callbacks import Callback
from trajopt.checks import check_flag, check_instance, check_non_negative, check_positive
from trajopt.display.extra import DISPLAY
from trajopt.display.iterate import ShownIterate
from trajopt.display.layers import LAYERS
from trajopt.display.page import check_address
from trajopt.display.view import View
from trajopt.errors import InvalidArgumentError, TrajoptError, shown
from trajopt.plotting.style import BLUE
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)
_LIVE = tuple(kind for kind in LAYERS if kind.body or kind.label in ("paths", "goals", "obstacles"))
_TALL = 180  # height of the cost chart [pixel]


class CallbackDisplay(Callback):
    """Page in the browser that shows each iterate of a solve, or each plan of a controller, as it is computed.

        view = CallbackDisplay(problem)
        SolverFDDP(problem, callbacks=[view]).solve()                     # iterates, then the solution
        simulate(controller, None, x0, 2.0, on_step=view.show_plan)       # plans of a controller of this problem

    The solve passes copies of its trajectories to a thread, which draws at most `rate` per second. A fast solve shows
    only some iterates, but always the last. While no page is open, nothing is copied or drawn.

    Args:
        problem: The problem; None for that of the first solve, whose page is created when it starts.
        rate: Largest number of trajectories drawn per second, > 0 [1/s].
        pause: Time that the solve waits after each iteration while a page is open, >= 0 [s].
        host: Address at which the server listens.
        port: Port of the server; 0 selects a free port.
        browser: Whether to open the page.

    Attributes:
        view: The view; None until there is a problem.

    Raises:
        InvalidArgumentError: An argument has a wrong type or value, or there is nothing to show.
        MissingDependencyError: The extra `display` is not installed.
    """

    def __init__(
        self,
        problem: ShootingProblem | None = None,
        *,
        rate: float = 20.0,
        pause: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
        browser: bool = True,
    ) -> None:
        self._period = 1.0 / check_positive("rate", rate, unit="1/s")
        self._pause = check_non_negative("pause", pause, unit="s")
        DISPLAY.load("viser")
        DISPLAY.load("trimesh")
        self._host, self._port, self._browser = check_address(host, port), port, check_flag("browser", browser)
        self.view: View | None = None
        self._problem: ShootingProblem | None = None
        self._lock, self._news = threading.Lock(), threading.Event()
        self._latest: tuple[Reals, str, bool] | None = None  # states, text, whether it is a plan
        self._costs: list[float] = []
        if problem is not None:
            self._make(problem)

    def start(self, problem: ShootingProblem, solver_name: str) -> None:
        """Creates the page for the first problem; later problems must have the same sizes."""
        if self.view is None:
            self._make(problem)
        self._check(problem)
        self._costs.clear()

    def __call__(self, record: IterationRecord) -> None:
        """Passes the trajectory of an iteration to the page, if it is open."""
        self._costs.append(record.cost)
        if self.watched:
            words = f"iteration {record.iteration}, cost {record.cost:.6g}"
            if not np.isnan(record.constraint_violation):
                words += f", violated by {record.constraint_violation:.2g}"
            self._hand_over(record.trajectory[0], words, plan=False)
            if self._pause:
                time.sleep(self._pause)

    def finish(self, solution: Solution) -> None:
        """Passes the solution to the page."""
        words = f"{solution.status}: cost {solution.cost:.6g} after {solution.iterations} iterations"
        self._hand_over(solution.xs.copy(), words, plan=False)

    def show_plan(self, step: Any) -> None:
        """Shows the plan of a controller's step, an `MPCStep` with the knots of the problem.

        The body is at the measured state, and its paths are those of the plan.
        """
        if not all(hasattr(step, name) for name in ("xs", "t", "cost", "status")):
            raise InvalidArgumentError(f"step: expected an MPCStep, such as from controller.step(x), got {shown(step)}")
        if self.view is None:
            raise InvalidArgumentError(
                "problem: expected one before the first plan, got none; use CallbackDisplay(controller.problem)"
            )
        if step.xs.shape != self._shape:
            raise InvalidArgumentError(
                f"step: expected a plan of shape {self._shape} like the problem's, got {step.xs.shape}; use "
                "CallbackDisplay(controller.problem)"
            )
        if self.watched:
            words = f"t = {step.t:.3f} s: {step.status}, cost {step.cost:.6g}"
            self._hand_over(step.xs.copy(), words, plan=True)

    @property
    def watched(self) -> bool:
        """Whether a page is open."""
        return self.view is not None and not self.view.closed and bool(self.view.server.get_clients())

    def close(self) -> None:
        """Ends the server."""
        if self.view is not None:
            self.view.close()
            self._news.set()

    def _make(self, problem: ShootingProblem) -> None:
        """Creates the page."""
        first: Any = ShownIterate.at_rest(check_instance("problem", problem, ShootingProblem, "such as case.problem"))
        self._problem = problem
        view = View(first, labels=["live"], host=self._host, port=self._port, layers=_LIVE, panels=())
        gui = view.server.gui
        with gui.add_folder("Live"):
            self._words = gui.add_html("")
            self._chart = gui.add_uplot(**_costs_look([]), height=_TALL)
        self._shape = first.xs.shape
        self.view = view
        threading.Thread(target=self._draw_forever, args=(view,), name="trajopt live view", daemon=True).start()
        if self._browser:
            view.open()

    def _check(self, problem: ShootingProblem) -> None:
        """Raises InvalidArgumentError unless trajectories of a problem have the sizes of the page."""
        shape = (problem.T + 1, problem.state.nx)
        if shape != self._shape:
            raise InvalidArgumentError(
                f"problem: expected states of shape {self._shape} like the first problem's, got {shape}; create "
                "another CallbackDisplay for it"
            )

    def _hand_over(self, xs: Reals, words: str, *, plan: bool) -> None:
        with self._lock:
            self._latest = (xs, words, plan)
        self._news.set()

    def _draw_forever(self, view: View) -> None:
        """Draws the latest trajectory whenever there is a new one, until the view is closed."""
        while not view.closed:
            if self._news.wait(0.5):
                self._news.clear()
                try:
                    self.draw()
                except TrajoptError as error:  # for example a path through a state that a model rejects
                    _LOG.warning("live view: not drawn: %s", error)
                time.sleep(self._period)

    def draw(self) -> None:
        """Draws the latest trajectory now, unless it has been drawn."""
        with self._lock:
            latest, self._latest = self._latest, None
        if latest is None or self.view is None or self.view.closed:
            return
        xs, words, plan = latest
        self._words.content = f'<div style="padding:0 1em;font-size:0.85em">{escape(words)}</div>'
        self._chart.data = _costs_look(self._costs)["data"]
        if np.all(np.isfinite(xs)):
            self.view.actors["live"].follow(xs)
            if plan:
                self.view.player.pause()
            self.view.player.time = 0.0 if plan else self.view.player.time


def _costs_look(costs: list[float]) -> dict[str, Any]:
    """Arguments of viser's chart for the costs of all iterations."""
    values = np.array(costs[:]) if costs else np.zeros(1)
    return {
        "data": (np.arange(1.0, len(values) + 1.0), values),
        "series": ({"label": "iteration"}, {"label": "cost", "stroke": BLUE, "width": 1.5}),
        "scales": {"x": {"time": False}},
        "axes": ({"label": "iteration"}, {"label": "cost"}),
        "legend": {"show": False},
    }
