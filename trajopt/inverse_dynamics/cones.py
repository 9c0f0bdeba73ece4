"""Wrenches of least cost within friction cones and torque limits: a quadratic program over time.

A stage has the previous wrenches as state and the next ones as control, so an iteration of the interior point costs
one Riccati pass. The equations of the base and the torque limits are least-squares rows. The weight of the base
exceeds all others, so a solution always exists: it minimises the missing force first, then the violation of torque
limits, then the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.inverse_dynamics.contact import ContactFrame
from trajopt.inverse_dynamics.kinetics import Kinetics
from trajopt.inverse_dynamics.least import WrenchCost, undetermined
from trajopt.residuals.wrench_cone import WrenchCone
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPStatus, StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals

BASE, TORQUE = 1e9, 1e7  # weights of squared violations, relative to the largest weight of a wrench
EXACT = 1e-18
"""Tolerance relative to the largest multiplier. That is up to 1e9 if forces are missing at any time, and it must not
blur the forces at other times: they were off by up to 0.2 N with 1e-14, and by 5e-6 N with 1e-18, at 5 % more
iterations."""


@dataclass(frozen=True)
class ConeRows:
    """Rows lower <= C w <= upper on the wrenches w, at each time.

    Attributes:
        C: Matrices (N, nr, W).
        lower: Lower bounds (N, nr).
        upper: Upper bounds (N, nr).
    """

    C: Reals
    lower: Reals
    upper: Reals


def cone_rows(contacts: Sequence[ContactFrame], k: Kinetics) -> ConeRows:
    """Rows of the cones of all contacts, in the axes of the wrenches; empty (N, 0, W) without cones."""
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
    """Rotations from the axes of wrenches to those of a cone's matrix (N, 3, 3).

    A cone of a point has the axes of the world. A cone of a sole has the frame's heading about the world's vertical.
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
    """Computes wrenches of least cost (N, W) within cones and torque limits, and whether they are optimal.

    Args:
        A: Matrices that map wrenches to forces on the base (N, 6, W).
        b: Forces that the base needs (N, 6) [N, N m].
        active: 1 for wrench elements that may be nonzero, 0 for others (N, W).
        cost: The cost.
        cones: Rows of cones, which hold exactly.
        torques: Rows of joint torques, which hold if possible.
        size: Scale of the forces, such as the robot's weight; wrenches are divided by it [N].

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
    empty = ~C.any(axis=2)  # rows of inactive contacts
    qp.lower[:n][empty], qp.upper[:n][empty] = -np.inf, np.inf
    for rows, price in ((slice(0, nb), BASE), (slice(nb + nk, nc), TORQUE)):
        qp.soft_linear[:n, rows], qp.soft_quadratic[:n, rows] = 0.0, price * largest
    solution = InteriorPoint(qp, InteriorPointOptions(tolerance=EXACT * largest, max_iterations=100)).solve()
    return solution.du * active * size, solution.status in (QPStatus.SOLVED, QPStatus.ROUNDING)


def _dynamics_and_cost(active: Reals, cost: WrenchCost, size: float) -> LinearQuadratic:
    """Stages of min Σ uᵀP u - 2 pᵀu + s ‖M u - x‖², x⁺ = M u, with M = diag(active); the first stage has no x."""
    n, W = active.shape
    lq, i = LinearQuadratic.zeros(n, W, W), np.arange(W)
    lq.F[:, i, W + i] = active
    s = np.full((n, 1), 2.0 * cost.smoothness)
    s[0] = 0.0
    lq.H[:, i, i] = s
    lq.H[:, W:, W:] = 2.0 * cost.P * active[:, :, None] * active[:, None]
    lq.H[:, W + i, W + i] += np.where(active > 0, s, 1.0)
    lq.H[:, W + i, i] = lq.H[:, i, W + i] = -s * active
    lq.g[:, W:] = -2.0 * cost.p * active / size
    return lq
