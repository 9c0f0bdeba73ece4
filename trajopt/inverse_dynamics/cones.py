"""Wrenches of least cost within cones and torque limits: a quadratic program over time.

Its stages have the last wrenches as state and the next ones as control, so that its interior point costs a Riccati pass
an iteration. Rows of the base and of torque limits are those of least squares, the former with a weight above all
others, so that there is always an answer: the missing force is least, then torques exceed their limits least, then the
cost is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.inverse_dynamics.contact import ContactFrame
from trajopt.inverse_dynamics.kinetics import Kinetics
from trajopt.inverse_dynamics.least import WrenchCost, undetermined
from trajopt.residuals.wrench_cone import WrenchCone
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPStatus, StageQP
from trajopt.types import Reals

BASE, TORQUE = 1e9, 1e7  # weights of the squares of what is missing, relative to the largest weight of a wrench
EXACT = 1e-18
"""Tolerance. It is relative to the largest multiplier, which is up to 1e9 where a motion lacks forces at any time, and
that must not blur the forces of other times: with 1e-14 they were up to 0.2 N off, with 1e-18 5e-6 N, for 5 % more
iterations."""


@dataclass(frozen=True)
class ConeRows:
    """Rows lower <= C w <= upper of each time.

    Attributes:
        C: (N, nr, W).
        lower: (N, nr).
        upper: (N, nr).
    """

    C: Reals
    lower: Reals
    upper: Reals


def cone_rows(contacts: Sequence[ContactFrame], k: Kinetics) -> ConeRows:
    """Rows of the cones of all contacts, in the axes of the wrenches; none (N, 0, W) without cones."""
    n, W = len(k.h), sum(contact.size for contact in contacts)
    C, lower, upper, first = [np.zeros((n, 0, W))], [np.zeros(0)], [np.zeros(0)], 0
    for j, contact in enumerate(contacts):
        if contact.cone is not None:
            cone = contact.cone
            rows = np.zeros((n, len(cone.lower), W))
            rows[:, :, first : first + 3] = np.einsum("rs,nst->nrt", cone.matrix[:, :3], _surface(contact, k, j))
            if isinstance(cone, WrenchCone):
                turned = np.einsum("rs,nst->nrt", cone.matrix[:, 3:], _surface(contact, k, j))
                rows[:, :, first + 3 : first + 6] = turned
            C.append(rows)
            lower.append(cone.lower)
            upper.append(cone.upper)
        first += contact.size
    low, high = (np.broadcast_to(np.concatenate(b), (n, sum(map(len, b)))) for b in (lower, upper))
    return ConeRows(np.concatenate(C, axis=1), low, high)


def _surface(contact: ContactFrame, k: Kinetics, j: int) -> Reals:
    """Rotations from the axes of wrenches to those in which a cone's matrix is given (N, 3, 3).

    Those of the world for a point; for a sole the frame's heading about the world's vertical.
    """
    if not isinstance(contact.cone, WrenchCone):
        return k.rotations[:, j]
    x = k.frames[:, j, :, 0] * np.array([1.0, 1.0, 0.0])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = np.broadcast_to([0.0, 0.0, 1.0], x.shape)
    heading = np.stack([x, np.cross(z, x), z], axis=1)  # rows: T_surface_world
    return np.asarray(heading @ k.rotations[:, j])


def bounded_wrenches(
    A: Reals, b: Reals, active: Reals, cost: WrenchCost, cones: ConeRows, torques: ConeRows, size: float
) -> tuple[Reals, bool]:
    """The wrenches (N, W), and whether they are optimal.

    Args:
        A: Forces of the base by wrenches (N, 6, W).
        b: Forces that the base needs (N, 6).
        active: 1 for elements that may push, 0 for others (N, W).
        cost: The cost.
        cones: Rows of cones, which hold.
        torques: Rows of joint torques, which hold if they can.
        size: A force of the robot's size, such as its weight, which wrenches are divided by [N].

    Raises:
        InvalidArgumentError: All weights are 0.
    """
    n, W = active.shape
    largest = float(cost.P.max() + cost.smoothness)
    if largest == 0.0:
        raise undetermined(cost)
    lq = _dynamics_and_cost(active, cost, size)
    C = np.concatenate([A, cones.C, torques.C], axis=1) * active[:, None]
    nc, nb, nk = C.shape[1], 6, cones.C.shape[1]
    qp = StageQP.zeros(lq, nc)
    qp.C[:, :, W:] = C
    qp.lower[:n] = np.concatenate([b, cones.lower, torques.lower], axis=1) / size
    qp.upper[:n] = np.concatenate([b, cones.upper, torques.upper], axis=1) / size
    empty = ~C.any(axis=2)  # of contacts in the air
    qp.lower[:n][empty], qp.upper[:n][empty] = -np.inf, np.inf
    for rows, price in ((slice(0, nb), BASE), (slice(nb + nk, nc), TORQUE)):
        qp.soft_linear[:n, rows], qp.soft_quadratic[:n, rows] = 0.0, price * largest
    found = InteriorPoint(qp, InteriorPointOptions(tolerance=EXACT * largest, max_iterations=100)).solve()
    return found.du * active * size, found.status in (QPStatus.SOLVED, QPStatus.ROUNDING)


def _dynamics_and_cost(active: Reals, cost: WrenchCost, size: float) -> LinearQuadratic:
    """Minimise Σ uᵀP u - 2 pᵀu + s ‖M u - x‖², x⁺ = M u, with M = diag(active); there is no step before the first."""
    n, W = active.shape
    lq, i = LinearQuadratic.zeros(n, W, W), np.arange(W)
    lq.F[:, i, W + i] = active
    s = np.full((n, 1), 2.0 * cost.smoothness)
    s[0] = 0.0
    lq.H[:, i, i] = s
    lq.H[:, W + i, W + i] = np.where(active > 0, 2.0 * cost.P + s, 1.0)
    lq.H[:, W + i, i] = lq.H[:, i, W + i] = -s * active
    lq.g[:, W:] = -2.0 * cost.p * active / size
    return lq
