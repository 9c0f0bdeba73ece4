"""Films: each frame shows its time, everything is in view, and what is missing names its cure."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.display.test_browser import wait_for
from tests.support.unsolved import pendulum, solved, trot
from trajopt.display import View, film
from trajopt.display.camera import Camera, camera_of, check_camera
from trajopt.display.headless import BrowserError, Studio, find_browser
from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnknownNameError
from trajopt.solution import Solution
from trajopt.types import Reals

SIZE = (240, 180)
LEFT = "trajopt.display.pictures.find_browser"


@pytest.fixture(scope="module")
def chromium() -> str:
    pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
    pytest.importorskip("trimesh", reason="no trimesh: pip install viser trimesh pycollada")
    browser = find_browser()
    if browser is None:
        pytest.skip("no browser: install chromium (apt install chromium)")
    return browser


@pytest.fixture
def without_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEFT, lambda: None)


def frames(path: Path) -> Reals:
    """Frames of a GIF (n, height, width, 3)."""
    found = []
    with Image.open(path) as image:
        for i in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(i)
            found.append(np.asarray(image.convert("RGB"), dtype=float))
    return np.array(found)


def picture(path: Path) -> Reals:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=float)


def far(a: Reals, b: Reals) -> float:
    """Share of pixels that differ by more than colours of a GIF do [-]."""
    return float(np.mean(np.abs(a - b).max(axis=-1) > 40.0))


CAMERA = ([1.9, -1.6, 1.2], [0.3, 0.1, 0.4])  # from nearby on a UR5 [m]


def filmed(reach: Solution, path: Path) -> Path:
    """Three frames of a reach: start, between, end."""
    return reach.film(path, fps=5.0, seconds=0.4, size=SIZE, camera=CAMERA, progress=False)


@pytest.fixture(scope="module")
def film_of_reach(chromium: str, reach: Solution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The film that is compared with a view."""
    return filmed(reach, tmp_path_factory.mktemp("film") / "reach.gif")


def of_view(browser: Any, reach: Solution, wanted: Reals) -> Reals:
    """Pictures of a view at the times of the wanted ones, as soon as they are like them, or the last ones that came."""
    camera, found = check_camera(CAMERA), []
    assert isinstance(camera, Camera)
    with View(reach, playing=False) as view:
        view.server.scene.configure_default_lights(cast_shadow=True)  # as in films
        page = browser.new_page(viewport={"width": 320, "height": 240})
        page.goto(f"{view.url}/?fixedDpr=1")
        wait_for(page, lambda: bool(view.server.get_clients()))
        (client,) = view.server.get_clients().values()
        client.camera.position, client.camera.look_at = camera.position, camera.target
        for k, frame in enumerate(wanted):
            view.player.time = k / (len(wanted) - 1) * view.player.duration
            for _ in range(10):
                look = {"wxyz": camera.wxyz, "position": camera.position, "fov": camera.fov}
                image = client.get_render(SIZE[1], SIZE[0], **look, transport_format="png", timeout=60.0)
                solid = image[..., 3:] / 255.0
                image = solid * image[..., :3] + 255.0 * (1.0 - solid)
                if far(image, frame) < 0.002:
                    break
            found.append(image)
        page.close()
    return np.array(found)


@pytest.mark.slow
def test_each_frame_is_the_view_at_its_time(chromium: str, browser: Any, reach: Solution, film_of_reach: Path) -> None:
    shown = frames(film_of_reach)
    assert shown.shape == (3, SIZE[1], SIZE[0], 3)
    seen = of_view(browser, reach, shown)
    apart = np.array([[far(frame, view) for view in seen] for frame in shown])
    assert np.diag(apart).max() < 0.002, apart
    assert (apart + np.eye(3)).min() > 0.01, apart  # other times look different


