"""Options of a gait's problem: weights of the cost terms, and parameters of the contact models."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionModelAbstract
from trajopt.actions.differential import (
    DifferentialActionModelAbstract,
    DifferentialActionModelContactFwdDynamics,
    DifferentialActionModelContactInvDynamics,
)
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.actions.integrated.stage_rows import ROWS
from trajopt.checks import check_array, check_count, check_flag, check_known, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.residuals.friction_cone import check_facets
from trajopt.robots.robot import GRAVITY

INTEGRATORS: dict[str, Callable[..., ActionModelAbstract]] = {
    "euler": IntegratedActionModelEuler,
    "rk4": IntegratedActionModelRK4,
    "rk4-crocoddyl": functools.partial(IntegratedActionModelRK4, transport=False),
}
DYNAMICS: dict[str, Callable[..., DifferentialActionModelAbstract]] = {
    "forward": DifferentialActionModelContactFwdDynamics,
    "inverse": DifferentialActionModelContactInvDynamics,
}


def holding_gains(dt: float, share: float = 0.25) -> tuple[float, float]:
    """Contact gains that remove a foot's velocity, and a share of its distance from its foothold, in one step.

    Without stiffness, as in Crocoddyl's gaits, the errors of the steps, of order dt² each, add up: feet end up to 8 mm
    below the ground. If a step removes a tenth of the distance, feet in jumps and bipeds' walks are 0.6 to 1.1 mm
    below it. With a quarter it is 0.5 mm, but FDDP takes up to twice the iterations.

    Args:
        dt: Time step [s].
        share: Fraction of the distance that one step removes, 0 to 1 [-].
    """
    if check_positive("dt", dt, unit="s") < 1e-9:
        raise InvalidArgumentError(f"dt: expected at least 1e-9 [s], got {dt:g}")
    if not 0 <= check_non_negative("share", share) <= 1:
        raise InvalidArgumentError(f"share: expected a number from 0 to 1, got {share}")
    rate = 1 / float(dt)
    return share * rate**2, rate


@dataclass(frozen=True, kw_only=True)
class StateWeights:
    """Factors, >= 0, on the parts of x ⊖ x_ref before squaring.

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

    def per(self, rate: float) -> StateWeights:
        """Converts factors for velocities divided by `rate` [1/s] to factors for SI units."""
        check_positive("rate", rate)
        base, joints = self.base_velocity / rate, self.joint_velocities / rate
        return dataclasses.replace(self, base_velocity=base, joint_velocities=joints)

    def squared(self, nv: int) -> npt.NDArray[np.float64]:
        """Squares of the factors (2 nv,), as weights of an activation."""
        check_count("nv", nv, least=6, most=10_000)
        parts = [self.base_position, self.base_rotation, self.joints, self.base_velocity, self.joint_velocities]
        return np.repeat(parts, [3, 3, nv - 6, 6, nv - 6]) ** 2


