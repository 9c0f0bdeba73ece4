"""Many rigid placements and twists at once.

The last axis counts them, so that every operation runs along contiguous memory: rotations (3, 3, N), points (3, N),
twists (6, N) with their linear part first. N = 1 broadcasts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from trajopt.lie.quaternions import quaternion_products, rotation_entries
from trajopt.types import Reals


class Placements(NamedTuple):
    """N rigid motions x ↦ R x + p.

    Attributes:
        R: Rotations (3, 3, N).
        p: Translations (3, N).
    """

    R: Reals
    p: Reals

    @staticmethod
    def of(placement: pin.SE3) -> Placements:
        """Converts one placement, N = 1."""
        return Placements(placement.rotation[:, :, None].copy(), placement.translation[:, None].copy())

    def then(self, other: Placements) -> Placements:
        """Returns the composition that applies `other` first, then this motion."""
        return Placements(product(self.R, other.R), rotated(self.R, other.p) + self.p)

    def inverse(self) -> Placements:
        """Inverse x ↦ Rᵀ (x - p)."""
        back = self.R.transpose(1, 0, 2)
        return Placements(back, -rotated(back, self.p))


NOWHERE = Placements(np.eye(3)[:, :, None], np.zeros((3, 1)))
"""The identity."""


def product(A: Reals, B: Reals) -> Reals:
    """Returns the products A B of matrices (3, 3, N)."""
    return np.asarray(A[:, 0, None] * B[None, 0] + A[:, 1, None] * B[None, 1] + A[:, 2, None] * B[None, 2])


def rotated(R: Reals, x: Reals) -> Reals:
    """Returns the rotated vectors R x (3, N)."""
    return np.asarray(R[:, 0] * x[0] + R[:, 1] * x[1] + R[:, 2] * x[2])


def cross(a: Reals, b: Reals) -> Reals:
    """Returns the cross products a × b of vectors (3, N)."""
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np.stack(parts)


def seen_from_child(motion: Placements, twist: Reals) -> Reals:
    """Converts a twist (6, N) to the axes and origin of another frame, whose placement is `motion`."""
    back = motion.R.transpose(1, 0, 2)
    linear = rotated(back, twist[:3] + cross(twist[3:], motion.p))
    return np.concatenate([linear, np.broadcast_to(rotated(back, twist[3:]), linear.shape)])


def about_z(cosine: Reals, sine: Reals) -> Reals:
    """Returns the rotation matrices (3, 3, N) about z, from cosines and sines (N,)."""
    R = np.zeros((3, 3, len(cosine)))
    R[0, 0] = R[1, 1] = cosine
    R[1, 0], R[0, 1], R[2, 2] = sine, -sine, 1.0
    return R


def from_quaternions(q: Reals) -> Reals:
    """Rotation matrices (3, 3, N) from unit quaternions x, y, z, w (4, N)."""
    return np.array(rotation_entries(*q))


def to_quaternions(R: Reals) -> Reals:
    """Quaternions x, y, z, w (4, N) with w >= 0 from rotation matrices (3, 3, N)."""
    products = np.array(quaternion_products(list(R)))
    largest = np.einsum("iin->in", products).argmax(axis=0)
    q = np.take_along_axis(products, largest[None, None], axis=0)[0]
    return np.asarray(q * (np.where(q[3] < 0, -1.0, 1.0) / np.sqrt(np.sum(q * q, axis=0))))


def turning_angles(R: Reals) -> Reals:
    """Angles (N,) of rotations (3, 3, N) [rad]; accurate for small angles too."""
    turn = np.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.arctan2(0.5 * np.sqrt(np.sum(turn * turn, axis=0)), 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
