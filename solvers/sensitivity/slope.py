"""Slopes of functions with kinks, by differences that stay on one side of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

Truth = npt.NDArray[np.bool_]

FINER = (0.1, 0.01, 1e-3, 1e-4)  # steps, relative to the usual one, where that one crosses a kink
CROSSED = 1e-6  # bend of a row, relative to its slope, beyond which a finer step may lie on one side
AT_KINK = 1e-3  # the same of the best step, beyond which the point itself is at a kink


class Slope:
    """Slopes of rows (k, m) along a line at 0, by central differences of several steps h.

    The bend (g(h) + g(-h) - 2 g(0)) / h is the difference of the slopes on both sides. It is proportional to h where
    g is smooth, and stays where a kink lies within h. So each row takes the step whose bend is nearest to that of the
    step before, scaled. The first step gives a bend only.

    Args:
        at: Rows at 0 (k, m).

    Attributes:
        values: Slopes (k, m), of the second step on.
    """

    def __init__(self, at: Reals) -> None:
        self._at, self.values = at, np.zeros_like(at)
        self._kink = np.full(len(at), np.inf)
        self._bend: tuple[float, Reals] | None = None

    def add(self, step: float, ahead: Reals, behind: Reals, slope: Reals | None = None) -> None:
        """Adds rows at ±step, with the slope there, that of second order by default; steps fall from call to call."""
        with np.errstate(invalid="ignore"):
            bend = np.nan_to_num((ahead + behind - 2.0 * self._at) / step, posinf=0.0, neginf=0.0)
            slope = (ahead - behind) / (2.0 * step) if slope is None else slope
        if self._bend is not None:
            last, before = self._bend
            kink = _largest(bend - before * (step / last))
            better = kink < self._kink
            self.values[better], self._kink[better] = slope[better], kink[better]
        self._bend = step, bend

    @property
    def crossed(self) -> bool:
        """Whether the steps of some rows cross a kink."""
        return bool(np.any(self._kink > CROSSED * self._size()))

    @property
    def at_kink(self) -> Truth:
        """Mask (k,) of the rows that are at a kink at 0."""
        return self._kink > AT_KINK * self._size()

    def _size(self) -> Reals:
        return np.maximum(_largest(self.values), _largest(self._at))


def _largest(rows: Reals) -> Reals:
    finite = np.where(np.isfinite(rows), rows, 0.0)
    return np.abs(finite).reshape(len(rows), -1).max(axis=1, initial=0.0)
