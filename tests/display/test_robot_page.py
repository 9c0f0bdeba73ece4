"""A page with a slider for each joint of a robot, and the command that serves it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.support.command_line import CliRunner
from trajopt import load_robot
from trajopt.cli import app
from trajopt.display import Page, RobotPage

pytest.importorskip("viser")
pytest.importorskip("example_robot_data")


@pytest.mark.slow
def test_sliders_move_the_joints() -> None:
    """Meshes are where Pinocchio says; sliders have the limits of the joints."""
    robot = load_robot("panda")
    with RobotPage(robot) as page:
        assert list(page.sliders) == list(robot.joint_names)
        slider = page.sliders["panda_joint2"]
        assert slider.min == pytest.approx(robot.model.lowerPositionLimit[1])
        assert slider.max == pytest.approx(robot.model.upperPositionLimit[1])
        slider.value = -0.7
        page._moved()
        q = page.q
        assert q[1] == pytest.approx(-0.7)
        data = robot.model.createData()
        pin.forwardKinematics(robot.model, data, q)
        node = page.page.server.scene.get_handle_by_name("/panda/panda_joint4")
        np.testing.assert_allclose(node.position, data.oMi[4].translation, atol=1e-9)


def test_floating_and_continuous_joints_have_sliders_of_their_velocities() -> None:
    robot = load_robot("go2")
    with RobotPage(robot) as page:
        assert len(page.sliders) == robot.nv
        np.testing.assert_allclose(page.q, robot.configuration("standing"), atol=1e-12)
        moved = robot.configuration("standing").copy()
        moved[:3] += [0.1, -0.2, 0.3]
        page.show(moved)
        np.testing.assert_allclose(page.q, moved, atol=0.02)  # sliders have 400 steps
        page.show("standing")
        np.testing.assert_allclose(page.q[:3], robot.configuration("standing")[:3], atol=0.02)
    with RobotPage(load_robot("kinova")) as page:
        assert len(page.sliders) == 6


@pytest.mark.slow
def test_the_command_shows_collision_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    monkeypatch.setattr(RobotPage, "wait", lambda page: shown.append(len(page.robot.shapes)))
    done = CliRunner().invoke(app, ["show", "ur5", "--shapes", "--no-browser"])
    assert done.exit_code == 0, done.output
    assert shown == [len(load_robot("ur5").collision_shapes.bodies)]
    refused = CliRunner().invoke(app, ["show", "arm-reach", "--shapes", "--no-browser"])
    assert refused.exit_code != 0
    assert "--shapes: expected none for a motion" in refused.output


def test_the_command_shows_a_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(RobotPage, "wait", lambda page: shown.append(page.robot.name))
    done = CliRunner().invoke(app, ["show", "panda", "--no-browser"])
    assert done.exit_code == 0, done.output
    assert "(Ctrl-C ends it)" in done.output
    assert shown == ["panda"]


def test_the_sketch_has_widgets_that_draw() -> None:
    """The example's slider of the frequency solves again, its pen draws, and its button clears the page."""
    path = Path(__file__).parents[2] / "examples" / "35_sketch.py"
    spec = importlib.util.spec_from_file_location("sketch", path)
    assert spec is not None
    assert spec.loader is not None
    sketch: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sketch)
    with Page() as page:
        gui, made = page.server.gui, {}
        for kind in ("slider", "button"):
            add = getattr(gui, f"add_{kind}")
            setattr(gui, f"add_{kind}", lambda name, add=add, **options: made.setdefault(name, add(name, **options)))
        sketch.add_widgets(page.server, sketch.draughtsman())
        scene = page.server.scene
        for name, value in (("frequency [1/m]", 5.0), ("x [m]", 0.1), ("z [m]", -0.2)):
            made[name].value = value
        drawn = scene.get_handle_by_name("/tool").points
        np.testing.assert_allclose(drawn[30, 0], sketch.sine(5.0)[30], atol=1e-3)
        np.testing.assert_allclose(
            scene.get_handle_by_name("/pen").points[-1, 1], sketch.MIDDLE + np.array([0.1, 0.0, -0.2])
        )
        assert set(made) == {"frequency [1/m]", "x [m]", "z [m]", "Clear"}
