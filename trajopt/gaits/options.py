"""Options of a gait's problem: weights of the cost terms and parameters of the contact models."""

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


LANDING_VELOCITY = 1e6  # weight of a foot's velocity [cost s²/m²], as in Crocoddyl's createPseudoImpulseModel


def holding_gains(dt: float) -> tuple[float, float]:
    """Contact gains that remove a foot's velocity and a tenth of its distance from its foothold in one step dt [s].

    Without stiffness, as in Crocoddyl's gaits, the position errors of all steps add up: in jumps and bounds of small
    robots feet end 1.3 to 2.1 mm below the ground, with these gains 0.6 mm. Removing a quarter of the distance instead
    of a tenth gives 0.4 mm in a bound, but FDDP then takes 44 iterations instead of 29, and forces after the landing
    leave their cones by 2 N instead of 1 N.
    """
    rate = 1 / check_positive("dt", dt, unit="s")
    return 0.1 * rate**2, rate


@dataclass(frozen=True, kw_only=True)
class StateWeights:
    """Factors on the parts of x ⊖ x_ref, applied before squaring, >= 0.

    Attributes:
        base_position: Factor on the position of the base [1/m].
        base_rotation: Factor on the rotation of the base [1/rad].
        joints: Factor on the positions of the joints [1/rad, 1/m].
        base_velocity: Factor on the linear and angular velocity of the base [s/m, s/rad].
        joint_velocities: Factor on the velocities of the joints [s/rad, s/m].
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
        """Squares of the factors, as weights of an activation (2 nv,)."""
        parts = [self.base_position, self.base_rotation, self.joints, self.base_velocity, self.joint_velocities]
        return np.repeat(parts, [3, 3, nv - 6, 6, nv - 6]) ** 2


@dataclass(frozen=True, kw_only=True)
class GaitOptions:
    """Weights and contact models of a gait. The defaults are Crocoddyl's for point feet.

    Weights at knots are per second, as these costs are multiplied by the time step. Weights at touch-downs and at the
    end count as they are.

    Attributes:
        com: Weight of the distance between centre of mass and its reference [cost/m²].
        foot: Weight of the distance between a swinging foot and its reference [cost/m², cost/rad²].
        state: Weight of the distance between state and reference posture [cost].
        state_weights: Factors on the parts of that distance.
        control: Weight of the joint torques [cost/(N m)²].
        cone: Weight of a force outside of its friction cone [cost/N²].
        bounds: Weight of joint positions and velocities outside of the robot's limits [cost]; 0 leaves the term out.
        touchdown_foot: Weight of the distance between a foot and its foothold at its touch-down [cost/m², cost/rad²].
        landing_velocity: Weight of a foot's velocity when it lands without an impulse [cost s²/m², cost s²/rad²]; 0
            leaves the term out, for gaits whose feet all land with impulses.
        touchdown_state: Weight of the distance between state and reference posture at a touch-down [cost].
        touchdown_state_weights: Factors on the parts of that distance.
        mu: Friction coefficient, > 0 [-].
        facets: Number of sides of the friction pyramid, even, >= 4 [-].
        inner: Whether the pyramid lies inside the friction cone; otherwise around it.
        sole: Length and width of a sole [m].
        gains: Stiffness and damping that pull a foot in contact back to its foothold [1/s², 1/s]; see `holding_gains`.
        integrator: "euler", "rk4", or "rk4-crocoddyl", which adds rates of the base as Crocoddyl does.
        damping: Regularisation of the contact dynamics, >= 0 [1/kg].
        touchdown_damping: Regularisation of the impact dynamics at touch-downs, >= 0 [1/kg].
        restitution: Coefficient of restitution at touch-downs, 0 to 1 [-].

    Raises:
        InvalidArgumentError: An option has a wrong value.
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
        """Crocoddyl's options for bipeds with flat soles; `changes` replaces some of them."""
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
        """Crocoddyl's options for the feet of a gait: `soles()` if a foot is a sole, else the defaults.

        If feet land without an impulse, `landing_velocity` is LANDING_VELOCITY.
        """
        stance = gait.start if isinstance(gait, ContactSchedule) else gait
        soft = isinstance(gait, ContactSchedule) and any(p.swings and not p.impulse for p in gait.phases)
        velocity = LANDING_VELOCITY if soft else 0.0
        soles = any(foot.sole for foot in stance.feet.values())
        return cls.soles(landing_velocity=velocity) if soles else cls(landing_velocity=velocity)
