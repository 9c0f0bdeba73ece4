"""Base of reduced models of legged robots: contact forces at places in the world are the controls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.checks import check_instance
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.stack import parameter_name
from trajopt.contacts.supports import SupportStack
from trajopt.costs.cost_stack import CostStack
from trajopt.instant import Instant
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")


class DifferentialActionModelReducedAbstract(DifferentialActionModelAbstract):
    """A robot without legs: contact forces at supports are the controls, in world axes [N, N m].

    Costs and constraints may depend on x, u and the forces, by the names of the supports.

    Args:
        state: State of the model.
        supports: Places where the forces act. The model freezes them.
        costs: Running costs [cost/s].
        constraints: Constraints of each knot; none by default.
    """

    exact_hessian = True
    supports: SupportStack

    def __init__(
        self,
        state: StateAbstract,
        supports: SupportStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
    ) -> None:
        self.supports = check_instance("supports", supports, SupportStack, "use SupportStack().add(name, place)")
        supports.freeze(type(self).__name__)
        names = [f"{name}.{axis}" for name, size in supports.sizes.items() for axis in _AXES[:size]]
        units = ["N m" if name[-2] == "t" else "N" for name in names]
        super().__init__(state, supports.nc, costs, constraints=constraints, control_names=names, control_units=units)

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.supports.parameters()}

    def instant(self, *, derivatives: bool = False) -> Instant:
        return Instant(self.state, self.nu, derivatives=derivatives, applied=self.supports.sizes)

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force of each support by name, in world axes [N, N m]; zero if it is not active."""
        return self.supports.applied(instant.u)

    @property
    @abstractmethod
    def weight(self) -> Reals:
        """Force of gravity (3,) [N]."""

    @abstractmethod
    def centre_of_mass(self, x: Reals) -> Reals:
        """Centre of mass (3,) of a state (nx,) [m]."""

    @abstractmethod
    def momentum(self, x: Reals) -> Reals:
        """Linear and angular momentum about the centre of mass (6,) of a state (nx,), world axes [N s, N m s]."""

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Smallest forces (nu,) that balance gravity about the centre of mass, as far as active ones can [N, N m]."""
        own, changed = self.supports.parameters(), parameters or {}
        values = {name: np.asarray(changed.get(name, p.default), dtype=np.float64) for name, p in own.items()}
        centre, columns = self.centre_of_mass(np.asarray(x, dtype=np.float64)), list[Reals]()
        for name, size in self.supports.sizes.items():
            place = values[parameter_name("contacts", name, "reference")]
            arm = (place if place.shape == (3,) else place[:, 3]) - centre
            block = np.eye(6)[:, :size]
            block[3:, :3] = np.cross(arm, np.eye(3)).T
            columns.append(block * float(values[parameter_name("contacts", name, "active")]))
        wrench = np.concatenate([-self.weight, np.zeros(3)])
        return np.asarray(np.linalg.lstsq(np.hstack([np.zeros((6, 0)), *columns]), wrench, rcond=1e-9)[0])
