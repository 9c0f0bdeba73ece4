"""Inverse dynamics with contact: the torques and wrenches of a motion, and whether a robot can execute it."""

from trajopt.inverse_dynamics.contact import ContactFrame
from trajopt.inverse_dynamics.files import read_positions
from trajopt.inverse_dynamics.find import find_contacts
from trajopt.inverse_dynamics.motion import Motion
from trajopt.inverse_dynamics.result import ContactInverseDynamics
from trajopt.inverse_dynamics.solve import (
    contact_inverse_dynamics,
    inverse_dynamics,
    multiple_contact_inverse_dynamics,
    multiple_contact_inverse_dynamics_over_time,
)
from trajopt.objects.calls import explain_calls

__all__ = [
    "ContactFrame",
    "ContactInverseDynamics",
    "Motion",
    "contact_inverse_dynamics",
    "find_contacts",
    "inverse_dynamics",
    "multiple_contact_inverse_dynamics",
    "multiple_contact_inverse_dynamics_over_time",
    "read_positions",
]

explain_calls(__name__)
