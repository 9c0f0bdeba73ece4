"""States of a motion at any time, interpolated between knots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.analysis.basics import check_solution
from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.plotting.film import KNOT
from trajopt.solution import Solution
from trajopt.types import Reals


class Timeline(Immutable):
    """Times of a solution's knots, and states between them.

    Between two knots x(t) = x_k ⊕ s (x_{k+1} ⊖ x_k), with s from 0 to 1. Knots without a time step last 50 ms.

    Args:
        solution: The solution.

    Attributes:
        times: Time of each knot (T + 1,) [s].
        timed: Whether the problem has times; otherwise they are knot numbers times 50 ms.

    Raises:
        InvalidArgumentError: A state is not finite.
    """

    settable = ("times",)

    def __init__(self, solution: Solution) -> None:
        times = check_solution(solution).times
        if not np.all(np.isfinite(solution.xs)):
            raise InvalidArgumentError(
                "solution: expected finite states, got NaN or inf; solution.explain() says why the solve failed"
            )
        self.timed = times is not None
        self.times: Reals = np.asarray(KNOT * np.arange(len(solution.xs)) if times is None else times - times[0])
        self._state = solution.description.state
        self._model = None if solution.robot is None else solution.robot.model

    @property
    def duration(self) -> float:
        """Time of the last knot [s]."""
        return float(self.times[-1])

    def knots(self, times: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], Reals]:
        """Returns the knot 0..T-1 at each time, and the fraction of its step that has passed, from 0 to 1, both (n,).

        At a time with several knots, as before and after an impulse, it is the last of them. After the end it is the
        end of the last knot with a duration.
        """
        at = np.atleast_1d(as_numbers("times", times, "times [s]"))
        last = max(int(np.searchsorted(self.times, self.times[-1])) - 1, 0)
        knots = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, last)
        start, end = self.times[knots], self.times[np.minimum(knots + 1, len(self.times) - 1)]
        step = np.where(end > start, end - start, 1.0)
        return knots, np.clip((at - start) / step, 0.0, 1.0) * (end > start)

    def states(self, xs: Reals, times: npt.ArrayLike) -> Reals:
        """Returns the states (n, nx) at times (n,) [s] of a trajectory (T + 1, nx)."""
        knots, part = self.knots(times)
        after = np.minimum(knots + 1, len(xs) - 1)
        states = (1.0 - part[:, None]) * xs[knots] + part[:, None] * xs[after]
        if self._model is not None:
            nq = self._model.nq
            for row, t, end, s in zip(states, knots, after, part):
                row[:nq] = pin.interpolate(self._model, xs[t, :nq], xs[end, :nq], float(s))
        elif self._state is not None and self._state.nx != self._state.ndx:
            for row, t, end, s in zip(states, knots, after, part):
                row[:] = self._state.integrate(xs[t], s * self._state.difference(xs[t], xs[end]))
        return states
