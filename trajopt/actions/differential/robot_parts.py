"""Check that the state, the motors and the contacts of a model belong to one robot."""

from __future__ import annotations

from typing import Any

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.contacts.stack import ContactStack
from trajopt.errors import InvalidArgumentError
from trajopt.states.state_multibody import StateMultibody, check_robot_state


def check_parts(user: str, state: Any, actuation: Any, contacts: Any) -> StateMultibody:
    """Returns the state of a robot; raises InvalidArgumentError if actuation or contacts have another one."""
    robot_state = check_robot_state(user, state)
    if not isinstance(actuation, ActuationModelAbstract):
        raise InvalidArgumentError(
            f"actuation: expected an actuation model such as ActuationModelFull(state), got {actuation!r}"
        )
    if not isinstance(contacts, ContactStack):
        raise InvalidArgumentError(f"contacts: expected a ContactStack, got {contacts!r}")
    for name, part in (("actuation", actuation), ("contacts", contacts)):
        if part.state != state:
            raise InvalidArgumentError(
                f"{name}: expected {name} of {state!r}, got {name} of {part.state!r}; use one state for all parts"
            )
    return robot_state
