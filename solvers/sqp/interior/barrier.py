"""Constraint rows with slacks, multipliers and a logarithmic barrier."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

RELAX = 1e-10  # by which bounds lie further out, as those of IPOPT: a row that nothing moves may be at its bound
FINEST = 1e-4  # of a bound: what that is relative to at least, so that it is no rounding
PUSH = 1e-2  # first distance of a slack from its bound, relative to the bound, at least the size, or to the range
PART = 0.99  # part of its distance from 0 that a slack or a multiplier may lose in one step
DEAREST = 20.0  # first product z d, in typical costs; of 20 cars round a corner 19 converge, without it 15
FAIR = 5.0  # largest ratio of μ and a product that a corrected step aims at; with 10 an acrobot ends at 8, not 1.2
SIGN = np.array([-1.0, 1.0])[:, None, None]  # of the lower and the upper side


@dataclass(frozen=True, eq=False)
class Bounds:
    """Equations and bounds of the constraint rows of a program.

    Attributes:
        equal: Mask of equations (n, nc).
        target: Right-hand sides of equations (n, nc), 0 of other rows.
        on: Masks of lower and upper bounds of other rows (2, n, nc).
        bound: These bounds (2, n, nc), 0 where there is none.
        size: Sizes of the rows (n, nc), see `Units`.
    """

    equal: npt.NDArray[np.bool_]
    target: Reals
    on: npt.NDArray[np.bool_]
    bound: Reals
    size: Reals

    @staticmethod
    def of(lower: Reals, upper: Reals, size: Reals, unit: Reals) -> Bounds:
        """Builds the bounds from lower <= c <= upper (n, nc), infinite where a row has no bound.

        `unit` (n, nc) is what violations of rows are measured by, from which a size may differ.
        """
        sides, equal = np.stack([lower, upper]), lower == upper
        on = np.isfinite(sides) & ~equal
        sides = np.where(on, sides, 0.0)
        sides += np.where(on, SIGN * RELAX * np.maximum(np.minimum(size, unit), FINEST * np.abs(sides)), 0.0)
        return Bounds(equal, np.where(equal, lower, 0.0), on, sides, size)

    @property
    def any(self) -> npt.NDArray[np.bool_]:
        """Mask (n, nc) of the rows that have a bound or an equation."""
        return self.equal | self.on.any(axis=0)

    def distances(self, slack: Reals) -> Reals:
        """Distances (2, n, nc) of slacks (n, nc) from their lower and upper bounds; 1 where there is no bound."""
        return np.where(self.on, SIGN * (self.bound - slack), 1.0)

    def changes(self, ds: Reals) -> Reals:
        """Changes (2, n, nc) of the slacks' distances from their bounds, for changes ds (n, nc) of the slacks."""
        return np.where(self.on, -SIGN * ds, 0.0)

    def inside(self, c: Reals) -> Reals:
        """Initial slacks (n, nc): the rows c (n, nc), moved to a minimum distance inside their bounds."""
        width = np.where(self.on.all(axis=0), self.bound[1] - self.bound[0], np.inf)
        push = PUSH * np.minimum(np.maximum(self.size, np.abs(self.bound)), width)
        lower, upper = np.where(self.on, self.bound - SIGN * push, SIGN * np.inf)
        return np.where(self.on.any(axis=0), np.clip(c, lower, upper), 0.0)

    def residuals(self, c: Reals, slack: Reals) -> Reals:
        """Residuals (n, nc) of rows c (n, nc): c - s for a row with slack s, c - target for an equation."""
        missed = np.where(self.on.any(axis=0), c - slack, 0.0)
        return np.where(self.equal, c - self.target, missed)


