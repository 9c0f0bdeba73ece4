"""Axis-aligned box as a contact surface, that of `trajopt.Box` in its own axes."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.derivatives import jacobian
from trajopt.simulator.surfaces import SurfaceAbstract

ROUND_OFF = 1e-9  # keeps the gradient finite on the surface [m]


class BoxSurface(SurfaceAbstract):
    """Axis-aligned box: φ(p) = |max(d, 0)| + min(max_i d_i, 0) with d = max(low - p, p - high), each per axis.

    φ is the exact distance outside, with rounded edges, and the depth of the nearest face inside.

    Args:
        low: Lowest corner (3,) [m].
        high: Highest corner (3,), above the lowest one along each axis [m].
        body: Name of the frame that carries the surface; None for the world.

    Raises:
        InvalidArgumentError: A corner is not three finite numbers, or the box has no volume.

    Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.3.
    """

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, body: str | None = None) -> None:
        super().__init__(body)
        self.low, self.high = check_array("low", low, (3,)), check_array("high", high, (3,))
        if not np.all(self.low < self.high):
            raise InvalidArgumentError(
                f"high: expected a corner above {self.low.tolist()} along each axis, got {self.high.tolist()}"
            )
        p = SX.sym("p", 3)
        value = self.distance(p)
        self._gradient = ca.Function("gradient", [p], [ca.densify(jacobian(value, p).T)])

    def distance(self, p: SX) -> SX:
        beyond = ca.fmax(SX(self.low) - p, p - SX(self.high))
        outside = ca.sqrt(ca.sumsqr(ca.fmax(beyond, 0)) + ROUND_OFF**2) - ROUND_OFF
        return SX(outside + ca.fmin(ca.mmax(beyond), 0))

    def normal(self, p: SX) -> SX:
        gradient = self._gradient(p)
        return SX(gradient / ca.norm_2(gradient))

    def height(self, x: SX, y: SX) -> SX:
        """Height of the top above a point of the plane, -inf beside the box [m]."""
        above = [
            ca.logic_and(self.low[i] <= c, c <= self.high[i])  # the rim belongs to the box
            for i, c in enumerate((x, y))
        ]
        return SX(ca.if_else(ca.logic_and(*above), self.high[2], -np.inf))

    def nearest(self, start: SX, end: SX) -> SX:
        """Fraction of a segment at which it is nearest to the box; within the box, the middle of the part inside.

        Half the derivative of the squared distance, g(s), is monotone and piecewise linear between the fractions at
        which the segment crosses the planes of the faces.
        """
        along = end - start

        def slope(s: SX) -> SX:
            p = start + s * along
            return ca.dot(ca.fmax(p - SX(self.high), 0) - ca.fmax(SX(self.low) - p, 0), along)

        before, after, zero = SX(0), SX(1), ROUND_OFF * ca.norm_1(along)
        for face in (self.low, self.high):
            for i in range(3):
                moves = ca.fabs(along[i]) > ROUND_OFF
                s = (face[i] - start[i]) / ca.if_else(moves, along[i], 1.0)
                s = ca.if_else(moves, ca.fmin(ca.fmax(s, 0), 1), 0.0)
                g = slope(s)
                before = ca.if_else(g <= zero, ca.fmax(before, s), before)
                after = ca.if_else(g >= -zero, ca.fmin(after, s), after)
        low, high = slope(before), slope(after)
        flat = ca.logic_or(before >= after, high - low < ROUND_OFF**2)
        part = ca.fmin(ca.fmax(-low / ca.if_else(flat, 1.0, high - low), 0), 1)
        return SX(ca.if_else(flat, (before + after) / 2, before + part * (after - before)))
