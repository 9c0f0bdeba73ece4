"""Sizes that the recursion is generated for, and how large its pieces of scratch are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of a program, for which the recursion's code is generated.

    Attributes:
        n: Dimension of dx.
        m: Number of controls.
        nc: Number of equality rows.
        row_F: Doubles from row to row of F.
        knot_F: Doubles from knot to knot of F.
        nb: Leading rows and columns of a second-order system that are not the identity; None if F has all rows.
        width: Doubles in a cell.
        registers: Vector registers of the processor.
        weighted: Number of weighted rows, which add CᵀDC to the Hessian and Cᵀh to the gradient; None without any.
        boxed: Whether controls have limits, see `box`.
        constant: Number of states behind the others that never change, see `constant`.
        starts: Whether the first `constant` controls of the first knot are added to these states.
    """

    n: int
    m: int
    nc: int
    row_F: int
    knot_F: int
    nb: int | None
    width: int
    registers: int
    weighted: int | None = None
    boxed: bool = False
    constant: int = 0
    starts: bool = False

    @property
    def s(self) -> int:
        """Dimension of z = (dx, du) [-]."""
        return self.n + self.m

    @property
    def nx(self) -> int:
        """Dimension of the states x that may change [-]."""
        return self.n - self.constant

    @property
    def columns(self) -> int:
        """Number of columns of F, which are those of (x, u) [-]."""
        return self.nx + self.m

    @property
    def h(self) -> int:
        """Number of rows of F that are stored: all of x, or those of velocities for second-order systems [-]."""
        return self.nx if self.nb is None else self.nx // 2

    @property
    def rows(self) -> int:
        """Number of rows of the matrix ((Quu, Cuᵀ), (Cu, -Δ)) [-]."""
        return self.m + self.nc

    @property
    def left(self) -> int:
        """Length of a row of ((Quu, Cuᵀ), (Cu, -Δ)), rounded up to whole cells [doubles]."""
        return self.whole(self.rows)

    @property
    def right(self) -> int:
        """Length of a row (Qux | Qu), rounded up to whole cells [doubles]."""
        return self.whole(self.n + 1)

    @property
    def pitch(self) -> int:
        """Length of a row of R, `left` + `right` [doubles]."""
        return self.left + self.right

    @property
    def row_H(self) -> int:
        """Distance between rows of a knot's Hessian: whole cells if weighted rows are added to it [doubles]."""
        return self.s if self.weighted is None else self.whole(self.s)

    @property
    def row_V(self) -> int:
        """Distance between rows of V: whole cells if there are constant states, as n is often odd then [doubles]."""
        return self.whole(self.n) if self.constant else self.n

    def whole(self, count: int) -> int:
        """Returns a number of doubles rounded up to whole cells [doubles]."""
        return -(-count // self.width) * self.width

    def knots(self) -> dict[str, int]:
        """Returns the distance from a knot to the next in each array of the recursion, by its name [doubles]."""
        n, m, nc, s, nb = self.n, self.m, self.nc, self.s, self.nb or 0
        inputs = {"F": self.knot_F, "f": n, "g": s, "H": s * s, "C": nc * s, "d": nc, "delta": nc}
        inputs |= {"dt": 1, "J0": nb * nb, "J1dt": nb * nb, "E": self.constant * self.nx}
        value = {"V": n * self.row_V, "v": n, "Vf": n, "K": m * n, "k": m, "Ky": nc * n, "ky": nc}
        factors = {"U": self.rows * self.left, "inverse": self.left}
        steps = {"dx": n, "du": m, "lam": n, "y": nc}
        steps |= {"du_lower": m, "du_upper": m}
        steps |= {"at_dx": n, "at_du": m, "at_lam": n, "running": s, "dynamics": n}
        return inputs | value | factors | steps | self._rows()

    def _rows(self) -> dict[str, int]:
        """The same of weighted rows; whole numbers count as doubles."""
        nr = self.weighted or 0
        rows = dict.fromkeys(("weights", "h", "values", "lower", "upper", "at_y", "at_values", "single", "column"), nr)
        return rows | {"row_C": nr * self.s, "dense": -(-nr // 8) * 8, "counts": 2}

    def copied(self) -> dict[str, int]:
        """Size of a knot's part of each array whose reads may run on by a cell, by name [doubles]."""
        size = self.knots()
        names = ("g", "H", "C", "J0", "J1dt", "K", "Ky", *(["E"] if self.constant else []))
        return {"F": (self.h - 1) * self.row_F + self.columns} | {name: size[name] for name in names}

    def box(self) -> tuple[dict[str, int], int]:
        """Offset of each piece of the scratch of `box`, by name, and the total size [doubles]."""
        m = self.m
        pieces = {"H": m * m, "L": m * m} | dict.fromkeys(("q", "u", "gradient", "step", "trial", "free"), m)
        return _placed(pieces | {"slope": 1, "curvature": 1, "boxed": 1})

    def scratch(self) -> tuple[dict[str, int], int]:
        """Offset of each piece of the recursion's scratch, by name, and the total size [doubles]."""
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
            "M": (self.h + self.constant + 1) * self.whole(self.columns),
        }
        if self.constant:
            pieces |= {"Y": self.constant * self.whole(self.nx), "xu": self.whole(self.columns)}
        if self.weighted is not None:
            whole = self.whole(self.s)
            pieces |= {"packed": self.weighted * whole, "packed weighted": self.weighted * whole}
            pieces |= {"H weighted": self.s * whole, "g weighted": whole, "Hz": whole}
        if self.nb is not None:
            half, base, more = self.whole(self.h), self.whole(self.nb), self.h + self.constant + 1
            pieces |= {"G": more * self.right, "GS": more * half, "GE": more * half, "VE": more * base}
            pieces |= {"J0 padded": self.nb * base, "J1dt padded": self.nb * base}
        if self.boxed:
            pieces["box"] = self.box()[1]
        return _placed(pieces, self.width)


def _placed(pieces: dict[str, int], width: int = 0) -> tuple[dict[str, int], int]:
    """Start of each piece, and the end; with a width whole cells of it, and room behind them."""
    places, end = {}, 0
    for name, size in pieces.items():
        places[name] = end
        end += -(-size // width) * width + 2 * width if width else size  # reads may run past the end
    return places, end
