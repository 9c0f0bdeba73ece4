"""Sizes that the recursion is generated for, and how large its pieces of scratch are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What the recursion is generated for.

    Attributes:
        n: Dimension of dx.
        m: Number of controls.
        nc: Number of equality rows.
        row_F: Doubles from row to row of F.
        knot_F: Doubles from knot to knot of F.
        nb: Leading rows and columns of a second-order system that are not the identity; None if F has all rows.
        width: Doubles in a cell.
        registers: Vector registers of the processor.
    """

    n: int
    m: int
    nc: int
    row_F: int
    knot_F: int
    nb: int | None
    width: int
    registers: int

    @property
    def s(self) -> int:
        """Dimension of z = (dx, du)."""
        return self.n + self.m

    @property
    def h(self) -> int:
        """Rows of F."""
        return self.n if self.nb is None else self.n // 2

    @property
    def rows(self) -> int:
        """Rows of ((Quu, Cuᵀ), (Cu, -Δ))."""
        return self.m + self.nc

    @property
    def left(self) -> int:
        """Doubles in such a row, in whole cells."""
        return self.whole(self.rows)

    @property
    def right(self) -> int:
        """Doubles in a row (Qux | Qu), in whole cells."""
        return self.whole(self.n + 1)

    @property
    def pitch(self) -> int:
        """Doubles in both together."""
        return self.left + self.right

    def whole(self, count: int) -> int:
        """Doubles in as many whole cells as hold `count`."""
        return -(-count // self.width) * self.width

    def knots(self) -> dict[str, int]:
        """Doubles from knot to knot of each array that has a row for each."""
        n, m, nc, s, nb = self.n, self.m, self.nc, self.s, self.nb or 0
        inputs = {"F": self.knot_F, "f": n, "g": s, "H": s * s, "C": nc * s, "d": nc, "delta": nc}
        inputs |= {"dt": 1, "J0": nb * nb, "J1dt": nb * nb}
        value = {"V": n * n, "v": n, "Vf": n, "K": m * n, "k": m, "Ky": nc * n, "ky": nc}
        factors = {"U": self.rows * self.left, "inverse": self.left}
        return inputs | value | factors | {"dx": n, "du": m, "lam": n, "y": nc}

    def copied(self) -> dict[str, int]:
        """Doubles of a knot of each array of which reads may run on by a cell."""
        size = self.knots()
        names = ("g", "H", "C", "J0", "J1dt", "K", "Ky")
        return {"F": (self.h - 1) * self.row_F + self.s} | {name: size[name] for name in names}

    def scratch(self) -> tuple[dict[str, int], int]:
        """Where each piece of scratch starts, and where the last one ends [doubles]."""
        tall = self.whole(self.rows) + self.width
        pieces = self.copied() | {
            "R": tall * self.pitch,
            "Z": tall * self.right,
            "pivots": self.left,
            "P": (self.whole(self.n) + self.width) * self.right,
            "q": self.whole(self.s),
            "b": self.left,
            "z": self.whole(self.s),
            "w": self.whole(self.n),
            "M": (self.h + 1) * self.whole(self.s),
        }
        if self.nb is not None:
            half, base, more = self.whole(self.h), self.whole(self.nb), self.h + 1
            pieces |= {"G": more * self.right, "GS": more * half, "GE": more * half, "VE": more * base}
            pieces |= {"J0 padded": self.nb * base, "J1dt padded": self.nb * base}
        places, end = {}, 0
        for name, size in pieces.items():
            places[name] = end
            end += self.whole(size) + 2 * self.width  # reads may run past the end
        return places, end
