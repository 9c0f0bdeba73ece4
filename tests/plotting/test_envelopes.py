"""Lines that go up and down too often for a panel."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.lines import Line
from trajopt.plotting.envelopes import INTERVALS, is_rough
from trajopt.plotting.trajectory import draw_panels
from trajopt.plotting.window import new_figure

TIMES = np.linspace(0.0, 24.0, 1201)
NOISY = 3.0 + np.random.default_rng(0).normal(size=1200)


def test_a_noisy_control_is_drawn_by_its_mean_and_range() -> None:
    smooth = 3.0 + np.sin(TIMES[:-1])
    panel = [Line(group="control", quantity="force", name=name, values=values)
             for name, values in (("noisy", NOISY), ("smooth", smooth))]  # fmt: skip
    figure = new_figure(8.0, 4.0, apart=True)
    (axes,) = draw_panels(figure, [panel], (), TIMES, "time [s]")
    noisy, other = (line for line in axes.lines if line.get_label() in ("noisy", "smooth"))
    np.testing.assert_allclose(noisy.get_ydata(), NOISY.reshape(INTERVALS, -1).mean(axis=1))
    np.testing.assert_allclose(noisy.get_xdata(), 0.2 * np.arange(INTERVALS) + 0.1)
    np.testing.assert_array_equal(other.get_ydata(), np.append(smooth, smooth[-1:]))
    (shade,) = axes.collections
    box = shade.get_datalim(axes.transData)
    np.testing.assert_allclose([box.y0, box.y1, box.x0, box.x1], [NOISY.min(), NOISY.max(), 0.0, 24.0])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["range within 1/120 of the time; lines are means"]


def test_few_or_smooth_or_missing_values_are_drawn_one_by_one() -> None:
    assert is_rough(NOISY)
    assert not is_rough(NOISY[:200])  # a pixel or more each
    assert not is_rough(np.sin(20.0 * TIMES[:600]))
    assert not is_rough(np.ones(1200))
    assert not is_rough(np.where(np.arange(1200) == 7, np.nan, NOISY))
