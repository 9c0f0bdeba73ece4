"""Sizes of vehicles in pictures."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import planar
from trajopt.analysis.vehicles import vehicle_of
from trajopt.plotting.film import film_of
from trajopt.plotting.stage import FilmStage


@pytest.mark.parametrize("controls", [(3.0, 3.0), (3.0, -3.0), (0.0, 0.0)])
def test_a_drive_along_x_or_on_the_spot_is_seen_from_above(controls: tuple[float, float]) -> None:
    """Its round outline is as wide as it is long, in a still picture and in an animation."""
    drive = planar.DifferentialActionModelDiffDrive(
        trajopt.CostStack(planar.state_of_pose()), radius=0.1, half_track=0.2
    )
    motion = planar.rollout(drive, np.zeros(3), [controls] * 100, 0.1)
    (axes,) = (a for a in trajopt.plotting.plot_path(motion).axes if a.get_ylabel().startswith("y [m]"))
    (line,) = (line for line in axes.lines if line.get_label() == "vehicle")
    np.testing.assert_allclose(np.nanmax(line.get_ydata()), 0.2, atol=2e-3)
    low, high = axes.get_ylim()
    assert low < -0.2 < 0.2 < high
    assert FilmStage(film_of(motion)).figure.axes[0].get_ylabel().startswith("y [m]")


@pytest.mark.parametrize("wheels", [True, False])
def test_a_vehicle_that_keeps_off_obstacles_has_the_size_of_its_body(wheels: bool) -> None:
    """0.25 m, that of the disc of the constraint, not the half track of 0.2 m, with a gap where it touches."""
    state = planar.state_of_pose()
    distance = trajopt.ResidualModelObstacleDistance(state, [[1.0, 0.1, 0.3]], 0.25)
    rows, costs = trajopt.ConstraintStack(state).add("posts", distance, lower=0.0), trajopt.CostStack(state)
    drive = (
        planar.DifferentialActionModelDiffDrive(costs, constraints=rows, radius=0.1, half_track=0.2)
        if wheels
        else planar.DifferentialActionModelUnicycle(costs, constraints=rows)
    )
    knot = trajopt.IntegratedActionModelEuler(drive, 0.1)
    problem = trajopt.ShootingProblem(np.zeros(3), [knot] * 5, trajopt.CostStack(state))
    xs = np.column_stack([np.linspace(0.0, 2.0, 6), np.zeros(6), np.zeros(6)])
    vehicle = vehicle_of(solution_of(problem, xs, np.zeros((5, problem.nu))))
    assert vehicle.to_scale
    assert np.linalg.norm(vehicle.outline, axis=1) == pytest.approx(0.25)
    assert vehicle.half == pytest.approx(0.2 if wheels else 0.25)


def test_a_drive_without_costs_has_no_legend_of_their_terms(recwarn: pytest.WarningsRecorder) -> None:
    drive = planar.DifferentialActionModelUnicycle(trajopt.CostStack(planar.state_of_pose()))
    figure = trajopt.plotting.plot_cost_terms(planar.rollout(drive, np.zeros(3), np.ones((5, 2)), 0.1))
    assert figure.axes[0].get_legend() is None
    assert not recwarn.list
