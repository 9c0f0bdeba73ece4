"""Views without a browser: poses on the server, several at once, doors, robots with and without meshes."""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.unsolved import solved
from trajopt import load_robot
from trajopt.display import Timeline, View, show
from trajopt.display.robot import joint_poses
from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnknownNameError, UnsupportedOperationError
from trajopt.robots import Robot
from trajopt.solution import Solution

TWO = """<robot name="two">
  <link name="base">
    <visual><geometry><box size="1 2 3"/></geometry><material name="red"><color rgba="1 0 0 1"/></material></visual>
  </link>
  <link name="upper">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://none/upper.stl"/></geometry></visual>
    <collision><origin xyz="0 0 0.2"/><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://none/lower.stl"/></geometry></visual>
  </link>
  <joint name="a" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
  </joint>
</robot>"""


def pose_of(view: View, path: str) -> np.ndarray:
    """Pose of a node (7,) as the server has it."""
    node: Any = view.server.scene.get_handle_by_name(path)
    return np.concatenate([node.position, node.wxyz])


def test_joints_are_where_pinocchio_says(reach: Solution) -> None:
    robot, times = reach.robot, reach.times
    assert robot is not None
    assert times is not None
    with View(reach, playing=False) as view:
        for time, q in [
            (float(times[40]), reach.xs[40, :6]),
            (float(times[40] + times[41]) / 2, (reach.xs[40, :6] + reach.xs[41, :6]) / 2),
            (1e3, reach.xs[-1, :6]),
        ]:
            view.player.time = time
            for joint in robot.joint_names:
                placement = pin.XYZQUATToSE3(pose_of(view, f"/solution/robot/{joint}")[[0, 1, 2, 4, 5, 6, 3]])
                np.testing.assert_allclose(placement.homogeneous, robot.placement(q, joint), atol=1e-9)


def test_poses_of_a_free_flyer_are_those_of_its_joints() -> None:
    robot = load_robot("small-quadruped")
    rng = np.random.default_rng(0)
    qs = np.array([pin.integrate(robot.model, pin.neutral(robot.model), rng.normal(size=robot.nv)) for _ in range(5)])
    joints = range(1, robot.model.njoints)
    poses = joint_poses(robot.model, qs, joints)
    assert poses.shape == (5, len(joints), 7)
    for q, row in zip(qs, poses):
        for joint, pose in zip(joints, row):
            placement = pin.XYZQUATToSE3(pose[[0, 1, 2, 4, 5, 6, 3]]).homogeneous
            np.testing.assert_allclose(placement, robot.placement(q, robot.model.names[joint]), atol=1e-12)


def test_several_views_run_at_once_and_end_by_themselves(reach: Solution, capsys: pytest.CaptureFixture[str]) -> None:
    with View(reach, playing=False) as a, show([reach, reach], labels=["a", "b"], browser=False) as b:
        assert a.port != b.port
        assert a.host == "127.0.0.1"
        for view in (a, b):
            page = urllib.request.urlopen(view.url, timeout=10).read()
            assert b"<html" in page
        assert [type(actor.body).__name__ for actor in b.actors.values()] == ["RobotBody", "RobotBody"]
        assert b.actors["a"].layers.keys() >= b.actors["b"].layers.keys()
        mesh: Any = b.server.scene.get_handle_by_name("/b/robot/shoulder_pan_joint/0")
        assert mesh.opacity < 0.5
        html = a._repr_html_()
        frame, script = html.split("<script>")
        assert (
            f'fetch("{a.url}"' in script
        )  # a saved notebook shows the picture, and no frame of a server that has gone
        assert f'src=\\"{a.url}\\"' in script
        assert "<iframe" not in frame
        assert "data:image/png;base64," in frame
        with pytest.raises(InvalidArgumentError, match=f"free port, got 127.0.0.1:{a.port}"):
            View(reach, port=a.port)
    assert a.closed
    assert "closed" in repr(a)
    assert a.url not in a._repr_html_()
    assert capsys.readouterr().out == ""


def test_iterations_one_after_another(reach: Solution) -> None:
    case = trajopt.problems.load("arm-reach")
    log = trajopt.CallbackLogger(trajectories=True)
    solution = case.solve(callbacks=(log,))
    assert len(log.trajectories) == solution.iterations
    np.testing.assert_array_equal(log.trajectories[-1], solution.xs)
    robot = solution.robot
    assert robot is not None
    with View(solution, iterates=log.trajectories, playing=False) as view:
        view.player.time = view.player.duration
        for iteration in (0, len(log.trajectories) - 1):
            view.choose(iteration)
            expected = robot.placement(log.trajectories[iteration][-1, :6], "wrist_3_joint")[:3, 3]
            found = pose_of(view, "/solution/robot/wrist_3_joint")[:3]
            np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match=r"iterates\[0\]: expected shape"):
        View(reach, iterates=[reach.xs[:3]])


