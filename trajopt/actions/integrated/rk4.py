"""The classical Runge-Kutta step of order four."""

from __future__ import annotations

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.integrated.control import ControlParametrizationAbstract
from trajopt.actions.integrated.rk_base import IntegratedActionModelRKAbstract
from trajopt.actions.integrated.tableau import Tableau


class IntegratedActionModelRK4(IntegratedActionModelRKAbstract):
    """Runge-Kutta step of order 4 on the manifold: IntegratedActionModelRK with `Tableau.CLASSICAL`.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        transport: Whether stage rates are mapped to the tangent space at x. False adds them unmapped, as Crocoddyl
            does.
        control: The control within the step, such as `ControlParametrizationPolyOne(nu)`; constant by default.
        rows: Where constraint rows hold: "knot", or "stages" for later stages as well, lower <= r(y, u(c)) <= upper at
            the first stage of each time c. Names of these rows contain the time, such as "torque at dt/2".

    Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.1, table 1.2.
    """

    def __init__(
        self,
        differential: DifferentialActionModelAbstract,
        dt: float = 1e-3,
        *,
        transport: bool = True,
        control: ControlParametrizationAbstract | None = None,
        rows: str = "knot",
    ) -> None:
        super().__init__(differential, dt, tableau=Tableau.CLASSICAL, transport=transport, control=control, rows=rows)
