"""Animations: how long frames last, what is where at a time, what a file needs."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from PIL import Image

import trajopt
from tests.support.command_line import CliRunner
from tests.support.few_iterations import few_iterations
from tests.support.unsolved import arm, pendulum, solution_of, solved, trot
from trajopt import cli, planar, problems
from trajopt.analysis import legged_motion
from trajopt.analysis.vehicles import vehicle_of
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, MissingDependencyError, ModelEvaluationError
from trajopt.plotting import plot_path
from trajopt.plotting.film import film_of
from trajopt.plotting.frames import frame_times
from trajopt.plotting.stage import FilmStage
from trajopt.problems.cart_pole import DifferentialActionModelCartPole
from trajopt.solution import Solution
from trajopt.states import StateVector
from trajopt.types import Reals


def delays(path: Path) -> list[int]:
    """How long each frame of a GIF lasts [ms]."""
    found = []
    with Image.open(path) as image:
        for i in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(i)
            found.append(image.info["duration"])
    return found


def points(curve: Any) -> Reals:
    """Points of a curve without the gaps."""
    rows = np.column_stack(curve.get_data_3d() if hasattr(curve, "get_data_3d") else curve.get_data())
    return rows[np.isfinite(rows).all(axis=1)]


def bones(stage: FilmStage) -> Reals:
    return np.concatenate([points(curve) for curve in stage._bones])


@pytest.mark.parametrize(
    ("speed", "rate", "delay", "frames"), [(2.0, 25.0, 40, 26), (4.0, 28.0, 40, 14), (8.0, 200.0, 20, 14)]
)
def test_an_animation_plays_at_the_requested_speed(
    tmp_path: Path, speed: float, rate: float, delay: int, frames: int
) -> None:
    """Two seconds; frames of a GIF last whole 10 ms, and the last one stays."""
    path = pendulum().animate(tmp_path / "one.gif", speed=speed, frames_per_second=rate)
    assert delays(path) == [delay] * (frames - 1) + [1000]
    assert 2.0 / speed <= 1e-3 * delay * (frames - 1) < 2.0 / speed + 1e-3 * delay


def test_frames_are_the_motion_from_start_to_end() -> None:
    times = frame_times(0.0, 2.0, 3.0, 25.0)
    np.testing.assert_allclose(times[:3], [0.0, 0.12, 0.24])
    np.testing.assert_allclose(times[-2:], [1.92, 2.0])


def test_real_time_is_the_default(tmp_path: Path) -> None:
    shorter = dataclasses.replace(pendulum(), problem=problems.load("pendulum", T=10).problem, xs=pendulum().xs[:11],
                                  us=pendulum().us[:10])  # fmt: skip
    assert delays(shorter.animate(tmp_path / "one.gif")) == [40] * 5 + [1000]


def test_joints_of_an_arm_are_where_pinocchio_puts_them() -> None:
    solution = arm()
    assert solution.robot is not None
    model, stage = solution.robot.model, FilmStage(film_of(solution))
    assert solution.times is not None
    for time, q in [
        (solution.times[7], solution.xs[7, :3]),
        (solution.times[-1], solution.xs[-1, :3]),
    ]:
        stage.show(float(time), "")
        data = model.createData()
        pin.forwardKinematics(model, data, q)
        for place in data.oMi[1:]:
            drawn = bones(stage)
            wanted = np.array(place.translation)[list(stage._shown)]
            assert np.linalg.norm(drawn - wanted, axis=1).min() < 1e-12
    stage.show(float(np.mean(solution.times[7:9])), "")
    half = film_of(solution).skeleton.points[7:9].mean(axis=0)[:, list(stage._shown)]
    assert np.linalg.norm(bones(stage) - half[-1], axis=1).min() < 1e-12
    np.testing.assert_allclose(points(stage._trails[0])[-1], half[-1], atol=1e-12)
    goal = problems.load("arm-reach", robot="planar-3r").problem.get_parameter("goal.reference", "terminal")
    np.testing.assert_allclose(film_of(solution).goals, [goal[:, 3]])


def test_forces_of_the_feet_that_stand_are_arrows() -> None:
    solution = trot()
    motion, film = legged_motion(solution), film_of(solution)
    stage = FilmStage(film)
    seen = set()
    for t in np.flatnonzero(motion.takes_time):
        stage.show(float(motion.abscissa[t]), "")
        feet = [foot for foot in motion.feet if foot.stands[t]]
        seen.add(len(feet))
        arrows = points(stage._arrows).reshape(-1, 5, 2)
        seen_at = np.array([[1.0, 0.3, 0.0], [0.0, 0.0, 1.0]])  # the left is shifted forward
        np.testing.assert_allclose(arrows[:, 1], [seen_at @ foot.positions[t] for foot in feet], atol=1e-12)
        tails = [seen_at @ foot.positions[t] - film.scale * foot.forces[t, [0, 2]] for foot in feet]
        np.testing.assert_allclose(arrows[:, 0], tails, atol=1e-12)
        np.testing.assert_allclose(points(stage._com)[0], seen_at @ motion.com[t], atol=1e-12)
    assert seen == {2, 4}


def test_the_ground_is_at_the_footholds_and_sides_have_shades() -> None:
    stage = FilmStage(film_of(trot()))
    ground = [line for line in stage._axes.get_lines() if line.get_label() == "_ground"]
    assert ground[0].get_ydata()[0] == pytest.approx(0.0, abs=1e-6)
    stage.show(0.0, "")
    far, _, near = (points(curve) for curve in stage._bones)
    assert len(far) == len(near) == 16  # two legs each: hip, thigh, knee, foot


def test_left_and_right_legs_do_not_hide_each_other() -> None:
    """At the first knot both sides stand alike; seen exactly from the side they would be one line."""
    stage = FilmStage(film_of(trot()))
    stage.show(0.0, "")
    far, _, near = (points(curve) for curve in stage._bones)
    apart = np.abs(far - near)[:, 0]
    assert apart[-1] > 0.08  # the feet; hips share a point of the trunk
    assert np.count_nonzero(apart > 0.03) == len(apart) - 2


def test_a_leg_keeps_its_colour_when_the_body_leans_over_it() -> None:
    solution = trot()
    xs = solution.xs.copy()
    xs[1:, 1] += np.linspace(0.0, 0.5, len(xs) - 1)  # the base moves to the left, and the hips with it
    xs[1:, 3:7] = [np.sin(0.6), 0.0, 0.0, np.cos(0.6)]
    stage = FilmStage(film_of(dataclasses.replace(solution, xs=xs)))
    sizes = []
    for time in (0.0, float(stage.film.times[-1])):
        stage.show(time, "")
        sizes.append([len(points(curve)) for curve in stage._bones])
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (trot, ["right", "left", "in contact", "centre of mass", "paths of the feet"]),
        (lambda: solved("unicycle"), ["body x", "body y", "vehicle, not to scale", "path", "target"]),
        (pendulum, ["path"]),
        (arm, ["path", "target"]),
    ],
)
def test_the_legend_names_the_drawn_parts(make: Callable[[], Solution], expected: list[str]) -> None:
    stage = FilmStage(film_of(make()))
    (legend,) = stage.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == expected


def test_the_world_and_the_outline_of_a_vehicle_are_drawn() -> None:
    solution = few_iterations("parking")[1]
    gate = np.array([[-0.2, 0.5], [0.2, 0.5]])
    stage = FilmStage(film_of(solution, lines=[gate]))
    assert "walls" in [artist.get_label() for artist in stage._axes.get_children()]
    (line,) = [line for line in stage._axes.get_lines() if line.get_label() == "_line"]
    np.testing.assert_array_equal(line.get_xydata(), gate)
    assert solution.times is not None
    stage.show(float(solution.times[7]), "")
    x, y, theta = solution.xs[7]
    corners = stage._vehicle.get_xydata()
    np.testing.assert_allclose(corners[:4].mean(axis=0), [x, y], atol=1e-12)
    ahead = corners[0] - corners[1]  # from the rear left to the front left
    np.testing.assert_allclose(ahead / np.linalg.norm(ahead), [np.cos(theta), np.sin(theta)], atol=1e-12)
    axes = plot_path(solution, frames=5).axes[0]
    outlines = next(line for line in axes.get_lines() if line.get_label() == "vehicle, not to scale")
    np.testing.assert_allclose(np.asarray(outlines.get_xydata())[:4].mean(axis=0), solution.xs[0, :2], atol=1e-12)


def test_an_incline_is_drawn() -> None:
    solution = few_iterations("block-on-incline")[1]
    stage = FilmStage(film_of(solution))
    (ground,) = [patch for patch in stage._axes.get_children() if patch.get_label() == "_ground"]
    (x0, z0), (x1, z1) = ground.get_xy()[:2]
    normal = solution.description.planes[0]
    assert (z1 - z0) / (x1 - x0) == pytest.approx(-normal[0] / normal[2])


@pytest.mark.parametrize(
    ("name", "kind", "half"), [("parking", "unicycle", 0.15), ("quadrotor-obstacles", "quadrotor", 0.2)]
)
def test_the_size_of_a_vehicle_is_its_parameter_or_a_part_of_the_motion(name: str, kind: str, half: float) -> None:
    problem = problems.load(name).problem
    xs = np.linspace(problem.x0, problem.x0 + np.eye(problem.state.nx)[1] * 1.5, problem.T + 1)
    vehicle = vehicle_of(solution_of(problem, xs, np.zeros((problem.T, problem.nu))))
    assert (vehicle.kind, vehicle.half) == (kind, pytest.approx(half))
    assert vehicle.to_scale == (kind == "quadrotor")


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


def test_the_key_of_forces_is_to_scale() -> None:
    film = film_of(trot())
    stage = FilmStage(film)
    (text,) = [text for text in stage._axes.texts if "contact force:" in text.get_text()]
    force = float(text.get_text().split()[2])
    tips = [line.get_xydata() for line in stage._axes.get_lines() if not line.get_clip_on() and len(line.get_xydata())]
    assert [np.linalg.norm(tip[1] - tip[0]) for tip in tips] == [pytest.approx(film.scale * force)]


def test_at_a_touch_down_the_feet_that_come_next_stand() -> None:
    motion, film = legged_motion(trot()), film_of(trot())
    for t in np.flatnonzero(~motion.takes_time[:-1]):
        assert film.knot(float(motion.abscissa[t])) == (t + 1, 0.0)
    ends = dataclasses.replace(film, times=np.array([0.0, 0.1, 0.2, 0.2]))  # with a touch-down
    assert ends.knot(0.2) == (1, 1.0)
    assert dataclasses.replace(film, times=np.zeros(1)).knot(0.0) == (0, 0.0)


def test_a_pendulum_has_the_length_of_its_solve() -> None:
    problem = problems.load("pendulum", T=5).problem
    problem.set_parameter("length", 0.8)
    solution = solution_of(problem, np.array([[0.3 * t, 0.0] for t in range(6)]), np.zeros((5, 1)))
    problem.set_parameter("length", 0.5)
    stage = FilmStage(film_of(solution))
    stage.show(0.1, "")
    np.testing.assert_allclose(points(stage._bones[2])[-1], 0.8 * np.array([np.sin(1.5), -np.cos(1.5)]), atol=1e-12)


def test_the_pole_falls_to_the_side_that_the_dynamics_say() -> None:
    """Without a force the centre of mass of cart and pole, as drawn, has no horizontal acceleration."""
    model = DifferentialActionModelCartPole(CostStack(StateVector(4)), cart_mass=1.0, pole_mass=0.1, length=0.5)
    x, symbols = ca.SX.sym("x", 4), [model.cart_mass, model.pole_mass, model.length]
    acceleration = ca.Function("a", [x, *symbols], [model.acceleration(x, ca.SX(1, 1))])
    now, h = np.array([0.2, 0.7, 0.1, -0.4]), 1e-4
    a = np.array(acceleration(now, 1.0, 0.1, 0.5)).ravel()
    xs = np.array([[*(now[:2] + s * h * now[2:] + 0.5 * (s * h) ** 2 * a), 0.0, 0.0] for s in (-1, 0, 1)])
    place = model.skeleton(xs, {"length": np.array(0.5)}).points[:, :, 0] @ [1.0, 0.1]
    assert (place[0] - 2 * place[1] + place[2]) / h**2 == pytest.approx(0.0, abs=1e-5)


def test_gaits_draw_the_paths_of_all_feet_and_mark_no_foothold_as_a_target() -> None:
    for name, robot, feet in (("quadruped-trot", "small-quadruped", 4), ("biped-walk", "small-biped", 2)):
        case = problems.load(name, robot)
        solution = solution_of(case.problem, case.xs, case.problem.quasi_static(case.xs[:-1]))
        film, motion = film_of(solution), legged_motion(solution)
        assert len(film.trails) == feet
        np.testing.assert_allclose(film.trails, [foot.positions @ film.turn.T for foot in motion.feet], atol=1e-12)
        assert not len(film.goals)


def test_obstacles_are_drawn_at_their_positions(tmp_path: Path) -> None:
    solution = solved("unicycle")
    stage = FilmStage(film_of(solution, [[-0.5, 0.2, 0.1]]))  # the plane of the wheels, seen from above
    (body,) = [patch for patch in stage._axes.patches if patch.get_label() == "_obstacle"]
    np.testing.assert_allclose(np.linalg.norm(body.get_xy() - [-0.5, 0.2], axis=1), 0.1)
    plain, full = tmp_path / "plain.gif", tmp_path / "full.gif"
    solution.animate(plain, speed=10.0)
    solution.animate(full, speed=10.0, obstacles=[[-0.5, 0.2, 0.1]])
    assert plain.read_bytes() != full.read_bytes()
    with pytest.raises(InvalidArgumentError, match=r"obstacles: expected rows \(x, y, radius\)"):
        solution.animate(full, obstacles=[[0.0, 1.0]])


def test_obstacles_far_from_the_motion_are_inside_of_the_picture() -> None:
    wide = FilmStage(film_of(solved("unicycle"), [[3.0, 0.0, 0.5]]))
    assert wide._axes.get_xlim()[1] >= 3.5


def test_obstacles_beside_a_walking_robot_are_turned_with_it() -> None:
    (pole,) = film_of(trot(), [[0.5, 0.4, 0.1]]).obstacles
    np.testing.assert_allclose(pole, [0.5 + 0.3 * 0.4, 0.4, np.nan, 0.1], atol=1e-12)  # the left is shifted
    (ball,) = film_of(trot(), [[0.2, 0.0, 0.3, 0.1]]).obstacles
    np.testing.assert_allclose(ball, [0.2, 0.0, 0.3, 0.1], atol=1e-12)
    assert [
        patch
        for patch in FilmStage(film_of(trot(), [[0.5, 0.4, 0.1]]))._axes.patches
        if patch.get_label() == "_obstacle"
    ]


def test_a_body_has_its_axes_and_its_goal() -> None:
    solution = solved("unicycle")
    film = film_of(solution)
    stage = FilmStage(film)
    stage.show(0.0, "")
    start, end = points(stage._axes_of_body[0])
    np.testing.assert_allclose(start, [-1.0, -1.0])
    np.testing.assert_allclose((end - start) / np.linalg.norm(end - start), [np.cos(1.0), np.sin(1.0)])
    np.testing.assert_array_equal(film.goals, np.zeros((1, 3)))


@pytest.mark.slow
def test_a_file_gives_the_same_animation(tmp_path: Path) -> None:
    for solution in (trot(), solved("unicycle"), pendulum()):
        loaded = Solution.load(solution.save(tmp_path / "one.npz"))
        paths = [s.animate(tmp_path / f"{i}.gif", speed=40.0) for i, s in enumerate((solution, loaded))]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program in the place of ffmpeg."""
    (folder / "ffmpeg").write_text(f"#!/bin/sh\nfor last; do :; done\n{script}\n")
    (folder / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_a_video_is_written_by_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here by a program that counts the bytes of the frames."""
    program(tmp_path, f'echo "$@" > "{tmp_path}/arguments"\nwc -c > "$last"', monkeypatch)
    path = pendulum().animate(tmp_path / "one.mp4", speed=4.0, frames_per_second=10.0)
    asked = (tmp_path / "arguments").read_text().split()
    width, height = (int(side) for side in asked[asked.index("-s") + 1].split("x"))
    assert width % 2 == height % 2 == 0
    assert asked[asked.index("-framerate") + 1] == "10"
    assert int(path.read_text()) == (6 + 10) * width * height * 3  # half a second, and a second of the last frame


@pytest.mark.parametrize("reads", ["cat > /dev/null", "exec <&-"])  # all frames, or none
def test_a_video_that_ffmpeg_cannot_write_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    program(tmp_path, f"{reads}\necho disk full >&2\nexit 1", monkeypatch)
    with pytest.raises(
        InvalidArgumentError, match=r"path: .*one\.mp4' cannot be written: ffmpeg ended with status 1: disk full"
    ):
        pendulum().animate(tmp_path / "one.mp4", speed=4.0, frames_per_second=10.0)
    assert [file.name for file in tmp_path.iterdir()] == ["ffmpeg"]


def test_without_ffmpeg_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"a \.mp4 needs imageio_ffmpeg: pip install imageio-ffmpeg \(extra 'film'\); or write a \.gif",
    ):
        pendulum().animate(tmp_path / "one.mp4")


def test_wrong_arguments_name_themselves(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path: expected a file ending in \.gif or \.mp4, got .*one\.avi"):
        pendulum().animate(tmp_path / "one.avi")
    with pytest.raises(InvalidArgumentError, match=r"speed: expected a number > 0, got 0\.0"):
        pendulum().animate(tmp_path / "one.gif", speed=0.0)
    with pytest.raises(InvalidArgumentError, match=r"frames_per_second: expected at most 1800 frames, got 5000 of 2 s"):
        pendulum().animate(tmp_path / "one.gif", speed=0.01)
    with pytest.raises(InvalidArgumentError, match=r"a model with a method skeleton\(xs, parameters\)"):
        solved("lqr").animate(tmp_path / "one.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("skeleton", "error", "message"),
    [
        (
            lambda xs, parameters: None,
            InvalidArgumentError,
            r"Model.skeleton: expected .* points of shape \(11, n, 3\)",
        ),
        (lambda xs, parameters: parameters["mas"], ModelEvaluationError, r"Model.skeleton raised KeyError: 'mas'"),
    ],
)
def test_a_wrong_skeleton_names_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skeleton: Any, error: type[Exception], message: str
) -> None:
    problem = problems.load("pendulum", T=10).problem
    solution = solution_of(problem, pendulum().xs[:11], pendulum().us[:10])
    monkeypatch.setitem(vars(problem.running[0].differential), "skeleton", skeleton)  # type: ignore[attr-defined]
    with pytest.raises(error, match=message.replace("Model", "DifferentialActionModelPendulum")):
        solution.animate(tmp_path / "one.gif")
    assert Solution.load(solution.save(tmp_path / "one.npz")).times is not None


def test_the_command_line_draws_the_obstacles_of_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(Solution, "film", lambda self, path, **options: seen.append(options))
    case = ["solve", "parking-circles", "-q", "--option", "max_iterations=1"]
    CliRunner().invoke(cli.app, [*case, "--animate", str(tmp_path / "one.gif")])
    np.testing.assert_array_equal(seen[0]["obstacles"], problems.load("parking-circles").obstacles)
    assert len(seen[0]["obstacles"])


def test_the_command_line_writes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)
    done = CliRunner().invoke(cli.app, ["solve", "pendulum", "-q", "--animate", str(tmp_path / "one.gif")])
    assert done.exit_code == 0, done.output
    assert f"animation   {tmp_path / 'one.gif'}" in done.output
    assert delays(tmp_path / "one.gif") == [70] * 30
    refused = CliRunner().invoke(cli.app, ["solve", "pendulum", "-q", "--animate", str(tmp_path / "one.png")])
    assert refused.exit_code == 1
    assert "--animate: expected a file ending in .gif or .mp4" in refused.output