def test_single_knots(reach: Solution) -> None:
    with View(reach, playing=False) as view:
        knots, player = view.actors["solution"].timeline.times, view.player
        player.time = 0.5 * (knots[3] + knots[4])
        for step, knot in [(1, 4), (1, 5), (-2, 3), (-9, 0), (1000, 100), (1, 100)]:
            player.step(step)
            assert player.time == knots[knot]
            assert not player.playing


def test_a_camera_that_follows_keeps_the_body_in_its_place() -> None:
    pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
    solution = solved("cart-pole")
    with View([solution, solution], labels=["a", "b"], playing=False, camera="side") as view:
        first, ground = view.server.scene.get_handle_by_name("/a"), view.server.scene.get_handle_by_name("/ground")
        other: Any = view.server.scene.get_handle_by_name("/b")
        camera = view.server.initial_camera
        away = np.array(camera.position) - np.array(camera.look_at)
        np.testing.assert_allclose(away[1:] / away[1], [1.0, -0.15], atol=1e-9)
        view.player.time = view.player.duration
        view.following = True
        (goes,) = [i for i, name in enumerate(solution.coordinate_names) if name == "y"]
        way = solution.xs[-1, goes] - solution.xs[0, goes]
        assert abs(way) > 0.1
        level = ground.position - first.position
        np.testing.assert_allclose(np.linalg.norm(first.position), abs(way), atol=1e-9)
        np.testing.assert_allclose(first.position + pose_of(view, "/a/body/cart0")[:3], [0.0, 0.0, 0.0], atol=1e-9)
        np.testing.assert_array_equal(other.position, first.position)
        view.player.time = 0.0
        np.testing.assert_allclose(first.position, 0.0, atol=1e-9)
        np.testing.assert_allclose(ground.position, level, atol=1e-9)
        view.player.time, view.following = view.player.duration, False
        np.testing.assert_array_equal(first.position, 0.0)


def test_a_body_that_stays_cannot_be_followed(reach: Solution) -> None:
    with View(reach, playing=False, follow=True) as view:
        assert not view.following
        with pytest.raises(UnknownNameError, match="direction 'left' not found"):
            view.look_from("left")
    with pytest.raises(UnknownNameError, match="camera 'left' not found"):
        View(reach, camera="left")


