"""Spatial vectors and inertias as SX expressions with structural zeros.

A motion (v, w) or a force (f, n) is a pair of SX columns (3,), linear part first as in Pinocchio. SX simplifies
products with 0 and 1 while an expression is built, so that sparse constants make short expressions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.lie.formula import formula
from trajopt.lie.scalars import TWO, matrix3, minus, plus, scalars, sum_of_products, times
from trajopt.types import Reals


@dataclass(frozen=True)
class Spatial:
    """A motion (linear, angular) or a force (force, couple), each part SX (3,)."""

    linear: SX
    angular: SX

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(plus(self.linear, other.linear), plus(self.angular, other.angular))

    def __sub__(self, other: Spatial) -> Spatial:
        return Spatial(minus(self.linear, other.linear), minus(self.angular, other.angular))

    def vector(self) -> SX:
        """Both parts in one column, SX (6,), linear first."""
        return SX(ca.vcat([self.linear, self.angular]))


def spatial(vector: Reals | SX) -> Spatial:
    """Splits a column (6,) into its linear and angular parts."""
    vector = SX(vector)
    return Spatial(vector[:3], vector[3:])


def zero() -> Spatial:
    """Returns the spatial vector of zeros."""
    return Spatial(SX.zeros(3), SX.zeros(3))


def cross_motion(a: Spatial, b: Spatial) -> Spatial:
    """Cross product of motions: (w_a × v_b + v_a × w_b, w_a × w_b) (Featherstone 2008, eq. 2.31)."""
    return Spatial(*_cross_motion(a.linear, a.angular, b.linear, b.angular))


@formula
def _cross_motion(v: SX, w: SX, linear: SX, angular: SX) -> tuple[SX, SX]:
    return plus(ca.cross(w, linear), ca.cross(v, angular)), ca.cross(w, angular)


def cross_force(a: Spatial, f: Spatial) -> Spatial:
    """Cross product of a motion and a force: (w × f, w × n + v × f) (Featherstone 2008, eq. 2.32)."""
    return Spatial(*_cross_force(a.linear, a.angular, f.linear, f.angular))


@formula
def _cross_force(v: SX, w: SX, force: SX, couple: SX) -> tuple[SX, SX]:
    return ca.cross(w, force), plus(ca.cross(w, couple), ca.cross(v, force))


def dot(a: Spatial, b: Spatial) -> SX:
    """Power of a force on a motion, SX (1, 1); structural zeros of either cost nothing."""
    return plus(dot3(a.linear, b.linear), dot3(a.angular, b.angular))


def dot3(a: SX, b: SX) -> SX:
    """Dot product a · b of two columns (3,), SX (1, 1); structural zeros of either cost nothing."""
    (a0, a1, a2), (b0, b1, b2) = scalars(a), scalars(b)
    return plus(plus(times(a0, b0), times(a1, b1)), times(a2, b2))


@dataclass(frozen=True)
class Placement:
    """Placement of a child frame in its parent frame: x_parent = rotation x_child + translation.

    Attributes:
        rotation: R, SX (3, 3).
        translation: p, SX (3,) [m].
    """

    rotation: SX
    translation: SX

    @functools.cached_property
    def inverse_rotation(self) -> SX:
        """Inverse rotation Rᵀ, SX (3, 3)."""
        return self.rotation.T

    def motion_to_child(self, m: Spatial) -> Spatial:
        """Transforms a motion to the child frame: (Rᵀ(v + w × p), Rᵀ w) (Featherstone 2008, table 2.1)."""
        return Spatial(*_motion_to_child(self.inverse_rotation, self.translation, m.linear, m.angular))

    def motion_to_parent(self, m: Spatial) -> Spatial:
        """Transforms a motion to the parent frame: (R v + p × R w, R w)."""
        return Spatial(*_motion_to_parent(self.rotation, self.translation, m.linear, m.angular))

    def force_to_parent(self, f: Spatial) -> Spatial:
        """Transforms a force to the parent frame: (R f, R n + p × R f)."""
        return Spatial(*_force_to_parent(self.rotation, self.translation, f.linear, f.angular))

    def compose(self, other: Placement) -> Placement:
        """Composition self · other."""
        return Placement(*_compose(self.rotation, self.translation, other.rotation, other.translation))


@formula
def _motion_to_child(inverse_rotation: SX, translation: SX, linear: SX, angular: SX) -> tuple[SX, SX]:
    moved = plus(linear, ca.cross(angular, translation))
    return ca.mtimes(inverse_rotation, moved), ca.mtimes(inverse_rotation, angular)


@formula
def _motion_to_parent(rotation: SX, translation: SX, linear: SX, angular: SX) -> tuple[SX, SX]:
    turned = ca.mtimes(rotation, angular)
    return plus(ca.mtimes(rotation, linear), ca.cross(translation, turned)), turned


@formula
def _force_to_parent(rotation: SX, translation: SX, force: SX, couple: SX) -> tuple[SX, SX]:
    turned = ca.mtimes(rotation, force)
    return turned, plus(ca.mtimes(rotation, couple), ca.cross(translation, turned))


@formula
def _compose(rotation: SX, translation: SX, other: SX, other_translation: SX) -> tuple[SX, SX]:
    return ca.mtimes(rotation, other), plus(translation, ca.mtimes(rotation, other_translation))


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia about the origin of its frame, with 10 parameters.

    Attributes:
        mass: m, SX (1, 1) [kg].
        moment: First moment h = m c, SX (3,) [kg m].
        rotational: Rotational inertia about the origin, symmetric SX (3, 3) [kg m²].
    """

    mass: SX
    moment: SX
    rotational: SX

    def __add__(self, other: Inertia) -> Inertia:
        rotational = symmetric_sum(self.rotational, other.rotational)
        return Inertia(plus(self.mass, other.mass), plus(self.moment, other.moment), rotational)

    def times(self, m: Spatial) -> Spatial:
        """Momentum of a motion m: (m v - h × w, h × v + I w) (Featherstone 2008, eq. 2.63)."""
        return Spatial(*_momentum(self.mass, self.moment, self.rotational, m.linear, m.angular))


