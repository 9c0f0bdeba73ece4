"""Products of a knot's F and Fᵀ with vectors, of any system or of one with q⁺ = q ⊕ dt v⁺."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.solvers.riccati.recursion.cells import ZERO
from trajopt.solvers.riccati.recursion.dense import Matrix, add_rows, times
from trajopt.solvers.riccati.recursion.frame import Frame


def add_transposed(frame: Frame, t: str, remaining: str, v: str, start: Sequence[str]) -> list[str]:
    """Writes start + Fᵀ v for the Jacobian F (n, n + m) of knot t and v (n,) at an address; returns the sum's cells."""
    x, b, s = frame.x, frame.b, frame.sizes
    F = Matrix(frame.readable("F", t, remaining), s.row_F)
    if s.nb is None:
        return add_rows(x, start, Matrix(v, 1), F, s.n)
    dt, half = x.splat(b.load(frame.of_knot("dt", t))), range(0, s.h, s.width)
    vq, vv = ([x.load(b.at(v, c + shift)) for c in half] for shift in (0, s.h))
    vE = [x.first(s.h - c, cell) for c, cell in zip(half, vq)]
    vS = [x.add_product(x.first(s.nb - c, ZERO, dt), p, r) for c, p, r in zip(half, vq, vv)]
    base = range(0, s.nb, s.width)
    for name, sums, first in (("J0", vE, [ZERO] * len(base)), ("J1dt", vS, vS[: len(base)])):
        block = Matrix(frame.readable(name, t, remaining), s.nb)
        found = add_rows(x, first, Matrix(v, 1), block, s.nb)
        sums[: len(base)] = [x.first(s.nb - c, p, r) for c, p, r in zip(base, found, sums)]
    for c, cell in zip(half, vS):
        x.store(cell, b.at(frame.scratch["w"], c))
    q = add_rows(x, start, Matrix(frame.scratch["w"], 1), F, s.h)
    return [x.op("fadd", p, r) for p, r in zip(q, vE)] + q[len(vE) :]


def apply(frame: Frame, t: str, remaining: str) -> None:
    """Writes w = F z, with the Jacobian F (n, n + m) of knot t; z (n + m,) and w (n,) are arrays of the scratch."""
    x, b, s, z, w = frame.x, frame.b, frame.sizes, frame.scratch["z"], frame.scratch["w"]
    F = Matrix(frame.readable("F", t, remaining), s.row_F)
    for first, cell in times(x, s.h, s.s, F, z):
        place = s.n - s.h + first
        x.store_first(cell, b.at(w, place), min(s.width, s.h - first))
    if s.nb is not None:
        _positions(frame, t, remaining, s.nb)


def _positions(frame: Frame, t: str, remaining: str, nb: int) -> None:
    """Rows of q of w, from those of v."""
    x, b, s, z, w = frame.x, frame.b, frame.sizes, frame.scratch["z"], frame.scratch["w"]
    dt, wv = x.splat(b.load(frame.of_knot("dt", t))), b.at(w, s.h)
    for c in range(0, s.h, s.width):
        value = x.add_product(dt, x.load(b.at(wv, c)), x.load(b.at(z, c)))
        x.store_first(value, b.at(w, c), min(s.width, s.h - c))
    J0, J1dt = (Matrix(frame.readable(name, t, remaining), nb) for name in ("J0", "J1dt"))
    for (first, p), (_, q) in zip(times(x, nb, nb, J0, z), times(x, nb, nb, J1dt, wv)):
        x.store_first(x.op("fadd", p, q), b.at(w, first), min(s.width, nb - first))
