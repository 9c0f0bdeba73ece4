"""Parts of a robot's model in contact: its state, its motors and its contacts belong together."""

from __future__ import annotations

from typing import Any

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.contacts.stack import ContactStack
from trajopt.errors import InvalidArgumentError
from trajopt.states.state_multibody import StateMultibody, check_robot_state


def check_parts(user: str, state: Any, actuation: Any, contacts: Any) -> StateMultibody:
    """Returns the state of a robot; raises InvalidArgumentError, in the name of `user`, unless the parts are of it."""
    robot_state = check_robot_state(user, state)
    if not isinstance(actuation, ActuationModelAbstract):
        raise InvalidArgumentError(f"actuation: expected an actuation model, got {actuation!r}")
    if not isinstance(contacts, ContactStack):
        raise InvalidArgumentError(f"contacts: expected a ContactStack, got {contacts!r}")
    for name, part in (("actuation", actuation), ("contacts", contacts)):
        if part.state != state:
            raise InvalidArgumentError(
                f"{name}: it is of {part.state!r}, the model of {state!r}; make both from one state"
            )
    return robot_state
