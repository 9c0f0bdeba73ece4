"""Contact laws: the impulse of maximal dissipation as a function of the contact's velocity.

The impulse of a contact is C w. The columns of C are its rays, w >= 0, and s = 1 - Σ w >= 0 is the remaining fraction
of the budget. With a barrier of weight 1 (velocities and impulses are divided by √μ), w solves

    Cᵀ u - 1/w + 1/s 1 = 0      for the velocity u.

Its linearisation has the matrix M = diag(z/w) + (y/s) 1 1ᵀ, with z = 1/w and y = 1/s at the solution. The impulse
changes with the velocity by -C M⁻¹ Cᵀ = -F Fᵀ. The coupling of contacts needs only F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

_TINY = 1e-300
_ROUNDING = 1e-16  # smallest pivot of a direction in which all rays are at their limits


class Weights:
    """Inverse matrix M⁻¹ of one contact, computed without differences of almost equal numbers.

    Args:
        inverse: w/z of each ray (n,) [-].
        total: Sum of `inverse` (1,) [-].
        share: s/y divided by s/y + total (1,) [-].
    """

    def __init__(self, inverse: SX, total: SX, share: SX) -> None:
        self.inverse, self.total, self.share = inverse, total, share
        self._average = reciprocal(total)

    @classmethod
    def of(cls, inverse: SX, slack: SX) -> Weights:
        """Builds the weights from w/z (n,) and s/y (1,)."""
        total = ca.sum1(inverse)
        return cls(inverse, total, slack / (slack + total))

    def mean(self, r: SX) -> SX:
        """Weighted mean over the rays of r (n, m), shape (1, m)."""
        return ca.mtimes(self.inverse.T, r) * self._average

    def parts(self, r: SX) -> tuple[SX, SX]:
        """Returns M⁻¹ r (n,), and the sum of its elements, for r (n,).

        r may be 1e8 in all rays while the sum is 1e-8, so the mean is subtracted first, and again from the result.
        """
        mean = self.mean(r)
        rest = r - mean
        more = self.mean(rest)
        common = self.share * (mean + more)
        return self.inverse * (rest - more + common), self.total * common


@dataclass(frozen=True)
class Follower:
    """Factor F of the derivative of one contact's impulse at the solution.

    Attributes:
        F: Factor of the derivative of the impulse by the velocity, C M⁻¹ Cᵀ = F Fᵀ (size, rank).
        left: Matrix L (rank, n) with F L r = C M⁻¹ r.
    """

    F: SX
    left: SX

    def pull(self, r: SX) -> SX:
        """Returns L r (rank, m) for r (n, m). F L r is the impulse that r causes."""
        return ca.mtimes(self.left, r)


class LawAbstract(ABC):
    """Law of a contact's impulse C w, with the rays (columns of C) and the budget of w.

    Attributes:
        size: Size of the contact's velocity and impulse [-].
        rays: Number n of columns of C [-].
        rank: Number of columns of F [-].
        constants: Number of values on which C depends [-].
        one_sided: Whether rays cannot cancel each other; w is then as small as the impulses.
    """

    size: int
    rays: int
    rank: int
    constants: int
    one_sided = False

    @abstractmethod
    def columns(self, law: SX) -> SX:
        """Matrix C (size, n) from the law's values (constants,)."""

    @abstractmethod
    def scaled(self, law: SX, scale: SX) -> SX:
        """Returns the values (constants,) with which the matrix C is `scale` times that of the values `law`."""

    def gap(self, law: SX) -> SX | None:
        """Term (n,) that is added to Cᵀ u, with the contact's velocity u, but does not depend on u; None by default."""
        return None

    def start(self, law: SX, velocity: SX, inertia: SX) -> tuple[SX, SX]:
        """Initial (w, s): impulses that would stop this contact if there were no others.

        If rays can cancel each other, w may be large although impulses are small; w then starts at the centre.

        Args:
            law: Values of the law.
            velocity: u without impulses (size,).
            inertia: Block of Λ for this contact (size, size).
        """
        C = self.columns(law)
        resistance = ca.trace(C.T @ inertia @ C) / self.rays + _TINY
        wanted = 3 * ca.norm_inf(C.T @ velocity) / resistance + 1 / ca.sqrt(resistance)
        centre = SX(1 / (self.rays + 1))
        share = ca.fmin(centre, wanted / self.rays) if self.one_sided else centre
        return SX(ca.repmat(share, self.rays, 1)), SX(1 - self.rays * share)

    @abstractmethod
    def follow(self, law: SX, weights: Weights) -> Follower:
        """Returns the factors F and L of the impulse's derivative, from the law's values and weights at a solution."""


