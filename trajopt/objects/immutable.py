"""Objects that are fixed after `__init__`: an invalid assignment raises an error instead of having no effect."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from typing import Any

from trajopt.errors import ImmutableError
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.calls import EXPLAINED, wrong_call

_BUILDING = "_building"  # key in an object's __dict__ while constructors run: their number


class Immutable(ExplainsAttributes):
    """Base of objects whose public attributes are set in `__init__` only.

    Every `__init__` of a subclass is wrapped, and the outermost one ends the construction. A subclass, including a
    user's, may therefore set attributes before and after `super().__init__()`. Wrong constructor calls are explained,
    see `trajopt.objects.calls`. After construction, a public attribute can be set only if it is a property with a
    setter or is named in `settable`. Private attributes can always be set.
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
            raise ImmutableError(f"{type(self).__name__}.{name}: can't be deleted; construct another object")
        object.__delattr__(self, name)

    def may_be_set(self, name: str) -> bool:
        """True if an attribute may be set after construction."""
        member = getattr(type(self), name, None)
        return name in self.settable or (isinstance(member, property) and member.fset is not None)

    def cure_of(self, name: str) -> str:
        """Text that says why an attribute cannot be set, and what to do."""
        names = [n for n in dir(self) if not n.startswith("_")]
        if name in names:
            return "can't be set after construction; construct another object"
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else "; dir(...) lists the attributes"
        return f"no such attribute{hint}"


def under_construction(thing: Immutable) -> bool:
    """True while an `__init__` of the object is running."""
    return _BUILDING in thing.__dict__


def _counted(init: Callable[..., None], cls: type) -> Callable[..., None]:
    """Wraps a constructor so that the outermost one ends the construction."""

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
