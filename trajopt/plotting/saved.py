"""Pictures with a file: the path is checked before the drawing, which may take a while."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trajopt.plotting.style import check_picture_path
from trajopt.plotting.window import write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def saved(draw: Callable[..., Figure], path: str | os.PathLike[str] | None, *arguments: Any, **options: Any) -> Figure:
    """Returns the figure that a function draws, and writes it to a file (.png, .pdf or .svg) if there is a path.

    Raises:
        InvalidArgumentError: The path cannot be written.
    """
    file = None if path is None else check_picture_path(path)
    figure = draw(*arguments, **options)
    if file is not None:
        write(figure, file)
    return figure
