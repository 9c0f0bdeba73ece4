"""Views of legged robots that move sideways: from the front or from behind, so that the motion is seen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.plotting.test_animation import points, trot
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_strip
from trajopt.plotting.film import film_of
from trajopt.plotting.stage import FilmStage


@pytest.mark.parametrize(
    ("step", "across", "place"),
    [
        ((0.3, 0.1), "forward", "its right"),
        ((-0.3, 0.1), "forward", "its right"),
        ((0.0, 0.02), "forward", "its right"),
        ((0.05, 0.3), "to the left", "the front"),
        ((0.05, -0.3), "to the right", "behind"),
    ],
)
def test_a_sideways_motion_goes_to_the_right_in_the_picture(step: tuple[float, float], across: str, place: str) -> None:
    solution = trot()
    xs, yaw = solution.xs.copy(), 0.4
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    xs[:, 3:7] = [0.0, 0.0, np.sin(yaw / 2), np.cos(yaw / 2)]
    xs[:, :2] = np.linspace(0.0, 1.0, len(xs))[:, None] * (turn @ step)
    moved = dataclasses.replace(solution, xs=xs)
    film = film_of(moved)
    assert film.side is not None
    assert (film.side.across, film.side.place) == (across, place)
    seen = film.facing @ [*(turn @ step), 0.0]
    forward = abs(step[0]) > abs(step[1]) or across == "forward"
    np.testing.assert_allclose(seen[0], step[0] if forward else abs(step[1]), atol=1e-12)
    np.testing.assert_allclose(film.facing @ film.facing.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(film.facing) == pytest.approx(1.0)
    stage = FilmStage(film)
    assert stage._axes.get_xlabel() == f"{across} [m]"
    stage.show(0.0, "")
    left, right = (points(stage._bones[i])[:, 0].mean() for i in (0, 2))
    if across != "forward":  # the colours are those of the robot's sides
        assert (left > right) == (across == "to the left")
    label = plot_strip(moved).axes[0].get_xlabel()
    assert label.endswith("" if across == "forward" else f", seen from {place}")
    assert ("seen" in label) == (across != "forward")


def test_a_view_shows_a_legged_robot_in_space(tmp_path: Path) -> None:
    assert trot().animate(tmp_path / "trot.gif", view=(20.0, -60.0), frames_per_second=5.0).exists()
    with pytest.raises(InvalidArgumentError, match=r"view: expected shape \(2,\)"):
        trot().animate(tmp_path / "trot.gif", view=(1.0, 2.0, 3.0))  # type: ignore[arg-type]


def test_the_head_of_an_arrow_is_shorter_than_its_shaft() -> None:
    stage = FilmStage(film_of(trot()))
    for length in (1e-3, 1e-2, 1e-1, 1.0):
        tail, tip, first, _, second = stage._arrow(np.zeros(3), np.array([0.0, 0.0, length]))
        heads = [np.linalg.norm(wing - tip) for wing in (first, second)]
        assert np.linalg.norm(tip - tail) == pytest.approx(length)
        assert max(heads) < 0.4 * length
