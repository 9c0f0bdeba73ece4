"""The interface of contacts and impulses: constraints on the motion of frames, and the forces that enforce them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.dynamics.falling import FrameMotion
from trajopt.dynamics.spatial import Spatial
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.model.base import Model
from trajopt.model.parameters import non_negative
from trajopt.robots.placements import check_reference_frame
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state

Motions = Mapping[str, FrameMotion]


class TouchModelAbstract(Model):
    """Base of contacts and impulses: nc constraints J(q) v = Σ P_f V_f on the twists V_f of frames.

    Twists are in the axes of their frames. The multipliers λ act on frame f with the wrench P_fᵀ λ.

    Args:
        state: State of a robot.
        frames: Names of the frames.
        nc: Number of constraints [-].
        reference_frame: Axes of forces: "local" for those of the frame, "world" and "local_world_aligned" for those of
            the world. Torques are about the frame's origin in each case.

    Attributes:
        vectors: Whether λ is a force (3,), or a force and a torque (6,), in the frame's axes. It is then rotated to
            the axes of `reference_frame`.
    """

    example = "contacts.foot.{}"
    vectors = False

    def __init__(
        self,
        state: StateAbstract,
        frames: Sequence[str],
        nc: int,
        *,
        reference_frame: str | pin.ReferenceFrame = "local",
    ) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        parents = [robot.model.frames[robot.frame_id(frame)].parentJoint for frame in frames]
        if not any(parents):
            raise InvalidArgumentError(
                f"frame: expected a frame that moves, got {', '.join(frames)}, which is fixed in the world; choose a "
                f"frame on a link of {robot.name!r}, such as {_moving_frame(robot.model)!r}"
            )
        self.state = state
        self.frames = tuple(frames)
        self.nc = nc
        self.reference_frame = check_reference_frame("reference_frame", reference_frame)

    @property
    def frame(self) -> str:
        """Name of the first frame."""
        return self.frames[0]

    @property
    def in_world(self) -> bool:
        """Whether forces are in the world's axes."""
        return self.reference_frame != pin.ReferenceFrame.LOCAL

    @abstractmethod
    def projections(self, motions: Motions) -> dict[str, SX]:
        """Projection P_f (nc, 6) of each frame's twist, by name of the frame."""

    def jacobian(self, motions: Motions) -> SX:
        """Jacobian J (nc, nv) = Σ P_f J_f of the constraints, with the Jacobians J_f (6, nv) of the frames' twists."""
        parts = [ca.mtimes(p, motions[f].jacobian) for f, p in self.projections(motions).items()]
        return sum(parts[1:], parts[0])

    def velocity(self, motions: Motions) -> SX:
        """Constraint velocity J v (nc,) [m/s, rad/s]."""
        parts = [ca.mtimes(p, motions[f].velocity.vector()) for f, p in self.projections(motions).items()]
        return sum(parts, SX(np.zeros(self.nc)))

    def wrenches(self, motions: Motions, multipliers: SX) -> dict[str, SX]:
        """Force and torque (6,) on each frame for multipliers λ (nc,), in the frame's axes [N, N m]."""
        return {f: ca.mtimes(p.T, multipliers) for f, p in self.projections(motions).items()}

    def force_map(self, motions: Motions) -> SX | None:
        """Matrix T (nc, nc) that maps λ to reported forces T λ; None if they equal λ."""
        if not (self.vectors and self.in_world):
            return None
        return SX(ca.diagcat(*[motions[self.frame].rotation] * (self.nc // 3)))

    def force_map_derivative(self, motions: Motions, multipliers: SX) -> SX | None:
        """Derivative ∂(T λ)/∂q (nc, nv) at fixed λ, with T of `force_map`; None if T = 1.

        For each vector of λ it is -R [λ]ₓ J_ω, with the rotation R of the frame and its angular Jacobian J_ω (3, nv).
        """
        if not (self.vectors and self.in_world):
            return None
        motion, parts = motions[self.frame], [multipliers[i : i + 3] for i in range(0, self.nc, 3)]
        turning = motion.jacobian[3:, :]
        return SX(ca.vertcat(*[-ca.mtimes(motion.rotation, ca.mtimes(ca.skew(part), turning)) for part in parts]))


class ContactModelAbstract(TouchModelAbstract):
    """Base of sustained contacts: J v̇ + J̇ v + kd J v + kp e(q) = 0, with Baumgarte's gains kp and kd.

    Args:
        state: State of a robot.
        frames: Names of the frames.
        nc: Number of constraints [-].
        gains: kp [1/s²] and kd [1/s], >= 0. A gain of 0 is never part of the compiled code; other gains are the
            run-time parameters `kp` and `kd`.
        reference_frame: Axes of forces, as in TouchModelAbstract.

    Source: Baumgarte, Computer Methods in Applied Mechanics and Engineering 1, 1972.
    """

    classical = True  # accelerations of the frame's point, dv/dt + ω × v; False for spatial ones, dv/dt

    def __init__(
        self,
        state: StateAbstract,
        frames: Sequence[str],
        nc: int,
        *,
        gains: Sequence[float] = (0.0, 0.0),
        reference_frame: str | pin.ReferenceFrame = "local",
    ) -> None:
        super().__init__(state, frames, nc, reference_frame=reference_frame)
        kp, kd = check_gains(gains)
        self.kp = self.parameter("kp", kp, unit="1/s²", convert=non_negative) if kp else None
        self.kd = self.parameter("kd", kd, unit="1/s", convert=non_negative) if kd else None

    def reference_or(self, reference: Any, default: Any, cure: str) -> Any:
        """Returns the user's reference, or the default; raises InvalidArgumentError if kp > 0 and there is none.

        Args:
            reference: The user's reference, or None.
            default: Value for kp = 0, which has no effect.
            cure: Example of a reference, for the message.
        """
        if reference is None and self.kp is not None:
            raise InvalidArgumentError(
                f"reference: expected the contact's place, because gains=(kp, kd) with kp > 0 pull {self.frame!r} to "
                f"it, got None; pass for example reference={cure}, or gains=(0, kd)"
            )
        return default if reference is None else reference

    def position_error(self, motions: Motions) -> SX:
        """Position error e(q) (nc,) of the contact from its reference; used only if kp > 0."""
        name = type(self).__name__
        raise UnsupportedOperationError(f"{name}: kp > 0 needs position_error; implement it, or pass gains=(0, kd)")

    def velocity_products(self, motions: Motions) -> SX:
        """Returns the terms of J̇ v (nc,) [m/s², rad/s²] that are products of velocities; 0 by default.

        The others are Σ P_f times the accelerations of the frames f.
        """
        return SX(np.zeros(self.nc))

    def acceleration(self, motions: Motions) -> SX:
        """Acceleration that the contact keeps at zero (nc,) [m/s², rad/s²]; linear in the robot's accelerations."""
        total = self.velocity_products(motions)
        for frame, projection in self.projections(motions).items():
            motion = motions[frame]
            total = total + ca.mtimes(projection, self._felt(motion).vector())
        if self.kd is not None:
            total = total + self.kd * self.velocity(motions)
        if self.kp is not None:
            total = total + self.kp * self.position_error(motions)
        return total

    def _felt(self, motion: FrameMotion) -> Spatial:
        return motion.acceleration if self.classical else motion.spatial_acceleration


def _moving_frame(model: pin.Model) -> str:
    """Name of the last frame that moves with a joint."""
    return next((str(f.name) for f in reversed(list(model.frames)) if f.parentJoint), "none")


def check_gains(gains: Sequence[float]) -> tuple[float, float]:
    """Returns (kp, kd); raises InvalidArgumentError unless both are finite and >= 0."""
    kp, kd = check_array("gains", gains, (2,), cure="pass Baumgarte's gains (kp, kd)")
    if kp < 0 or kd < 0:
        raise InvalidArgumentError(f"gains: expected kp >= 0 and kd >= 0, got {(float(kp), float(kd))}")
    return float(kp), float(kd)
