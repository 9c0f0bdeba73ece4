"""Result of inverse dynamics with contact: wrenches, torques and their quality."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.inverse_dynamics.contact import ContactFrame
from trajopt.inverse_dynamics.kinetics import Kinetics, kinetics
from trajopt.inverse_dynamics.motion import Motion
from trajopt.objects.lazy import above
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class ContactInverseDynamics:
    """Contact wrenches and joint torques of a motion: M a + C v + g = τ + Σ J_jᵀ w_j, with τ = 0 for the base.

    Attributes:
        motion: Motion with N times.
        contacts: The k contacts.
        axes: Axes of the wrenches: "local" for those of the contact's frame, or "world". Wrenches act at the frame's
            origin.
        stands: Which contacts touch the world (N, k).
        wrenches: Wrenches of the world on the robot, force before torque (N, k, 6) [N, N m]; zero without contact.
        torques: τ (N, nv) [N m, N]; zero for the base.
        base_residual: Missing forces on the base, linear before angular, in its own axes (N, 6) [N, N m]; zero if the
            contacts explain the motion.
        guesses: Target wrenches (N, k, 6) [N, N m], or None.
        previous_wrenches: Wrenches before the first time (k, 6) [N, N m], or None.
        optimal: Whether the wrenches have the least cost; False if the quadratic program of cones and torque limits
            stopped early. Its wrenches are exact to about 5e-6 N, those without cones and torque limits to rounding.
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
        return self.motion.robot.weight

    @property
    def forces(self) -> Reals:
        """Contact forces in the axes of the world (N, k, 3) [N]."""
        return np.einsum("nkrs,nks->nkr", self.kinetics.rotations, self.wrenches[:, :, :3])

    @property
    def moments(self) -> Reals:
        """Contact torques about the frames' origins, in the axes of the world (N, k, 3) [N m]."""
        return np.einsum("nkrs,nks->nkr", self.kinetics.rotations, self.wrenches[:, :, 3:])

    def sum_error(self) -> float:
        """Σ ‖FD(q, v, τ, w) - a‖ over time, with forward dynamics FD [m/s², rad/s²]; near 0 if all is explained."""
        m, data, total = self.motion, self.motion.robot.model.createData(), 0.0
        pushed = self.torques + np.einsum("nkrv,nkr->nv", self.kinetics.J, self.wrenches)
        for q, v, a, force in zip(m.positions, m.velocities, m.accelerations, pushed):
            total += float(np.linalg.norm(pin.aba(m.robot.model, data, q, v, force) - a))
        return total

    def guess_loss(self) -> float:
        """Distance to the target wrenches, Σ ‖w - guess‖² [N², N² m²]; 0 without targets."""
        return 0.0 if self.guesses is None else float(np.sum((self.wrenches - self.guesses) ** 2))

    def smoothness_loss(self) -> float:
        """Sum of squared changes, Σ ‖w_{i+1} - w_i‖² [N², N² m²]."""
        return float(np.sum(np.diff(self.wrenches, axis=0) ** 2))

    def previous_loss(self) -> float:
        """Distance to the previous wrenches, ‖w_0 - previous_wrenches‖² [N², N² m²]; 0 without them."""
        before = self.previous_wrenches
        return 0.0 if before is None else float(np.sum((self.wrenches[0] - before) ** 2))

    def explain(self) -> str:
        """Text that says whether the robot could execute the motion: missing forces, torques, friction, pulling."""
        from trajopt.inverse_dynamics.explanation import explained

        return explained(self)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Plots the forces of each contact and the torques of the joints over time.

        Args:
            path: File to write (.png, .pdf or .svg).
        """
        return above("plotting.saved.saved")(above("plotting.inverse_dynamics.plot_inverse_dynamics"), path, self)

    @property
    def title(self) -> str:
        """Motion and contacts in words."""
        return f"{self.motion!r}, contacts {', '.join(contact.frame for contact in self.contacts)}"

    def __repr__(self) -> str:
        left, torque = np.abs(self.base_residual).max(axis=0, initial=0.0), np.abs(self.torques).max(initial=0.0)
        facts = (
            f"joint torques at most {torque:.4g} N m, base residual {left[:3].max():.2g} N, {left[3:].max():.2g} N m"
        )
        return f"ContactInverseDynamics({self.title}, {facts}, {'' if self.optimal else 'not '}optimal)"
