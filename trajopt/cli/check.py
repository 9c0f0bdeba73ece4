"""The command `trajopt check`: compares the derivatives of your own model or problem with differences."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer

from trajopt.cli.common import Screen, clean_errors
from trajopt.errors import InvalidArgumentError, pass_on_signal


def check_model(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="Model, problem, or function without arguments that returns one; or a problem of `trajopt list`.",
        ),
    ],
    points: Annotated[int, typer.Option(help="Number of random points.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of the points.")] = 0,
) -> None:
    """Check the derivatives of a model or a problem by differences. Exit code: 0 right, 2 wrong, 1 error."""
    from trajopt.analysis.derivative_check import check_derivatives

    with clean_errors():
        found = check_derivatives(_subject(name), points=points, seed=seed)
        screen = Screen(wide=True)
        screen.text(str(found))
        words = "all right" if found.ok else f"{len(found.wrong)} wrong"
        screen.text(words, "bold green" if found.ok else "bold yellow")
    raise typer.Exit(0 if found.ok else 2)


def _subject(name: str) -> Any:
    """The object that a name stands for; classes and functions are called, ready problems loaded."""
    from trajopt import problems

    if name in problems.names():
        return problems.load(name).problem
    module, colon, attribute = name.partition(":")
    if not module or not colon or not attribute:
        raise InvalidArgumentError(
            "MODULE:NAME: expected a module and a name, such as models:problem, or a problem of `trajopt list`, got "
            f"{name!r}"
        )
    sys.path.insert(0, "")  # modules of the working folder, as `python -m` has them
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        pass_on_signal(error)
        raise InvalidArgumentError(f"MODULE:NAME: cannot import {module}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")
    if not hasattr(loaded, attribute):
        raise InvalidArgumentError(f"MODULE:NAME: {module} has no {attribute}")
    found = getattr(loaded, attribute)
    try:
        return found() if callable(found) else found
    except Exception as error:
        pass_on_signal(error)
        raise InvalidArgumentError(f"MODULE:NAME: {attribute}() raised {type(error).__name__}: {error}") from error