@dataclass(frozen=True, kw_only=True)
class GaitOptions:
    """Weights and contact models of a gait. The defaults suit robots of any size; `crocoddyl` has Crocoddyl's values.

    Weights at knots are per second, because these costs are multiplied by the time step. Weights at touch-downs and at
    the end are not multiplied.

    By default the weights are for quantities in units of the robot, with its mass m and the distance L from the middle
    of its feet to its centre of mass: lengths in L, velocities in sqrt(g L), rates in sqrt(g / L), forces in m g,
    torques in m g L. `absolute` converts them to SI units. With `relative=False` they are for SI units.

    Attributes:
        com: Weight of the squared distance between the centre of mass and its reference [cost].
        flight: Same as `com`, while no foot is on the ground [cost].
        momentum: Weight of the squared distance between the linear momentum and that of a plan [cost], in gaits that
            follow one.
        foot: Weight of the squared distance between a swinging foot and its reference [cost].
        state: Weight of the distance between state and reference posture [cost].
        state_weights: Factors on the parts of that distance.
        control: Weight of the squared joint torques [cost].
        cone: Weight of the squared violation of the friction cone [cost].
        min_force: Normal force at the apex of the friction cone [m g]. A positive value keeps forces inside the cone
            of `mu`, because the penalty allows small violations.
        bounds: Weight of violated limits of joint positions and velocities [cost]; 0 omits the term.
        touchdown_foot: Weight of the squared distance between a foot and its foothold at touch-down [cost].
        landing_velocity: Weight of the squared velocity of a swinging foot at landing [cost]. Without it, impulses
            push and pull the robot, because they cost nothing.
        touchdown_state: Weight of the distance between state and reference posture at a touch-down [cost].
        touchdown_state_weights: Factors on the parts of that distance.
        relative: Whether weights are for quantities in units of the robot; if not, in SI units.
        mu: Friction coefficient, > 0 [-].
        facets: Number of sides of the friction pyramid, even, >= 4 [-].
        inner: Whether the pyramid lies inside the friction cone, where it allows mu cos(pi / facets) in the direction
            of a side, 71 % of mu forward with four; if not, around it, where it allows up to mu / cos(pi / facets).
        sole: Length and width of a sole around the foot's frame [m]; shapes in the robot's file are not read.
        gains: Stiffness and damping that pull a foot in contact to its foothold [1/s², 1/s]; None for `holding_gains`
            of the schedule's time step.
        integrator: "euler", "rk4", or "rk4-crocoddyl", which adds rates of the base as Crocoddyl does.
        rows: Where the limits of the whole body hold: at each "knot", or at the "stages" of Runge-Kutta steps as well.
        dynamics: "forward" for torques as controls. "inverse" for accelerations and contact forces as controls, with
            equality constraints; this needs a solver with constraints, such as SolverSQP.
        damping: Regularization of the contact dynamics, >= 0 [1/kg].
        touchdown_damping: Regularization of the impact dynamics at touch-downs, >= 0 [1/kg].
        restitution: Coefficient of restitution at touch-downs, 0 to 1 [-].

    Raises:
        InvalidArgumentError: An option has a wrong value, or `rows` is "stages" for Euler steps, which have only one.
        UnknownNameError: `integrator`, `rows` or `dynamics` is unknown.
    """

    com: float = 2e5
    flight: float = 2e7
    momentum: float = 5e6
    foot: float = 2e6
    state: float = 1e1
    state_weights: StateWeights = StateWeights(
        base_position=0.0, base_rotation=500.0, joints=0.01, base_velocity=10.0, joint_velocities=5.0
    )
    control: float = 2e3
    cone: float = 2e6
    min_force: float = 0.04
    bounds: float = 1e2
    touchdown_foot: float = 2e7
    landing_velocity: float = 4e5
    touchdown_state: float = 1e1
    touchdown_state_weights: StateWeights = StateWeights(
        base_position=1.0, base_rotation=1.0, joints=1.0, base_velocity=10.0, joint_velocities=10.0
    )
    relative: bool = True
    mu: float = 0.7
    facets: int = 4
    inner: bool = True
    sole: tuple[float, float] = (0.1, 0.05)
    gains: tuple[float, float] | None = None
    integrator: str = "euler"
    rows: str = "knot"
    dynamics: str = "forward"
    damping: float = 0.0
    touchdown_damping: float = 1e-12
    restitution: float = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.type == "float" and field.name != "mu":
                self._set(field.name, check_non_negative(field.name, getattr(self, field.name)))
        for name in ("state_weights", "touchdown_state_weights"):
            if not isinstance(getattr(self, name), StateWeights):
                raise InvalidArgumentError(f"{name}: expected StateWeights(...), got {getattr(self, name)!r}")
        self._set("mu", check_positive("mu", self.mu))
        self._set("facets", check_facets(self.facets))
        self._set("inner", check_flag("inner", self.inner))
        for name in ("sole",) if self.gains is None else ("sole", "gains"):
            pair = check_array(name, getattr(self, name), (2,))
            if np.any(pair < 0) or (name == "sole" and not np.all(pair > 0)):
                bound = "> 0" if name == "sole" else ">= 0"
                raise InvalidArgumentError(f"{name}: expected two numbers {bound}, got {pair}")
            self._set(name, tuple(float(v) for v in pair))
        if self.restitution > 1:
            raise InvalidArgumentError(f"restitution: expected a number from 0 to 1, got {self.restitution}")
        check_known("integrator", self.integrator, INTEGRATORS)
        if check_known("rows", self.rows, ROWS) == "stages" and self.integrator == "euler":
            raise InvalidArgumentError(
                "rows: expected 'knot' for Euler steps, which have no other stage, got 'stages'; add integrator='rk4'"
            )
        check_known("dynamics", self.dynamics, DYNAMICS)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def absolute(self, mass: float, length: float, gravity: float = GRAVITY) -> Self:
        """Converts the options to SI units, for a robot with mass m [kg] and length L [m] in gravity g [m/s²]."""
        if not self.relative:
            return self
        mass, length = check_positive("mass", mass, unit="kg"), check_positive("length", length, unit="m")
        for name, value, unit in (("mass", mass, "kg"), ("length", length, "m")):
            if not 1e-9 <= value <= 1e9:  # because powers of them divide weights
                raise InvalidArgumentError(f"{name}: expected a number from 1e-9 to 1e9 [{unit}], got {value}")
        gravity = check_positive("gravity", gravity, unit="m/s²")
        weight, rate = gravity * mass, np.sqrt(gravity / length)  # [N], [1/s]
        values = {
            "com": self.com / length**2,
            "flight": self.flight / length**2,
            "momentum": self.momentum / (mass * length * rate) ** 2,
            "foot": self.foot / length**2,
            "state_weights": self.state_weights.per(rate),
            "control": self.control / (weight * length) ** 2,
            "cone": self.cone / weight**2,
            "min_force": self.min_force * weight,
            "touchdown_foot": self.touchdown_foot / length**2,
            "landing_velocity": self.landing_velocity / (length * rate) ** 2,
            "touchdown_state_weights": self.touchdown_state_weights.per(rate),
        }
        return dataclasses.replace(self, relative=False, **values)

    @classmethod
    def crocoddyl(cls, *, soles: bool = False, **changes: Any) -> Self:
        """Crocoddyl's options in SI units; `changes` replaces some of them.

        With these options, feet drift into the ground, rise less than their references, and slide a little.

        Args:
            soles: True for the options of bipeds with flat soles, False for those of quadrupeds with point feet.
            **changes: Options with other values.

        Source: Crocoddyl 3.2.1, utils/quadruped.py and utils/biped.py. For feet that land without an impulse its
        createPseudoImpulseModel has landing_velocity=1e6.
        """
        soles = check_flag("soles", soles)
        posture = {"base_position": 0.0, "base_rotation": 500.0, "joints": 0.01, "base_velocity": 10.0}
        landed = {"base_position": 1.0, "base_rotation": 1.0, "base_velocity": 10.0, "joint_velocities": 10.0}
        values: dict[str, Any] = {
            "com": 1e6,
            "flight": 1e6,
            "momentum": 1e6,
            "foot": 1e6,
            "state_weights": StateWeights(**posture, joint_velocities=10.0 if soles else 1.0),
            "control": 1e-1,
            "cone": 1e1,
            "min_force": 0.0,
            "bounds": 0.0 if soles else 1e3,
            "touchdown_foot": 1e8 if soles else 1e7,
            "landing_velocity": 0.0,
            "touchdown_state_weights": StateWeights(**landed, joints=0.1 if soles else 10.0),
            "relative": False,
            "inner": soles,
            "gains": (0.0, 30.0) if soles else (0.0, 50.0),
        }
        return cls(**(values | changes))
