"""Objects that are fixed after `__init__`: what they don't know, or can't change, is refused instead of ignored."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from typing import Any

from trajopt.errors import ImmutableError
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.calls import EXPLAINED, wrong_call

_BUILDING = "_building"  # in an object's __dict__ while its constructors run: how many of them


class Immutable(ExplainsAttributes):
    """Base of objects whose public attributes are set in `__init__` only.

    Every `__init__` below is wrapped, so that the outermost one ends the construction: a subclass, a user's too, sets
    attributes in its own `__init__` before and after `super().__init__()`. A wrong call of it is explained, see
    `trajopt.objects.calls`. Afterwards public attributes can be set if they are properties with a setter, or named in
    `settable`; private ones always, as the object's own memory.
    """

    settable: tuple[str, ...] = ()
    """Public attributes that may be set after construction."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _counted(cls.__init__, cls)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or under_construction(self) or self.may_be_set(name)):
            raise ImmutableError(f"{type(self).__name__}.{name}: {self.cure_of(name)}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if not name.startswith("_"):
            raise ImmutableError(f"{type(self).__name__}.{name}: expected to stay, got del; build another object")
        object.__delattr__(self, name)

    def may_be_set(self, name: str) -> bool:
        """Whether an attribute may be set after construction."""
        member = getattr(type(self), name, None)
        return name in self.settable or (isinstance(member, property) and member.fset is not None)

    def cure_of(self, name: str) -> str:
        """Why an attribute can't be set, and what to do."""
        known = [n for n in dir(self) if not n.startswith("_")]
        if name in known:
            return "expected to stay as it was built, got an assignment; build another object"
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"expected an attribute that there is, got a new one{hint}"


def under_construction(thing: Immutable) -> bool:
    """Whether an `__init__` of the object runs."""
    return _BUILDING in thing.__dict__


def _counted(init: Callable[..., None], cls: type) -> Callable[..., None]:
    """The constructor of a class, which ends the construction if no other one is under way."""

    @functools.wraps(init)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        attributes = self.__dict__
        attributes[_BUILDING] = attributes.get(_BUILDING, 0) + 1
        try:
            init(self, *args, **kwargs)
        except TypeError:
            outermost = getattr(type(self).__init__, "__wrapped__", None) is init
            fault = wrong_call(init, (self, *args), kwargs, owner=type(self) if outermost else cls)
            if fault is None:
                raise
            raise fault from None
        finally:
            attributes[_BUILDING] -= 1
            if not attributes[_BUILDING]:
                del attributes[_BUILDING]

    setattr(wrapper, EXPLAINED, True)
    return wrapper
