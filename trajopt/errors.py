"""Error classes for misuse; `trajopt.checks` has the checks that raise them.

Every message names the argument, what was expected, what was given and the cure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrajoptError(Exception):
    """Base of every error that trajopt raises on purpose."""


class InvalidArgumentError(TrajoptError, ValueError):
    """An argument has the wrong size, type or value."""


class UnknownNameError(TrajoptError, KeyError):
    """A name was not found; the message lists the known names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DuplicateNameError(TrajoptError, ValueError):
    """A name is used twice."""


class MissingDependencyError(TrajoptError, ImportError):
    """An optional package is missing; the message says how to install it."""


class UnsupportedOperationError(TrajoptError, NotImplementedError):
    """An expression or a model contains something that cannot be compiled."""


class ModelEvaluationError(TrajoptError, RuntimeError):
    """A model raised, or returned a value that is not finite; the message names the knot."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Error for an unknown name; its message lists close matches first, then all known names."""
    names = sorted(str(k) for k in known)
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return UnknownNameError(f"{kind} {name!r} not found{hint} Known: {listed or 'none'}.")