class PyramidLaw(LawAbstract):
    """Friction pyramid C = k (friction cos θ_j; friction sin θ_j; 1), θ_j = 2πj/n, with a budget k of normal impulse.

    Its values are (k, friction).

    Args:
        rays: Number n of rays, >= 3 [-].
    """

    size = rank = 3
    constants = 2
    one_sided = True

    def __init__(self, rays: int) -> None:
        angles = 2 * np.pi * np.arange(rays) / rays
        self.rays = rays
        self._around = np.array([_round(np.cos(angles)), _round(np.sin(angles))])

    def columns(self, law: SX) -> SX:
        return law[0] * ca.vertcat(law[1] * self._around, SX(np.ones((1, self.rays))))

    def scaled(self, law: SX, scale: SX) -> SX:
        return ca.vertcat(law[0] * scale, law[1])

    def follow(self, law: SX, weights: Weights) -> Follower:
        """Factors F and L, by a Cholesky factorisation of the rays about their mean: normal first, then tangents."""
        inverse = weights.inverse
        centre = weights.mean(SX(self._around.T)).T
        away = SX(self._around) - ca.repmat(centre, 1, self.rays)
        moments = ca.mtimes(away * ca.repmat(inverse.T, 2, 1), away.T)
        first = ca.sqrt(moments[0, 0])
        inverse_first = reciprocal(first)
        below = moments[1, 0] * inverse_first
        second = ca.sqrt(ca.fmax(moments[1, 1] - below**2, _ROUNDING * moments[1, 1]))
        normal = ca.sqrt(weights.total * weights.share)
        lower = ca.vertcat(
            ca.horzcat(normal * centre[0], first, SX(1, 1)),
            ca.horzcat(normal * centre[1], below, second),
            ca.horzcat(normal, SX(1, 1), SX(1, 1)),
        )
        along = away[0, :] * inverse_first
        across = (away[1, :] - below * along) * reciprocal(second)
        left = ca.vertcat(
            SX(np.ones((1, self.rays))) * ca.sqrt(weights.share * reciprocal(weights.total)), along, across
        )
        scale = law[0] * ca.vertcat(law[1], law[1], SX(1))
        return Follower(ca.sparsify(ca.diag(scale) @ lower), left * ca.repmat(inverse.T, 3, 1))


class ColumnsLaw(LawAbstract):
    """Law with an explicit matrix C. The law's values are the columns of C, stacked.

    Args:
        size: Number of rows [-].
        rays: Number n of columns [-].
    """

    def __init__(self, size: int, rays: int) -> None:
        self.size, self.rays, self.rank, self.constants = size, rays, rays, size * rays

    def columns(self, law: SX) -> SX:
        return SX(ca.reshape(law, self.size, self.rays))

    def scaled(self, law: SX, scale: SX) -> SX:
        return law * scale

    def follow(self, law: SX, weights: Weights) -> Follower:
        """Factors F and L, from the symmetric root of M⁻¹, diag(a) (1 - β a aᵀ) with a² = w/z."""
        root = ca.sqrt(weights.inverse)
        beta = (1 - ca.sqrt(weights.share)) / weights.total
        half = ca.mtimes(SX.eye(self.rays) - beta * ca.mtimes(root, root.T), ca.diag(root))
        return Follower(ca.mtimes(self.columns(law), half.T), half)


def _round(values: np.ndarray) -> np.ndarray:
    """Rounds zeros, halves and ones of sines to exact numbers."""
    nearest = np.round(2 * values) / 2
    return np.where(np.abs(values - nearest) < 1e-15, nearest, values)


def reciprocal(x: SX) -> SX:
    """1/x as a reusable product factor; CasADi would otherwise divide in each product."""
    return 0.5 * (2 / x)
