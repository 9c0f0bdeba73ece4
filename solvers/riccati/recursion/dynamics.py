"""Products of a knot's dynamics and their transpose with vectors, of any system or of one with q⁺ = q ⊕ dt v⁺."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.solvers.riccati.recursion.cells import ZERO, each
from trajopt.solvers.riccati.recursion.constant import spread
from trajopt.solvers.riccati.recursion.dense import Matrix, add_rows, times
from trajopt.solvers.riccati.recursion.frame import Frame


def add_transposed(frame: Frame, t: str, remaining: str, v: str, start: Sequence[str]) -> list[str]:
    """Writes start + Jᵀ v for the Jacobian J (n, n + m) of knot t and v (n,) at an address; returns the sum's cells."""
    x, b, s = frame.x, frame.b, frame.sizes
    if not s.constant:
        return _add_transposed(frame, t, remaining, v, start)
    moved = _add_transposed(frame, t, remaining, v, [ZERO] * (s.whole(s.columns) // s.width))
    E = Matrix(frame.readable("E", t, remaining), s.nx)
    own = [
        x.op("fadd", cell, x.load_masked(b.at(v, s.nx + first), s.constant - first))
        for first, cell in times(x, s.constant, s.nx, E, v)
    ]
    sums = [x.op("fadd", cell, spread(x, s, c * s.width, moved, own)) for c, cell in enumerate(start)]
    return _add_start(frame, t, v, sums) if s.starts else sums


def _add_start(frame: Frame, t: str, v: str, sums: Sequence[str]) -> list[str]:
    """The sums with vθ at the controls of the first knot that are added to θ."""
    x, b, s = frame.x, frame.b, frame.sizes
    own = x.load_row(b.at(v, s.nx), s.constant)
    first = x.splat(b.op(f"select i1 {b.op(f'icmp eq i64 {t}, 0')}, double 1.0, double 0.0"))
    added = list(sums)
    for c in range(s.n // s.width, len(added)):
        lanes = [c * s.width + i - s.n for i in range(s.width)]
        places = [(own[j // s.width], j % s.width) if 0 <= j < s.constant else None for j in lanes]
        added[c] = x.add_product(first, x.gather(places), added[c])
    return added


def _add_transposed(frame: Frame, t: str, remaining: str, v: str, start: Sequence[str]) -> list[str]:
    """The same by (x, u), without constant states."""
    x, b, s = frame.x, frame.b, frame.sizes
    F = Matrix(frame.readable("F", t, remaining), s.row_F)
    if s.nb is None:
        return add_rows(x, start, Matrix(v, 1), F, s.nx)
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
    """Writes w = J z, with the Jacobian J (n, n + m) of knot t; z (n + m,) and w (n,) are arrays of the scratch."""
    x, b, s, z, w = frame.x, frame.b, frame.sizes, frame.scratch["z"], frame.scratch["w"]
    F, moved = Matrix(frame.readable("F", t, remaining), s.row_F), z
    if s.constant:
        moved = frame.scratch["xu"]
        frame.copy(moved, z, s.nx)
        frame.copy(b.at(moved, s.nx), b.at(z, s.n), s.m)
    for first, cell in times(x, s.h, s.columns, F, moved):
        place = s.nx - s.h + first
        x.store_first(cell, b.at(w, place), min(s.width, s.h - first))
    if s.nb is not None:
        _positions(frame, t, remaining, s.nb)
    if s.constant:
        theta, E = b.at(z, s.nx), Matrix(frame.readable("E", t, remaining), s.nx)
        start = [x.load(b.at(w, c)) for c in range(0, s.nx, s.width)]
        x.store_row(add_rows(x, start, Matrix(theta, 1), E, s.constant), w, s.nx)
        frame.copy(b.at(w, s.nx), theta, s.constant)
    if s.starts:
        with b.when(b.op(f"icmp eq i64 {t}, 0")), each(b, 0, s.constant) as j:
            moved = b.at(w, (j, 1), s.nx)
            b.store(b.op(f"fadd double {b.load(moved)}, {b.load(b.at(z, (j, 1), s.n))}"), moved)


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
