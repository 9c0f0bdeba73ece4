"""Playback of a view: play, pause, speed and time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.checks import check_finite, check_positive
from trajopt.types import Reals

RATE = 30.0  # frame rate [1/s]
_BACK, _ON = "\u2039", "\u203a"  # labels of the buttons for single knots
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
_HOLD = 0.7  # pause at the start when a page opens, and at the end before the motion repeats [s]


class Player:
    """Clock of a view, with play button, time slider and speeds; `start` runs it.

    It is stopped while no page is open, so that a page shows the motion from its start.

    Args:
        gui: viser's controls.
        knots: Times of the knots, at which single steps stop; the last is the end of the motion (n,) [s].
        show: Function that shows a time [s]; it is called by one thread at a time.
        watched: Function that returns whether a page is open.
        playing: Whether the motion plays at first.
    """

    def __init__(
        self,
        gui: Any,
        knots: Reals,
        show: Callable[[float], None],
        watched: Callable[[], bool],
        *,
        playing: bool = True,
    ) -> None:
        self._knots: Reals = np.unique(knots)
        self.duration, self._show, self._watched = float(self._knots[-1]), show, watched
        self._lock, self._stopped, self._time = threading.RLock(), threading.Event(), 0.0
        self._playing, self._still = playing and self.duration > 0.0, _HOLD  # _still: remaining pause [s]
        self._button = gui.add_button("Pause" if self._playing else "Play")
        end = max(self.duration, 1e-3)
        self._slider = gui.add_slider("time [s]", min=0.0, max=end, step=end / 1000.0, initial_value=0.0)
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self._again = gui.add_checkbox("repeat", True)
        steps = gui.add_button_group("knot", (_BACK, _ON), hint="Keys: space plays and pauses, arrows go by one knot")
        steps.on_click(lambda event: self.step(1 if event.target.value == _ON else -1))
        self._button.on_click(lambda _: self.toggle())
        self._slider.on_update(self._dragged)
        self._thread = threading.Thread(target=self._run, name="trajopt player", daemon=True)

    def start(self) -> None:
        """Starts the clock."""
        self._thread.start()

    @property
    def knots(self) -> Reals:
        """Times of the knots, ascending (n,) [s]."""
        return self._knots

    @property
    def time(self) -> float:
        """Current time [s]; setting it shows that time."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        with self._lock:
            self._time = min(max(check_finite("time", value), 0.0), self.duration)
            self._slider.value = self._time
            self._show(self._time)

    @property
    def playing(self) -> bool:
        """Whether the motion plays."""
        return self._playing

    @property
    def speed(self) -> float:
        """Playback speed; 1 is real time [-]."""
        return float(self._speed.value)

    @speed.setter
    def speed(self, value: float) -> None:
        text = f"{check_positive('speed', value):g}"
        if text not in self._speed.options:
            self._speed.options = tuple(sorted({*self._speed.options, text}, key=float))
        self._speed.value = text

    def play(self) -> None:
        """Starts playing, from the start if the time is at the end."""
        with self._lock:
            if self._time >= self.duration:
                self.time = 0.0
            self._playing, self._still, self._button.label = self.duration > 0.0, 0.0, "Pause"

    def toggle(self) -> None:
        """Pauses if the motion plays, otherwise plays."""
        self.pause() if self.playing else self.play()

    def step(self, knots: int) -> None:
        """Pauses, and moves by a number of knots, backwards if it is negative."""
        with self._lock:
            self.pause()
            near = 1e-9 * max(self.duration, 1.0)
            if knots > 0:
                place = int(np.searchsorted(self._knots, self._time + near)) + knots - 1
            else:
                place = int(np.searchsorted(self._knots, self._time - near)) + knots
            self.time = float(self._knots[min(max(place, 0), len(self._knots) - 1)])

    def pause(self) -> None:
        """Stops playing."""
        with self._lock:
            self._playing, self._button.label = False, "Play"

    def close(self) -> None:
        """Ends the clock's thread."""
        self._stopped.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)

    def _dragged(self, event: Any) -> None:
        if event.client is not None:  # moved by the user, not by the clock
            self.pause()
            with self._lock:
                self._time = float(self._slider.value)
                self._show(self._time)

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stopped.wait(max(1.0 / RATE - (time.perf_counter() - last), 0.001)):
            now = time.perf_counter()
            passed, last = now - last, now
            with self._lock:
                if not self._watched():
                    self._still = _HOLD
                elif self._playing:
                    self._step(passed)

    def _step(self, passed: float) -> None:
        if self._still > 0.0:
            self._still -= passed
        elif self._time < self.duration:
            self.time = self._time + passed * self.speed
            self._still = _HOLD if self._time >= self.duration and self._again.value else 0.0
        elif self._again.value:
            self.time = 0.0
        else:
            self.pause()
