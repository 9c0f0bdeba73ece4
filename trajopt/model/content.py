"""Content hash of a model: models with equal hashes have equal expressions.

The hash covers the current content of objects: classes, attributes, arrays, robots, CasADi functions. For a run-time
parameter it covers name and symbol; the value is not part of an expression. Cached properties follow from the rest and
are left out. In `not_content` a class names further attributes that have no effect on expressions.

The hash also covers the source code of the rooms of trajopt that define the classes, and of all rooms that they import.
For a user's class it covers the code of all methods and the objects that they refer to, as far as
`trajopt.model.user_code` can determine them. A model with other foreign objects has no hash. (A residual made from a
user's function is covered by the expression that the function returns.)
"""

from __future__ import annotations

import enum
import functools
import hashlib
import sys
from abc import ABC
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, Generic

import casadi as ca
import numpy as np
from casadi import SX

from trajopt import source
from trajopt.errors import pass_on_signal
from trajopt.model import user_code
from trajopt.model.base import Model
from trajopt.model.parameters import Parameter
from trajopt.model.pickled import pickled
from trajopt.model.user_code import Unknown, UnknownContentError

_NUMBERS = (np.float64, np.float32, np.int64, np.int32, np.bool_)
_BUILDS_PROGRAMS = "shooting"  # this room calls all others that build programs
_BARE = (object, ABC, Generic, enum.Enum)  # bases without attributes of their own


@dataclass(frozen=True)
class Without:
    """Content of a model without some of its attributes, on which the stored result does not depend."""

    model: Model
    attributes: tuple[str, ...]


def model_hash(model: Model) -> str:
    """Hash of a model's content and of the source code that builds its expressions.

    Raises:
        UnknownContentError: The content of an object in the model cannot be determined.
    """
    return content_hash((model,))


def content_hash(things: Sequence[Any]) -> str:
    """Hash of the content of objects, models or `Without`, and of the source code that builds their expressions.

    Raises:
        UnknownContentError: The content of an object cannot be determined.
    """
    reader = _Reader()
    for thing in things:
        reader.read(thing)
    return reader.result()


class _Reader:
    """Feeds objects to a hash with type, size and content, so that different objects feed different bytes."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._read: dict[int, tuple[int, Any]] = {}  # number of each object by identity; keeps the object alive
        self._symbolic: list[SX] = []
        self._rooms = {_BUILDS_PROGRAMS}

    def result(self) -> str:
        """Hash of all objects that were read."""
        # Serialising one function of all free symbols shows which symbols expressions share.
        function = ca.Function("content", [], self._symbolic, {"allow_free": True})
        self._feed("expressions", function.serialize().encode())
        self._feed("source", source.digest_of_rooms(self._rooms))
        return self._hash.hexdigest()

    def _feed(self, kind: str, data: bytes) -> None:
        self._hash.update(f"{kind} {len(data)}\n".encode())
        self._hash.update(data)

    def read(self, value: Any) -> None:
        """Reads a value; an object that was read before contributes its number only."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes, range):
            self._feed(kind.__name__, repr(value).encode())
        elif kind in (list, tuple):
            self._feed(kind.__name__, str(len(value)).encode())
            self._read_all(value)
        elif kind is dict:
            self._feed("dict", str(len(value)).encode())
            self._read_all(item for pair in value.items() for item in pair)
        elif kind is slice:
            self._feed("slice", b"")
            self._read_all((value.start, value.stop, value.step))
        elif id(value) in self._read:
            self._feed("again", str(self._read[id(value)][0]).encode())
        else:
            self._read[id(value)] = (len(self._read), value)
            self._read_object(value)

    def _read_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.read(value)

    def _read_object(self, value: Any) -> None:
        kind = type(value)
        library = kind.__module__.split(".")[0]
        if kind is np.ndarray and value.dtype.kind in "fiub":
            self._feed(f"array {value.dtype.str} {value.shape}", value.tobytes())
        elif kind in _NUMBERS:
            self._feed(kind.__name__, value.tobytes())
        elif kind is SX:
            self._feed("SX", b"")
            self._symbolic.append(value)
        elif kind in (ca.Function, ca.DM):
            self._feed(kind.__name__, value.serialize().encode())
        elif library == "pinocchio":
            self._feed(kind.__name__, _pickled(value))
        elif kind is Unknown:
            raise UnknownContentError(getattr(value.function, "__qualname__", repr(value.function)))
        elif kind is Without:
            self._read_attributes(value.model, without=value.attributes)
        elif isinstance(value, FunctionType | type):
            self._read_code("code", value)
        elif library == "trajopt" or (hasattr(value, "__dict__") and library not in user_code.LIBRARIES):
            self._read_attributes(value)
        else:
            raise UnknownContentError(f"an object of {kind.__module__}.{kind.__qualname__}")

    def _read_attributes(self, value: Any, *, without: tuple[str, ...] = ()) -> None:
        kind = type(value)
        self._read_code("object", kind, without=without)
        if kind is Parameter:
            self._read_all((value.name, value.symbol))
        elif isinstance(value, enum.Enum):
            self.read(value.name)
        else:
            left_out = _left_out(kind).union(without)  # type: ignore[arg-type]  # mypy: a class is not hashable
            self.read({name: each for name, each in vars(value).items() if name not in left_out})

    def _read_code(self, kind: str, code: FunctionType | type, *, without: tuple[str, ...] = ()) -> None:
        self._feed(kind, f"{code.__module__}.{code.__qualname__}".encode())
        if code.__module__.split(".")[0] == "trajopt":
            self._rooms.add(_room_of(code))
            return
        if isinstance(code, type):
            for base in code.__mro__[1:]:
                if base not in _BARE:
                    self.read(base)
        names, things = user_code.meaning(code)
        if names.intersection(without):
            raise UnknownContentError(f"{code.__qualname__} reads {', '.join(without)}")
        self._read_all(things)


@functools.cache
def _room_of(code: FunctionType | type) -> str:
    """Room of trajopt that defines a class or function.

    Raises:
        UnknownContentError: The code is not defined at the top level of a module of trajopt.
    """
    module, room = sys.modules.get(code.__module__), code.__module__.split(".")[1]
    file = getattr(module, "__file__", None)
    if file and source.belongs(Path(file), room) and vars(module).get(code.__name__) is code:
        return room
    raise UnknownContentError(f"{code.__module__}.{code.__qualname__}")


@functools.cache
def _left_out(kind: type) -> frozenset[str]:
    """Names of the attributes that the hash leaves out for objects of a class.

    Raises:
        UnknownContentError: The objects have content besides attributes (a foreign base class, or slots).
    """
    foreign = user_code.LIBRARIES - {"trajopt"} | {"builtins"}
    bases = [c for c in kind.__mro__ if c not in _BARE and c.__module__.split(".")[0] in foreign]
    if bases or any(vars(c).get("__slots__") for c in kind.__mro__):
        raise UnknownContentError(f"an object of {kind.__module__}.{kind.__qualname__}")
    derived = {n for c in kind.__mro__ for n, v in vars(c).items() if isinstance(v, functools.cached_property)}
    return frozenset(derived.union(*(vars(c).get("not_content", ()) for c in kind.__mro__)))


def _pickled(value: Any) -> bytes:
    try:
        return pickled(value)
    except Exception as error:
        pass_on_signal(error)
        raise UnknownContentError(f"{type(value).__name__} cannot be pickled") from error
