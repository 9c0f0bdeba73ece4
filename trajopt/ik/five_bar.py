"""Five-bar linkage: two arms of two links with one common tip, in closed form and as a robot for solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import as_numbers, check_array, check_finite, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.ik.planar import planar_2r
from trajopt.objects.immutable import Immutable
from trajopt.residuals import ResidualModelRelativeTranslation
from trajopt.robots import Robot
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

_LEFT, _RIGHT = "left", "right"
_AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # joint axes: x, z and -y of the world
_COINCIDE = 1e-12  # distance of coinciding elbows, relative to the length of a rod


class FiveBar(Immutable):
    """Five-bar linkage: two cranks of length l1 on a base of length l0, whose rods of length l2 share one tip.

    With elbows e and u = e_right - e_left, the tip is ½ (e_left + e_right) + √(l2² - ¼ |u|²) n, where n is u / |u|
    turned by 90° from x towards z. The linkage moves in the world's x-z plane; the middle of the base is the origin.

    Configurations are (left crank, left rod, right crank, right rod) [rad]. Cranks turn from x towards z, within ±π of
    upright. Rods turn relative to their cranks, within ±π of stretched.

    `robot` has these four joints. It is an open chain with the frames "left_tip" and "right_tip". To close it,
    constrain the residual `closure(state)` to zero. In forward dynamics use `ContactModelLoop(state, "left_tip",
    "right_tip", dimension=3)` with `damping=1e-9`, because no force acts along y.

    Args:
        base: Length l0, > 0 [m].
        crank: Length l1, > 0 [m].
        rod: Length l2, > 0 [m].
        masses: Masses of a crank and of a rod, thin and uniform, > 0 [kg].

    Attributes:
        robot: The open chain, a Robot.

    Raises:
        InvalidArgumentError: A length or a mass is not positive, or a moment of inertia overflows.
    """

    def __init__(
        self, *, base: float = 0.8, crank: float = 0.5, rod: float = 1.0, masses: npt.ArrayLike = (1.0, 1.0)
    ) -> None:
        self.base = check_positive("base", base, unit="m")
        self.crank = check_positive("crank", crank, unit="m")
        self.rod = check_positive("rod", rod, unit="m")
        pair = check_array("masses", masses, (2,), cure="pass those of a crank and of a rod [kg]")
        self.masses = tuple(check_positive(f"masses[{i}]", mass, unit="kg") for i, mass in enumerate(pair))
        self.robot = Robot(self._open_chain())

    def __repr__(self) -> str:
        return f"FiveBar(base={self.base:g}, crank={self.crank:g}, rod={self.rod:g}, masses={self.masses})"

    def closure(self, state: StateAbstract) -> ResidualModelRelativeTranslation:
        """Residual (3,) of the right tip's position in the left tip's frame [m]; it is zero for a closed chain.

        Args:
            state: StateMultibody(robot).
        """
        return ResidualModelRelativeTranslation(state, "right_tip", "left_tip")

    def tip(self, cranks: npt.ArrayLike) -> Reals:
        """Tip (x, z) of the closed chain (2,), or tips (n, 2) [m].

        Args:
            cranks: Angles of the left and the right crank (2,) or (n, 2) [rad].

        Raises:
            InvalidArgumentError: The rods do not meet, or the elbows coincide, so that the tip is not unique.
        """
        return self._tip(*self._elbows(cranks))

    def configuration(self, cranks: npt.ArrayLike) -> Reals:
        """Configuration of the closed chain with the same tip (4,) or (n, 4) [rad].

        Args:
            cranks: As in `tip`.

        Raises:
            InvalidArgumentError: As in `tip`.
        """
        angles, elbows = self._elbows(cranks)
        rods = self._tip(angles, elbows)[..., None, :] - elbows
        turned = np.arctan2(rods[..., 1], rods[..., 0]) - angles
        turned = np.pi - np.mod(np.pi - turned, 2.0 * np.pi)
        return np.stack([angles, turned], axis=-1).reshape(*angles.shape[:-1], 4)

    def configurations(self, target: npt.ArrayLike) -> Reals:
        """All four configurations whose tip is at a point (4, 4) [rad]; in the first one both elbows are outside.

        Args:
            target: Point (x, z) [m].

        Raises:
            InvalidArgumentError: The target is out of reach of an arm.
        """
        point = check_array("target", target, (2,), cure="pass a point (x, z) [m]")
        arms = {}
        for name, side in ((_LEFT, -0.5), (_RIGHT, 0.5)):
            arms[name], away = planar_2r(point - [side * self.base, 0.0], first=self.crank, second=self.rod)
            if away > 1e-9 * (self.crank + self.rod):
                raise InvalidArgumentError(
                    f"target: expected a point in reach of both arms, got {point}, which is {away:.6g} m out of reach "
                    f"of the {name} one; ik.solve finds the nearest closed configuration"
                )
            arms[name][:, 0] = 1.5 * np.pi - np.mod(1.5 * np.pi - arms[name][:, 0], 2.0 * np.pi)  # within limits
        left, right = arms[_LEFT][::-1], arms[_RIGHT]
        return np.array([np.concatenate([a, b]) for a in left for b in right])

    def _elbows(self, cranks: npt.ArrayLike) -> tuple[Reals, Reals]:
        """Checked angles (..., 2) and elbows (..., 2, 2), left first."""
        numbers = as_numbers("cranks", cranks)
        shape = (len(numbers), 2) if numbers.ndim == 2 else (2,)
        angles = check_array(
            "cranks", numbers, shape, cure="angles of the left and the right crank, or a row each [rad]"
        )
        sides = np.array([-0.5, 0.5]) * self.base
        elbows = np.stack([sides + self.crank * np.cos(angles), self.crank * np.sin(angles)], axis=-1)
        apart = np.linalg.norm(elbows[..., 1, :] - elbows[..., 0, :], axis=-1)
        wrong = np.argwhere((apart > 2.0 * self.rod) | (apart < _COINCIDE * self.rod))
        if len(wrong):
            where, distance = "".join(f"[{i}]" for i in wrong[0]), apart[tuple(wrong[0])]
            raise InvalidArgumentError(
                f"cranks{where}: expected distinct elbows at most {2 * self.rod:g} m apart, so that the rods meet, "
                f"got a distance of {distance:.6g} m; turn the cranks"
            )
        return angles, elbows

    def _tip(self, angles: Reals, elbows: Reals) -> Reals:
        """Tip (..., 2) above the line from the left elbow to the right one."""
        u = elbows[..., 1, :] - elbows[..., 0, :]
        apart = np.linalg.norm(u, axis=-1, keepdims=True)
        height = np.sqrt(np.maximum(self.rod**2 - 0.25 * apart**2, 0.0))
        normal = np.stack([-u[..., 1], u[..., 0]], axis=-1) / apart
        return np.asarray(elbows.mean(axis=-2) + height * normal)

    def _open_chain(self) -> pin.Model:
        model: Any = pin.Model()
        model.name = "five-bar"
        free = np.full(1, np.inf)
        for side, at in ((_LEFT, -0.5 * self.base), (_RIGHT, 0.5 * self.base)):
            parent, place = 0, pin.SE3(_AXES, np.array([at, 0.0, 0.0]))
            for bar, length, mass in zip(("crank", "rod"), (self.crank, self.rod), self.masses, strict=True):
                middle = np.full(1, np.pi / 2 if bar == "crank" else 0.0)
                name = f"{side}_{bar}"
                parent = model.addJoint(
                    parent, pin.JointModelRZ(), place, name, free, free, middle - np.pi, middle + np.pi
                )
                model.addJointFrame(parent, -1)
                turning = check_finite(f"{bar}: moment of inertia", mass * length * length / 12.0)  # [kg m²]
                inertia = pin.Inertia(mass, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, turning, turning]))
                model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
                place = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
            above = model.getFrameId(f"{side}_rod")
            model.addFrame(pin.Frame(f"{side}_tip", parent, above, place, pin.FrameType.OP_FRAME))
        return model
