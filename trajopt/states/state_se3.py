"""State that is a pose."""

from __future__ import annotations

import numpy as np

from trajopt.states.arguments import check_coordinates
from trajopt.states.lie_group import StateLieGroup
from trajopt.states.spaces import PoseSpace
from trajopt.types import Reals


class StateSE3(StateLieGroup):
    """State that is a pose: position [m] and unit quaternion (x, y, z, w), shape (7,), as Pinocchio's free flyer.

    x ⊕ dx = x exp(dx) and x1 ⊖ x0 = log(x0⁻¹ x1). Tangent vectors are twists (6,) in the body frame, translation [m]
    first, then rotation [rad]. Derivatives are right Jacobians, as in Pinocchio and Crocoddyl. For a moving body add
    its velocity (6,): `StateProduct(StateSE3(), StateVector(6))`.

    Source: Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, chapter 10.
    """

    space = PoseSpace()

    def body_poses(self, xs: Reals) -> Reals:
        """Poses of the states (n, 7) as homogeneous matrices, (n, 4, 4) [-, m]."""
        xs = np.atleast_2d(check_coordinates("xs", xs, self.nx))
        vector, w = xs[:, 3:6], xs[:, 6]
        poses = np.zeros((len(xs), 4, 4))
        for i, axis in enumerate(np.eye(3)):
            twice = 2 * np.cross(vector, axis)
            poses[:, :3, i] = axis + w[:, None] * twice + np.cross(vector, twice)
        poses[:, :3, 3], poses[:, 3, 3] = xs[:, :3], 1.0
        return poses
