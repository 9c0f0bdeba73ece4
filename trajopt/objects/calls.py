"""Calls with arguments that a function does not take: the message names the function, the argument and the near one.

`explain_calls` goes over what a room exports, so that all functions, constructors and methods for users are covered,
later ones too. A call that fits costs a `try`; the signature is looked at only after a TypeError.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, ParamSpec, TypeVar

from trajopt.errors import FrozenError, WrongCallError, close_names, shown

P = ParamSpec("P")
R = TypeVar("R")

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
EXPLAINED = "_explains_calls"
"""Attribute that marks a function whose wrong calls are explained."""


def explain_calls(room: str) -> None:
    """Makes all functions, data classes and methods that a package exports explain wrong calls.

    Functions are replaced in the package and in the module that defines them, by which they pickle; methods of an
    object become functions of the package. Constructors of `Immutable` explain themselves, users' own too. Methods of
    models stay as they are: inner loops call them.

    Args:
        room: Name of the package, at the end of whose `__init__` this is called.
    """
    package = sys.modules[room]
    for name in package.__all__:
        if name in vars(package):  # the others when they are imported, see `trajopt.objects.lazy`
            explain_export(room, name)


def explain_export(room: str, name: str) -> None:
    """Makes a name that a package exports explain wrong calls, see `explain_calls`."""
    package = sys.modules[room]
    thing = getattr(package, name)
    if inspect.isclass(thing):
        explain_class(thing)
    elif inspect.isfunction(thing) and not hasattr(thing, EXPLAINED):
        wrapped = explained(thing)
        for module in (package, sys.modules[thing.__module__]):
            setattr(module, name, wrapped)
    elif inspect.ismethod(thing):
        wrapped = explained(thing)
        wrapped.__module__, wrapped.__qualname__ = room, name
        setattr(package, name, wrapped)


def explain_class(cls: type) -> type:
    """Makes constructor and methods of a class explain wrong calls, and a frozen data class wrong assignments.

    A class can leave out itself by `methods_explain = False`, and all methods but some by a tuple of their names, where
    inner loops call the others.
    """
    chosen = getattr(cls, "methods_explain", True)
    if chosen is False:
        return cls
    _explain_constructor(cls)
    if dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        cls.__setattr__ = _refuse_assignment  # type: ignore[method-assign, assignment]
    for base in cls.__mro__:
        for name, member in list(vars(base).items()) if base.__module__.startswith("trajopt") else ():
            inner = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            passes = name.startswith("_") or hasattr(inner, EXPLAINED) or hasattr(inner, "__isabstractmethod__")
            passes = passes or (chosen is not True and name not in chosen)
            if inspect.isfunction(inner) and not passes:
                method: Any = explained(inner, owner=base)
                setattr(base, name, method if inner is member else type(member)(method))
    return cls


def explained(function: Callable[P, R], *, owner: type | None = None) -> Callable[P, R]:
    """The function, which raises WrongCallError for arguments that it does not take.

    Args:
        function: The function.
        owner: The class whose method it is; its `call_hint(method, names)` may add a cure to the message.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            fault = wrong_call(function, args, kwargs, owner=_caller(owner, wrapper, args))
            if fault is None:
                raise
        raise fault

    setattr(wrapper, EXPLAINED, True)
    return wrapper


def _caller(owner: type | None, method: Callable[..., Any], args: tuple[Any, ...]) -> type | None:
    """The class whose method is called: that of self, or the owner of a method that a subclass calls by super()."""
    if owner is None or not args:
        return owner
    kind = args[0] if isinstance(args[0], type) else type(args[0])
    called = getattr(kind, method.__name__, None)
    if getattr(called, "__func__", called) is not method:
        return owner
    return kind


