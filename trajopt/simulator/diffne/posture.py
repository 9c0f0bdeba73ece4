"""Posture of a robot with eliminated joints: the reduced configuration and the one of the whole robot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array, check_finite
from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import without_joints
from trajopt.simulator.diffne.body import BodyJoint
from trajopt.types import Reals


class Posture:
    """Configuration of a robot, of which some joints are fixed and the others are coordinates.

    Args:
        whole: The robot with all joints.
    """

    def __init__(self, whole: pin.Model) -> None:
        self._whole = whole
        self._eliminated: set[str] = set()
        self._q = pin.neutral(whole)
        self._kept = np.arange(whole.nq)

    @property
    def eliminated(self) -> tuple[str, ...]:
        """Names of the fixed joints, in the order of the whole robot."""
        return tuple(name for name in self._whole.names if name in self._eliminated)

    @property
    def q(self) -> Reals:
        """Configuration of the free joints (nq,)."""
        return self._q[self._kept].copy()

    def eliminate(self, names: Iterable[str]) -> None:
        """Fixes the joints of these names at their current angles; they are no longer coordinates."""
        self._eliminated |= set(names)
        left = [i for i in range(1, self._whole.njoints) if self._whole.names[i] not in self._eliminated]
        columns = [np.arange(self._whole.idx_qs[i], self._whole.idx_qs[i] + self._whole.nqs[i]) for i in left]
        self._kept = np.concatenate([np.zeros(0, dtype=int), *columns])

    def set_angle(self, joints: Iterable[BodyJoint], value: float) -> None:
        """Sets joints with one velocity each to an angle [rad] or a length [m].

        Raises:
            InvalidArgumentError: A joint has several velocities, or the value is not finite.
        """
        value, joints = check_finite("value", value), tuple(joints)
        for joint in joints:
            if joint.nv != 1:
                raise InvalidArgumentError(
                    f"prefix: expected joints with one degree of freedom, got {joint.link!r} with {joint.nv}; use a "
                    "longer prefix, or set the whole configuration with m.set_qdq(...)"
                )
        for joint in joints:
            start = self._whole.idx_qs[self._whole.getJointId(joint.name)]
            self._q[start : start + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]

    def set(self, q: Reals) -> None:
        """Sets the configuration of the free joints (nq,)."""
        self._q[self._kept] = q

    def whole_configuration(self, q: npt.ArrayLike) -> Reals:
        """Configuration of all joints, from one of the free joints (nq,)."""
        whole = self._q.copy()
        whole[self._kept] = check_array("q", q, (len(self._kept),))
        return whole

    def left_configuration(self, whole: npt.ArrayLike) -> Reals:
        """Configuration of the free joints (nq,), from one of all joints."""
        return check_array("q", whole, (self._whole.nq,))[self._kept]

    def reduced(self) -> pin.Model:
        """Model of the robot without the fixed joints."""
        locked = [self._whole.getJointId(name) for name in self.eliminated]
        return without_joints(self._whole, locked, self._q)