@dataclass(frozen=True, eq=False)
class Barrier:
    """Slacks and multipliers of the rows: c = s with lower < s < upper, or c = target.

    Newton's equations of (c - s = 0, y = z_u - z_l, z d = μ), with d the distance of a slack from its bound, give the
    rows a weight D in the Hessian and h in the gradient: y⁺ = D C dz + h, where y⁺ are the multipliers after the step.
    Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, (11)-(13).

    Attributes:
        bounds: The bounds.
        slack: Slacks s (n, nc); 0 of equations.
        z: Multipliers of the lower and upper bounds (2, n, nc), positive; 0 where there is none.
        y: Multipliers of the rows (n, nc).
        mu: Barrier parameter μ [cost].
    """

    bounds: Bounds
    slack: Reals
    z: Reals
    y: Reals
    mu: float

    @staticmethod
    def at(bounds: Bounds, c: Reals, mu: float) -> Barrier:
        """Builds the barrier at rows c (n, nc), with slacks near them and multipliers of 1 / size.

        Rows that move to second order only, such as a friction circle at rest, have next to no size: the way to a bound
        costs at most `DEAREST` at first.
        """
        slack = bounds.inside(c)
        z = np.where(bounds.on, np.minimum(1.0 / bounds.size, DEAREST / bounds.distances(slack)), 0.0)
        return Barrier(bounds, slack, z, (SIGN * z).sum(axis=0), mu)

    def value(self, slack: Reals) -> float:
        """Cost of the barrier -μ Σ log d [cost], with the distances d of slacks (n, nc); NaN beyond a bound."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return -self.mu * float(np.log(self.bounds.distances(slack)).sum())

    @property
    def products(self) -> Reals:
        """Products z d of the multipliers of all bounds and the slacks' distances from them [cost]."""
        return (self.z * self.bounds.distances(self.slack))[self.bounds.on]

    @property
    def stiffness(self) -> Reals:
        """Weights D of the rows in the Hessian (n, nc)."""
        return (self.z / self.bounds.distances(self.slack)).sum(axis=0)

    def pull(self, aim: float | Reals) -> Reals:
        """Gradient by the slacks (n, nc) of the barrier whose parameters are `aim`, a number or (2, n, nc)."""
        return np.where(self.bounds.on, SIGN * aim / self.bounds.distances(self.slack), 0.0).sum(axis=0)

    def slope(self, ds: Reals) -> float:
        """Derivative of the barrier along a change of the slacks (n, nc)."""
        return float((self.pull(self.mu) * ds).sum())

    def dz(self, ds: Reals, aim: float | Reals) -> Reals:
        """Newton's change of the bounds' multipliers (2, n, nc), for changes ds (n, nc) of slacks, to z d = `aim`."""
        distance = self.bounds.distances(self.slack)
        return np.where(self.bounds.on, (aim + SIGN * self.z * ds) / distance - self.z, 0.0)

    def corrected(self, ds: Reals, dz: Reals) -> tuple[Reals, float]:
        """Products (2, n, nc) to aim at, so that those after a step are nearly μ, and the length that this is for.

        To first order z d + z Δd + d Δz = μ, a step of length α leaves α² Δd Δz, which the next one aims below
        (Mehrotra, On the implementation of a primal-dual interior point method, 1992), within `FAIR` of μ.

        Args:
            ds: Change of the slacks by a step (n, nc).
            dz: Change of the multipliers (2, n, nc).
        """
        change = self.bounds.changes(ds)
        length = longest(self.bounds.distances(self.slack), change)
        left = length * longest(self.z, dz) * change * dz
        return np.clip(self.mu - left, self.mu / FAIR, self.mu * FAIR), length

    def dz_by_slack(self, ds: Reals) -> Reals:
        """Change of these multipliers (2, n, nc) by a further change of the slacks (n, nc)."""
        return np.where(self.bounds.on, SIGN * self.z * ds / self.bounds.distances(self.slack), 0.0)

    def keeps_off(self, slack: Reals) -> bool:
        """Whether the slacks (n, nc) keep 1 - `PART` of their distances from their bounds."""
        return bool((self.bounds.distances(slack) >= (1.0 - PART) * self.bounds.distances(self.slack)).all())

    def moved(self, slack: Reals, z: Reals, y: Reals, spread: float) -> Barrier:
        """Returns the barrier at other slacks and multipliers, with z at most `spread` [-] times μ/d, or part of it."""
        central = self.mu / self.bounds.distances(slack)
        z = np.where(self.bounds.on, np.clip(z, central / spread, central * spread), 0.0)
        return replace(self, slack=slack, z=z, y=y)


def longest(value: Reals, change: Reals) -> float:
    """Largest step length, at most 1, after which positive values keep 1 - `PART` of themselves."""
    falling = change < 0.0
    with np.errstate(over="ignore"):
        return min(1.0, float((-PART * value[falling] / change[falling]).min(initial=np.inf)))
