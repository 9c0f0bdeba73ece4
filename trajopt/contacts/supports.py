"""Supports: places in the world where contact forces act that are controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import as_numbers, check_array, check_flag
from trajopt.contacts.stack import activity, check_new_name, parameter_name
from trajopt.errors import unknown_name
from trajopt.model.parameters import Parameter
from trajopt.objects.immutable import Immutable
from trajopt.robots.placements import check_placement
from trajopt.types import Reals


@dataclass(frozen=True)
class Support:
    """A named place where a force acts, or a force and a torque, in world axes.

    Attributes:
        name: Its name.
        nc: Size of the force, 3 for a point or 6 for a sole [-].
    """

    name: str
    nc: int

    @property
    def frames(self) -> tuple[str]:
        """Its name, for pictures, which call contacts by their frames."""
        return (self.name,)

    @property
    def in_world(self) -> bool:
        """True: forces are in world axes."""
        return True


class SupportStack(Immutable):
    """Named places in the world where the contact forces of a reduced model act; the forces are its controls.

    Run-time parameters are "contacts.NAME.active" and "contacts.NAME.reference", as of contacts with gains.
    """

    def __init__(self) -> None:
        self._items: dict[str, Support] = {}
        self._active: dict[str, Parameter] = {}
        self._places: dict[str, Parameter] = {}
        self._user: str | None = None

    def add(self, name: str, place: Any, *, active: bool = True) -> Self:
        """Adds a support.

        Args:
            name: Name of the support, a unique identifier.
            place: A point (3,) [m] has a force (3,) [N]. A placement, as a pinocchio.SE3, a homogeneous matrix (4, 4),
                or position and quaternion xyzw (7,), has a force and a torque about its origin (6,) [N, N m].
            active: Initial value of the run-time parameter `active`, 1 or 0. If it is 0, the force has no effect.

        Returns:
            The stack itself, so that calls can be chained.
        """
        check_new_name(name, self._items, self._user, "support")
        active = check_flag("active", active)
        if _is_point(place):
            value, convert = check_array("place", place, (3,), cure="pass a point in the world [m]"), _point
        else:
            value, convert = check_placement("place", place), check_placement
        self._items[name] = Support(name, 3 if value.shape == (3,) else 6)
        places = SX.sym(f"{name}.reference", *value.shape)
        self._places[name] = Parameter("reference", places, value, "m", convert)
        self._active[name] = Parameter("active", SX.sym(f"{name}.active"), np.array(float(active)), "-", activity)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the supports, in the order in which they were added."""
        return tuple(self._items)

    @property
    def sizes(self) -> dict[str, int]:
        """Size of each force, by name [-]."""
        return {name: item.nc for name, item in self._items.items()}

    @property
    def nc(self) -> int:
        """Size of all forces [-]."""
        return sum(self.sizes.values())

    def __getitem__(self, name: str) -> Support:
        if name not in self._items:
            raise unknown_name("support", name, self._items)
        return self._items[name]

    def __repr__(self) -> str:
        places = {
            name: (p.default if p.shape == (3,) else p.default[:, 3]).tolist() for name, p in self._places.items()
        }
        kinds = [f"{n}: {'point' if item.nc == 3 else 'sole'} at {places[n]}" for n, item in self._items.items()]
        return f"SupportStack({', '.join(kinds) or 'no supports'})"

    def __reduce__(self) -> tuple[Any, ...]:
        places = {name: (p.default, bool(self._active[name].default)) for name, p in self._places.items()}
        return _rebuild, (places, self._user)

    def freeze(self, user: str) -> None:
        """Freezes the stack: a model uses it, so nothing can be added afterwards."""
        self._user = user

    def parameters(self) -> dict[str, Parameter]:
        """Run-time parameters by name."""
        named = dict[str, Parameter]()
        for name in self._items:
            named[parameter_name("contacts", name, "active")] = self._active[name]
            named[parameter_name("contacts", name, "reference")] = self._places[name]
        return named

    def positions(self) -> dict[str, SX]:
        """Position (3,) of each support [m], as symbols of parameters."""
        return {name: p.symbol if p.shape == (3,) else p.symbol[:, 3] for name, p in self._places.items()}

    def applied(self, forces: SX) -> dict[str, SX]:
        """Force of each support, by name, from all controls (nc,); zero if it is not active [N, N m]."""
        ends = np.cumsum([0, *self.sizes.values()]).tolist()
        parts = zip(self._items, ends, ends[1:])
        return {name: self._active[name].symbol * forces[i:j] for name, i, j in parts}

    def wrench(self, forces: SX, centre: SX) -> tuple[SX, SX]:
        """Total force (3,) [N] of all supports, and total torque (3,) about a point (3,) [N m], in world axes."""
        force, torque, places = SX(3, 1), SX(3, 1), self.positions()
        for name, own in self.applied(forces).items():
            force += own[:3]
            torque += ca.cross(places[name] - centre, own[:3]) + (own[3:] if own.numel() == 6 else SX(3, 1))
        return force, torque


def _is_point(place: Any) -> bool:
    return not hasattr(place, "homogeneous") and as_numbers("place", place, "a point or a placement").shape == (3,)


def _point(argument: str, value: Any) -> Reals:
    return check_array(argument, value, (3,), cure="pass a point in the world [m]")


def _rebuild(places: dict[str, tuple[Reals, bool]], user: str | None) -> SupportStack:
    stack = SupportStack()
    for name, (place, active) in places.items():
        whole = place if place.shape == (3,) else np.vstack([place, [0.0, 0.0, 0.0, 1.0]])
        stack.add(name, whole, active=active)
    if user is not None:
        stack.freeze(user)
    return stack
