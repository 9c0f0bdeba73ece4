"""Stacks of named contacts or impulses of a robot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import as_numbers, check_flag
from trajopt.contacts.base import ContactModelAbstract, Motions, TouchModelAbstract
from trajopt.errors import DuplicateNameError, InvalidArgumentError, unknown_name
from trajopt.model.parameters import Parameter
from trajopt.objects.immutable import Immutable
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals

T = TypeVar("T", bound=TouchModelAbstract)


def check_new_name(name: Any, items: Iterable[str], user: str | None, kind: str) -> None:
    """Checks the name of an item that is added to a stack of items of a kind.

    Raises:
        InvalidArgumentError: The name is no identifier, or a model uses the stack: `user` is its class.
        DuplicateNameError: The stack has an item of this name.
    """
    if user is not None:
        raise InvalidArgumentError(
            f"add: expected a stack that no model uses, but {user} uses it; add all {kind}s before that"
        )
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidArgumentError(f"name: expected an identifier such as 'left_foot', got {name!r}")
    if name in items:
        raise DuplicateNameError(f"name: {name!r} is in the stack already; choose a name other than {', '.join(items)}")


class TouchStackAbstract(Immutable, Generic[T]):
    """Base of stacks of named contacts or impulses. A run-time parameter of each knot switches each of them.

    Args:
        state: State of a robot.
    """

    kind: str
    item: type[TouchModelAbstract]

    def __init__(self, state: StateAbstract) -> None:
        self.state = check_robot_state(type(self).__name__, state)
        self._items: dict[str, T] = {}
        self._active: dict[str, Parameter] = {}
        self._user: str | None = None

    def add(self, name: str, item: T, *, active: bool = True) -> Self:
        """Adds a contact or impulse; an item that is in the stack already is copied, to have parameters of its own.

        Args:
            name: Name of the item, a unique identifier.
            item: The contact or impulse.
            active: Initial value of the run-time parameter `active`, 1 or 0. If it is 0, the force is exactly zero.

        Returns:
            The stack itself, so that calls can be chained.
        """
        check_new_name(name, self._items, self._user, self.kind)
        if not isinstance(item, self.item):
            example = f"{self.kind.capitalize()}Model3D(state, frame)"
            raise InvalidArgumentError(f"item: expected a {self.kind} model such as {example}, got {item!r}")
        if item.state != self.state:
            raise InvalidArgumentError(
                f"item: expected a {self.kind} of {self.state!r}, got one of {item.state!r}; use one state for both"
            )
        active = check_flag("active", active)
        self._items[name] = item.clone() if any(item is other for other in self._items.values()) else item
        symbol = SX.sym(f"{name}.active")
        self._active[name] = Parameter("active", symbol, np.array(float(bool(active))), "-", activity)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the contacts or impulses, in the order in which they were added."""
        return tuple(self._items)

    @property
    def nc(self) -> int:
        """Number of constraints of all items [-]."""
        return sum(item.nc for item in self._items.values())

    @property
    def sizes(self) -> dict[str, int]:
        """Number of constraints of each item, by name [-]."""
        return {name: item.nc for name, item in self._items.items()}

    @property
    def frames(self) -> list[str]:
        """Names of the frames of all items."""
        return list(dict.fromkeys(f for item in self._items.values() for f in item.frames))

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise unknown_name(self.kind, name, self._items)
        return self._items[name]

    def freeze(self, user: str) -> None:
        """Freezes the stack: a model uses it, so nothing can be added afterwards."""
        self._user = user

    def parameters(self) -> dict[str, Parameter]:
        """Run-time parameters by name, such as "contacts.left_foot.active"."""
        named: dict[str, Parameter] = {}
        for name, item in self._items.items():
            own = {"active": self._active[name], **item.parameters()}
            named |= {parameter_name(f"{self.kind}s", name, key): parameter for key, parameter in own.items()}
        return named

    def active_names(self) -> dict[str, str]:
        """Name of the parameter that switches each item, by name of the item."""
        return {name: parameter_name(f"{self.kind}s", name, "active") for name in self._items}

    def switches(self) -> SX:
        """Returns 1 for each constraint of an active item and 0 for the others (nc,), as symbols of parameters."""
        return stacked([ca.repmat(self._active[name].symbol, item.nc, 1) for name, item in self._items.items()])

    def jacobian(self, motions: Motions) -> SX:
        """Jacobian J of all items, active or not (nc, nv)."""
        return stacked([item.jacobian(motions) for item in self._items.values()], self.state.nv)

    def wrenches(self, motions: Motions, multipliers: SX) -> dict[str, SX]:
        """Force and torque (6,) on each frame for multipliers λ (nc,), in the frame's axes [N, N m]."""
        total: dict[str, SX] = {}
        for item, part in zip(self._items.values(), self.split(multipliers).values()):
            for frame, wrench in item.wrenches(motions, part).items():
                total[frame] = total[frame] + wrench if frame in total else wrench
        return total

    def split(self, stacked: SX) -> dict[str, SX]:
        """Splits a column of all constraints (nc,) into one column for each item, by name."""
        ends = np.cumsum([0, *self.sizes.values()])
        return {name: stacked[int(i) : int(j)] for name, i, j in zip(self._items, ends[:-1], ends[1:])}

    def force_map(self, motions: Motions) -> SX | None:
        """Matrix T (nc, nc) that maps λ to reported forces T λ; None if they equal λ."""
        maps = [item.force_map(motions) for item in self._items.values()]
        if all(m is None for m in maps):
            return None
        blocks = [SX.eye(item.nc) if m is None else m for item, m in zip(self._items.values(), maps)]
        return SX(ca.diagcat(*blocks))

    def force_map_derivative(self, motions: Motions, multipliers: SX) -> SX:
        """Derivative ∂(T λ)/∂q (nc, nv) at fixed multipliers λ (nc,), with the matrix T of `force_map`."""
        rows = []
        for item, part in zip(self._items.values(), self.split(multipliers).values()):
            derivative = item.force_map_derivative(motions, part)
            rows.append(SX(item.nc, self.state.nv) if derivative is None else derivative)
        return stacked(rows, self.state.nv)

    def __reduce__(self) -> tuple[Any, ...]:
        items = [(name, item, bool(self._active[name].default)) for name, item in self._items.items()]
        return (_rebuild, (type(self), self.state, items, self._user))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {item.described(without=('state',))}" for name, item in self._items.items())
        return f"{type(self).__name__}({self.state!r}; {shown or f'no {self.kind}s'})"


