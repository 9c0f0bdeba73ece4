"""Contacts: constraints on the accelerations of frames, with the forces that keep them."""

from trajopt.contacts.base import ContactModelAbstract
from trajopt.contacts.contact_1d import ContactModel1D
from trajopt.contacts.contact_2d import ContactModel2D
from trajopt.contacts.contact_3d import ContactModel3D
from trajopt.contacts.contact_6d import ContactModel6D
from trajopt.contacts.contact_loop import ContactModelLoop
from trajopt.contacts.stack import ContactStack
from trajopt.model.calls import explain_calls

__all__ = [
    "ContactModel1D",
    "ContactModel2D",
    "ContactModel3D",
    "ContactModel6D",
    "ContactModelAbstract",
    "ContactModelLoop",
    "ContactStack",
]

explain_calls(__name__)
