"""Impulses: what happens to velocities when contacts are made; the models are in `trajopt.contacts`."""

from trajopt.contacts.impulse import ImpulseModelAbstract
from trajopt.contacts.impulse_3d import ImpulseModel3D
from trajopt.contacts.impulse_6d import ImpulseModel6D
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.model.calls import explain_calls

__all__ = ["ImpulseModel3D", "ImpulseModel6D", "ImpulseModelAbstract", "ImpulseStack"]

explain_calls(__name__)
