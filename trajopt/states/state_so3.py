"""State that is a rotation."""

from __future__ import annotations

from trajopt.states.lie_group import StateLieGroup
from trajopt.states.spaces import RotationSpace


class StateSO3(StateLieGroup):
    """State that is a rotation, as a unit quaternion (x, y, z, w): x ⊕ dx = x exp(dx), x1 ⊖ x0 = log(x0⁻¹ x1).

    Tangent vectors are rotation vectors (3,) in the body frame [rad]; differences have norm at most π. Derivatives are
    right Jacobians, as in Pinocchio and Crocoddyl. x and -x are the same rotation. For a rotating body add its angular
    velocity: `StateProduct(StateSO3(), StateVector(3))`.

    Source: Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, chapter 10.
    """

    space = RotationSpace()
