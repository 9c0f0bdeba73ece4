"""Pictures of configurations: the first one dark, targets as stars with axes, flat robots in their plane."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

import trajopt
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_configurations
from trajopt.plotting.style import RAMP

ROBOT = trajopt.load_robot("planar-2r")
Q = np.array([[0.3, 0.5], [0.8, -0.5], [1.0, 0.2]])


def curves(figure: object, label: str) -> list[object]:
    """Lines with a label, in the order in which they are drawn."""
    found = [line for line in figure.axes[0].lines if line.get_label() == label]  # type: ignore[attr-defined]
    return sorted(found, key=lambda line: float(line.get_zorder()))


def test_the_first_configuration_is_dark_and_on_top() -> None:
    figure = plot_configurations(ROBOT, Q, points=[0.3, 0.0, 0.6])
    axes = figure.axes[0]
    assert axes.name != "3d"  # the arm's plane
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    last = curves(figure, "_figure")[-1]
    assert to_hex(last.get_color()) == RAMP[-1].lower()  # type: ignore[attr-defined]
    x, z = last.get_data()  # type: ignore[attr-defined]
    np.testing.assert_allclose([x[-1], z[-1]], ROBOT.placement(Q[0], "tool")[[0, 2], 3])
    (star,) = curves(figure, "target")
    np.testing.assert_allclose(np.ravel(star.get_data()), [0.3, 0.6])  # type: ignore[attr-defined]


def test_placements_have_axes() -> None:
    arm = trajopt.load_robot("talos_arm")
    q = np.zeros(arm.nq)
    placement = arm.placement(q, "gripper_left_joint")
    figure = plot_configurations(arm, q, placements=placement)
    assert figure.axes[0].name == "3d"
    lines = curves(figure, "_axis")
    assert len(lines) == 3
    for i, line in enumerate(lines):
        start, end = np.transpose(line.get_data_3d())  # type: ignore[attr-defined]
        np.testing.assert_allclose(start, placement[:3, 3])
        np.testing.assert_allclose((end - start) / np.linalg.norm(end - start), placement[:3, i], atol=1e-12)


def test_obstacles_stand_beside_a_result_of_inverse_kinematics() -> None:
    arm = trajopt.load_robot("talos_arm")
    table = trajopt.Scene({"table": trajopt.Box([0.6, 0.8, 0.05], placement=[0.5, 0.0, -0.4, 0.0, 0.0, 0.0, 1.0])})
    state = trajopt.StateMultibody(arm)
    hand = trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint", [0.4, 0.3, 0.0])
    result = ik.solve(arm, trajopt.ConstraintStack(state).add("hand", hand, equals=0.0), starts=1)
    figure = plot_configurations(arm, result, obstacles=table)
    assert len([each for each in figure.axes[0].collections if each.get_label() == "_solid"]) == 1
    assert figure.axes[0].get_zlim()[0] < -0.425 < figure.axes[0].get_zlim()[1]  # type: ignore[attr-defined]
    last = curves(figure, "_figure")[-1]
    alone = curves(plot_configurations(arm, result.q), "_figure")[-1]
    np.testing.assert_allclose(last.get_data_3d(), alone.get_data_3d())  # type: ignore[attr-defined]
    (ball,) = [
        each
        for each in plot_configurations(ROBOT, Q, obstacles=[0.5, 0.0, 0.5, 0.1]).axes[0].patches
        if each.get_label() == "_obstacle"
    ]
    np.testing.assert_allclose(np.linalg.norm(ball.get_xy() - [0.5, 0.5], axis=1), 0.1)  # type: ignore[attr-defined]


def test_bad_arguments() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"configurations: expected shape \(2,\) or \(n, 2\) for 'planar-2r', got \(3,\)"
    ):
        plot_configurations(ROBOT, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidArgumentError, match=r"configurations: expected finite numbers, got nan at index"):
        plot_configurations(ROBOT, [[1.0, 2.0], [np.nan, 0.0]])
    with pytest.raises(InvalidArgumentError, match=r"robot: expected a Robot, got 'panda'"):
        plot_configurations("panda", Q)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"placements\[0\]: expected a pinocchio.SE3"):
        plot_configurations(ROBOT, Q, placements=[1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match=r"points: expected shape"):
        plot_configurations(ROBOT, Q, points=[1.0, 2.0])
