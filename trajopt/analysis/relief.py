"""Ground around a motion as numbers, for pictures and files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class Relief:
    """Ground around a motion: the highest of planes, hills and boxes.

    Attributes:
        planes: Coefficients (a, b, c, d) with c > 0 of planes a x + b y + c z + d = 0, shape (k, 4).
        boxes: Lowest and highest corners of boxes (n, 2, 3) [m].
        hills: Points of surfaces over a grid (m, rows, columns, 3), with x along the rows and y along the columns [m].
    """

    planes: Reals
    boxes: Reals
    hills: Reals

    def heights(self, points: Reals) -> Reals:
        """Heights (n,) of the ground at points of the plane (n, 2 or more) [m]; -inf where there is none."""
        x, y = points[:, 0], points[:, 1]
        high = np.full(len(points), -np.inf)
        for a, b, c, d in self.planes:
            high = np.maximum(high, -(a * x + b * y + d) / c)
        for hill in self.hills:
            high = np.maximum(high, _between(hill, x, y))
        for low, top in self.boxes:
            inside = (low[0] <= x) & (x <= top[0]) & (low[1] <= y) & (y <= top[1])
            high = np.where(inside, np.maximum(high, top[2]), high)
        return high


def _between(hill: Reals, x: Reals, y: Reals) -> Reals:
    """Heights (n,) between the points of a grid (rows, columns, 3), bilinear; -inf outside."""
    rows, columns = hill[:, 0, 0], hill[0, :, 1]
    i = np.clip(np.searchsorted(rows, x) - 1, 0, len(rows) - 2)
    j = np.clip(np.searchsorted(columns, y) - 1, 0, len(columns) - 2)
    s, t = (x - rows[i]) / (rows[i + 1] - rows[i]), (y - columns[j]) / (columns[j + 1] - columns[j])
    z = hill[:, :, 2]
    high = (1 - s) * ((1 - t) * z[i, j] + t * z[i, j + 1]) + s * ((1 - t) * z[i + 1, j] + t * z[i + 1, j + 1])
    return np.where((s >= 0) & (s <= 1) & (t >= 0) & (t <= 1), high, -np.inf)
