"""Pictures of rollouts show what the rollout has; the command that makes them."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.command_line import CliRunner
from tests.support.texts import check_texts
from trajopt import cli
from trajopt.analysis.legs import is_legged
from trajopt.analysis.rollouts import rollout_motion, thinned
from trajopt.analysis.skeleton import skeleton_of
from trajopt.plotting.film import film_of
from trajopt.plotting.rollout import animate_rollout, plot_rollout, rollout_report
from trajopt.problems.cart_push import cart_and_box
from trajopt.robots import load_robot
from trajopt.robots.on_base import load_on_base
from trajopt.simulator import MDPContact, Rollout, Simulator
from trajopt.simulator.drop import Drop
from trajopt.simulator.end_spheres import ends_of


@functools.cache
def fall(name: str = "small-quadruped", base: str | None = None) -> Rollout:
    simulator = Simulator(load_on_base(name, base))
    return Drop(height=0.02, duration=0.3).run(simulator, ends_of(simulator.robot, name))


def test_motion_has_the_forces_and_the_contact_points() -> None:
    rollout = fall()
    motion = rollout_motion(rollout)
    assert motion is not None
    assert motion.ground == 0.0
    assert motion.weight == pytest.approx(12.0 * 9.81)
    for foot in motion.feet:
        force = np.linalg.norm(rollout.forces[foot.name], axis=1)
        np.testing.assert_array_equal(foot.stands, force > 1e-3 * motion.weight)
        assert not foot.stands[0]
        assert foot.stands[-1]
        np.testing.assert_array_equal(foot.forces[foot.stands], rollout.forces[foot.name][foot.stands])
        assert np.isnan(foot.forces[~foot.stands]).all()
        assert np.all(foot.positions[:-1, 2][foot.stands] < 0.0)
        assert np.all(foot.mu == 0.7)
    expected = rollout.robot.placement(rollout.xs[5, :19], "lf_foot")[:3, 3]
    np.testing.assert_allclose(motion.feet[0].positions[5], expected, atol=1e-15)


def test_a_sphere_touches_below_its_centre() -> None:
    """Against the normal of its plane, by its radius; the ground of a slope is not level."""
    robot = load_robot("four-limbs")
    x = np.concatenate([robot.configuration("standing"), np.zeros(robot.nv)])
    normal = np.array([0.6, 0.0, 0.8])
    contact = MDPContact("limb1_link7", (0.15, 0, 0), 0.04, (*(2 * normal), 0.3))
    rollout = Rollout(robot=robot, contacts=[contact], times=np.array([0.0, 0.1]), xs=np.array([x, x]),
                      taus=np.zeros((1, robot.nv)), friction={}, forces={"limb1_link7": np.ones((1, 3))})  # fmt: skip
    motion = rollout_motion(rollout)
    assert motion is not None
    assert motion.ground is None
    foot = robot.placement(x[: robot.nq], "limb1_foot")[:3, 3]
    np.testing.assert_allclose(motion.feet[0].positions, [foot - 0.04 * normal] * 2, atol=1e-15)
    np.testing.assert_allclose(motion.feet[0].normals, [normal], atol=1e-15)
    assert np.isnan(motion.feet[0].mu).all()


def test_thinned_keeps_the_first_time_and_the_step() -> None:
    rollout = fall()
    few = thinned(rollout, 0.01)
    np.testing.assert_allclose(few.times, 0.01 * np.arange(31), atol=1e-12)
    np.testing.assert_array_equal(few.xs, rollout.xs[::10])
    np.testing.assert_array_equal(few.forces["lf_kfe"], rollout.forces["lf_kfe"][::10])
    assert thinned(rollout, 1e-9).xs.shape == rollout.xs.shape
    assert len(thinned(rollout, 0.15).times) == 3


@pytest.mark.parametrize("base", [None, "euler", "planar"])
def test_the_picture_shows_base_joints_and_forces(base: str | None) -> None:
    rollout = fall(base=base)
    figure = plot_rollout(rollout)
    check_texts(figure)
    panels = {axes.get_ylabel(): axes for axes in figure.axes}
    (line,) = panels["base z [m]"].lines
    heights = rollout.robot.placement(rollout.xs[:, : rollout.robot.nq], "base_link")[:, 2, 3]
    np.testing.assert_allclose(line.get_ydata(), heights, atol=1e-12)
    names = {line.get_label() for axes in figure.axes for line in axes.lines}
    assert {f"{leg}_{joint}" for leg in ("lf", "rf", "lh", "rh") for joint in ("haa", "hfe", "kfe")} <= names
    forces = panels["lf_kfe\nforce [N]"]
    normal = next(line for line in forces.lines if line.get_label() == "normal")
    drawn = np.asarray(normal.get_ydata(), dtype=float)
    assert np.nanmax(drawn) == pytest.approx(rollout.forces["lf_kfe"][:, 2].max())


def test_the_picture_of_a_base_that_slides_shows_its_way(tmp_path: Path) -> None:
    """Along a circle it is the length of the arc; in a fall there is none."""
    robot = load_robot("small-quadruped")
    angles = np.linspace(0.0, np.pi, 201)
    xs = np.tile(np.r_[robot.configuration("standing"), np.zeros(robot.nv)], (201, 1))
    xs[:, 0], xs[:, 1], xs[:, 2] = np.cos(angles), np.sin(angles), 0.3 + 0.01 * np.sin(9 * angles)
    still = {"taus": np.zeros((200, robot.nv)), "friction": {}, "forces": {}}
    rollout = Rollout(robot=robot, contacts=(), times=np.linspace(0.0, 2.0, 201), xs=xs, **still)  # type: ignore[arg-type]
    figure = rollout.plot(tmp_path / "slide.png")
    check_texts(figure)
    assert (tmp_path / "slide.png").stat().st_size > 10_000
    (line,) = {axes.get_ylabel(): axes for axes in figure.axes}["horizontal way [m]"].lines
    np.testing.assert_allclose(line.get_ydata(), angles, rtol=1e-4)
    assert rollout_report(rollout)["base"].endswith("3.142 m along the ground")
    assert "horizontal way [m]" not in [axes.get_ylabel() for axes in plot_rollout(fall()).axes]


def test_robots_without_contacts_and_bases() -> None:
    simulator = Simulator(load_robot("cart-pole"))
    rollout = simulator.rollout([0.0, 0.1, 0.0, 0.0], None, 10, 1e-2)
    assert rollout_motion(rollout) is None
    figure = plot_rollout(rollout)
    assert [axes.get_ylabel() for axes in figure.axes] == ["cart [m]", "pole [rad]"]
    assert list(rollout_report(rollout)) == ["robot", "duration", "speed"]


def test_the_report_lists_duration_base_and_supporting_contacts() -> None:
    words = rollout_report(fall())
    assert words["duration"] == "0.3 s in 300 steps"
    assert words["base"].startswith("from 0.313 to ")
    assert words["contacts"].startswith("4 of 4 at the end, which carry ")


@pytest.mark.parametrize("base", [None, "planar"])
def test_the_animation_plays_in_real_time(tmp_path: Path, base: str | None) -> None:
    path = animate_rollout(fall(base=base), tmp_path / "fall.gif", frames_per_second=20.0)
    with Image.open(path) as image:
        assert image.n_frames == 7  # type: ignore[attr-defined]


def test_a_film_is_of_the_rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)
    solution = thinned(fall(), 0.01).solution()
    np.testing.assert_array_equal(solution.xs, fall().xs[::10])
    np.testing.assert_allclose(solution.times, np.linspace(0.0, 0.3, 31), atol=1e-12)
    assert is_legged(solution)
    film = film_of(solution)
    assert film.side
    np.testing.assert_allclose(film.forces(0.295)[0][:, 2], 0.0, atol=1e-3)  # feet stand on the floor at the end
    pictures = [np.asarray(Image.open(fall().film(tmp_path / f"{t}.png", time=t, size=(300, 200)))) for t in (0.0, 0.3)]
    assert np.mean(np.abs(np.subtract(*pictures, dtype=float)).max(axis=2) > 60.0) > 0.003


def test_an_animation_without_contacts(tmp_path: Path) -> None:
    rollout = Simulator(load_robot("planar-2r")).rollout(np.zeros(4), None, 10, 1e-2)
    assert animate_rollout(rollout, tmp_path / "arm.gif").stat().st_size > 0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)  # meshes take 15 s to draw in software
    plot, film = tmp_path / "fall.png", tmp_path / "fall.gif"
    arguments = ["simulate", "small-quadruped", "--mode", "RK1F", "--duration", "0.3", "--height", "0.02"]
    done = CliRunner().invoke(cli.app, [*arguments, "--plot", str(plot), "--animate", str(film)])
    assert done.exit_code == 0, done.output
    for words in ("small-quadruped, 18 degrees", "0.3 s in 300 steps", "4 of 4 at the end", str(plot), str(film)):
        assert words in done.output
    assert plot.stat().st_size > 10_000
    assert film.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hyk"], "robot 'hyk' not found; did you mean 'hyq'"),
        (["small-quadruped", "--mode", "RK3F"], "mode 'RK3F' not found"),
        (["small-quadruped", "--duration", "0"], "duration: expected a number > 0"),
        (["small-quadruped", "--configuration", "sitting"], "configuration 'sitting' not found"),
        (["small-quadruped", "--base", "wheels"], "base 'wheels' not found"),
        (["small-quadruped", "--plot", "fall.txt"], "--plot: expected a file ending in .png"),
        (["small-quadruped", "--animate", "fall.png"], "--animate: expected a file ending in .gif"),
        (["nowhere.urdf"], "expected an existing file, got 'nowhere.urdf'"),
    ],
)
def test_wrong_arguments_of_the_command(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(cli.app, ["simulate", *arguments])
    assert done.exit_code == 1
    assert message in " ".join(done.output.split())


def test_bodies_that_slide_have_their_own_shape() -> None:
    """A cart and a box as boxes where they are; joints that carry nothing have no picture."""
    q = np.array([0.1, 0.6, 0.2, 0.0])
    turned = np.array([0.1, 0.6, 0.2, 0.3])
    skeleton, _ = skeleton_of(cart_and_box(), np.array([q, turned]))
    joints, cart, box = np.split(skeleton.points[0], [5, 13])
    np.testing.assert_allclose(np.abs(cart - [0.1, 0.0, 0.15]), np.tile([0.2, 0.1, 0.1], (8, 1)), atol=1e-12)
    np.testing.assert_allclose(np.abs(box - [0.6, 0.0, 0.2]), np.full((8, 3), 0.15), atol=1e-12)
    np.testing.assert_allclose(joints[2:], np.tile([0.6, 0.0, 0.2], (3, 1)), atol=1e-12)
    low = 0.2 - 0.15 * (np.cos(0.3) + np.sin(0.3))
    assert skeleton.points[1, 13:, 2].min() == pytest.approx(low)
    lengths = [np.ptp(skeleton.points[0, list(bone)], axis=0) for bone in skeleton.bones if min(bone) >= 5]
    assert len(lengths) == 24
    assert all(np.count_nonzero(length > 1e-9) == 1 for length in lengths)
    assert list(skeleton.sliders) == []
    assert not [bone for bone in skeleton.bones if 2 in bone or 3 in bone]
