"""Wrench cones of rectangular soles, and centre of pressure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array, check_instance
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.contact_force import ResidualModelForce
from trajopt.residuals.friction_cone import ConeAbstract, ResidualModelConeAbstract, friction_rows
from trajopt.robots.placements import check_rotation
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


@dataclass(frozen=True, eq=False)
class WrenchCone(ConeAbstract):
    """Wrenches that a rectangular sole can transmit without slipping, tipping or turning: lower <= A wrench <= upper.

    The rows below are in the axes of the surface, whose z axis is the normal. X and Y are the half sides of the box,
    and (f, τ) is the wrench about its centre:

        friction           ±(cos θ, sin θ) · f_t - μ f_z <= 0, and f_z within its limits
        centre of pressure |τ_x| <= Y f_z,  |τ_y| <= X f_z
        yaw                |τ_z| limited by μ, X, Y and the other components: 8 rows

    Attributes:
        mu: Friction coefficient μ, > 0 [-].
        box: Length along x and width along y of the sole (2,), > 0 [m].
        facets: Number of facets of the friction pyramid, even, >= 4 [-].
        inner: Whether the friction pyramid lies inside the cone: it uses μ cos(π / facets) instead of μ.
        rotation: R (3, 3), the axes of the surface in the axes of the wrench.
        min_force: Smallest normal force [N].
        max_force: Largest normal force [N].

        As in Crocoddyl, the yaw rows are those of a pyramid with 4 facets and the same friction coefficient. They are
        exact for 4 facets. For more facets and `inner` they allow up to 1.41 times as much as the round cone.

    Source: Caron, Pham and Nakamura, ICRA 2015, eqs. 14-20. As in Crocoddyl's WrenchCone, the first side of the box
    limits τ_y and the second τ_x.
    """

    further: ClassVar[int] = 12

    box: npt.ArrayLike = (0.1, 0.05)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "box", check_box(self.box))

    @property
    def matrix(self) -> Reals:
        """Matrix A (facets + 13, 6)."""
        rows = np.array(ca.DM(wrench_rows(self, SX(self.mu), SX(np.asarray(self.box)))).full())
        return rows @ np.kron(np.eye(2), np.asarray(self.rotation).T)


def check_box(box: npt.ArrayLike) -> Reals:
    """Returns length and width of a sole (2,) [m]; raises InvalidArgumentError unless both are numbers > 0."""
    sides = check_array("box", box, (2,), cure="pass (length along x, width along y) [m]")
    if not np.all(sides > 0):
        raise InvalidArgumentError(f"box: expected length and width > 0 [m], got {sides.tolist()}")
    return sides


def pressure_rows(box: SX) -> SX:
    """Rows ±τ_x - Y f_z and ±τ_y - X f_z (4, 6)."""
    rows, (x, y) = SX(4, 6), (box[0] / 2, box[1] / 2)
    rows[:, 2] = ca.vertcat(-y, -y, -x, -x)
    rows[0, 3] = rows[2, 4] = 1
    rows[1, 3] = rows[3, 4] = -1
    return rows


def wrench_rows(cone: WrenchCone, mu: SX, box: SX) -> SX:
    """Matrix A in the axes of the surface (facets + 13, 6)."""
    friction = ca.horzcat(friction_rows(mu, cone.facets, cone.inner), SX(cone.facets, 3))
    normal = ca.sparsify(SX([[0, 0, 1, 0, 0, 0]]))
    slope = mu * np.cos(np.pi / cone.facets) if cone.inner else mu
    x, y = box[0] / 2, box[1] / 2
    yaw = []
    for turn in (-1, 1):
        for sign_x in (1, -1):
            for sign_y in (1, -1):
                pushes = [sign_x * y, sign_y * x, -slope * (x + y)]
                tilts = [turn * sign_x * slope, turn * sign_y * slope, turn]
                yaw.append(ca.horzcat(*pushes, *tilts))
    return SX(ca.vertcat(friction, normal, pressure_rows(box), *yaw))


class ResidualModelContactWrenchCone(ResidualModelConeAbstract):
    """Wrench cone of a sole's wrench w: r = A w, shape (facets + 13,) [N, N m]; the sole holds if lower <= r <= upper.

    A constraint on it has the cone's bounds by default. In a cost, combine it with
    `ActivationModelQuadraticBarrier(cone.lower, cone.upper)`.

    Args:
        state: State of the robot.
        contact: Name of a 6D contact in the model's stack.
        cone: The wrench cone. Run-time parameters `mu`, `box` and `rotation`.
    """

    cone: WrenchCone

    def __init__(self, state: StateAbstract, contact: str, cone: WrenchCone) -> None:
        super().__init__(state, contact, check_instance("cone", cone, WrenchCone), unit="N, N m")
        self.box = self.parameter("box", cone.box, unit="m", convert=lambda _, v: check_box(v))

    def evaluate(self, instant: Instant) -> SX:
        wrench = self.force(instant, 6)
        turned = ca.vertcat(*[ca.mtimes(self.rotation.T, wrench[i : i + 3]) for i in (0, 3)])
        return SX(wrench_rows(self.cone, self.mu, self.box) @ turned)


class ResidualModelContactCoPPosition(ResidualModelForce):
    """Centre of pressure of a sole's wrench: r = (±τ_x - Y f_z, ±τ_y - X f_z), shape (4,) [N m].

    r <= 0 means that the centre of pressure is on the sole. A constraint on it has this bound by default. In a cost,
    combine it with `ActivationModelQuadraticBarrier([-inf] * 4, [0] * 4)`.

    Args:
        state: State of the robot.
        contact: Name of a 6D contact in the model's stack.
        box: Length along x and width along y of the sole (2,) [m]. Run-time parameter `box`.
        rotation: R (3, 3), the axes of the surface in the axes of the wrench. Run-time parameter `rotation`.
    """

    def __init__(
        self, state: StateAbstract, contact: str, box: npt.ArrayLike, *, rotation: npt.ArrayLike | None = None
    ) -> None:
        super().__init__(state, contact, 4, unit="N m")
        turned = np.eye(3) if rotation is None else rotation
        self.box = self.parameter("box", box, unit="m", convert=lambda _, v: check_box(v))
        self.rotation = self.parameter("rotation", turned, convert=check_rotation)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound r <= 0."""
        return np.full(4, -np.inf), np.zeros(4)

    def evaluate(self, instant: Instant) -> SX:
        wrench = self.force(instant, 6)
        turned = ca.vertcat(*[ca.mtimes(self.rotation.T, wrench[i : i + 3]) for i in (0, 3)])
        return SX(pressure_rows(self.box) @ turned)
