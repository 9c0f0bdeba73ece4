"""The command `trajopt plan`: a scene in a file, goals as joints, positions and placements, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from tests.support.command_line import CliRunner
from trajopt import Capsule, Scene, Sphere, cli, load_robot
from trajopt.robots import Robot

START, GOAL = "-0.9,0.3,0.2", "0.9,-0.3,0.1"


def arm(name: str) -> Robot:
    """Three links with capsules."""
    ends = ((1, 0.5), (2, 0.4), (3, 0.2))
    links = [Capsule(0.04, start=[0.0, 0.0, 0.0], end=[x, 0.0, 0.0], frame=f"link_{i}") for i, x in ends]
    return load_robot(name).with_collision_shapes(links)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("trajopt.load_robot", arm)
    Scene({"ball": Sphere(0.1, center=[0.8, 0.0, 0.05])}).save(tmp_path / "scene.yaml")
    return tmp_path / "scene.yaml"


def run(*arguments: Any) -> Result:
    words = ["plan", "planar-3r", "--from", START, "--acceleration", "4", "--jerk", "60"]
    return CliRunner().invoke(cli.app, [*words, *map(str, arguments)])


def test_a_motion_is_planned_drawn_and_written(scene: Path, tmp_path: Path) -> None:
    files = tmp_path / "plan.png", tmp_path / "plan.csv"
    result = run("--to", GOAL, "--scene", scene, "--plot", files[0], "--save", files[1])
    assert result.exit_code == 0, result.output
    assert "link_" in result.output
    assert "and ball" in result.output
    assert files[0].stat().st_size > 10_000
    assert files[1].read_text().splitlines()[0] == "time [s],joint_1,joint_2,joint_3"
    table = np.loadtxt(files[1], delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[[0, -1], 1:], [[-0.9, 0.3, 0.2], [0.9, -0.3, 0.1]], atol=1e-9)
    assert table[-1, 0] > 1.0


@pytest.mark.slow
def test_a_goal_is_a_position_or_a_placement_of_a_frame(scene: Path, tmp_path: Path) -> None:
    placed = load_robot("planar-3r").placement(np.array([0.9, -0.3, 0.1]), "tool")
    point = ",".join(map(str, placed[:3, 3]))
    result = run("--to", point, "--frame", "tool", "--scene", scene, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["solved"]
    assert facts["clearance"] > 0.0099
    reached = load_robot("planar-3r").placement(np.array(facts["qs"][-1]), "tool")
    np.testing.assert_allclose(reached[:3, 3], placed[:3, 3], atol=1e-5)
    saved = tmp_path / "plan.npz"
    pose = f"{point},{_quaternion(placed)}"
    assert run("--to", pose, "--frame", "tool", "--scene", scene, "--save", saved).exit_code == 0
    with np.load(saved) as arrays:
        reached = load_robot("planar-3r").placement(arrays["positions"][-1], "tool")
        np.testing.assert_allclose(arrays["velocities"][-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(reached, placed, atol=1e-5)


@pytest.mark.slow
def test_a_motion_is_optimised(scene: Path, tmp_path: Path) -> None:
    words = ("--to", GOAL, "--scene", scene, "--json", "--save", tmp_path / "plan.npz")
    plain, optimised = (json.loads(run(*words, *more).stdout) for more in ((), ("--optimise",)))
    assert optimised["solved"]
    assert optimised["iterations"] > 0
    assert optimised["clearance"] > 0.0099
    assert plain["duration"] < optimised["duration"] < plain["duration"] + 0.021  # a step more
    with np.load(tmp_path / "plan.npz") as arrays:
        np.testing.assert_allclose(arrays["positions"], optimised["qs"])
        np.testing.assert_allclose(arrays["velocities"][[0, -1]], 0.0, atol=1e-8)


def _quaternion(placed: np.ndarray) -> str:
    import pinocchio as pin

    return ",".join(map(repr, pin.Quaternion(placed[:3, :3]).coeffs().tolist()))


def test_exit_codes(scene: Path) -> None:
    far = run("--to", "5,0,0", "--frame", "tool", "--scene", scene)
    assert far.exit_code == 2
    assert "found no configuration that meets the goal" in far.output
    for words, message in (
        (("--to", "0,0,0", "--scene", scene), "link_2 and ball at least"),
        (("--to", "a,b,c"), "--to: expected numbers such as 0,0.5,-1.2, got 'a,b,c'"),
        (("--to", GOAL, "--scene", "none.yaml"), "--scene: expected an existing file, got 'none.yaml'"),
        (("--to", GOAL, "--fixed", "elbow"), "elbow"),
    ):
        result = run(*words)
        assert result.exit_code == 1
        assert message in result.output


def test_shows_the_motion(scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr("trajopt.cli.show.show_until_closed", lambda screen, solve, label: shown.append(solve()))
    assert run("--to", GOAL, "--scene", scene, "--show").exit_code == 0
    (solution,) = shown
    assert solution.robot is not None
    assert [each.name for each in solution.description.obstacles] == ["ball"]
