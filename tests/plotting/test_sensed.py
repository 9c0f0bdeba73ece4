"""Maps and LIDAR readings in pictures and line drawings of a motion in the plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.display.test_layers_beside import drive, hall
from tests.support.unsolved import arm
from trajopt import display
from trajopt.display import pictures
from trajopt.errors import InvalidArgumentError
from trajopt.planar import Lidar, OccupancyGrid, Scan
from trajopt.plotting import animate, plot_motion, plot_path
from trajopt.plotting.film import film_of
from trajopt.plotting.sensed import Sensed
from trajopt.plotting.stage import FilmStage


def scans() -> list[Scan]:
    """One for each knot."""
    return [Lidar(beams=60, most=3.0).scan(hall(), x[:3]) for x in drive().xs]


def part(axes: Any, label: str) -> Any:
    found = [each for each in axes.get_children() if each.get_label() == label]
    return found[0] if found else None


def test_a_picture_has_the_map_and_all_readings() -> None:
    several = scans()
    axes = plot_path(drive(), grid=hall(), scans=several).axes[0]
    cells = part(axes, "_map").get_paths()
    assert len(cells) == 5  # four walls and the block
    block = min((path.get_extents() for path in cells), key=lambda box: abs(box.x0 - 2.0))
    np.testing.assert_allclose(block.get_points(), [[2.0, 0.8], [2.4, 1.4]], atol=1e-9)
    drawn = np.column_stack(part(axes, "LIDAR readings").get_data())
    np.testing.assert_allclose(drawn, np.concatenate([scan.points for scan in several]))
    axes.figure.draw_without_rendering()
    assert axes.get_xlim()[0] < 0.0
    assert axes.get_xlim()[1] > 3.0
    assert "LIDAR readings" in [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_axes_of_a_vehicle_are_no_longer_than_the_vehicle_on_a_large_map() -> None:
    large = OccupancyGrid(np.ones((2, 400)), resolution=0.1, origin=(-20.0, 3.0))
    lines = plot_path(drive(), grid=large).axes[0].get_lines()
    (along,) = [line for line in lines if line.get_label() == "body x"]
    x, y = (values[:2] for values in along.get_data())
    assert np.hypot(np.diff(x), np.diff(y))[0] < 0.5


def test_in_space_the_map_lies_on_the_floor() -> None:
    axes = plot_motion(arm(), grid=hall()).axes[0]
    axes.figure.draw_without_rendering()
    assert np.ptp(part(axes, "_map")._faces[..., 2]) == 0.0
    assert axes.name == "3d"


def test_a_line_drawing_shows_the_readings_of_its_time() -> None:
    several = scans()
    film = film_of(drive(), grid=hall(), scans=several)
    stage = FilmStage(film)
    assert part(stage._axes, "_map") is not None
    for time, knot in ((0.0, 0), (0.55, 5), (film.times[-1], 20)):
        stage.show(time, "")
        np.testing.assert_allclose(np.column_stack(stage._readings.get_data()), several[knot].points)
    stage = FilmStage(film_of(drive(), scans=several[:1]))
    stage.show(1.5, "")
    np.testing.assert_allclose(np.column_stack(stage._readings.get_data()), several[0].points)


def test_films_without_a_browser_have_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_browser", lambda: None)
    kept: list[Any] = []
    monkeypatch.setattr(pictures, "film_of", lambda *args, **options: kept.append(options) or film_of(*args, **options))
    grid = hall()
    display.film(drive(), tmp_path / "a.png", grid=grid, scans=scans())
    assert kept[0]["grid"] is grid
    assert len(kept[0]["scans"]) == 21
    assert animate(drive(), tmp_path / "a.gif", speed=20.0, grid=grid, scans=scans()).stat().st_size > 1000


def test_wrong_maps_and_scans_are_refused() -> None:
    scan = scans()[0]
    for options, words in (
        ({"grid": [[0, 1]]}, "grid: expected an OccupancyGrid, got"),
        ({"scans": [1.0]}, r"scans\[0\]: expected a Scan, got 1.0"),
        ({"scans": [scan] * 3}, r"scans: expected one, or one for each knot \(20 or 21\), got 3"),
    ):
        for draw in (plot_path, film_of):
            with pytest.raises(InvalidArgumentError, match=words):
                draw(drive(), **options)
    assert Sensed(None, [scan] * 3).several == (scan,) * 3