def wrong_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, owner: type | None = None
) -> WrongCallError | None:
    """The error of a call that does not fit a function's signature; None if it fits.

    Args:
        function: The function.
        args: Arguments by place, with self.
        kwargs: Arguments by name.
        owner: The class whose method or constructor it is.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a builtin function that has none
        return None
    hidden = 0 if owner is None or not _is_bound(signature) else 1
    parameters = list(signature.parameters.values())[hidden:]
    names, args = _names(function, parameters), args[hidden:]
    places = [p for p in parameters if p.kind in _POSITIONAL]
    what, wrong = "", []
    if names is not None and (wrong := [name for name in kwargs if name not in names]):
        what = f"unexpected argument {wrong[0]!r}{_near(wrong[0], names)}"
    elif len(args) > len(places) and not any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
        what = _too_many(len(args), len(places), names or [])
    elif twice := [p.name for p in places[: len(args)] if p.name in kwargs and p.kind is not Parameter.POSITIONAL_ONLY]:
        what = f"argument {twice[0]!r} came twice, by its place and by its name"
    elif missing := _missing(parameters, places, len(args), kwargs):
        what = f"argument {missing[0]!r} is missing{_given(places, args, kwargs)}"
    if not what:
        return None
    name = method = getattr(function, "__name__", type(function).__name__)
    if owner is not None:
        name = owner.__name__ if method == "__init__" else f"{owner.__name__}.{method}"
    hint = getattr(owner, "call_hint", lambda *_: "")(method, wrong)
    cure = hint or f"it takes {_signature(parameters, names)}"
    return WrongCallError(f"{name}: {what}; {cure}")


def _names(function: Callable[..., Any], parameters: list[Parameter]) -> list[str] | None:
    """Names that arguments may have; None if any may be given. An `Unpack` of a TypedDict counts by its keys."""
    names = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    for p in parameters:
        if p.kind is Parameter.VAR_KEYWORD:
            found = re.fullmatch(r"Unpack\[(\w+)\]", str(p.annotation))
            if found is None:
                return None
            names += inspect.unwrap(function).__globals__[found[1]].__annotations__
    return names


def _near(name: str, names: list[str]) -> str:
    """Words on the names that are close; empty if none is."""
    close = close_names(name, names)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _missing(parameters: list[Parameter], places: list[Parameter], count: int, kwargs: dict[str, Any]) -> list[str]:
    given = {p.name for p in places[:count]} | kwargs.keys()
    kinds = (*_POSITIONAL, Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty and p.name not in given]


def _given(places: list[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Words on which argument got what: they show which one was left out in the middle."""
    given = {p.name: value for p, value in zip(places, args)} | kwargs
    words = [f"{name} = {_kind(value)}" for name, value in given.items()]
    return f", got {', '.join(words)}" if words else ""


def _kind(value: Any) -> str:
    """A small value, or the class of a larger one."""
    return shown(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__


def _too_many(count: int, most: int, names: list[str]) -> str:
    """Words on arguments that came by their places, of which there are fewer."""
    if most == 0:
        return f"expected names before all arguments, got {count} positional" if names else "expected no argument"
    named = f"; name the others, such as {names[most]}=..." if len(names) > most else ""
    return f"expected at most {most} positional argument{'s' * (most > 1)}, got {count}{named}"


def _signature(parameters: list[Parameter], names: list[str] | None) -> str:
    """Names of all arguments, as in (state, actuation, costs, *, constraints)."""
    words: list[str] = []
    for p in parameters:
        if p.kind is Parameter.KEYWORD_ONLY and "*" not in words and not any(w.startswith("*") for w in words):
            words.append("*")
        if p.kind is Parameter.VAR_KEYWORD and names is not None:
            words += [name for name in names if name not in words]
        else:
            words.append(str(p.replace(default=p.empty, annotation=p.empty)))  # with the stars of *args and **kwargs
    return f"({', '.join(words)})"


def _is_bound(signature: Signature) -> bool:
    return next(iter(signature.parameters), "") in ("self", "cls")


def _explain_constructor(cls: type) -> None:
    """Makes the constructor of a class, or the one that it inherits, explain wrong calls."""
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    init: Any = owner.__init__  # type: ignore[misc]
    if inspect.isfunction(init) and not hasattr(init, EXPLAINED) and owner.__module__.startswith("trajopt"):
        owner.__init__ = explained(init, owner=owner)  # type: ignore[misc]


def _refuse_assignment(self: Any, name: str, value: Any) -> None:
    names = [f.name for f in dataclasses.fields(self)]
    cure = getattr(self, "cure_of", lambda _: "")(name)
    if not cure and name in names:
        cure = (
            f"expected to stay as it was built, got an assignment; dataclasses.replace(..., {name}=...) makes another"
        )
    elif not cure:
        cure = f"expected an attribute that there is, got a new one{_near(name, names)}"
    raise FrozenError(f"{type(self).__name__}.{name}: {cure}")
