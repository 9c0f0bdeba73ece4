"""Panels beside the scene: curves with a line at the present time, margins of constraints."""

from __future__ import annotations

import numpy as np
import pytest

from tests.display.recording import Recording
from tests.support.unsolved import pendulum, solved, trot
from trajopt.analysis import constraint_rows
from trajopt.display.layers.curves import Curves, charts_of
from trajopt.display.layers.margins import Margins, has_constraints, margin_at


def test_charts_are_those_of_pictures_with_units_then_costs() -> None:
    charts = {chart.title: chart for chart in charts_of(pendulum())}
    assert list(charts) == ["angle [rad]", "velocity [rad/s]", "control [N m]", "cost by term [cost]"]
    held = charts["control [N m]"]
    assert held.times.shape == (200,)
    assert held.values.shape == (1, 200)
    np.testing.assert_array_equal(held.values[0, ::2], pendulum().us[:, 0])
    costs = charts["cost by term [cost]"]
    assert np.nansum(costs.values) == pytest.approx(pendulum().cost)


def test_the_line_is_at_the_current_time_and_curves_are_interpolated_there() -> None:
    gui, solution = Recording(), pendulum()
    panel = Curves(gui, solution)
    plot = next(handle for name, handle in gui.nodes.items() if name.startswith("add_uplot"))
    time = 0.5 * float(solution.times[40] + solution.times[41])  # type: ignore[index]
    panel.at(time)
    times, angle, line = plot.data
    here = np.flatnonzero(np.isfinite(line))
    np.testing.assert_allclose(times[here], time)
    np.testing.assert_allclose(angle[here], solution.xs[40:42, 0].mean())
    np.testing.assert_allclose(np.delete(angle, here), solution.xs[:, 0])
    assert np.all(np.diff(times) >= 0)
    assert plot.scales["y"]["range"] == tuple(line[here])
    before = plot.data
    panel.at(time + 1e-6)
    assert plot.data is before  # nothing is drawn anew for a step that no one sees
    choice = next(handle for name, handle in gui.nodes.items() if name.startswith("add_dropdown"))
    choice.value = "control [N m]"
    choice.change(None)
    assert plot.axes[1]["label"] == "control [N m]"
    np.testing.assert_allclose(plot.data[1][np.isfinite(plot.data[2])], solution.us[40, 0])


def test_margins_match_the_constraint_rows_with_the_worst_first() -> None:
    solution = solved("parking")
    assert has_constraints(solution)
    assert not has_constraints(pendulum())
    gui = Recording()
    panel = Margins(gui, solution)
    table = next(handle for name, handle in gui.nodes.items() if name.startswith("add_html"))
    rows = {each.name: each for each in constraint_rows(solution)}
    lane = rows["lane"]
    knot = int(np.flatnonzero((lane.active & ~lane.equations & lane.enforced).any(axis=1))[0])
    found = panel.margins(knot)
    assert found[0].state == "at its bound"
    assert found[0].title.startswith("lane[")
    for each in found:
        shown = rows[each.title.split("[")[0]]
        inside = np.minimum(shown.values - shown.lower, shown.upper - shown.values)[knot]
        assert each.distance == pytest.approx(np.nanmin(inside))
    panel.at(float(solution.times[knot]) + 1e-9)  # type: ignore[index]
    assert "at its bound" in table.content
    assert found[0].title in table.content


def test_a_violated_row_is_named_with_its_size_below_zero() -> None:
    solution = solved("parking")
    rows = next(each for each in constraint_rows(solution) if each.name == "speed")
    rows.values[7, 0] = rows.upper[7, 0] + 0.25
    margin = margin_at(rows, 7)
    assert margin is not None
    assert (margin.title, margin.state) == (rows.title(0), "violated")
    assert margin.distance == pytest.approx(-0.25)


def test_panels_of_a_robot_with_limbs_name_them() -> None:
    titles = [chart.title for chart in charts_of(trot())]
    assert len(titles) == len(set(titles))
    assert any("rad/s" in title for title in titles)
