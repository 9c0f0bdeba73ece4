"""The simplex search of Nelder and Mead, on many functions at once: an array operation serves all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trajopt.robots.collisions.triangles import Indices
from trajopt.types import Reals

NEAR, CLOSE = 1e-4, 1e-5  # a search ends when its corners and their values differ by at most this


def nelder_mead(cost: Callable[[Indices, Reals], Reals], simplices: Reals, *, evaluations: int) -> tuple[Reals, Reals]:
    """Returns the best points (k, n) that the searches find, and their costs (k,).

    Args:
        cost: Costs (m,) of the functions with certain indices (m,), each at a point of its own (m, n).
        simplices: Corners of the first simplex of each search (k, n + 1, n).
        evaluations: A search ends when it has evaluated its function that often.

    Source: Nelder and Mead, A simplex method for function minimization, 1965.
    """
    simplices, searching = simplices.copy(), np.arange(len(simplices))
    values = np.stack([cost(searching, corner) for corner in simplices.swapaxes(0, 1)], axis=1)
    spent = np.full(len(simplices), simplices.shape[1])
    while True:
        order = np.argsort(values[searching], axis=1, kind="stable")
        values[searching] = np.take_along_axis(values[searching], order, axis=1)
        simplices[searching] = np.take_along_axis(simplices[searching], order[:, :, None], axis=1)
        corners, costs = simplices[searching], values[searching]
        wide = np.abs(corners[:, 1:] - corners[:, :1]).max(axis=(1, 2)) > NEAR
        wide |= costs[:, -1] - costs[:, 0] > CLOSE
        going = wide & (spent[searching] < evaluations)
        searching, corners, costs = searching[going], corners[going], costs[going]
        if not len(searching):
            return simplices[:, 0], values[:, 0]
        middle, worst = corners[:, :-1].mean(axis=1), corners[:, -1]
        new = 2.0 * middle - worst
        price = cost(searching, new)
        spent[searching] += 1
        # the worst corner moves on if its mirror image is best, and comes back if that remains the worst
        best, poor = price < costs[:, 0], price >= costs[:, -2]
        outside = price < costs[:, -1]
        more = np.flatnonzero(best | poor)
        if len(more):
            factor = np.where(best, 2.0, np.where(outside, 0.5, -0.5))[more, None]
            other = middle[more] + factor * (middle - worst)[more]
            other_price = cost(searching[more], other)
            spent[searching[more]] += 1
            limit = np.minimum(price, costs[:, -1])[more]
            better = np.where((poor & outside)[more], other_price <= limit, other_price < limit)
            new[more[better]], price[more[better]] = other[better], other_price[better]
            shrinks = more[~better & poor[more]]
        else:
            shrinks = more
        simplices[searching, -1], values[searching, -1] = new, price
        if len(shrinks):
            rows = searching[shrinks]
            simplices[rows] = (corners[shrinks, :1] + corners[shrinks]) / 2.0
            for corner in range(1, simplices.shape[1]):
                values[rows, corner] = cost(rows, simplices[rows, corner])
            spent[rows] += simplices.shape[1] - 1
