"""Explicit Runge-Kutta steps for any tableau."""

from __future__ import annotations

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.integrated.control import ControlParametrizationAbstract
from trajopt.actions.integrated.rk_base import IntegratedActionModelRKAbstract
from trajopt.actions.integrated.tableau import Tableau


class IntegratedActionModelRK(IntegratedActionModelRKAbstract):
    """Runge-Kutta step on the manifold with the coefficients of a tableau, such as `Tableau.HEUN` of order 2.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        tableau: Coefficients of the method.
        transport: Whether stage rates are mapped to the tangent space at x. False adds them unmapped, as Crocoddyl
            does.
        control: The control within the step, such as `ControlParametrizationPolyOne(nu)`; constant by default.
        rows: Where constraint rows hold: "knot", or "stages" for later stages as well, lower <= r(y, u(c)) <= upper at
            the first stage of each time c. Names of these rows contain the time, such as "torque at dt/2".

    Raises:
        InvalidArgumentError: `tableau` is not a Tableau; `control` is for another number of controls, or has
            parameters that no stage sees; `rows` is "stages" for inverse dynamics.
    """

    def __init__(
        self,
        differential: DifferentialActionModelAbstract,
        dt: float = 1e-3,
        *,
        tableau: Tableau,
        transport: bool = True,
        control: ControlParametrizationAbstract | None = None,
        rows: str = "knot",
    ) -> None:
        super().__init__(differential, dt, tableau=tableau, transport=transport, control=control, rows=rows)
