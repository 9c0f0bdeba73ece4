"""Exceptions of black-box models, reported with the class and the method that raised them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trajopt.errors import ModelEvaluationError, UnsupportedOperationError, pass_on_signal


def class_name(model: object) -> str:
    """Class name of a model; a wrapper includes the model inside: "ActionModelNumDiff(Pendulum)"."""
    inner = getattr(model, "model", None)
    return type(model).__name__ + (f"({type(inner).__name__})" if hasattr(inner, "calc") else "")


@contextmanager
def errors_of_black_box(model: object, method: str, *, before: str = "", after: str = "") -> Iterator[None]:
    """Context that turns an exception into a ModelEvaluationError that names the model and the method.

    Args:
        model: The model that is called.
        method: Name of its method that is called.
        before: Beginning of the message, such as "knot 3: ".
        after: End of the message.

    Raises:
        ModelEvaluationError: An exception was raised inside. A ModelEvaluationError only gets the beginning.
        UnsupportedOperationError: The model does not have the method, and `before` is empty.
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
        pass_on_signal(error)
        words = f"{class_name(model)}.{method} raised {type(error).__name__}: {error}"
        if isinstance(error, ValueError) and "read-only" in str(error):
            words += "; x and u are read-only: work on a copy, such as x = x.copy()"
        raise ModelEvaluationError(f"{before}{words}{after}") from error
