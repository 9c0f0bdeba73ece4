"""Wrenches and torques that make a motion, and how well they do."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.inverse_dynamics.contact import ContactFrame
from trajopt.inverse_dynamics.kinetics import Kinetics, kinetics, weight_of
from trajopt.inverse_dynamics.motion import Motion
from trajopt.objects.lazy import above
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class ContactInverseDynamics:
    """Contact wrenches and joint torques of a motion: M a + C v + g = τ + Σ J_jᵀ w_j, τ of the base 0.

    Attributes:
        motion: The motion, of N times.
        contacts: The contacts, k of them.
        axes: Axes of the wrenches: "local", those of the contact's frame, or "world". They act at the frame's origin.
        stands: Which contacts touch the world (N, k).
        wrenches: Of the world on the robot, force before torque (N, k, 6) [N, N m]; zeros where it does not touch.
        torques: τ (N, nv) [N m, N]; zeros for the base.
        base_residual: Forces that the base would need beside the wrenches, linear before angular, in its own axes
            (N, 6) [N, N m]: zeros where the contacts explain the motion.
        guesses: Wrenches that these should be near to (N, k, 6); None without.
        previous_wrenches: Wrenches before the first time (k, 6); None without.
        optimal: Whether the wrenches are those of least cost; False if the program of the cones stopped early.
    """

    motion: Motion
    contacts: tuple[ContactFrame, ...]
    axes: str
    stands: npt.NDArray[np.bool_]
    wrenches: Reals
    torques: Reals
    base_residual: Reals
    guesses: Reals | None = None
    previous_wrenches: Reals | None = None
    optimal: bool = True

    @functools.cached_property
    def kinetics(self) -> Kinetics:
        """Jacobians and placements of the contacts."""
        return kinetics(self.motion, [contact.frame for contact in self.contacts], self.axes)

    @property
    def weight(self) -> float:
        """Weight of the robot [N]."""
        return weight_of(self.motion.robot)

    @property
    def forces(self) -> Reals:
        """Forces in the axes of the world (N, k, 3) [N]."""
        return np.einsum("nkrs,nks->nkr", self.kinetics.rotations, self.wrenches[:, :, :3])

    @property
    def moments(self) -> Reals:
        """Torques about the frames' origins in the axes of the world (N, k, 3) [N m]."""
        return np.einsum("nkrs,nks->nkr", self.kinetics.rotations, self.wrenches[:, :, 3:])

    def sum_error(self) -> float:
        """Σ ‖FD(q, v, τ, w) - a‖ over the times, FD forward dynamics [m/s², rad/s²]: near 0 where they explain it."""
        m, data, total = self.motion, self.motion.robot.model.createData(), 0.0
        pushed = self.torques + np.einsum("nkrv,nkr->nv", self.kinetics.J, self.wrenches)
        for q, v, a, force in zip(m.positions, m.velocities, m.accelerations, pushed):
            total += float(np.linalg.norm(pin.aba(m.robot.model, data, q, v, force) - a))
        return total

    def guess_loss(self) -> float:
        """Σ ‖w - guess‖² [N², N² m²]; 0 without guesses."""
        return 0.0 if self.guesses is None else float(np.sum((self.wrenches - self.guesses) ** 2))

    def smoothness_loss(self) -> float:
        """Σ ‖w_{i+1} - w_i‖² [N², N² m²]."""
        return float(np.sum(np.diff(self.wrenches, axis=0) ** 2))

    def previous_loss(self) -> float:
        """‖w_0 - previous_wrenches‖² [N², N² m²]; 0 without."""
        before = self.previous_wrenches
        return 0.0 if before is None else float(np.sum((self.wrenches[0] - before) ** 2))

    def explain(self) -> str:
        """Says whether the robot could do it: what the contacts leave unexplained, torques, friction, pulling."""
        from trajopt.inverse_dynamics.explanation import explained

        return explained(self)

    def plot(self) -> Figure:
        """Draws the forces of each contact and the torques of the joints over time."""
        return above("plotting.inverse_dynamics.plot_inverse_dynamics")(self)

    def __repr__(self) -> str:
        names = ", ".join(contact.frame for contact in self.contacts)
        return f"ContactInverseDynamics({self.motion!r}, contacts {names})"
