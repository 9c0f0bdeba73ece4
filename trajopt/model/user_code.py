"""Meaning of users' classes and functions, for the content hash: their code, and all that it refers to.

Code refers to global names, to variables of the functions around it, to defaults and to attributes. Code has no known
meaning if it makes up names at run time (`getattr` with a text, `eval`), reads files, or draws random numbers.
Constructors do not count: the attributes that they set do.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

LIBRARIES = frozenset({"casadi", "cmath", "math", "numpy", "pinocchio", "scipy", "trajopt"})
"""Modules whose content follows from their version, which the key of an entry covers, or is that of one release."""

HIDDEN = frozenset({"eval", "exec", "getattr", "globals", "locals", "vars", "__import__", "setattr", "open", "input"})
"""Builtins by which code reaches what its names do not tell."""

VARYING = frozenset(
    {
        *("choice", "default_rng", "environ", "fromfile", "genfromtxt", "load", "loadtxt", "normal", "now", "open"),
        *("perf_counter", "rand", "randn", "random", "read", "read_bytes", "read_csv", "read_text", "time", "uniform"),
    }
)
"""Names of attributes by which code gives another thing each time, or what a file holds."""

_OF_CLASSES = frozenset(
    {
        *("__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__annotations__"),
        *("__firstlineno__", "__static_attributes__"),
    }
)


class UnknownContentError(Exception):
    """A model contains an object that the content hash cannot cover."""


@dataclass(frozen=True)
class Unknown:
    """A function that has no known content, whatever its code is."""

    function: Any


def meaning(code: FunctionType | type) -> tuple[frozenset[str], list[Any]]:
    """Names of attributes that a function, or the methods of a class, read, and objects that say what it does.

    Those objects are texts, numbers, and what the content hash follows further. Bases of a class are not among them.

    Raises:
        UnknownContentError: The code reaches what its names do not tell, or refers to an unknown module.
    """
    functions = list(_functions(code)) if isinstance(code, type) else [("", code)]
    things: list[Any] = list(_values(code)) if isinstance(code, type) else []
    names: set[str] = set()
    for name, function in functions:
        if name != "__init__":
            things += [name, *_of_function(function)]
            names.update(*(each.co_names for each in _codes(function.__code__)))
    if varying := sorted(names & VARYING):
        raise UnknownContentError(f"{code.__module__}.{code.__qualname__} uses {varying[0]}")
    return frozenset(names), things


def _functions(kind: type) -> Iterator[tuple[str, FunctionType]]:
    """Functions of a class by name, those of properties and class methods among them."""
    for name, member in vars(kind).items():
        parts: tuple[Any, ...]
        if isinstance(member, property):
            parts = (member.fget, member.fset, member.fdel)
        elif isinstance(member, functools.cached_property):
            parts = (member.func,)
        else:
            parts = (getattr(member, "__func__", member),)
        for part in parts:
            if isinstance(part, FunctionType):
                yield name, part


def _values(kind: type) -> Iterator[Any]:
    """Names and values of the class's other attributes."""
    for name, value in vars(kind).items():
        made = isinstance(value, (FunctionType, property, functools.cached_property, classmethod, staticmethod))
        if not made and name not in _OF_CLASSES:
            yield from (name, value)


def _of_function(function: FunctionType) -> Iterator[Any]:
    """Parts of a function that determine its results."""
    yield from (function.__defaults__, function.__kwdefaults__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    for name, cell in cells:
        if name != "__class__":  # of super(): its bases are read
            yield from (name, _content(function, cell))
    for code in _codes(function.__code__):
        yield from (code.co_name, code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        yield tuple(each for each in code.co_consts if not isinstance(each, CodeType | frozenset))
        yield tuple(sorted(map(repr, each)) for each in code.co_consts if isinstance(each, frozenset))
        for name in _globals(code):
            yield from (name, _global(function, name))


def _content(function: FunctionType, cell: CellType) -> Any:
    """Value of a variable of the function around, which may have none yet."""
    try:
        return cell.cell_contents
    except ValueError as error:
        raise UnknownContentError(f"{function.__qualname__} reads a variable without a value") from error


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(code: CodeType) -> list[str]:
    """Names that the code looks up outside of functions.

    Raises:
        UnknownContentError: It imports a module that is no library.
    """
    names = set()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(str(each.argval))
        elif each.opname == "IMPORT_NAME" and each.argval.split(".")[0] not in LIBRARIES:
            raise UnknownContentError(f"{code.co_qualname} imports {each.argval or 'a module beside it'}")
    return sorted(names)


def _global(function: FunctionType, name: str) -> Any:
    """Value of a global name, as something that the content hash follows."""
    if name in function.__globals__:
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            return _builtin(value) or value
        library = value.__name__.split(".")[0]
        if library not in LIBRARIES:
            raise UnknownContentError(f"{function.__qualname__} reads the module {value.__name__}")
        return f"{value.__name__} {getattr(sys.modules[library], '__version__', '')}"
    if name in HIDDEN or not hasattr(builtins, name):
        raise UnknownContentError(f"{function.__qualname__} uses {name}")
    return f"builtins.{name}"


def _builtin(value: Any) -> str | None:
    """Name of a function or class of a library."""
    module = str(getattr(value, "__module__", None) or "").split(".")[0]
    if module in LIBRARIES - {"trajopt"} | {"_casadi", "builtins"} and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return None
