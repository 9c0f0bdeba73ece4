"""Errors for calls with arguments that a function does not accept; they name the function and a similar argument.

`explain_calls` processes all names that a package exports, so that new functions, constructors and methods are covered
as well. A valid call costs a `try`; the signature is only inspected after a TypeError.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
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

    Functions are replaced in the package and in the module that defines them (pickle looks there); methods of an
    exported object become functions of the package. Constructors of `Immutable` explain themselves, including those of
    users. Methods of models are unchanged, since inner loops call them.

    Args:
        room: Name of the package; call this function at the end of its `__init__`.
    """
    package = sys.modules[room]
    for name in package.__all__:
        if name in vars(package):  # lazy names follow when they are imported, see `trajopt.objects.lazy`
            explain_export(room, name)


def explain_export(room: str, name: str) -> None:
    """Makes one exported name of a package explain wrong calls, see `explain_calls`."""
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
    """Makes the constructor and methods of a class explain wrong calls, and a frozen data class wrong assignments.

    A class opts out with `methods_explain = False`. If inner loops call some of its methods, a tuple in
    `methods_explain` names those to be explained.
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
    """Wraps a function so that it raises WrongCallError for arguments that it does not accept.

    Args:
        function: The function.
        owner: Class to which the method belongs; its `call_hint(method, names)` may add advice to the message.
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
    """Class whose method is called: that of self, or `owner` if a subclass calls its method by super()."""
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
    """Returns the error for a call that does not fit a function's signature, or None if it fits.

    Args:
        function: The function.
        args: Positional arguments, including self.
        kwargs: Keyword arguments.
        owner: Class to which the method or constructor belongs.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # builtin functions may have no signature
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
        what = f"argument {twice[0]!r} was passed twice, by position and by name"
    elif missing := _missing(parameters, places, len(args), kwargs):
        what = f"argument {missing[0]!r} is missing{_argument_list(places, args, kwargs)}"
    if not what:
        return None
    name = method = getattr(function, "__name__", type(function).__name__)
    if owner is not None:
        name = owner.__name__ if method == "__init__" else f"{owner.__name__}.{method}"
    hint = getattr(owner, "call_hint", lambda *_: "")(method, wrong)
    hint = hint or next((f"it is an option: {name}(..., {use})" for use in _options(function, parameters, wrong)), "")
    cure = hint or f"it takes {_signature(parameters, names)}"
    return WrongCallError(f"{name}: {what}; {cure}")


def _names(function: Callable[..., Any], parameters: list[Parameter]) -> list[str] | None:
    """Names that keyword arguments may have; None if any name is valid. An `Unpack` of a TypedDict adds its keys."""
    names = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    for p in parameters:
        if p.kind is Parameter.VAR_KEYWORD:
            match = re.fullmatch(r"Unpack\[(\w+)\]", str(p.annotation))
            if match is None:
                return None
            names += inspect.unwrap(function).__globals__[match[1]].__annotations__
    return names


def _options(function: Callable[..., Any], parameters: list[Parameter], wrong: list[str]) -> Iterator[str]:
    """Optional arguments whose data class has a field of the first wrong name, as in options=GaitOptions(mu=...)."""
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    for p in parameters if wrong else ():
        kinds = [scope.get(word) for word in re.findall(r"\w+", str(p.annotation))] if p.default is not p.empty else []
        for kind in kinds:
            if dataclasses.is_dataclass(kind) and wrong[0] in [field.name for field in dataclasses.fields(kind)]:
                yield f"{p.name}={getattr(kind, '__name__', '')}({wrong[0]}=...)"


def _near(name: str, names: list[str]) -> str:
    """Text that suggests similar names; empty if there is none."""
    close = close_names(name, names)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _missing(parameters: list[Parameter], places: list[Parameter], count: int, kwargs: dict[str, Any]) -> list[str]:
    passed = {p.name for p in places[:count]} | kwargs.keys()
    kinds = (*_POSITIONAL, Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty and p.name not in passed]


def _argument_list(places: list[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Text that lists the arguments with their values, which shows an argument that was left out in the middle."""
    passed = {p.name: value for p, value in zip(places, args)} | kwargs
    words = [f"{name} = {_kind(value)}" for name, value in passed.items()]
    return f", got {', '.join(words)}" if words else ""


def _kind(value: Any) -> str:
    """Text for a value: itself if it is short, else its class."""
    return shown(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__


def _too_many(count: int, most: int, names: list[str]) -> str:
    """Text about too many positional arguments."""
    if most == 0:
        return f"expected keyword arguments only, got {count} positional" if names else "expected no argument"
    named = f"; name the others, such as {names[most]}=..." if len(names) > most else ""
    return f"expected at most {most} positional argument{'s' * (most > 1)}, got {count}{named}"


def _signature(parameters: list[Parameter], names: list[str] | None) -> str:
    """Text with the names of all arguments, as in (state, actuation, costs, *, constraints)."""
    words: list[str] = []
    for p in parameters:
        if p.kind is Parameter.KEYWORD_ONLY and "*" not in words and not any(w.startswith("*") for w in words):
            words.append("*")
        if p.kind is Parameter.VAR_KEYWORD and names is not None:
            words += [name for name in names if name not in words]
        else:
            words.append(str(p.replace(default=p.empty, annotation=p.empty)))  # keeps the stars of *args, **kwargs
    return f"({', '.join(words)})"


def _is_bound(signature: Signature) -> bool:
    return next(iter(signature.parameters), "") in ("self", "cls")


def _explain_constructor(cls: type) -> None:
    """Makes the constructor of a class, possibly an inherited one, explain wrong calls."""
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    init: Any = owner.__init__  # type: ignore[misc]
    if inspect.isfunction(init) and not hasattr(init, EXPLAINED) and owner.__module__.startswith("trajopt"):
        owner.__init__ = explained(init, owner=owner)  # type: ignore[misc]


def _refuse_assignment(self: Any, name: str, value: Any) -> None:
    names = [f.name for f in dataclasses.fields(self)]
    cure = getattr(self, "cure_of", lambda _: "")(name)
    if not cure and name in names:
        copy = f"dataclasses.replace(..., {name}=...)"
        cure = f"the object is frozen, so it cannot be assigned; make a changed copy with {copy}"
    elif not cure:
        cure = f"no such attribute{_near(name, names)}; dir(...) lists the attributes"
    raise FrozenError(f"{type(self).__name__}.{name}: {cure}")
