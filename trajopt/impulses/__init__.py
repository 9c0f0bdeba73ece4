"""Impulses: what happens to velocities when contacts are made."""

from trajopt.impulses.base import ImpulseModelAbstract
from trajopt.impulses.impulse_3d import ImpulseModel3D
from trajopt.impulses.impulse_6d import ImpulseModel6D
from trajopt.impulses.stack import ImpulseStack

__all__ = ["ImpulseModel3D", "ImpulseModel6D", "ImpulseModelAbstract", "ImpulseStack"]
