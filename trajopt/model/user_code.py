"""Content of users' classes and functions for the content hash: their code and all objects that it refers to.

Code refers to global names, variables of enclosing functions, defaults and attributes. The content is unknown if code
computes names at run time (`getattr` with a string, `eval`), reads files, or draws random numbers. Constructors do not
count, since the attributes that they set are hashed.
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
"""Modules that are covered by their version in the key of an entry, or that do not change within a release."""

HIDDEN = frozenset({"eval", "exec", "getattr", "globals", "locals", "vars", "__import__", "setattr", "open", "input"})
"""Builtins through which code may reach objects that its names do not show."""

VARYING = frozenset(
    {
        *("choice", "default_rng", "environ", "fromfile", "genfromtxt", "load", "loadtxt", "normal", "now", "open"),
        *("perf_counter", "rand", "randn", "random", "read", "read_bytes", "read_csv", "read_text", "time", "uniform"),
    }
)
"""Names of attributes whose results vary between calls or depend on files."""

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
    """A function whose content counts as unknown, whatever its code."""

    function: Any


def meaning(code: FunctionType | type) -> tuple[frozenset[str], list[Any]]:
    """Attribute names that a function, or the methods of a class, read, and the objects that determine its results.

    These objects are strings, numbers, and objects that the content hash follows. Bases of a class are not included.

    Raises:
        UnknownContentError: The code reaches objects that its names do not show, or refers to an unknown module.
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
    """Functions of a class by name, including those of properties and class methods."""
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
    """Names and values of the other attributes of a class."""
    for name, value in vars(kind).items():
        is_code = isinstance(value, (FunctionType, property, functools.cached_property, classmethod, staticmethod))
        if not is_code and name not in _OF_CLASSES:
            yield from (name, value)


def _of_function(function: FunctionType) -> Iterator[Any]:
    """Objects that determine the results of a function."""
    yield from (function.__defaults__, function.__kwdefaults__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    for name, cell in cells:
        if name != "__class__":  # from super(); its bases are read anyway
            yield from (name, _content(function, cell))
    for code in _codes(function.__code__):
        yield from (code.co_name, code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        yield tuple(each for each in code.co_consts if not isinstance(each, CodeType | frozenset))
        yield tuple(sorted(map(repr, each)) for each in code.co_consts if isinstance(each, frozenset))
        for name in _globals(code):
            yield from (name, _global(function, name))


def _content(function: FunctionType, cell: CellType) -> Any:
    """Value of a variable of the enclosing function; it may not be set yet."""
    try:
        return cell.cell_contents
    except ValueError as error:
        raise UnknownContentError(f"{function.__qualname__} reads a variable without a value") from error


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Code objects of a function and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(code: CodeType) -> list[str]:
    """Names that the code looks up as globals.

    Raises:
        UnknownContentError: It imports a module that is not a library.
    """
    names = set()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(str(each.argval))
        elif each.opname == "IMPORT_NAME" and each.argval.split(".")[0] not in LIBRARIES:
            raise UnknownContentError(f"{code.co_qualname} imports {each.argval or 'a module beside it'}")
    return sorted(names)


def _global(function: FunctionType, name: str) -> Any:
    """Value of a global name, as an object that the content hash follows."""
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
    """Name of a library's function or class; None for other objects."""
    module = str(getattr(value, "__module__", None) or "").split(".")[0]
    if module in LIBRARIES - {"trajopt"} | {"_casadi", "builtins"} and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return None