@formula
def _momentum(mass: SX, moment: SX, rotational: SX, linear: SX, angular: SX) -> tuple[SX, SX]:
    momentum = plus(times(mass, linear), ca.cross(angular, moment))
    return momentum, plus(ca.cross(moment, linear), ca.mtimes(rotational, angular))


def symmetric(xx: SX, xy: SX, xz: SX, yy: SX, yz: SX, zz: SX) -> SX:
    """Returns the symmetric matrix SX (3, 3) with the given upper triangle."""
    return matrix3([xx, xy, xz, xy, yy, yz, xz, yz, zz])


def upper_triangle(a: SX) -> list[SX]:
    """Upper triangle (xx, xy, xz, yy, yz, zz) of a symmetric SX (3, 3)."""
    xx, _, _, xy, yy, _, xz, yz, zz = scalars(a)
    return [xx, xy, xz, yy, yz, zz]


@formula
def symmetric_sum(a: SX, b: SX) -> SX:
    """Sum of two symmetric SX (3, 3), computed once above the diagonal."""
    return symmetric(*map(plus, upper_triangle(a), upper_triangle(b)))


@formula
def rotate_symmetric(rotation: SX, a: SX) -> SX:
    """Rotated matrix R A Rᵀ of a symmetric A, SX (3, 3)."""
    half, full = scalars(ca.mtimes(rotation, a)), scalars(rotation)
    rows = [(half[i::3], full[i::3]) for i in range(3)]
    return symmetric(*[sum_of_products(rows[i][0], rows[j][1]) for i in range(3) for j in range(i, 3)])


@formula
def rotate_symmetric_z(cosine: SX, sine: SX, a: SX) -> SX:
    """Rotated matrix R A Rᵀ of a symmetric A for a rotation about z, in 16 operations instead of 27.

    With t = s (a_xx - a_yy) + 2 c a_xy the entries are a_xx - s t, a_yy + s t, and off the diagonal c t - a_xy.
    """
    xx, xy, xz, yy, yz, zz = upper_triangle(a)
    t = plus(times(sine, minus(xx, yy)), times(cosine, times(TWO, xy)))
    st = times(sine, t)
    return symmetric(
        xx=minus(xx, st),
        xy=minus(times(cosine, t), xy),
        xz=minus(times(cosine, xz), times(sine, yz)),
        yy=plus(yy, st),
        yz=plus(times(sine, xz), times(cosine, yz)),
        zz=zz,
    )


@formula
def shift_symmetric(p: SX, h: SX) -> SX:
    """Matrix -[p][h] - [h][p] = 2 (p·h) 1 - p hᵀ - h pᵀ, SX (3, 3): change of an inertia if its origin moves by p."""
    (px, py, pz), (hx, hy, hz) = scalars(p), scalars(h)
    x, y, z = times(px, hx), times(py, hy), times(pz, hz)
    return symmetric(
        xx=times(TWO, plus(y, z)),
        xy=-plus(times(px, hy), times(hx, py)),
        xz=-plus(times(px, hz), times(hx, pz)),
        yy=times(TWO, plus(z, x)),
        yz=-plus(times(py, hz), times(hy, pz)),
        zz=times(TWO, plus(x, y)),
    )


def rounded(constants: Reals, tolerance: float = 1e-14) -> Reals:
    """Constants, where integers up to rounding errors become exact integers; this simplifies products."""
    constants = np.asarray(constants, dtype=np.float64)
    nearest = np.round(constants)
    return np.where(np.abs(constants - nearest) < tolerance, nearest, constants) + 0.0
