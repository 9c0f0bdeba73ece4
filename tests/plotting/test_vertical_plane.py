"""Bodies in a vertical plane, whose states have x and z alone, and marks of vehicles that are not to scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from casadi import SX
from matplotlib.axes import Axes

import trajopt
from tests.support.texts import check_texts
from tests.support.unsolved import solution_of
from trajopt.analysis.vehicles import in_vertical_plane, vehicle_of
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_path, plot_summary
from trajopt.plotting.film import film_of
from trajopt.plotting.summary import _LETTERS, _wrapped
from trajopt.plotting.window import new_figure
from trajopt.solution import Solution
from trajopt.states.state_vector import StateVector

T = 12
GATE = [[4.0, 1.5], [4.0, 2.5]]


class Drifting(trajopt.DifferentialActionModelSymbolic):
    """dx/dt = 0, whatever the controls do."""

    def xdot(self, x: SX, u: SX) -> SX:
        return 0.0 * x


def moved(xs: np.ndarray, names: Sequence[str], controls: Sequence[str] = ("u0", "u1")) -> Solution:
    """A motion that no solver computed."""
    state = StateVector(len(names), names=names)
    costs = trajopt.CostStack(state)
    knot = trajopt.IntegratedActionModelEuler(Drifting(state, len(controls), costs, control_names=controls), dt=0.1)
    return solution_of(trajopt.ShootingProblem(xs[0], [knot] * T, costs), xs, np.zeros((T, len(controls))))


def flight(names: Sequence[str] = ("x", "z", "tilt")) -> Solution:
    """A flight of 8 m along a parabola of 2 m."""
    part = np.linspace(0.0, 1.0, T + 1)
    return moved(np.column_stack([8.0 * part, 8.0 * part * (1.0 - part), 0.1 * part]), names)


def line(axes: Axes, label: str) -> np.ndarray:
    """Points of the first line with a label."""
    return np.asarray(next(each for each in axes.lines if each.get_label() == label).get_xydata())


def test_x_and_z_are_drawn_in_their_plane_with_lines_and_reference() -> None:
    solution = flight()
    axes = plot_path(solution, lines=[GATE], reference=solution.xs[:, :2]).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    np.testing.assert_allclose(line(axes, "path"), solution.xs[:, :2])
    np.testing.assert_allclose(line(axes, "reference"), solution.xs[:, :2])
    np.testing.assert_allclose(line(axes, "_line"), GATE)
    assert in_vertical_plane(solution)
    assert not in_vertical_plane(flight(("x", "y", "tilt")))


def test_a_summary_and_a_film_show_the_gates(tmp_path: Path) -> None:
    solution = flight()
    figure = plot_summary(solution, tmp_path / "flight.png", lines=[GATE])
    assert "z [m]" in [axes.get_ylabel() for axes in figure.axes]
    film = film_of(solution, lines=[GATE])
    assert film.world is not None
    np.testing.assert_allclose(film.world.lines.points, [[4.0, 0.0, 1.5], [4.0, 0.0, 2.5]])


def test_what_has_no_motion_names_the_cure() -> None:
    for argument, value in (("lines", [GATE]), ("targets", [0, 0, 0]), ("obstacles", [[0.0, 0.0, 1.0]])):
        with pytest.raises(InvalidArgumentError, match=rf"{argument}: expected none .* x, z in a vertical.*skeleton\("):
            plot_summary(flight(("a", "b", "c")), **{argument: value})  # type: ignore[arg-type]


def test_a_mark_that_is_not_to_scale_is_small() -> None:
    """It used to cover path and gates."""
    axes = plot_path(flight(("x", "y", "theta")), lines=[GATE]).axes[0]
    mark = line(axes, "vehicle, not to scale")
    first = mark[: int(np.argmax(np.isnan(mark[:, 0])))]
    assert 0.01 < np.ptp(first, axis=0).max() / np.ptp(axes.get_xlim()) <= 0.04


def test_rotors_left_and_right_are_no_wheels() -> None:
    solution = moved(np.zeros((T + 1, 3)), ["x", "y", "tilt"], ["left", "right"])
    assert vehicle_of(solution).kind == "point"


def test_lines_of_a_heading_end_after_a_comma() -> None:
    words = "; ".join(f"moved {i} m forward, feet rise 60 mm (60 asked), land 0 mm high" for i in range(5))
    lines = _wrapped(words)
    assert len(lines) > 1
    assert " ".join(lines) == words
    assert all(each[-1] in ",;" and len(each) <= _LETTERS for each in lines[:-1])


@pytest.mark.parametrize("wide", [0.1, 0.15, 0.2, 0.3])
@pytest.mark.parametrize("size", [(7.0, 8.5), (7.2, 6.0)])
def test_labels_of_ticks_in_space_are_apart(wide: float, size: tuple[float, float]) -> None:
    """As beside a column at the origin, seen so that the y axis is short."""
    part = np.linspace(0.0, 1.0, T + 1)
    solution = moved(np.column_stack([0.5 + 0.01 * part, wide - 0.01 * part, 0.3 + 0.3 * part]), ["x", "y", "z"])
    figure = plot_path(solution, lines=[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.7]]], figure=new_figure(*size, dpi=100))
    assert figure.axes[0].name == "3d"
    check_texts(figure)
