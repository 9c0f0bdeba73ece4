"""Pictures look the same under a dark style of the user: its colours do not mix with theirs."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from tests.support.unsolved import arm, pendulum, trot
from trajopt import plotting
from trajopt.types import Reals

PICTURES: dict[str, Callable[..., Figure]] = {
    "summary": lambda **more: plotting.plot_summary(arm(), **more),
    "solution": lambda **more: plotting.plot_solution(pendulum(), **more),
    "terms": lambda **more: plotting.plot_cost_terms(pendulum(), **more),
    "motion in space": lambda **more: plotting.plot_motion(trot(), **more),
    "strip": lambda **more: plotting.plot_strip(trot(), **more),
    "forces": lambda **more: plotting.plot_contact_forces(trot(), **more),
}


def saved(figure: Figure) -> Reals:
    """Pixels of the file that a user writes."""
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=50)
    return np.frombuffer(file.getvalue(), dtype=np.uint8).astype(float)


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_has_its_own_colours(picture: str) -> None:
    expected = saved(PICTURES[picture]())
    with plt.style.context("dark_background"):
        colors = {name: value for name, value in matplotlib.rcParams.items() if "color" in name}
        found = saved(PICTURES[picture]())
        assert {name: value for name, value in matplotlib.rcParams.items() if "color" in name} == colors
    np.testing.assert_array_equal(found, expected)


def test_a_dark_figure_of_the_user_becomes_white_behind_a_picture() -> None:
    with plt.style.context("dark_background"):
        figure, transparent = Figure((6.0, 4.0)), Figure((6.0, 4.0), facecolor="none")
        for each in (figure, transparent):
            PICTURES["terms"](figure=each)
    assert figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert transparent.get_facecolor()[3] == 0.0
