"""Exceptions of a black box, explained with the class and the method that raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trajopt.errors import ModelEvaluationError, UnsupportedOperationError


def class_name(model: object) -> str:
    """Name of a model's class; of a model around another one both: "ActionModelNumDiff(Pendulum)"."""
    inner = getattr(model, "model", None)
    return type(model).__name__ + (f"({type(inner).__name__})" if hasattr(inner, "calc") else "")


@contextmanager
def errors_of_black_box(model: object, method: str, *, before: str = "", after: str = "") -> Iterator[None]:
    """Makes a ModelEvaluationError of any exception inside, which names the model and the method.

    Args:
        model: The model that is called.
        method: Name of its method that is called.
        before: What the message begins with, such as "knot 3: ".
        after: What it ends with.

    Raises:
        ModelEvaluationError: Something was raised; one that was one already only gets its beginning.
        UnsupportedOperationError: The model lacks the method, and nothing is put before it.
    """
    try:
        yield
    except ModelEvaluationError as error:
        if not before or str(error).startswith("knot "):
            raise
        raise ModelEvaluationError(f"{before}{error}") from error.__cause__ or error
    except Exception as error:
        if isinstance(error, UnsupportedOperationError) and not before:
            raise
        words = f"{class_name(model)}.{method} raised {type(error).__name__}: {error}"
        if isinstance(error, ValueError) and "read-only" in str(error):
            words += "; x and u are not to be changed: work on a copy, such as x = x.copy()"
        raise ModelEvaluationError(f"{before}{words}{after}") from error
