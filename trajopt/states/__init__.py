"""State manifolds: vectors, and configurations with velocities of robots."""

from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.states.state_vector import StateVector

__all__ = ["StateAbstract", "StateMultibody", "StateVector"]
