"""Error classes for misuse; the checks in `trajopt.checks` raise them.

Every message names the argument, says what was expected and what came, and ends with advice.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import reprlib
import signal
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST = 2000
"""Longest message [characters]. A longer one is cut in its middle, so that argument and advice remain."""

SHORT = 8
"""Vectors up to this length are shown in full in messages [-]."""


class TrajoptError(Exception):
    """Base class of all errors that trajopt raises on purpose."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(_cut(a) if isinstance(a, str) else a for a in args))


class InvalidArgumentError(TrajoptError, ValueError):
    """An argument has the wrong size, type or value."""


class UnknownNameError(TrajoptError, KeyError):
    """No object has this name; the message lists the valid names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ImmutableError(TrajoptError, AttributeError):
    """An attribute cannot be set: it is fixed or does not exist. The message says what to do instead."""


class FrozenError(ImmutableError, dataclasses.FrozenInstanceError):
    """An attribute of a frozen data class was set."""


class UnknownAttributeError(TrajoptError, AttributeError):
    """An attribute does not exist; other packages use this name. The message gives the name used here."""


class WrongCallError(TrajoptError, TypeError):
    """A function was called with arguments that it does not accept; the message lists those that it accepts."""


class DuplicateNameError(TrajoptError, ValueError):
    """A name occurs twice."""


class MissingDependencyError(TrajoptError, ImportError):
    """An optional package is missing; the message says how to install it."""


class UnsupportedOperationError(TrajoptError, NotImplementedError):
    """An expression or a model contains an operation that cannot be compiled."""


class SolverInUseError(TrajoptError, RuntimeError):
    """`solve` was called during a solve of the same solver, by another thread or by a callback."""


class ModelEvaluationError(TrajoptError, RuntimeError):
    """A model raised an error or returned a value that is not finite; the message names the knot."""


def unknown_name(kind: str, name: object, choices: Iterable[str], *, suggest: Iterable[str] = ()) -> UnknownNameError:
    """Error for an unknown name. Its message lists close matches first, then all valid names.

    Args:
        kind: Kind of object that the name denotes, such as "parameter".
        name: The unknown name.
        choices: The valid names.
        suggest: Valid names to suggest although their spelling differs.
    """
    names = sorted(str(k) for k in choices)
    lower = {n.lower(): n for n in names}
    wanted = str(name)[:100].lower() if isinstance(name, str) else ""
    matches = [lower[match] for match in difflib.get_close_matches(wanted, lower, n=3)]
    close = list(dict.fromkeys([*matches, *suggest]))
    if len(wanted) > 2 and not close:
        close = [lower[each] for each in lower if wanted in each][:3]
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return UnknownNameError(f"{kind} {shown(name)} not found{hint} Known: {listed or 'none'}.")


def function_raised(argument: str, error: Exception) -> InvalidArgumentError:
    """Error to raise when a user's function has raised; its message names the argument that held the function."""
    pass_on_signal(error)
    return InvalidArgumentError(f"{argument}: the function raised {type(error).__name__}: {error}")


def pass_on_signal(error: Exception) -> None:
    """Raises an error again if the handler of a signal raised it, such as that of a timeout.

    Such an error interrupted a user's function, which is not its cause.
    """
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    if any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__)):
        raise error


def close_names(name: str, choices: Iterable[str]) -> list[str]:
    """At most two of the valid names that resemble a name; case and underscores are ignored."""
    plain = {each.replace("_", "").lower(): each for each in choices}
    return [plain[match] for match in difflib.get_close_matches(name.replace("_", "").lower(), plain, n=2)]


def shown(value: Any) -> str:
    """The repr of a value on one line, for messages, without its address; a long one is cut in its middle."""
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", " ".join(_SHOWN.repr(value).split()))
    except Exception:  # from a user's own __repr__
        return f"an object of type {type(value).__name__}"


def shown_numbers(values: Iterable[float], names: Sequence[str] = ()) -> str:
    """A vector for messages: all numbers if it is short, else the three largest with their names or indices."""
    numbers = [float(value) for value in values]
    if len(numbers) <= SHORT:
        return f"[{', '.join(f'{number:.6g}' for number in numbers)}]"
    labels = names or [f"[{i}]" for i in range(len(numbers))]
    largest = sorted(zip(labels, numbers), key=lambda pair: -abs(pair[1]))[:3]
    terms = ", ".join(f"{name} = {number:.6g}" for name, number in largest)
    return f"({len(numbers)} numbers, the largest {terms})"


_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 160
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxdict = _SHOWN.maxset = 8


def _cut(message: str) -> str:
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST // 2]} ... {message[-LONGEST // 2 :]}"
