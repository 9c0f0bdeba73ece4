"""Contacts, which constrain accelerations of frames and provide the forces, and impulses of touch-downs."""

from trajopt.contacts.base import ContactModelAbstract
from trajopt.contacts.contact_1d import ContactModel1D
from trajopt.contacts.contact_2d import ContactModel2D
from trajopt.contacts.contact_3d import ContactModel3D
from trajopt.contacts.contact_6d import ContactModel6D
from trajopt.contacts.contact_loop import ContactModelLoop
from trajopt.contacts.impulse import ImpulseModelAbstract
from trajopt.contacts.impulse_3d import ImpulseModel3D
from trajopt.contacts.impulse_6d import ImpulseModel6D
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.contacts.stack import ContactStack
from trajopt.contacts.supports import SupportStack
from trajopt.objects.calls import explain_calls

__all__ = [
    "ContactModel1D",
    "ContactModel2D",
    "ContactModel3D",
    "ContactModel6D",
    "ContactModelAbstract",
    "ContactModelLoop",
    "ContactStack",
    "ImpulseModel3D",
    "ImpulseModel6D",
    "ImpulseModelAbstract",
    "ImpulseStack",
    "SupportStack",
]

explain_calls(__name__)
