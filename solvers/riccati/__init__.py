"""Riccati recursion: quadratic programs with stages, by one backward and one forward pass."""

from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import ControlBox, LinearStep, Riccati, RiccatiFailure

__all__ = ["ControlBox", "LinearQuadratic", "LinearStep", "Riccati", "RiccatiFailure"]
