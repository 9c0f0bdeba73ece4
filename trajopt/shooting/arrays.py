"""Arrays that compiled code and the Riccati recursion share."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def padded(shape: tuple[int, ...]) -> Reals:
    """Returns an array of zeros, aligned to a cache line and padded behind, since vector reads may run past its end.

    Large arrays of numpy start 16 bytes after a cache line, so that every other vector straddles two. Backward passes
    of a quadruped and a humanoid then take 1.15 to 1.25 times as long.
    """
    size = int(np.prod(shape))
    room = np.zeros(size + 40)
    first = -int(room.ctypes.data) % 64 // 8
    return room[first : first + size].reshape(shape)


def in_one_piece(*shapes: tuple[int, ...]) -> tuple[Reals, list[Reals]]:
    """Returns arrays as from `padded` in one contiguous piece of memory, and that piece; it holds nothing else."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    starts = np.cumsum([0, *(-(-size // 8) * 8 + 32 for size in sizes)])
    piece = padded((int(starts[-1]),))
    return piece, [piece[at : at + size].reshape(shape) for at, size, shape in zip(starts, sizes, shapes)]


def with_constant(F: Reals, E: Reals) -> Reals:
    """Full F (T, nx + k, nx + k + m) of states (x, θ) with θ⁺ = θ, from F (T, nx, nx + m) and the rows E (T, k, nx)."""
    T, k, nx = E.shape
    whole = np.zeros((T, nx + k, k + F.shape[2]))
    whole[:, :nx, :nx], whole[:, :nx, nx + k :] = F[:, :, :nx], F[:, :, nx:]
    whole[:, :nx, nx : nx + k], whole[:, nx:, nx : nx + k] = E.transpose(0, 2, 1), np.eye(k)
    return whole


def lifted(Fv: Reals, dt: Reals, J0: Reals, J1dt: Reals) -> Reals:
    """Full F (T, ndx, n) from its velocity rows Fv (T, ndx / 2, n) and a lift, see `trajopt.actions.Lift`."""
    T, half, n = Fv.shape
    nb = J0.shape[-1]
    F = np.empty((T, 2 * half, n))
    F[:, half:] = Fv
    np.multiply(Fv, dt[:, None, None], out=F[:, :half])
    F.reshape(T, 2 * half * n)[:, : half * (n + 1) : n + 1] += 1.0
    if nb:
        np.matmul(J1dt, Fv[:, :nb], out=F[:, :nb])
        F[:, :nb, :nb] += J0
    return F
