"""Friction cones of point contacts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_count, check_flag, check_instance, check_number, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.parameters import positive
from trajopt.residuals.contact_force import ResidualModelForce
from trajopt.robots.placements import check_rotation
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


@dataclass(frozen=True, eq=False)
class ConeAbstract(ABC):
    """Base of cones of contact forces, as rows lower <= A force <= upper: friction, the normal force, `further` rows.

    Attributes:
        mu: Friction coefficient μ, > 0 [-].
        facets: Number of facets of the friction pyramid, even, >= 4 [-].
        inner: Whether the pyramid lies inside the cone: it uses μ cos(π / facets) instead of μ.
        rotation: R (3, 3), the axes of the surface in the axes of the force.
        min_force: Smallest normal force [N].
        max_force: Largest normal force [N].
    """

    further: ClassVar[int] = 0
    """Number of rows <= 0 after those of the friction and of the normal force."""

    mu: float = 0.7
    _: KW_ONLY
    facets: int = 4
    inner: bool = True
    rotation: npt.ArrayLike = field(default_factory=lambda: np.eye(3))
    min_force: float = 0.0
    max_force: float = np.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_positive("mu", self.mu))
        object.__setattr__(self, "facets", check_facets(self.facets))
        object.__setattr__(self, "inner", check_flag("inner", self.inner))
        object.__setattr__(self, "rotation", check_rotation("rotation", self.rotation))
        for name, force in zip(("min_force", "max_force"), check_normal_force(self.min_force, self.max_force)):
            object.__setattr__(self, name, force)

    @property
    @abstractmethod
    def matrix(self) -> Reals:
        """Matrix A, one row for each bound."""

    @property
    def lower(self) -> Reals:
        """Lower bounds of A force, (facets + 1 + further,) [N, N m]."""
        return np.array([*[-np.inf] * self.facets, self.min_force, *[-np.inf] * self.further])

    @property
    def upper(self) -> Reals:
        """Upper bounds of A force, (facets + 1 + further,) [N, N m]."""
        return np.array([*[0.0] * self.facets, self.max_force, *[0.0] * self.further])


@dataclass(frozen=True, eq=False)
class FrictionCone(ConeAbstract):
    """Linearised friction cone |f_t| <= μ f_n, a pyramid lower <= A force <= upper.

    The force in the axes of the surface is f = Rᵀ force, and the z axis is the normal. The rows are ±(cos θ, sin θ) ·
    f_t - μ f_z <= 0 for each facet, then the normal force f_z within its limits.

    Attributes:
        mu: Friction coefficient μ, > 0 [-].
        facets: Number of facets, even, >= 4 [-].
        inner: Whether the pyramid lies inside the cone: it uses μ cos(π / facets) instead of μ.
        rotation: R (3, 3), the axes of the surface in the axes of the force.
        min_force: Smallest normal force [N].
        max_force: Largest normal force [N].

    Source: Caron, Pham and Nakamura, ICRA 2015; rows in the order of Crocoddyl's FrictionCone.
    """

    @property
    def matrix(self) -> Reals:
        """Matrix A (facets + 1, 3)."""
        rows = friction_rows(SX(self.mu), self.facets, self.inner)
        return np.array(ca.DM(ca.vertcat(rows, SX([[0, 0, 1]]))).full()) @ np.asarray(self.rotation).T


def friction_rows(mu: SX, facets: int, inner: bool) -> SX:
    """Rows ±(cos θ, sin θ, 0) - (0, 0, μ), one for each facet (facets, 3)."""
    slope = mu * np.cos(np.pi / facets) if inner else mu
    rows = []
    for i in range(facets // 2):
        angle = 2 * np.pi * i / facets
        direction = np.array([np.cos(angle), np.sin(angle)])
        direction = np.where(np.abs(direction) < 1e-15, 0.0, direction)
        rows += [ca.horzcat(*(sign * direction), -slope) for sign in (1.0, -1.0)]
    return SX(ca.vertcat(*rows))


def beyond_cone(cone: ConeAbstract, rows: Reals) -> Reals:
    """Excess |f_t| - μ f_n over the friction cone itself, (n,) [N]; at most 0 for forces in the cone.

    Args:
        cone: The cone.
        rows: A force for n forces (n, facets + 1 + further) [N, N m], of which the rows of the pyramid are read.
    """
    pairs = rows[:, : cone.facets].reshape(-1, cone.facets // 2, 2)
    angles = 2 * np.pi * np.arange(cone.facets // 2) / cone.facets
    along = 0.5 * (pairs[:, :, 0] - pairs[:, :, 1])
    tangential = along @ np.linalg.pinv(np.array([np.cos(angles), np.sin(angles)]))
    limit = -0.5 * pairs.sum(axis=2).mean(axis=1) / (np.cos(np.pi / cone.facets) if cone.inner else 1.0)
    return np.asarray(np.linalg.norm(tangential, axis=1) - limit)


def check_facets(facets: int) -> int:
    """Returns the number of facets; raises InvalidArgumentError unless it is even and between 4 and 1000."""
    count = check_count("facets", facets, most=1000)
    if count < 4 or count % 2:
        raise InvalidArgumentError(f"facets: expected an even number >= 4, got {facets!r}")
    return count


def check_normal_force(lowest: float, highest: float) -> tuple[float, float]:
    """Returns the limits of the normal force; raises InvalidArgumentError unless 0 <= lowest < highest."""
    lowest, highest = check_number("min_force", lowest), check_number("max_force", highest)
    if not 0.0 <= lowest < highest:
        raise InvalidArgumentError(
            f"min_force: expected 0 <= min_force < max_force [N], got min_force={lowest:g} and max_force={highest:g}"
        )
    return lowest, highest


class ResidualModelConeAbstract(ResidualModelForce):
    """Base of residuals that a cone gives; a constraint on one has the cone's bounds by default.

    Args:
        state: State of the robot.
        contact: Name of a contact in the model's stack.
        cone: The cone. Run-time parameters `mu` and `rotation`.
        unit: Unit of the residual.
    """

    def __init__(self, state: StateAbstract, contact: str, cone: ConeAbstract, *, unit: str) -> None:
        super().__init__(state, contact, cone.facets + 1 + cone.further, unit=unit)
        self.cone = cone
        self.mu = self.parameter("mu", cone.mu, convert=positive)
        self.rotation = self.parameter("rotation", cone.rotation, convert=check_rotation)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bounds of the cone."""
        return self.cone.lower, self.cone.upper


class ResidualModelContactFrictionCone(ResidualModelConeAbstract):
    """Friction cone of a contact force f: r = A f, shape (facets + 1,) [N]; no slip if cone.lower <= r <= cone.upper.

    A constraint on it has these bounds by default. In a cost, combine it with
    `ActivationModelQuadraticBarrier(cone.lower, cone.upper)`.

    Args:
        state: State of the robot.
        contact: Name of a 3D or 6D contact in the model's stack.
        cone: The friction cone. Run-time parameters `mu` and `rotation`.
    """

    def __init__(self, state: StateAbstract, contact: str, cone: FrictionCone) -> None:
        super().__init__(state, contact, check_instance("cone", cone, FrictionCone), unit="N")

    def evaluate(self, instant: Instant) -> SX:
        force = instant.force(self.contact)
        if force.numel() not in (3, 6):
            raise InvalidArgumentError(
                f"contact: expected a 3D or 6D contact for a friction cone, got {self.contact!r} of size "
                f"{force.numel()}"
            )
        f = ca.mtimes(self.rotation.T, force[:3])
        return SX(ca.vertcat(friction_rows(self.mu, self.cone.facets, self.cone.inner) @ f, f[2]))
