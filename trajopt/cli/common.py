"""Shared parts of commands: assignments, result rows, errors on one line."""

from __future__ import annotations

import ast
import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.files import check_output_path

SOLVERS = {
    "ddp": "SolverDDP",
    "fddp": "SolverFDDP",
    "box-ddp": "SolverBoxDDP",
    "box-fddp": "SolverBoxFDDP",
    "sqp": "SolverSQP",
    "ipopt": "SolverIpopt",
    "fatrop": "SolverFatrop",
}
"""Solver classes of `trajopt.solvers` by their names on the command line."""

ProblemRobot = Annotated[str | None, typer.Option(help="Robot, or its file, as in `trajopt list NAME`.")]
ProblemOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Option of the problem, as in `trajopt list NAME`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
PlotFile = Annotated[Path | None, typer.Option(help="File for a plot: .png, .pdf or .svg.")]
AnimationFile = Annotated[Path | None, typer.Option(help="File for a film: .mp4 or .gif.")]
ControllerOptions = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Option of the controller's problem.")
]


def assignments(option: str, texts: list[str] | None) -> dict[str, Any]:
    """Parses assignments such as "mu=0.5", "target=0.4,0,0.6", "pushes=((4, 0.1), (6, -0.2))" and "inner=false".

    Raises:
        InvalidArgumentError: A text is not an assignment, or a name occurs twice.
    """
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            raise InvalidArgumentError(f"{option}: expected NAME=VALUE, got {text!r}; such as mu=0.5")
        if name in values:
            raise InvalidArgumentError(f"{option}: expected each name once, got {name!r} twice")
        values[name] = _value(value)
    return values


def _value(text: str) -> Any:
    """Parses a boolean, None, number, or (nested) tuple of numbers; returns other text unchanged."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    nested = _nested(text) if text[0] in "([" else None
    if nested is not None:
        return nested
    numbers = [_number(part) for part in text.strip("()[]").removesuffix(",").split(",")]
    if any(number is None for number in numbers):
        return text
    return numbers[0] if len(numbers) == 1 and text[-1] not in ",)]" else tuple(numbers)


def _nested(text: str) -> tuple[Any, ...] | None:
    """Parses rows of numbers in brackets; returns None for other text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return _rows(value) if isinstance(value, (tuple, list)) else None


def _rows(values: Any) -> tuple[Any, ...] | None:
    """Converts nested tuples and lists of numbers to tuples; None if they contain anything else."""
    rows = [_rows(each) if isinstance(each, (tuple, list)) else each for each in values]
    plain = all(isinstance(each, (tuple, int, float)) and not isinstance(each, bool) for each in rows)
    return tuple(rows) if plain else None


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


class Screen:
    """Terminal, or a pipe, on which a command prints; for JSON it keeps all rows until `finish`.

    Args:
        wide: Whether lines in a pipe may be long.
        as_json: Whether to print JSON.

    Attributes:
        console: rich's console.
        as_json: Whether to print JSON.
    """

    def __init__(self, wide: bool = False, as_json: bool = False) -> None:
        from rich.console import Console

        self.as_json, self._rows = as_json, dict[str, str]()
        self.console = Console(quiet=as_json)
        if wide and not self.console.is_terminal:
            self.console.width = max(self.console.width, 1000)

    def text(self, words: str, style: str | None = None) -> None:
        """Prints a text as it is; the terminal wraps long lines."""
        self.console.print(words, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def row(self, key: str, value: str, style: str | None = None, width: int = 11) -> None:
        """Prints a keyword, padded to a width, and its text on one line."""
        self._rows[key] = f"{self._rows[key]}; {value}" if key in self._rows else value
        self.text(f"{key:<{width}} {value}", style)

    def write(self, key: str, path: Path | None, write: Callable[[Path], Any], width: int = 11) -> None:
        """Writes a file and prints a line with a keyword and its path; does nothing if there is no path.

        Args:
            key: Keyword, such as "plot".
            path: Path of the file, or None.
            write: Function that writes the file to a path.
            width: Width to which the keyword is padded [characters].
        """
        if path is not None:
            write(path)
            self.row(key, str(path), width=width)

    def finish(self, **facts: Any) -> None:
        """Prints numbers, and all rows as "report", if JSON is wanted."""
        if self.as_json:
            typer.echo(json.dumps(plain(facts | ({"report": self._rows} if self._rows else {})), indent=2))

    def status(self, words: str) -> AbstractContextManager[Any]:
        """Shows a text while something takes time."""
        return self.console.status(words)


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, numbers that are not finite as null, other objects as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def check_input(argument: str, path: Path) -> Path:
    """Returns the path of a file that a command is to read.

    Raises:
        InvalidArgumentError: There is no such file; the message names the argument.
    """
    with contextlib.suppress(OSError):  # the name is too long
        if path.is_file():
            return path
    raise InvalidArgumentError(f"{argument}: expected an existing file, got {str(path)!r}")


def check_outputs(
    plot: Path | None = None, animate: Path | None = None, /, **others: tuple[Path | None, tuple[str, ...]]
) -> None:
    """Checks the files that a command is to write; other ones than pictures by option, each with its suffixes."""
    if plot is not None:
        from trajopt.plotting.style import PICTURE_SUFFIXES

        check_output_path(plot, "--plot", PICTURE_SUFFIXES)
    for option, (path, suffixes) in others.items():
        if path is not None:
            check_output_path(path, f"--{option}", suffixes)
    if animate is not None:
        from trajopt.plotting.frames import check_film_path

        check_film_path(animate, "--animate")


@contextmanager
def clean_errors() -> Iterator[None]:
    """Prints a TrajoptError on one line with exit code 1; Ctrl-C outside of a solve gives exit code 130."""
    try:
        yield
    except TrajoptError as error:
        from rich.console import Console

        message = " ".join(str(error).split())
        console = Console(stderr=True)
        console.print(f"error: {message}", style="red", markup=False, highlight=False, emoji=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(str(interrupt) or "interrupted", err=True)
        raise typer.Exit(130) from None
