"""Pictures of sweeps show the rows that there are: cells, points, shares, histograms, lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, QuadMesh

from tests.support.texts import check_texts
from tests.sweeps import stores
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_cost_histogram, plot_parallel_coordinates, plot_success_map, plot_sweep
from trajopt.sweeps import Sweep

FAILED = {3: "MAX_ITERATIONS", 7: "MAX_ITERATIONS"}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return Sweep.read(stores.write(tmp_path_factory.mktemp("grid"), stores.grid(5), FAILED, {}))


@pytest.fixture(scope="module")
def random(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    points = np.random.default_rng(0).uniform([0.2, -0.4, 0.3], [0.8, 0.4, 0.7], (3000, 3))
    far = np.flatnonzero(points[:, 0] > 0.7)
    store = stores.write(
        tmp_path_factory.mktemp("random"), points, dict.fromkeys(far.tolist(), "DIVERGED"), {}, chunk=3000
    )
    return Sweep.read(store)


def drawn(figure: Any, kind: type) -> list[Any]:
    return [each for axes in figure.axes for each in axes.collections if isinstance(each, kind)]


def texts(figure: Any) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_a_grid_has_a_cell_for_each_row(cells: Sweep) -> None:
    figure = plot_success_map(cells)
    costs, failed = (mesh.get_array().reshape(5, 5) for mesh in drawn(figure, QuadMesh)[:2])
    np.testing.assert_allclose(costs.filled(np.nan)[2], cells.cost[10:15])
    assert costs.mask[0, 3]
    np.testing.assert_array_equal(np.argwhere(~failed.mask), [[0, 3], [1, 2]])
    assert "23 of 25 converged" in texts(figure)
    assert "2 did not converge: max iterations" in texts(figure)
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("goal.reference[0]", "goal.reference[1]")


def test_cells_that_raised_the_same_error_name_its_class(tmp_path: Path) -> None:
    errors = dict.fromkeys(range(25), "ModelEvaluationError: knot 0: not finite")
    figure = plot_success_map(Sweep.read(stores.write(tmp_path / "store", stores.grid(5), {}, errors)))
    assert "25 did not converge: ModelEvaluationError" in texts(figure)
    check_texts(figure)


@pytest.mark.parametrize("share", [0, 2])
def test_costs_far_above_the_scale_have_a_colour_and_an_entry(share: int, tmp_path: Path) -> None:
    """Goals out of reach, converge like others, at a cost that is 400 times as high."""
    points = stores.grid(10)
    points[:share] *= 20.0
    sweep = Sweep.read(stores.write(tmp_path / "store", points, {}, {}))
    for draw, kind in ((plot_success_map, QuadMesh), (plot_parallel_coordinates, LineCollection)):
        figure = draw(sweep)
        (mesh,) = (each for each in drawn(figure, kind)[:1])
        colors = mesh.cmap(mesh.norm(np.asarray(sweep.cost)))
        far = np.all(colors == mesh.cmap.get_over(), axis=1)
        assert (np.ptp(colors[~far][:, :3], axis=0) > 0.3).any(), "the others differ from each other"
        words = f"{share} cost more than "
        assert (words in texts(figure)) == bool(share)
        if share:
            assert far.nonzero()[0].tolist() == list(range(share))
            assert f"up to {sweep.cost.max():.3g}" in texts(figure)


def test_axes_can_be_chosen(cells: Sweep) -> None:
    axes = plot_success_map(cells, "goal.reference[1]").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("goal.reference[1]", "goal.reference[0]")
    axes = plot_success_map(cells, y="goal.reference[0]").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("goal.reference[1]", "goal.reference[0]")


def test_random_rows_are_points_or_shares(random: Sweep) -> None:
    few = random[:500]
    good, bad = drawn(plot_success_map(few), PathCollection)
    place = ["goal.reference[0]", "goal.reference[1]"]
    np.testing.assert_array_equal(good.get_offsets(), np.transpose([few.varied[n][few.converged] for n in place]))
    assert len(bad.get_offsets()) == np.count_nonzero(~few.converged)
    (share, *_) = drawn(plot_success_map(random), QuadMesh)
    values = share.get_array().reshape(40, 40)
    assert np.all(values[:, :32].compressed() == 100.0)
    assert np.all(values[:, 35:].compressed() == 0.0)


def test_failures_for_several_reasons_have_a_marker_each(tmp_path: Path) -> None:
    """On points as in cells, with a legend entry that counts them."""
    points = np.random.default_rng(0).uniform(0.0, 1.0, (40, 3))
    failed = {3: "INFEASIBLE", 5: "MAX_ITERATIONS", 9: "INFEASIBLE", 11: "TIME_LIMIT", 20: "INFEASIBLE"}
    for name, places, good in (("points", points, 1), ("cells", stores.grid(7), 0)):
        found = Sweep.read(stores.write(tmp_path / name, places, failed, {}))
        figure = plot_success_map(found)
        marks = drawn(figure, PathCollection)[good:]
        assert [len(each.get_offsets()) for each in marks] == [3, 1, 1]
        assert len({each.get_paths()[0].vertices.tobytes() for each in marks}) == 3
        words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert words == ["3 infeasible", "1 max iterations", "1 time limit"]


def test_several_rows_in_a_cell_are_a_share(tmp_path: Path) -> None:
    twice = np.repeat(stores.grid(2), 2, axis=0)
    found = Sweep.read(stores.write(tmp_path, twice, {0: "DIVERGED", 6: "DIVERGED", 7: "DIVERGED"}, {}))
    (share, *_) = drawn(plot_success_map(found), QuadMesh)
    np.testing.assert_array_equal(share.get_array().reshape(2, 2), [[50.0, 100.0], [100.0, 0.0]])


def test_several_rows_in_a_cell_that_all_converged_are_their_median_cost(tmp_path: Path) -> None:
    found = Sweep.read(stores.write(tmp_path, np.repeat(stores.grid(2), 3, axis=0), {}, {}))
    figure = plot_success_map(found)
    (costs, *_) = drawn(figure, QuadMesh)
    medians = np.median(found.cost.reshape(4, 3), axis=1)
    np.testing.assert_allclose(np.sort(costs.get_array().ravel()), np.sort(medians))
    assert "median cost of a cell" in [axes.get_ylabel() for axes in figure.axes]
    assert costs.get_linewidth()[0] > 0.0  # lines between the cells


def test_the_histogram_counts_rows(cells: Sweep) -> None:
    figure = plot_cost_histogram(cells)
    check_texts(figure)
    heights = [patch.get_height() for patch in figure.axes[0].patches if hasattr(patch, "get_height")]
    assert sum(heights) == 23
    assert "23 converged" in texts(figure)
    assert f"median {np.median(cells.cost[cells.converged]):.4g}" in texts(figure)


def test_equal_costs_are_one_narrow_bar(tmp_path: Path) -> None:
    """An axis as wide as rounding had labels of ten digits on top of each other."""
    points = np.array([[0.3778241628, 0.0, 0.0], [0.3778241628 + 1e-12, 0.0, 0.0]])
    found = Sweep.read(stores.write(tmp_path, points, {}, {}))
    figure = plot_cost_histogram(found)
    low, high = figure.axes[0].get_xlim()
    assert 0.05 < (high - low) / found.cost[0] < 0.2
    check_texts(figure)


def test_costs_of_many_sizes_have_a_logarithmic_axis(tmp_path: Path) -> None:
    points = np.array([[0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [3.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    found = Sweep.read(stores.write(tmp_path, points, {3: "DIVERGED"}, {}))
    figure = plot_cost_histogram(found)
    assert figure.axes[0].get_xscale() == "log"
    assert "1 others, all beyond the axis" in texts(figure)
    good, _ = drawn(plot_parallel_coordinates(found), LineCollection)
    across, cost = good.get_segments()[1][:2, 1]  # parameters stay linear
    assert (across, cost) == (pytest.approx(0.1 / 8.9), pytest.approx(np.log(4.0) / np.log(8100.0)))


def test_parallel_coordinates_have_a_line_a_row(cells: Sweep, random: Sweep) -> None:
    good, bad = drawn(plot_parallel_coordinates(cells), LineCollection)
    assert (len(good.get_segments()), len(bad.get_segments())) == (23, 2)
    line = bad.get_segments()[0]  # row 3: x = 0.65 of 0.2 .. 0.8, y the least
    np.testing.assert_allclose(line[:2], [[0.0, 0.75], [1.0, 0.0]], atol=1e-12)
    assert line[3, 1] == 1.0
    good, bad = drawn(plot_parallel_coordinates(random), LineCollection)
    assert (len(good.get_segments()), len(bad.get_segments())) == (850, 150)


@pytest.mark.parametrize("kind", ["summary", "map", "costs", "parallel"])
def test_every_kind_is_written(cells: Sweep, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "sweep.png"
    cells.plot(path, kind=kind)
    assert path.stat().st_size > 5000


@pytest.mark.slow
def test_the_summary_adapts_to_the_available_rows(cells: Sweep) -> None:
    check_texts(cells.plot())
    assert "23 of 25 (92 %) converged, 2 MAX_ITERATIONS" in texts(cells.plot())
    row = cells[:5]  # one component varies
    assert "goal.reference[0]" in texts(row.plot())
    assert "1 converged" in texts(cells[:1].plot())
    assert "2 others" in texts(cells[~cells.converged].plot())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.plot(kind="maps"), "kind 'maps' not found; did you mean 'map'"),
        (lambda s: s.plot("sweep.txt"), "path: expected a file ending in .png or .pdf or .svg"),
        (lambda s: s[:5].plot(kind="map"), r"varying components for a map, got goal.reference\[0\]; use kind='costs'"),
        (lambda s: s.plot(x="goal"), "x: component 'goal' not found"),
        (lambda s: plot_sweep(s, x="goal.reference[0]", y="goal.reference[0]"), "y: expected a component other"),
        (lambda s: s[:0].plot(), "sweep: expected at least one row, got none"),
        (lambda s: plot_parallel_coordinates(print), "sweep: expected a Sweep, got .*returns one"),
        (lambda s: plot_success_map(None), "sweep: expected a Sweep, got None"),
    ],
)
def test_wrong_plots_are_refused(cells: Sweep, ask: Any, message: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=message):
        ask(cells)
