"""State manifolds: vectors, rotations, poses, products, and robot states (configuration and velocity)."""

from trajopt.objects.calls import explain_calls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.states.state_product import StateProduct
from trajopt.states.state_se3 import StateSE3
from trajopt.states.state_so3 import StateSO3
from trajopt.states.state_vector import StateVector

__all__ = ["StateAbstract", "StateMultibody", "StateProduct", "StateSE3", "StateSO3", "StateVector"]

explain_calls(__name__)
