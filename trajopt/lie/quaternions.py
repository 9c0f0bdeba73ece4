"""Unit quaternions (x, y, z, w), in Pinocchio's order, as expressions: product, inverse, rotation matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import casadi as ca
from casadi import SX

from trajopt.lie.scalars import matrix3
from trajopt.types import Reals

T = TypeVar("T", SX, Reals)


def multiply(a: SX, b: SX) -> SX:
    """Product of two quaternions, shape (4,)."""
    av, aw, bv, bw = a[:3], a[3], b[:3], b[3]
    return ca.vertcat(aw * bv + bw * av + ca.cross(av, bv), aw * bw - ca.dot(av, bv))


def conjugate(a: SX) -> SX:
    """Inverse of a unit quaternion, shape (4,)."""
    return ca.vertcat(-a[:3], a[3])


def rotate(a: SX, v: SX) -> SX:
    """Rotated vector R(a) v for a unit quaternion (4,) and a vector (3,), computed without R."""
    twice = 2 * ca.cross(a[:3], v)
    return v + a[3] * twice + ca.cross(a[:3], twice)


def quaternion_to_rotation(quaternion: SX) -> SX:
    """Rotation matrix, SX (3, 3), of a unit quaternion (x, y, z, w), SX (4,) [-]."""
    entries = rotation_entries(*(quaternion[i] for i in range(4)))
    return matrix3([row[j] for j in range(3) for row in entries])


def rotation_entries(x: T, y: T, z: T, w: T) -> list[list[T]]:
    """Rows of the rotation matrix of a unit quaternion, 1 + 2 w [u] + 2 [u]² with u = (x, y, z); arrays or SX."""
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    xx, xy, xz, yy, yz, zz = x * x2, x * y2, x * z2, y * y2, y * z2, z * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return [
        [1 - (yy + zz), xy - wz, xz + wy],
        [xy + wz, 1 - (xx + zz), yz - wx],
        [xz - wy, yz + wx, 1 - (xx + yy)],
    ]


def quaternion_of_rotation(rotation: SX) -> SX:
    """Quaternion (4,) of a rotation matrix up to a factor: 4 q_k (x, y, z, w) for a component q_k with |q_k| >= 1/2.

    If the trace is the largest, k is w; otherwise the largest diagonal entry selects k. Unlike the vector part of
    R - Rᵀ, the result is accurate near half a turn.
    """
    r = rotation
    by_w = r[0, 0] + r[1, 1] + r[2, 2] > 0
    by_x = ca.logic_and(r[0, 0] >= r[1, 1], r[0, 0] >= r[2, 2])
    by_y = r[1, 1] >= r[2, 2]
    entries = [
        ca.if_else(by_w, w, ca.if_else(by_x, x, ca.if_else(by_y, y, z)))
        for x, y, z, w in quaternion_products([[r[i, j] for j in range(3)] for i in range(3)])
    ]
    return ca.vertcat(*entries)


def quaternion_products(r: Sequence[Sequence[T]]) -> list[list[T]]:
    """Rows of 4 q qᵀ for the quaternion q of a rotation matrix, from the rows of the matrix; arrays or expressions.

    Each column is a multiple of q. Source: Shepperd, Quaternion from rotation matrix, 1978.
    """
    trace = r[0][0] + r[1][1] + r[2][2]
    rest = 1 - trace
    xx, yy, zz = (rest + 2 * r[i][i] for i in range(3))
    xy, yz, zx = r[1][0] + r[0][1], r[2][1] + r[1][2], r[0][2] + r[2][0]
    wx, wy, wz = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    return [[xx, xy, zx, wx], [xy, yy, yz, wy], [zx, yz, zz, wz], [wx, wy, wz, 1 + trace]]


def renormalise(a: SX) -> SX:
    """One Newton step towards norm 1, a (3 - aᵀa)/2: Pinocchio's firstOrderNormalize."""
    return a * (1.5 - 0.5 * ca.sumsqr(a))


def tangent_columns(a: SX) -> SX:
    """Columns a (e_i, 0) of quaternion products, shape (4, 3): twice the derivative of a exp(v) at v = 0."""
    x, y, z, w = a[0], a[1], a[2], a[3]
    return ca.blockcat([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
