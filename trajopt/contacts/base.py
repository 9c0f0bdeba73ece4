"""The interface of what touches: constraints on the motion of frames, with the forces that keep them."""

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
    """nc constraints J(q) v = Σ P_f V_f on the twists V_f of frames, in their own axes; multipliers λ push with P_fᵀ λ.

    Args:
        state: A robot's state.
        frames: Names of the frames.
        nc: Number of constraints [-].
        reference_frame: Axes in which forces are given: "local", those of the frame; "world" and
            "local_world_aligned", those of the world. Torques are about the frame's origin in all of them.

    Attributes:
        vectors: Whether λ is a force (3,), or a force and a torque (6,), in the frame's axes: then it is turned to the
            axes in which forces are given.
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
                f"frame: expected a frame that moves, got {', '.join(frames)}, which the world carries; name a frame "
                f"of a link of {robot.name!r}, such as {_moving_frame(robot.model)!r}"
            )
        self.state = state
        self.frames = tuple(frames)
        self.nc = nc
        self.reference_frame = check_reference_frame("reference_frame", reference_frame)

    @property
    def frame(self) -> str:
        """The frame, or the first of them."""
        return self.frames[0]

    @property
    def in_world(self) -> bool:
        """Whether forces are given in the world's axes."""
        return self.reference_frame != pin.ReferenceFrame.LOCAL

    @abstractmethod
    def projections(self, motions: Motions) -> dict[str, SX]:
        """P_f of each frame, (nc, 6)."""

    def jacobian(self, motions: Motions) -> SX:
        """J, shape (nc, nv)."""
        parts = [ca.mtimes(p, motions[f].jacobian) for f, p in self.projections(motions).items()]
        return sum(parts[1:], parts[0])

    def velocity(self, motions: Motions) -> SX:
        """J v, shape (nc,)."""
        parts = [ca.mtimes(p, motions[f].velocity.vector()) for f, p in self.projections(motions).items()]
        return sum(parts, SX(np.zeros(self.nc)))

    def wrenches(self, motions: Motions, multipliers: SX) -> dict[str, SX]:
        """Force and torque (6,) of λ (nc,) on each frame, in the frame's axes [N, N m]."""
        return {f: ca.mtimes(p.T, multipliers) for f, p in self.projections(motions).items()}

    def force_map(self, motions: Motions) -> SX | None:
        """T (nc, nc) of the force T λ that users see; None if it is λ."""
        if not (self.vectors and self.in_world):
            return None
        return SX(ca.diagcat(*[motions[self.frame].rotation] * (self.nc // 3)))

    def force_map_derivative(self, motions: Motions, multipliers: SX) -> SX | None:
        """∂(T λ)/∂q at fixed λ, (nc, nv): -R [λ] J_ω of each vector; None if T = 1."""
        if not (self.vectors and self.in_world):
            return None
        motion, parts = motions[self.frame], [multipliers[i : i + 3] for i in range(0, self.nc, 3)]
        turning = motion.jacobian[3:, :]
        return SX(ca.vertcat(*[-ca.mtimes(motion.rotation, ca.mtimes(ca.skew(part), turning)) for part in parts]))


class ContactModelAbstract(TouchModelAbstract):
    """A contact that holds: J v̇ + J̇ v + kd J v + kp e(q) = 0, with Baumgarte's gains kp and kd.

    Args:
        state: A robot's state.
        frames: Names of the frames.
        nc: Number of constraints [-].
        gains: kp [1/s²] and kd [1/s], >= 0. A gain of 0 is left out of the compiled code for good; others are
            run-time parameters `kp`, `kd`.
        reference_frame: See TouchModelAbstract.

    Source: Baumgarte, Computer Methods in Applied Mechanics and Engineering 1, 1972.
    """

    classical = True  # whether accelerations are those of the frame's point, dv/dt + ω × v, or spatial ones, dv/dt

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
        """The reference that was given, or the default; refused with kp > 0, which would pull the contact there.

        Args:
            reference: What the caller has given, or None.
            default: Value where kp is 0, which nothing reads.
            cure: Example of a reference for the message.
        """
        if reference is None and self.kp is not None:
            raise InvalidArgumentError(
                f"reference: gains=(kp, kd) with kp > 0 pull {self.frame!r} to its reference, and got none; give the "
                f"place where it touches, such as reference={cure}, or gains=(0, kd)"
            )
        return default if reference is None else reference

    def position_error(self, motions: Motions) -> SX:
        """e(q), shape (nc,): how far the contact is from its reference; only with kp > 0."""
        name = type(self).__name__
        raise UnsupportedOperationError(f"{name}: kp > 0 needs its position_error; write it, or pass gains=(0, kd)")

    def velocity_products(self, motions: Motions) -> SX:
        """Terms of J̇ v beside Σ P_f of the frames' accelerations, shape (nc,)."""
        return SX(np.zeros(self.nc))

    def acceleration(self, motions: Motions) -> SX:
        """Acceleration that the contact keeps at zero, (nc,) [m/s², rad/s²]; linear in the accelerations."""
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
    """Name of the last frame that a joint carries."""
    return next((str(f.name) for f in reversed(list(model.frames)) if f.parentJoint), "none")


def check_gains(gains: Sequence[float]) -> tuple[float, float]:
    """(kp, kd), both finite and >= 0."""
    kp, kd = check_array("gains", gains, (2,), cure="pass (kp, kd) of Baumgarte's stabilisation")
    if kp < 0 or kd < 0:
        raise InvalidArgumentError(f"gains: expected kp >= 0 and kd >= 0, got {(float(kp), float(kd))}")
    return float(kp), float(kd)
