"""Path of a film that a notebook plays; a temporary file where a caller names none."""

from __future__ import annotations

import base64
import functools
import os
import tempfile
import uuid
from pathlib import Path, PosixPath

from trajopt.plotting.frames import check_film_path


class InlineFilm(PosixPath):
    """Path of a .gif or .mp4 file; as the value of a cell, a notebook plays the film."""

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.read_bytes()).decode()
        if self.suffix.lower() == ".mp4":
            return f'<video controls autoplay loop src="data:video/mp4;base64,{content}"></video>'
        return f'<img src="data:image/gif;base64,{content}"/>'


def inline_film(path: str | os.PathLike[str] | None) -> InlineFilm:
    """Checks the path of a film; None stands for a new .gif in a folder that the process deletes at its end.

    Raises:
        InvalidArgumentError, MissingDependencyError: As in `check_film_path`.
    """
    return InlineFilm(check_film_path(Path(_folder().name) / f"{uuid.uuid4().hex}.gif" if path is None else path))


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="trajopt-films-", ignore_cleanup_errors=True)
