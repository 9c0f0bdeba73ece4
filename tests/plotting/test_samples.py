"""Pictures of sampled rollouts."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt.analysis import MonteCarlo
from trajopt.errors import UnknownNameError
from trajopt.solvers import SolverDDP


class Drift(trajopt.ActionModelDiscrete):
    """x⁺ = a x + u + b, cost ½ (x² + u²)."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(1, names=["x"], units=["m"]), 1)
        self.a = self.parameter("a", 0.9)
        self.b = self.parameter("b", [0.0], unit="m")

    def next_state(self, x, u):  # type: ignore[no-untyped-def]
        return self.a * x + u + self.b

    def running_cost(self, x, u):  # type: ignore[no-untyped-def]
        return 0.5 * (x * x + u * u)

    def terminal_cost(self, x):  # type: ignore[no-untyped-def]
        return 0.5 * x * x


@functools.cache
def samples(*varied: str) -> MonteCarlo:
    model, rng = Drift(), np.random.default_rng(0)
    solution = SolverDDP(trajopt.ShootingProblem([1.0], [model] * 5, model)).solve()
    values = {"a": rng.uniform(0.5, 1.5, 60), "b": rng.uniform(-0.1, 0.1, (60, 1))}
    return solution.monte_carlo(0.04, 60, parameters={name: values[name] for name in varied})


@pytest.mark.parametrize(
    ("varied", "labels"),
    [
        (("a", "b"), ("a [-]", "b [m]")),
        (("a",), ("a [-]", "deviation of x [m]")),
        ((), ("deviation of x [m]", "samples [-]")),
    ],
)
@pytest.mark.parametrize("within", [None, 0.05])
def test_a_picture_has_the_varied_parameters_and_the_rate_of_success(
    varied: tuple[str, ...], labels: tuple[str, str], within: float | None, tmp_path: Path
) -> None:
    own = samples(*varied)
    figure = own.plot(tmp_path / "samples.png", within=within)
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == labels
    heading = "60 samples at knot 5"
    if within is None:
        assert figure.get_suptitle() == heading
        assert axes.get_legend() is None
    else:
        good = own.within(within)
        assert 0 < good.sum() < 60
        assert figure.get_suptitle() == f"{heading}: {100.0 * good.mean():.3g} % within bounds"
        words = [text.get_text() for text in axes.get_legend().get_texts()]
        assert words == [f"within bounds: {good.sum()}", f"beyond: {(~good).sum()}"]
    if len(varied) == 2 and within is None:
        assert figure.axes[1].get_ylabel() == "deviation of x [m]"
        np.testing.assert_array_equal(axes.collections[0].get_array(), own.deviations()[:, 0])
    assert (tmp_path / "samples.png").exists()


def test_a_coordinate_and_a_knot_are_those_asked_for() -> None:
    own = samples("a")
    (axes,) = own.plot(knot=2, coordinate="x").axes
    np.testing.assert_array_equal(axes.collections[0].get_offsets()[:, 1], own.deviations(2)[:, 0])
    with pytest.raises(UnknownNameError, match="coordinate"):
        own.plot(coordinate="y")


@pytest.mark.parametrize("varied", [(), ("a",), ("a", "b")])
@pytest.mark.parametrize("lost", [7, 60])
def test_samples_that_diverged_are_counted(varied: tuple[str, ...], lost: int) -> None:
    """The others are drawn; a sample without a number is no success."""
    own = samples(*varied)
    xs = own.xs.copy()
    xs[:lost, 5] = np.nan
    figure = dataclasses.replace(own, xs=xs).plot()
    assert figure.get_suptitle() == f"60 samples at knot 5, of which {lost} diverged"
    figure.canvas.draw()
    if not varied:
        assert sum(patch.get_height() for patch in figure.axes[0].patches) == 60 - lost  # type: ignore[attr-defined]
