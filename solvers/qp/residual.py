"""An iterate of a StageQP, and by how much it misses the first-order conditions."""

from __future__ import annotations

import ctypes

import numpy as np

from trajopt.solvers.riccati import recursion
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import bind, sizes_of
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals


class Iterate:
    """States dx (T + 1, n), controls du (T, m) and multipliers of the dynamics λ (T + 1, n).

    Args:
        lq: The program.

    Attributes:
        flat: All values in one vector: dx, du, λ.
    """

    def __init__(self, lq: LinearQuadratic) -> None:
        T, n, m = lq.T, lq.n, lq.m
        states, controls = (T + 1) * n, T * m
        self.flat = np.zeros(2 * states + controls)
        self.dx = self.flat[:states].reshape(T + 1, n)
        self.du = self.flat[states : states + controls].reshape(T, m)
        self.lam = self.flat[states + controls :].reshape(T + 1, n)


class Residual:
    """Residuals of stationarity and of the dynamics at an iterate. They are zero before the first `measure`.

    Args:
        lq: Program of the cost and the dynamics.
        rows: Constraint rows of the program.
        at: The iterate.
        y: Multipliers of the rows (T + 1, nc).
        values: Array for the rows C z of the iterate (T + 1, nc).

    Attributes:
        running: Gradients of the Lagrangian along z (T, n + m).
        end: Gradient of the Lagrangian along dx at the end (n,).
        dynamics: F z + f - dx of the next knot, f_0 - dx_0 first (T + 1, n).
    """

    def __init__(self, lq: LinearQuadratic, rows: WeightedRows, at: Iterate, y: Reals, values: Reals) -> None:
        T, n, s = lq.T, lq.n, lq.n + lq.m
        self.running, self.end, self.dynamics = np.zeros((T, s)), np.zeros(n), np.zeros((T + 1, n))
        self._sizes = np.zeros(3)
        given = {name: getattr(lq, name) for name in ("F", "f", "g", "H", "terminal_g", "terminal_H", "E")}
        if lq.second_order is not None:
            given |= {name: getattr(lq.second_order, name) for name in ("dt", "J0", "J1dt")}
        own = {"running": self.running, "end": self.end, "dynamics": self.dynamics, "sizes": self._sizes}
        iterate = {"at_dx": at.dx, "at_du": at.du, "at_lam": at.lam, "at_y": y, "at_values": values}
        self._held = given | rows.arrays() | own | iterate
        sizes = sizes_of(lq, rows)
        self._table = bind(sizes, T, self._held, {})
        self._address, self._measure = ctypes.addressof(self._table), recursion.residual(sizes)

    def measure(self) -> None:
        """Computes the gradients `running` and `end`, and the residuals `dynamics`, at the iterate `at`."""
        self._measure(self._address, 0)

    @property
    def native(self) -> tuple[int, int]:
        """Addresses of the table and of the function behind `measure`, for loops in machine code."""
        return self._address, ctypes.cast(self._measure, ctypes.c_void_p).value or 0

    @property
    def stationarity(self) -> float:
        """Largest absolute entry of `running` and `end` in the last `measure`."""
        return float(self._sizes[0])

    @property
    def gap(self) -> float:
        """Largest absolute entry of `dynamics` in the last `measure`."""
        return float(self._sizes[1])

    @property
    def pull(self) -> float:
        """Largest absolute entry of Cᵀy, the part of the rows in the gradient of the Lagrangian."""
        return float(self._sizes[2])