def test_missing_meshes_are_named_and_replaced(
    reach: Solution, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from trajopt.display.visuals import joint_meshes

    file = tmp_path / "two.urdf"
    file.write_text(TWO)
    robot = load_robot(file)
    with caplog.at_level(logging.WARNING, logger="trajopt.display"):
        parts = {part.joint: part.meshes for part in joint_meshes(robot)}
    assert "package://none/upper.stl" in caplog.text
    assert "package://none/lower.stl" in caplog.text
    assert sorted(parts) == [0, 1, 2]
    (box,) = parts[0]
    assert box.color == (255, 0, 0)
    np.testing.assert_allclose(np.ptp(box.vertices, axis=0), [1.0, 2.0, 3.0])
    (sphere,) = parts[1]
    np.testing.assert_allclose(sphere.vertices.mean(axis=0), [0.0, 0.0, 0.2], atol=5e-3)
    assert len(parts[2]) == 1


def test_meshes_are_where_pinocchio_has_them() -> None:
    pytest.importorskip("example_robot_data", reason="no example-robot-data")
    pytest.importorskip("collada", reason="no pycollada: pip install viser trimesh pycollada")
    from trajopt.display.visuals import joint_meshes
    from trajopt.robots import load_geometry

    robot = load_robot("solo12")
    geometry = load_geometry("solo12", robot.model, "visual")
    parts = {part.joint: np.concatenate([m.vertices for m in part.meshes]) for part in joint_meshes(robot)}
    for joint, vertices in parts.items():
        own = [entry for entry in geometry.geometryObjects if entry.parentJoint == joint]
        points = [np.array(e.geometry.vertices()) @ e.placement.rotation.T + e.placement.translation for e in own]
        every = np.concatenate(points)
        np.testing.assert_allclose(vertices.min(axis=0), every.min(axis=0), atol=1e-5)
        np.testing.assert_allclose(vertices.max(axis=0), every.max(axis=0), atol=1e-5)


def test_a_coarse_mesh_keeps_its_extent() -> None:
    from trajopt.display.meshes import coarsened, solid

    ball = solid("sphere", 1.0)
    fine = coarsened(ball, 10_000)
    assert fine is ball
    coarse = coarsened(ball, 150)
    assert len(coarse.faces) <= 150
    np.testing.assert_allclose(np.ptp(coarse.vertices, axis=0), 2.0, atol=0.2)


def test_times_of_impulses_and_of_problems_without_times(reach: Solution) -> None:
    timeline = Timeline(reach)
    timeline.times = np.array([0.0, 0.1, 0.1, 0.2, 0.2])  # an impulse from knot 1 to 2, another at the end
    knots, parts = timeline.knots([-1.0, 0.05, 0.1, 0.15, 0.2, 9.0])
    assert knots.tolist() == [0, 0, 2, 2, 2, 2]
    np.testing.assert_allclose(parts, [0.0, 0.5, 0.0, 0.5, 1.0, 1.0], atol=1e-12)


def test_robots_keep_their_source() -> None:
    robot = load_robot("ur5", name="left")
    assert robot.lock_joints("wrist_3_joint").source == "ur5"
    assert Robot(robot.model).source is None


def test_doors(reach: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match="solutions: expected at least one solution"):
        show([])
    with pytest.raises(InvalidArgumentError, match="solution: expected a Solution, got"):
        show("motion.npz")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="labels: expected 2 different names"):
        show([reach, reach], labels=["a", "a"])
    with pytest.raises(InvalidArgumentError, match=r"path: expected a file ending in \.html"):
        reach.show(tmp_path / "motion.gif")
    for host in ("192.0.2.1", "a..b"):
        with pytest.raises(InvalidArgumentError, match="host, port: expected an address of this machine"):
            View(reach, host=host)
    for labels in ([""], ["a/b", "a-b"]):
        with pytest.raises(InvalidArgumentError, match="labels: expected . different names"):
            show([reach] * len(labels), labels=labels)
    for wrong in ("a", [[1.0], [1.0, 2.0]], np.full_like(reach.xs, np.nan)):
        with pytest.raises(InvalidArgumentError, match=r"iterates\[1\]: expected .*CallbackLogger"):
            show(reach, iterates=[reach.xs, wrong])  # type: ignore[list-item]
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingDependencyError, match="of which viser is missing: pip install viser trimesh pycollada"):
        reach.show()


def test_a_solution_without_anything_to_show_says_so(reach: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trajopt.display.actor.LAYERS", ())
    with pytest.raises(InvalidArgumentError, match="got nothing to show"):
        show(dataclasses.replace(reach, problem=None), browser=False)
    xs = np.full_like(reach.xs, np.nan)
    with pytest.raises(InvalidArgumentError, match=r"expected finite states, got NaN or inf; .*explain\(\)"):
        show(dataclasses.replace(reach, xs=xs), browser=False)


def test_a_time_is_a_number_and_a_closed_view_writes_nothing(reach: Solution, tmp_path: Path) -> None:
    with View(reach, playing=False) as view:
        view.player.time = 0.1
        for wrong in (np.nan, "soon"):
            with pytest.raises(InvalidArgumentError, match="time: expected a"):
                view.player.time = wrong  # type: ignore[assignment]
        assert view.player.time == 0.1
    with pytest.raises(UnsupportedOperationError, match="view: expected an open one"):
        view.save(tmp_path / "late.html")
    assert not (tmp_path / "late.html").exists()


def test_a_page_that_cannot_be_written_whole_leaves_the_old_one(
    reach: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reach.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trajopt.files.os.replace", full)
    with View(reach, playing=False) as view, pytest.raises(InvalidArgumentError, match="path: .* No space left"):
        view.save(path)
    with pytest.raises(InvalidArgumentError, match="path: .* No space left"):
        reach.save(path.with_suffix(".npz"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_ctrl_c_ends_the_server(reach: Solution, tmp_path: Path) -> None:
    file = reach.save(tmp_path / "reach.npz")
    code = (
        "import sys, threading, _thread, trajopt;"
        "view = trajopt.Solution.load(sys.argv[1]).show(browser=False);"
        "threading.Timer(0.2, _thread.interrupt_main).start(); view.wait(); print(view.closed)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr
