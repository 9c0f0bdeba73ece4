"""Spatial vectors and inertias as SX expressions with structural zeros.

A motion (v, w) or a force (f, n) is a pair of SX columns (3,), linear part first as in Pinocchio. SX simplifies
products with 0 and 1 while an expression is built, so that sparse constants make short expressions.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.types import Reals


@dataclass(frozen=True)
class Spatial:
    """A motion (linear, angular) or a force (force, couple), each part SX (3,)."""

    linear: SX
    angular: SX

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Spatial) -> Spatial:
        return Spatial(self.linear - other.linear, self.angular - other.angular)

    def vector(self) -> SX:
        """Both parts in one column, SX (6,), linear first."""
        return ca.vertcat(self.linear, self.angular)


def spatial(vector: Reals | SX) -> Spatial:
    """Splits a column (6,) into its linear and its angular part."""
    vector = SX(vector)
    return Spatial(vector[:3], vector[3:])


def zero() -> Spatial:
    """The spatial vector 0."""
    return Spatial(SX(np.zeros(3)), SX(np.zeros(3)))


def cross_motion(a: Spatial, b: Spatial) -> Spatial:
    """Motion cross motion: (w_a × v_b + v_a × w_b, w_a × w_b) (Featherstone 2008, eq. 2.31)."""
    return Spatial(
        ca.cross(a.angular, b.linear) + ca.cross(a.linear, b.angular),
        ca.cross(a.angular, b.angular),
    )


def cross_force(a: Spatial, f: Spatial) -> Spatial:
    """Motion cross force: (w × f, w × n + v × f) (Featherstone 2008, eq. 2.32)."""
    return Spatial(
        ca.cross(a.angular, f.linear),
        ca.cross(a.angular, f.angular) + ca.cross(a.linear, f.linear),
    )


def dot(a: Spatial, b: Spatial) -> SX:
    """Power of a force on a motion, SX (1, 1); structural zeros of either cost nothing."""
    return _dot3(a.linear, b.linear) + _dot3(a.angular, b.angular)


def _dot3(a: SX, b: SX) -> SX:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@dataclass(frozen=True)
class Placement:
    """Placement of a child frame in its parent frame: x_parent = rotation x_child + translation.

    Attributes:
        rotation: R, SX (3, 3).
        translation: p, SX (3,) [m].
    """

    rotation: SX
    translation: SX

    def motion_to_child(self, m: Spatial) -> Spatial:
        """(Rᵀ(v + w × p), Rᵀ w) (Featherstone 2008, table 2.1)."""
        rt = self.rotation.T
        return Spatial(
            ca.mtimes(rt, m.linear + ca.cross(m.angular, self.translation)),
            ca.mtimes(rt, m.angular),
        )

    def motion_to_parent(self, m: Spatial) -> Spatial:
        """(R v + p × R w, R w)."""
        angular = ca.mtimes(self.rotation, m.angular)
        return Spatial(ca.mtimes(self.rotation, m.linear) + ca.cross(self.translation, angular), angular)

    def force_to_parent(self, f: Spatial) -> Spatial:
        """(R f, R n + p × R f)."""
        linear = ca.mtimes(self.rotation, f.linear)
        return Spatial(linear, ca.mtimes(self.rotation, f.angular) + ca.cross(self.translation, linear))

    def compose(self, other: Placement) -> Placement:
        """The placement self · other."""
        return Placement(
            ca.mtimes(self.rotation, other.rotation),
            self.translation + ca.mtimes(self.rotation, other.translation),
        )


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia about the origin of its frame: 10 parameters, linear in each.

    Attributes:
        mass: m, SX (1, 1) [kg].
        moment: First moment h = m c, SX (3,) [kg m].
        rotational: Rotational inertia about the origin, symmetric SX (3, 3) [kg m²].
    """

    mass: SX
    moment: SX
    rotational: SX

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(
            self.mass + other.mass, self.moment + other.moment, symmetric_sum(self.rotational, other.rotational)
        )

    def times(self, m: Spatial) -> Spatial:
        """(m v - h × w, h × v + I w) (Featherstone 2008, eq. 2.63)."""
        return Spatial(
            self.mass * m.linear + ca.cross(m.angular, self.moment),
            ca.cross(self.moment, m.linear) + ca.mtimes(self.rotational, m.angular),
        )


def symmetric(upper: dict[tuple[int, int], SX]) -> SX:
    """The symmetric SX (3, 3) with the given upper triangle."""
    return SX(ca.vertcat(*[ca.horzcat(*[upper[min(i, j), max(i, j)] for j in range(3)]) for i in range(3)]))


UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def symmetric_sum(a: SX, b: SX) -> SX:
    """Sum of two symmetric SX (3, 3), computed once above the diagonal."""
    return symmetric({ij: a[ij] + b[ij] for ij in UPPER})


def rotate_symmetric(rotation: SX, a: SX) -> SX:
    """R A Rᵀ of a symmetric A, SX (3, 3)."""
    half = ca.mtimes(rotation, a)
    return symmetric({(i, j): ca.mtimes(half[i, :], rotation[j, :].T) for i, j in UPPER})


def rotate_symmetric_z(cosine: SX, sine: SX, a: SX) -> SX:
    """R A Rᵀ of a symmetric A for a turn about z, in 16 instructions instead of 27.

    With t = s (a_xx - a_yy) + 2 c a_xy: a_xx - s t, a_yy + s t, and c t - a_xy beside the diagonal.
    """
    t = sine * (a[0, 0] - a[1, 1]) + cosine * (2 * a[0, 1])
    st = sine * t
    upper = {
        (0, 0): a[0, 0] - st,
        (0, 1): cosine * t - a[0, 1],
        (0, 2): cosine * a[0, 2] - sine * a[1, 2],
        (1, 1): a[1, 1] + st,
        (1, 2): sine * a[0, 2] + cosine * a[1, 2],
        (2, 2): a[2, 2],
    }
    return symmetric(upper)


def shift_symmetric(p: SX, h: SX) -> SX:
    """-[p][h] - [h][p] = 2 (p·h) 1 - p hᵀ - h pᵀ, SX (3, 3): change of an inertia when its origin moves by p."""
    products = [p[i] * h[i] for i in range(3)]
    upper = {(i, j): -(p[i] * h[j] + h[i] * p[j]) for i, j in UPPER if i != j}
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        upper[i, i] = 2 * (products[j] + products[k])
    return symmetric(upper)


def rounded(constants: Reals, tolerance: float = 1e-14) -> Reals:
    """Constants with those that are integers up to rounding replaced by the integers, which simplifies products."""
    constants = np.asarray(constants, dtype=np.float64)
    nearest = np.round(constants)
    return np.where(np.abs(constants - nearest) < tolerance, nearest, constants) + 0.0
