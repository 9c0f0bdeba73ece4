"""Pictures of a scene by a browser without a window."""

from __future__ import annotations

import queue
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.display.camera import Camera
from trajopt.display.page import Page
from trajopt.errors import TrajoptError
from trajopt.objects.closing import Closing

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox")
"""Options of a browser that renders without a graphics card, so the same everywhere, also for root."""
PATIENCE = 120.0  # longest wait for the browser, or for a picture [s]
_LOOK = 0.5  # time from one look after the browser to the next [s]
_LOOKS = 20  # largest number of pictures until a scene has come [-]


class BrowserError(TrajoptError, RuntimeError):
    """The browser has ended, or draws no pictures."""


def find_browser() -> str | None:
    """Returns the path of Chromium or a browser that is built on it; None without one."""
    found = (shutil.which(name) for name in BROWSERS)
    return next((path for path in found if path), str(_MAC) if _MAC.exists() else None)


class Studio(Closing):
    """A scene on a page of its own, and a browser without a window that takes pictures of it.

    All messages go to this one browser, in order. So a picture shows all that was moved before it, exactly.

    Args:
        browser: Path of the browser.

    Attributes:
        browser: Path of the browser.
        scene: viser's scene of the browser's page.

    Raises:
        MissingDependencyError: The extra `display` is not installed.
        BrowserError: The browser does not open the page.
    """

    def __init__(self, browser: str) -> None:
        self.browser = browser
        self._page = Page()
        self._page.server.scene.configure_default_lights(cast_shadow=True)
        self._folder = tempfile.TemporaryDirectory(prefix="trajopt-browser-", ignore_cleanup_errors=True)
        clients: queue.Queue[Any] = queue.Queue()
        self._page.server.on_client_connect(clients.put)
        options = ["--headless=new", *SOFTWARE, "--no-first-run", "--mute-audio", "--window-size=320,240"]
        # viser lowers the resolution of a slow page, and of its pictures, unless it is fixed
        address = f"{self._page.url}/?fixedDpr=1"
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [browser, *options, f"--user-data-dir={self._folder.name}", address], stdout=null, stderr=null
        )
        try:
            self._client = self._first(clients)
        except BaseException:
            self.close()
            raise
        self.scene: Any = self._client.scene

    def _first(self, clients: queue.Queue[Any]) -> Any:
        """Waits for the browser to open the page."""
        for _ in range(round(PATIENCE / _LOOK)):
            try:
                return clients.get(timeout=_LOOK)
            except queue.Empty:
                if self._process.poll() is not None:
                    break
        status = self._process.poll()
        why = f"within {PATIENCE:.0f} s" if status is None else f"and ended with status {status}"
        raise BrowserError(f"browser: it did not open the page {why}")

    def aim(self, camera: Camera, size: tuple[int, int]) -> None:
        """Sets the camera, and waits until all parts of the scene have come: until two pictures in a row are the same.

        Args:
            camera: Place and direction of the camera.
            size: Width and height of the pictures [pixel].

        Raises:
            BrowserError: The browser has ended, or draws nothing.
        """
        self._check_running()
        self._camera, self._size = camera, size
        page = self._client.camera  # the ground fades away from this one, which is not that of the pictures
        page.up_direction, page.position, page.look_at = (0.0, 0.0, 1.0), camera.position, camera.target
        last = self.picture()
        for _ in range(_LOOKS):
            last, before = self.picture(), last
            if np.array_equal(last, before) and np.any(last != last[0, 0]):
                return
        raise BrowserError(f"browser: the scene did not come to rest within {_LOOKS} pictures")

    def picture(self) -> npt.NDArray[np.uint8]:
        """Returns the picture of the scene as it is now, (height, width, 3), on white ground.

        Raises:
            BrowserError: The browser has ended, or draws nothing.
        """
        self._check_running()
        look = {"wxyz": self._camera.wxyz, "position": self._camera.position, "fov": self._camera.fov}
        width, height = self._size
        try:
            image = self._client.get_render(height, width, **look, transport_format="png", timeout=PATIENCE)
        except (RuntimeError, TimeoutError) as error:
            raise BrowserError(f"browser: it took no picture: {error}") from error
        alpha = image[:, :, 3:].astype(np.uint16)
        return ((image[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)

    def _check_running(self) -> None:
        if self._process.poll() is not None:
            raise BrowserError(f"browser: it took no picture: it ended with status {self._process.returncode}")

    def close(self) -> None:
        """Ends the browser and the page."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._page.close()
        self._folder.cleanup()
