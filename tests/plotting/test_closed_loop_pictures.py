"""Pictures of closed loops: targets, headings, and the size of the motion in space; vehicles by their headings."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from mpl_toolkits.mplot3d import proj3d

import trajopt
from tests.mpc.slider import controller
from tests.support.unsolved import solution_of
from trajopt import mpc, planar
from trajopt.analysis.vehicles import outlines_of, vehicle_of
from trajopt.plotting.closed_loops import plot_closed_loop, plot_tracking
from trajopt.plotting.scene import scene_of
from trajopt.plotting.window import new_figure

GOAL = [4.0, 3.0, 0.0]


@pytest.fixture(scope="module")
def drive() -> mpc.ClosedLoop:
    """A second of a robot on wheels that is far from its goal."""
    state = planar.state_of_pose()
    costs = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, GOAL), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=0.1, half_track=0.2)
    knot = trajopt.IntegratedActionModelEuler(model, 0.1)
    problem = trajopt.ShootingProblem(np.zeros(3), [knot] * 5, trajopt.CostStack(state))
    return mpc.simulate(mpc.MPCController(problem), None, np.zeros(3), 1.0)


def test_a_reference_that_is_a_place_is_marked_as_a_target(drive: mpc.ClosedLoop) -> None:
    assert not any(tracked.moves for tracked in drive.tracked)
    axes = next(axes for axes in plot_closed_loop(drive).axes if axes.get_xlabel() == "x [m]")
    (mark,) = (line for line in axes.lines if line.get_label() == "target")
    np.testing.assert_allclose(mark.get_xydata(), [GOAL[:2]])
    assert axes.get_xlim()[0] < GOAL[0] < axes.get_xlim()[1]
    assert axes.get_ylim()[0] < GOAL[1] < axes.get_ylim()[1]
    assert "reference" not in [line.get_label() for line in axes.lines]


def test_the_heading_tells_that_plans_do_not_come_true() -> None:
    log = mpc.simulate(controller(), None, [0.0, 0.8], 0.5)
    assert "does not come" not in plot_closed_loop(log).get_suptitle()
    missed = plot_closed_loop(dataclasses.replace(log, missed="q by 1 m")).get_suptitle()
    assert missed.splitlines()[1] == "the plant does not come where plans end, it misses q by 1 m"


@pytest.mark.parametrize("width", [5.0, 8.0])
def test_errors_are_written_beside_the_name_of_what_is_tracked(drive: mpc.ClosedLoop, width: float) -> None:
    figure = plot_tracking(drive, figure=new_figure(width, 4.0, apart=True))
    figure.draw_without_rendering()
    for axes in figure.axes:
        name, note = (text.get_window_extent() for text in (axes._left_title, axes.texts[0]))
        assert "rms" in axes.texts[0].get_text()
        assert note.x0 > name.x1 > name.x0
        assert abs(note.y0 - name.y0) < 3.0


@pytest.mark.parametrize("size", [(9.0, 4.0), (4.0, 9.0), (5.0, 5.0)])
def test_a_motion_in_space_fills_its_panel(size: tuple[float, float]) -> None:
    """The box touches the room for labels in one direction and keeps it in the other."""
    points = np.random.default_rng(0).uniform([-1.0, -0.2, 0.0], [1.0, 0.2, 0.5], (20, 1, 3))
    figure = new_figure(*size, apart=True)
    axes = scene_of(figure, points, np.zeros((0, 3)), None).axes
    axes.plot(*points[:, 0].T)
    figure.draw_without_rendering()
    corners = np.array(np.meshgrid(axes.get_xlim(), axes.get_ylim(), axes.get_zlim())).reshape(3, -1)
    seen = axes.transData.transform(np.column_stack(proj3d.proj_transform(*corners, axes.get_proj())[:2]))
    panel = figure.bbox
    room = np.ptp(seen, axis=0) / [panel.width - 2.0 * axes.label_room, panel.height - 2.0 * axes.label_room]
    assert room.max() == pytest.approx(1.0, abs=0.1)  # the layout keeps some pixels free
    assert (seen.min(axis=0) > 0.0).all()
    assert (seen.max(axis=0) < [panel.width, panel.height]).all()
    assert axes.lines[0].get_clip_box().contains(*seen.mean(axis=0))


class Car(trajopt.DifferentialActionModelSymbolic):
    """A car whose heading is named psi."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.vertcat(x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), u[0], u[1])


def test_a_heading_of_any_name_makes_a_vehicle_with_a_front() -> None:
    state = trajopt.StateVector(4, names=["x", "y", "psi", "v"], units=["m", "m", "rad", "m/s"])
    knot = trajopt.IntegratedActionModelEuler(Car(state, 2, trajopt.CostStack(state)), 0.1)
    problem = trajopt.ShootingProblem(np.zeros(4), [knot] * 4, trajopt.CostStack(state))
    xs = np.linspace([0.0, 0.0, 0.0, 1.0], [2.0, 1.0, 1.0, 1.0], 5)
    motion = solution_of(problem, xs, np.zeros((4, 2)))
    assert vehicle_of(motion).kind == "unicycle"
    assert outlines_of(motion).shape[1] > 0
