"""Films that are line drawings, as without a browser: cameras, progress."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.unsolved import arm, pendulum, trot
from trajopt.display.camera import check_camera, line_of_sight
from trajopt.plotting import animate
from trajopt.plotting.film import film_of
from trajopt.plotting.stage import FilmStage


@pytest.mark.parametrize(
    ("camera", "elevation", "azimuth"),
    [
        ("side", np.degrees(np.arctan(0.15)), -90.0),
        ("front", np.degrees(np.arctan(0.15)), 0.0),
        (([1.0, 2.0, 1.0], [0.0, 1.0, 1.0]), 0.0, 45.0),
        (([0.5, 1.0, 3.0], [0.5, 0.0, 2.0]), 45.0, 90.0),
    ],
)
def test_a_line_drawing_is_from_the_direction_of_the_camera(camera: Any, elevation: float, azimuth: float) -> None:
    seen = line_of_sight(check_camera(camera))
    assert seen == pytest.approx((elevation, azimuth))
    for solution in (arm(), trot()):
        stage = FilmStage(film_of(solution, view=seen))
        axes = stage.figure.axes[0]
        assert (axes.elev, axes.azim) == pytest.approx((elevation, azimuth))  # type: ignore[attr-defined]


def test_the_default_is_the_direction_of_the_line_drawing() -> None:
    assert line_of_sight("corner") is None


def pictures(folder: Path, **options: Any) -> list[bytes]:
    files = [folder / f"{name}.png" for name in ("corner", "side", "front", "top")]
    return [trot().film(file, camera=file.stem, progress=False, **options).read_bytes() for file in files]


def test_films_without_a_browser_keep_to_their_camera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A legged robot is seen from its side in any case, by "corner" and "side"."""
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)
    corner, side, front, top = pictures(tmp_path)
    assert corner == side
    assert len({corner, front, top}) == 3


def test_an_axis_that_is_seen_end_on_has_no_numbers() -> None:
    axes: Any = FilmStage(film_of(trot(), view=(89.9, -90.0))).figure.axes[0]
    assert not len(axes.zaxis.get_majorticklocs())
    assert not axes.zaxis.label.get_visible()
    assert len(axes.xaxis.get_majorticklocs()) > 1


def test_an_animation_tells_how_many_frames_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    @contextlib.contextmanager
    def bar(title: str, total: int, *, wanted: bool) -> Iterator[Any]:
        assert (title, wanted) == ("drawing", True)
        yield lambda done, words: told.append(done)
        assert told == list(range(1, total + 1))

    monkeypatch.setattr("trajopt.plotting.animation.progress_bar", bar)
    animate(pendulum(), tmp_path / "pendulum.gif", frames_per_second=5.0)
    assert len(told) > 3
