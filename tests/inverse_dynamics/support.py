"""Random times of a biped, and a slow twin of wrenches over time: one dense system."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

import trajopt
from trajopt.inverse_dynamics import Motion
from trajopt.types import Reals

FEET = ["left_foot", "right_foot"]


@functools.cache
def biped() -> trajopt.Robot:
    """A biped that is defined in code."""
    return trajopt.load_robot("small-biped")


def random_motion(count: int, seed: int = 0, dt: float = 0.01) -> Motion:
    """Times that have nothing to do with one another."""
    robot, rng = biped(), np.random.default_rng(seed)
    q = [pin.integrate(robot.model, pin.neutral(robot.model), rng.standard_normal(robot.nv)) for _ in range(count)]
    v, a = rng.standard_normal((2, count, robot.nv))
    return Motion(robot=robot, times=dt * np.arange(count), positions=np.array(q), velocities=v, accelerations=a)


def dense_wrenches(A: Reals, b: Reals, P: Reals, p: Reals, smoothness: float) -> Reals:
    """Solves the system of stationarity and constraints of all times at once.

    Minimise Σ wᵀ diag(P) w - 2 pᵀ w + s Σ ‖w_{i+1} - w_i‖², A_i w_i = b_i, with A (N, 6, W); w (N, W).
    """
    n, W = P.shape
    change = np.kron(np.diff(np.eye(n), axis=0), np.eye(W))
    H = np.diag(P.ravel()) + smoothness * change.T @ change
    C = np.zeros((6 * n, W * n))
    for i in range(n):
        C[6 * i : 6 * i + 6, W * i : W * i + W] = A[i]
    K = np.block([[2.0 * H, C.T], [C, np.zeros((6 * n, 6 * n))]])
    return np.linalg.solve(K, np.concatenate([2.0 * p.ravel(), b.ravel()]))[: W * n].reshape(n, W)


def base_maps(motion: Motion, frames: list[str]) -> tuple[Reals, Reals]:
    """Forces of the base by local wrenches (N, 6, 6 k), and those that it needs (N, 6), by Pinocchio alone."""
    model, data = motion.robot.model, motion.robot.model.createData()
    A, b = [], []
    for q, v, a in zip(motion.positions, motion.velocities, motion.accelerations):
        M = pin.crba(model, data, q)
        h = (np.triu(M) + np.triu(M, 1).T) @ a + pin.nonLinearEffects(model, data, q, v)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = [pin.getFrameJacobian(model, data, model.getFrameId(f), pin.ReferenceFrame.LOCAL) for f in frames]
        A.append(np.vstack(J)[:, :6].T)
        b.append(h[:6])
    return np.array(A), np.array(b)
