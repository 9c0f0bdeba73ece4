"""What a gait costs, and how its contacts are modelled."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionModelAbstract
from trajopt.actions.differential import DifferentialActionModelAbstract
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.checks import check_array, check_count, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance

INTEGRATORS: dict[str, Callable[[DifferentialActionModelAbstract, float], ActionModelAbstract]] = {
    "euler": IntegratedActionModelEuler,
    "rk4": IntegratedActionModelRK4,
    "rk4-crocoddyl": functools.partial(IntegratedActionModelRK4, transport=False),
}


LANDING_VELOCITY = 1e6  # [cost s²/m²], as in Crocoddyl's createPseudoImpulseModel


def holding_gains(dt: float) -> tuple[float, float]:
    """Gains with which one step of dt [s] takes away a foot's velocity and a tenth of its distance from its foothold.

    Without stiffness, as in Crocoddyl's gaits, what each step leaves adds up: in jumps and bounds of small robots to
    1.3 to 2.1 mm below the ground, with these gains to 0.6 mm. A quarter of the distance instead of a tenth takes a
    bound to 0.4 mm and FDDP 44 iterations instead of 29; forces after the landing leave their cones by 2 N, not 1.
    """
    rate = 1 / check_positive("dt", dt, unit="s")
    return 0.1 * rate**2, rate


@dataclass(frozen=True, kw_only=True)
class StateWeights:
    """By what each part of x ⊖ x_ref is multiplied before it is squared, >= 0.

    Attributes:
        base_position: [1/m].
        base_rotation: [1/rad].
        joints: [1/rad, 1/m].
        base_velocity: Linear and angular [s/m, s/rad].
        joint_velocities: [s/rad, s/m].
    """

    base_position: float
    base_rotation: float
    joints: float
    base_velocity: float
    joint_velocities: float

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, check_non_negative(field.name, getattr(self, field.name)))

    def squared(self, nv: int) -> npt.NDArray[np.float64]:
        """Their squares as weights of an activation (2 nv,)."""
        parts = [self.base_position, self.base_rotation, self.joints, self.base_velocity, self.joint_velocities]
        return np.repeat(parts, [3, 3, nv - 6, 6, nv - 6]) ** 2


@dataclass(frozen=True, kw_only=True)
class GaitOptions:
    """Weights and contact models of a gait. The defaults are Crocoddyl's for feet that touch at points.

    Weights of knots are per second: costs are multiplied by the time step. Those of touch-downs and of the end are not.

    Attributes:
        com: Weight of the centre of mass' reference [cost/m²].
        foot: Weight of a swinging foot's reference [cost/m², cost/rad²].
        state: Weight of the distance from the posture [cost].
        state_weights: How the parts of that distance count.
        control: Weight of the joints' torques [cost/(N m)²].
        cone: Weight of a force outside of its friction cone [cost/N²].
        bounds: Weight of joint positions and velocities outside of the robot's limits [cost]; 0 leaves the term out.
        touchdown_foot: Weight of a foot's reference at its touch-down [cost/m², cost/rad²].
        landing_velocity: Weight of a foot's velocity when it lands without an impulse [cost s²/m², cost s²/rad²]; 0
            leaves the term out, which is right if all feet land with impulses.
        touchdown_state: Weight of the distance from the posture at a touch-down [cost].
        touchdown_state_weights: How the parts of that distance count.
        mu: Friction coefficient, > 0 [-].
        facets: Number of sides of the friction pyramid, even, >= 4 [-].
        inner: Whether the pyramid lies within the cone or around it.
        sole: Length and width of a sole [m].
        gains: Stiffness and damping that pull a foot back to its foothold while it stands [1/s², 1/s]; see
            `holding_gains`.
        integrator: "euler", "rk4", or "rk4-crocoddyl", which adds rates of the base as Crocoddyl does.
        damping: Regularisation of the contact dynamics, >= 0 [1/kg].
        touchdown_damping: The same at touch-downs, >= 0 [1/kg].
        restitution: How fast feet bounce off at touch-downs, 0 to 1 [-].

    Raises:
        InvalidArgumentError: A value does not fit.
        UnknownNameError: There is no such integrator.

    Source: Crocoddyl 3.2.1, utils/quadruped.py and utils/biped.py.
    """

    com: float = 1e6
    foot: float = 1e6
    state: float = 1e1
    state_weights: StateWeights = StateWeights(
        base_position=0.0, base_rotation=500.0, joints=0.01, base_velocity=10.0, joint_velocities=1.0
    )
    control: float = 1e-1
    cone: float = 1e1
    bounds: float = 1e3
    touchdown_foot: float = 1e7
    landing_velocity: float = 0.0
    touchdown_state: float = 1e1
    touchdown_state_weights: StateWeights = StateWeights(
        base_position=1.0, base_rotation=1.0, joints=10.0, base_velocity=10.0, joint_velocities=10.0
    )
    mu: float = 0.7
    facets: int = 4
    inner: bool = False
    sole: tuple[float, float] = (0.1, 0.05)
    gains: tuple[float, float] = (0.0, 50.0)
    integrator: str = "euler"
    damping: float = 0.0
    touchdown_damping: float = 1e-12
    restitution: float = 0.0

    def __post_init__(self) -> None:
        for name in ("com", "foot", "state", "control", "cone", "bounds", "touchdown_foot", "touchdown_state"):
            self._set(name, check_non_negative(name, getattr(self, name)))
        for name in ("damping", "touchdown_damping", "landing_velocity"):
            self._set(name, check_non_negative(name, getattr(self, name)))
        for name in ("state_weights", "touchdown_state_weights"):
            if not isinstance(getattr(self, name), StateWeights):
                raise InvalidArgumentError(f"{name}: expected StateWeights(...), got {getattr(self, name)!r}")
        self._set("mu", check_positive("mu", self.mu))
        if check_count("facets", self.facets) < 4 or self.facets % 2:
            raise InvalidArgumentError(f"facets: expected an even number >= 4, got {self.facets}")
        for name in ("sole", "gains"):
            pair = check_array(name, getattr(self, name), (2,))
            if np.any(pair < 0) or (name == "sole" and not np.all(pair > 0)):
                bound = "> 0" if name == "sole" else ">= 0"
                raise InvalidArgumentError(f"{name}: expected two numbers {bound}, got {pair}")
            self._set(name, tuple(float(v) for v in pair))
        if not 0 <= check_non_negative("restitution", self.restitution) <= 1:
            raise InvalidArgumentError(f"restitution: expected a number from 0 to 1, got {self.restitution}")
        if self.integrator not in INTEGRATORS:
            raise unknown_name("integrator", self.integrator, INTEGRATORS)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def soles(cls, **changes: Any) -> Self:
        """Crocoddyl's options for bipeds that stand on soles, but for some."""
        biped: dict[str, Any] = {
            "state_weights": StateWeights(
                base_position=0.0, base_rotation=500.0, joints=0.01, base_velocity=10.0, joint_velocities=10.0
            ),
            "bounds": 0.0,
            "touchdown_foot": 1e8,
            "touchdown_state_weights": StateWeights(
                base_position=1.0, base_rotation=1.0, joints=0.1, base_velocity=10.0, joint_velocities=10.0
            ),
            "inner": True,
            "gains": (0.0, 30.0),
        }
        return cls(**(biped | changes))

    @classmethod
    def of(cls, gait: Stance | ContactSchedule) -> Self:
        """Crocoddyl's options: `soles()` if a foot is a sole, else the defaults; landings without impulse at rest."""
        stance = gait.start if isinstance(gait, ContactSchedule) else gait
        soft = isinstance(gait, ContactSchedule) and any(p.swings and not p.impulse for p in gait.phases)
        velocity = LANDING_VELOCITY if soft else 0.0
        soles = any(foot.sole for foot in stance.feet.values())
        return cls.soles(landing_velocity=velocity) if soles else cls(landing_velocity=velocity)
