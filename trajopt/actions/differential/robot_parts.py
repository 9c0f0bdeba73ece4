"""Check that the state, the motors and the contacts of a model belong to one robot."""

from __future__ import annotations

from typing import Any

from trajopt.actuation.base import check_actuation
from trajopt.contacts.stack import ContactStack
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state


def check_parts(user: str, state: Any, actuation: Any, contacts: Any) -> StateMultibody:
    """Freezes the contacts of a model, and returns its state.

    Raises:
        InvalidArgumentError: It is not the state of a robot, or actuation or contacts have another one.
    """
    robot_state = check_robot_state(user, state)
    check_actuation(actuation)
    if not isinstance(contacts, ContactStack):
        raise InvalidArgumentError(f"contacts: expected a ContactStack, got {contacts!r}")
    check_states(state, actuation=actuation, contacts=contacts)
    contacts.freeze(user)
    return robot_state


def check_states(state: StateAbstract, **parts: Any) -> None:
    """Raises InvalidArgumentError unless all parts of a model have its state."""
    for name, part in parts.items():
        if part.state != state:
            raise InvalidArgumentError(
                f"{name}: expected {name} of {state!r}, got {name} of {part.state!r}; use one state for all parts"
            )
