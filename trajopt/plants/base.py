"""Interface of plants: controlled systems that a closed loop or a replay moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.errors import ModelEvaluationError
from trajopt.robots import Robot
from trajopt.simulator import MDPContact
from trajopt.states import StateAbstract
from trajopt.types import Reals


class PlantAbstract(ABC):
    """Interface of a controlled system: next state after holding a control for some time.

    Attributes:
        fixed_step: Time step if it cannot be changed [s]; otherwise None.
        usual_step: Default time step [s]; None for the control period.
        takes_torques: Whether `step` accepts generalized forces.
        spheres: Spheres that may touch something; None for a plant that does not know their forces.
        same_contacts: Whether the plant has the controller's kind of contacts, so that its model knows their forces.
    """

    fixed_step: float | None = None
    usual_step: float | None = None
    takes_torques = False
    spheres: tuple[MDPContact, ...] | None = None
    same_contacts = False

    def begin(self) -> None:  # noqa: B027
        """Forgets earlier motions."""

    def follow(self, model: ActionModelAbstract, row: Reals) -> None:  # noqa: B027  # most plants need nothing
        """Sets the controller's model of the knot that begins, and the values of its parameters."""

    def carry(self, robot: Robot) -> bool:
        """Gives the bodies the masses and inertias of a robot, and returns whether the plant can; `begin` ends this.

        Args:
            robot: The robot of the controller's model with its parameters at the knot that begins.
        """
        return False

    @abstractmethod
    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None = None) -> Reals:
        """State (nx,) after a time dt [s] with control u (nu,), and generalized forces (nv,) or None."""

    def mobility(self, x: Reals) -> Reals | None:
        """Derivative (nv, nv) of the acceleration by generalized forces, with contacts; None if it has no contacts."""
        return None

    def sphere_forces(self) -> Mapping[str, Reals]:
        """Force (3,) on each of `spheres` in the last step by name, in the world [N]."""
        return {}

    def sphere_loads(self) -> Mapping[str, Reals]:
        """Sum (4,) of the normal forces on each sphere, as vectors and as lengths; empty if unknown [N]."""
        return {}


def check_next(x: Any, state: StateAbstract) -> Reals:
    """Returns the next state of a plant; raises ModelEvaluationError if it is not finite."""
    checked = np.asarray(x, dtype=np.float64)
    if not np.all(np.isfinite(checked)):
        bad = state.coordinate_names[int(np.flatnonzero(~np.isfinite(checked))[0])]
        raise ModelEvaluationError(
            f"plant: expected a finite next state, got {checked[~np.isfinite(checked)][0]} for {bad}"
        )
    return checked
