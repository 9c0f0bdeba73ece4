"""Films that a notebook plays."""

from __future__ import annotations

import base64

from tests.support.unsolved import arm


def test_a_notebook_plays_an_animation_without_a_path() -> None:
    path = arm().animate(speed=8.0)
    assert path.suffix == ".gif"
    content = base64.b64encode(path.read_bytes()).decode()
    assert path._repr_html_() == f'<img src="data:image/gif;base64,{content}"/>'  # type: ignore[attr-defined]