@pytest.mark.slow
def test_all_of_the_robot_is_in_the_picture_which_is_the_same_twice(
    chromium: str, reach: Solution, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A picture is a frame of a film; `test_a_file_gives_the_same_film` has the files of whole films."""
    with caplog.at_level(logging.INFO, "trajopt.display"):
        first, again = (reach.film(tmp_path / f"{i}.png", time=0.3, size=SIZE) for i in range(2))
    assert f"film: meshes, drawn by {chromium}" in caplog.text
    assert again.read_bytes() == first.read_bytes()
    image = picture(first)
    robot = image.max(axis=2) < 120.0
    assert robot.mean() > 0.01
    assert not np.concatenate([robot[0], robot[-1], robot[:, 0], robot[:, -1]]).any()


@pytest.mark.slow
def test_a_browser_that_ends_is_an_error(chromium: str) -> None:
    with pytest.raises(BrowserError, match="browser: it did not open the page and ended with status 1"):
        Studio("/bin/false")
    with Studio(chromium) as studio:
        studio._process.kill()
        studio._process.wait()
        with pytest.raises(BrowserError, match="browser: it took no picture: it ended with status -9"):
            studio.aim(Camera(position=np.ones(3), target=np.zeros(3)), SIZE)


@pytest.mark.slow
def test_without_a_browser_it_is_a_line_drawing_and_the_log_says_why(
    without_browser: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "trajopt.display"):
        path = pendulum().film(tmp_path / "one.gif", fps=10.0, size=(300, 200), obstacles=[[0.0, 0.0, 0.3, 0.1]])
    assert "line drawings instead of meshes: no browser was found; install Chromium" in caplog.text
    shown = frames(path)
    assert shown.shape == (21, 200, 300, 3)
    assert min(np.abs(np.diff(shown, axis=0)).max(axis=(1, 2, 3))) > 100.0  # each frame moves
    assert far(shown[7], picture(pendulum().film(tmp_path / "one.png", time=0.7, size=(300, 200)))) > 0.0  # no ball
    ball = pendulum().film(tmp_path / "one.png", time=0.7, size=(300, 200), obstacles=[[0.0, 0.0, 0.3, 0.1]])
    assert far(shown[7], picture(ball)) < 0.002


def test_a_browser_that_does_not_start_leaves_a_line_drawing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
    monkeypatch.setattr(LEFT, lambda: "/bin/false")
    assert picture(pendulum().film(tmp_path / "one.png")).shape == (450, 800, 3)
    assert "it did not open the page and ended with status 1" in caplog.text


def test_a_video_has_the_frames_of_the_motion(without_browser: None, tmp_path: Path) -> None:
    package = pytest.importorskip("imageio_ffmpeg", reason="no ffmpeg: pip install imageio-ffmpeg")
    path = pendulum().film(tmp_path / "one.mp4", fps=20.0, seconds=0.5, size=(301, 201))
    read = [package.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(read, capture_output=True, check=True)
    assert ", 300x200" in done.stderr.decode()
    assert ", 20 fps" in done.stderr.decode()
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, 200, 300, 3).astype(float)
    assert len(shown) == 11
    still = picture(pendulum().film(tmp_path / "one.png", time=0.8, size=(301, 201)))[:200, :300]
    assert np.abs(shown[4][40:] - still[40:]).mean() < 4.0  # the heading tells the speed
    assert np.abs(shown[4][40:] - still[40:]).mean() < 0.5 * np.abs(shown[8][40:] - still[40:]).mean()


@pytest.mark.slow
def test_a_file_gives_the_same_film(without_browser: None, tmp_path: Path) -> None:
    loaded = Solution.load(pendulum().save(tmp_path / "one.npz"))
    files = [s.film(tmp_path / f"{i}.gif", fps=10.0, size=SIZE) for i, s in enumerate((pendulum(), loaded))]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("name", ["corner", "side", "front", "top"])
@pytest.mark.parametrize("aspect", [0.5, 16.0 / 9.0])
def test_a_named_camera_sees_all_points_from_as_near_as_it_can(name: str, aspect: float) -> None:
    points = np.random.default_rng(0).uniform([-1.0, -0.2, 0.0], [3.0, 0.2, 0.5], (50, 3))
    camera = camera_of(name, points, aspect)
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.array(list(itertools.product(*zip(low, high))))
    w, x, y, z = camera.wxyz
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    seen = (corners - camera.position) @ rotation  # right, down, forward
    reach = np.tan(camera.fov / 2.0)
    edges = np.abs(seen[:, :2] / seen[:, 2:]) / [reach * aspect, reach]
    assert np.all(seen[:, 2] > 0.0)
    assert 0.9 < edges.max() < 1.0
    ahead = camera.target - camera.position
    np.testing.assert_allclose(rotation[:, 2], ahead / np.linalg.norm(ahead), atol=1e-12)
    assert rotation[2, 1] < 0.0  # down


def test_a_gif_has_fifteen_frames_a_second(without_browser: None, tmp_path: Path) -> None:
    path = pendulum().film(tmp_path / "one.gif", seconds=0.5, size=(160, 120), progress=False)
    with Image.open(path) as image:
        assert image.n_frames == 9  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fps": 0.0}, InvalidArgumentError, r"fps: expected a number > 0 \[1/s\], got 0\.0"),
        ({"speed": 0.01}, InvalidArgumentError, r"speed, fps: expected at most 1800 frames, got 2857 of 2 s"),
        ({"speed": -1.0}, InvalidArgumentError, r"speed: expected a number > 0, got -1\.0"),
        ({"speed": 1.0, "seconds": 2.0}, InvalidArgumentError, "speed, seconds: expected one of them, got both"),
        ({"time": 0.5}, InvalidArgumentError, r"time: expected none for a film, got 0\.5; write a \.png"),
        ({"size": 3}, InvalidArgumentError, r"size: expected a list of pixels \(width, height\), got 3"),
        ({"size": (640,)}, InvalidArgumentError, r"size: expected two numbers \(width, height\) \[pixel\]"),
        ({"size": (640, 0)}, InvalidArgumentError, r"size\[1\]: expected"),
        ({"camera": "left"}, UnknownNameError, "camera.*left.*corner"),
        ({"camera": [1.0, 2.0]}, InvalidArgumentError, r"camera: expected shape \(2, 3\), got \(2,\); or use one"),
        ({"camera": np.ones((2, 3))}, InvalidArgumentError, "camera: expected a position and another point to look at"),
        ({"obstacles": [[1.0]]}, InvalidArgumentError, "obstacles: expected rows"),
        ({"progress": 2}, InvalidArgumentError, "progress: expected"),
    ],
)  # fmt: skip
def test_wrong_options_name_themselves(
    without_browser: None, tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pendulum().film(tmp_path / "one.gif", **options)
    assert not list(tmp_path.iterdir())


def test_wrong_files_and_motions_name_the_cure(
    without_browser: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path: expected a file ending in \.gif or \.mp4 or \.png, got"):
        pendulum().film(tmp_path / "one.avi")
    with pytest.raises(InvalidArgumentError, match="path: expected an existing folder, got .*none'; create it first"):
        pendulum().film(tmp_path / "none" / "one.gif")
    with pytest.raises(InvalidArgumentError, match=r"time: expected 0 to 2 s, the end of the motion, got 2\.1 s"):
        pendulum().film(tmp_path / "one.png", time=2.1)
    with pytest.raises(InvalidArgumentError, match="solution: expected a robot, a state with coordinates x and y, or"):
        solved("lqr").film(tmp_path / "one.gif")
    with pytest.raises(InvalidArgumentError, match="expected finite states, got NaN or inf"):
        dataclasses.replace(trot(), xs=np.full_like(trot().xs, np.nan)).film(tmp_path / "one.gif")
    with pytest.raises(InvalidArgumentError, match="solution: expected a Solution"):
        film(None, tmp_path / "one.gif")  # type: ignore[arg-type]
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingDependencyError, match=r"a \.mp4 needs imageio_ffmpeg: pip install imageio-ffmpeg"):
        pendulum().film(tmp_path / "one.mp4")
    assert not list(tmp_path.iterdir())


def test_a_checked_camera_is_kept() -> None:
    camera = check_camera([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert isinstance(camera, Camera)
    assert camera_of(camera, np.zeros((1, 3)), 1.0) is camera
    np.testing.assert_allclose(camera.wxyz, [-0.5, 0.5, 0.5, -0.5])  # right is +y, down is -z
