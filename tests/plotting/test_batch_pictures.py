"""Pictures of many solutions: costs over what varies, and a fan of motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trajopt import SolutionBatch, plotting, problems
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.solvers import SolverDDP


def solutions() -> SolutionBatch:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (12, 2))
    X[4, 0] = np.nan
    return SolverDDP(problems.load("pendulum", T=20).problem).solve_batch(X)


def test_a_map_and_a_fan(tmp_path: Path) -> None:
    batch = solutions()
    figure = plotting.plot_batch(batch, tmp_path / "batch.png")
    axes = figure.get_axes()
    assert (tmp_path / "batch.png").exists()
    assert axes[0].get_xlabel() == "x0[0], q [rad]"
    assert axes[0].get_ylabel() == "x0[1], v [rad/s]"
    fan = [each for each in axes if each.get_title(loc="left") in ("q [rad]", "v [rad/s]")]
    assert [len(each.lines) for each in fan] == [11, 11]  # the row with an error has no motion
    np.testing.assert_allclose(fan[0].lines[0].get_xdata(), batch.problem.times)  # type: ignore[union-attr]
    lines = {tuple(line.get_ydata()) for line in fan[0].lines}
    assert lines == {tuple(row[:, 0]) for row in np.delete(batch.xs, 4, axis=0)}


def test_costs_over_one_number() -> None:
    X = np.stack([np.linspace(-0.5, 0.5, 7), np.zeros(7)], axis=1)
    batch = SolverDDP(problems.load("pendulum", T=20).problem).solve_batch(X)
    axes = plotting.plot_batch(batch).get_axes()[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x0[0], q [rad]", "cost")
    points = {(x, y) for line in axes.lines for x, y in zip(line.get_xdata(), line.get_ydata())}  # type: ignore[arg-type]
    assert points == set(zip(X[:, 0], batch.cost))


def test_a_file_without_its_problem_is_drawn_too(tmp_path: Path) -> None:
    path = solutions().save(tmp_path / "batch.npz")
    figure = plotting.plot_batch(SolutionBatch.load(path))
    assert any(each.get_xlabel() == "knot" for each in figure.get_axes())


def test_other_things_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"solutions: expected a SolutionBatch, got 3"):
        plotting.plot_batch(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"solutions: expected at least one row, got none"):
        plotting.plot_batch(solutions()[:0])


def test_axes_of_the_map_are_chosen() -> None:
    batch = solutions()
    axes = batch.plot(x="x0[1]", y="x0[0]").get_axes()[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x0[1], v [rad/s]", "x0[0], q [rad]")
    assert plotting.plot_batch(batch, x="x0[1]").get_axes()[0].get_ylabel() == "x0[0], q [rad]"
    with pytest.raises(UnknownNameError, match=r"x: component 'x0\[7\]' not found.*x0\[0\], x0\[1\]"):
        batch.plot(x="x0[7]")
