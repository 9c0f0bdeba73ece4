"""Error classes for misuse; `trajopt.checks` has the checks that raise them.

Every message names the argument, what was expected, what was given and the cure.
"""

from __future__ import annotations

import dataclasses
import difflib
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST = 2000
"""A longer message is cut in its middle, where an argument is shown; its name and the cure stay [characters]."""

SHORT = 8
"""Length of vectors of which a message shows all numbers [-]."""


class TrajoptError(Exception):
    """Base of every error that trajopt raises on purpose."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(_cut(a) if isinstance(a, str) else a for a in args))


class InvalidArgumentError(TrajoptError, ValueError):
    """An argument has the wrong size, type or value."""


class UnknownNameError(TrajoptError, KeyError):
    """A name was not found; the message lists the known names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ImmutableError(TrajoptError, AttributeError):
    """An attribute was set that is fixed, or that there is not; the message says how to change what was meant."""


class FrozenError(ImmutableError, dataclasses.FrozenInstanceError):
    """An attribute of a frozen data class was set."""


class UnknownAttributeError(TrajoptError, AttributeError):
    """An attribute was asked for that there is not, under a name that another package has for it."""


class WrongCallError(TrajoptError, TypeError):
    """A function was called with arguments that it does not take; the message says what it takes."""


class DuplicateNameError(TrajoptError, ValueError):
    """A name is used twice."""


class MissingDependencyError(TrajoptError, ImportError):
    """An optional package is missing; the message says how to install it."""


class UnsupportedOperationError(TrajoptError, NotImplementedError):
    """An expression or a model contains something that cannot be compiled."""


class SolverInUseError(TrajoptError, RuntimeError):
    """A solver was asked to solve while it solves, by another thread or by its own callback."""


class ModelEvaluationError(TrajoptError, RuntimeError):
    """A model raised, or returned a value that is not finite; the message names the knot."""


def unknown_name(kind: str, name: object, known: Iterable[str], *, suggest: Iterable[str] = ()) -> UnknownNameError:
    """Error for an unknown name; its message lists close matches first, then all known names.

    Args:
        kind: What the name is of.
        name: The name.
        known: The names that there are.
        suggest: Those of them that may be meant although they are written differently.
    """
    names = sorted(str(k) for k in known)
    lower = {n.lower(): n for n in names}
    wanted = str(name)[:100].lower() if isinstance(name, str) else ""
    matches = [lower[match] for match in difflib.get_close_matches(wanted, lower, n=3)]
    close = list(dict.fromkeys([*matches, *suggest]))
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return UnknownNameError(f"{kind} {shown(name)} not found{hint} Known: {listed or 'none'}.")


def function_raised(argument: str, error: Exception) -> InvalidArgumentError:
    """Error of a user's function that raised one; its message names the argument that the function came as."""
    return InvalidArgumentError(f"{argument}: the function raised {type(error).__name__}: {error}")


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Those of the known names, two at most, that are close to a name, whatever its case and underscores."""
    plain = {each.replace("_", "").lower(): each for each in known}
    return [plain[match] for match in difflib.get_close_matches(name.replace("_", "").lower(), plain, n=2)]


def shown(value: Any) -> str:
    """A value in a message: its repr on one line, the middle left out where it is long."""
    try:
        return " ".join(_SHOWN.repr(value).split())
    except Exception:  # a user's own __repr__
        return f"an object of type {type(value).__name__}"


def shown_numbers(values: Iterable[float], names: Sequence[str] = ()) -> str:
    """Numbers of a vector in a message: all of a short one, else the largest three, by name or index."""
    numbers = [float(value) for value in values]
    if len(numbers) <= SHORT:
        return f"[{', '.join(f'{number:.6g}' for number in numbers)}]"
    known = names or [f"[{i}]" for i in range(len(numbers))]
    largest = sorted(zip(known, numbers), key=lambda pair: -abs(pair[1]))[:3]
    told = ", ".join(f"{name} = {number:.6g}" for name, number in largest)
    return f"({len(numbers)} numbers, the largest {told})"


_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 160
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxdict = _SHOWN.maxset = 8


def _cut(message: str) -> str:
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST // 2]} ... {message[-LONGEST // 2 :]}"