class ContactStack(TouchStackAbstract[ContactModelAbstract]):
    """Named contacts of a robot. The run-time parameter "contacts.NAME.active" of a knot switches each of them.

    Args:
        state: State of a robot.
    """

    kind = "contact"
    item = ContactModelAbstract

    def acceleration(self, motions: Motions) -> SX:
        """Accelerations that contacts keep at zero, active or not (nc,) [m/s², rad/s²]."""
        return stacked([item.acceleration(motions) for item in self._items.values()])


def parameter_name(stack: str, name: str, parameter: str) -> str:
    """Name of a parameter within a model, such as "contacts.left_foot.active".

    Args:
        stack: "contacts" or "impulses".
        name: Name of the contact, or impulse.
        parameter: Name of its parameter.
    """
    return f"{stack}.{name}.{parameter}"


def stacked(parts: list[SX], columns: int = 1) -> SX:
    """Stacks rows of so many columns; without any, the result is empty."""
    return SX(ca.vertcat(*parts)) if parts else SX(0, columns)


def activity(argument: str, value: Any) -> Reals:
    """Value of a parameter that switches a contact, 1 or 0."""
    number = as_numbers(argument, value, "1 (active) or 0 (inactive)")
    if number.shape != () or number not in (0.0, 1.0):
        raise InvalidArgumentError(f"{argument}: expected 1 (active) or 0 (inactive), got {value!r}")
    return number


def _rebuild(cls: type[Any], state: StateAbstract, items: list[tuple[str, Any, bool]], user: str | None) -> Any:
    stack = cls(state)
    for name, item, active in items:
        stack.add(name, item, active=active)
    stack._user = user
    return stack
