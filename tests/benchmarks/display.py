"""Time from `trajopt show` to the first picture in a browser, pictures a second, and size of the file."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import bar, number, table
from tests.display.conftest import CHROMIUM, SOFTWARE

MOTIONS = (("quadruped-trot", "go2"), ("arm-reach", "ur5"))
SIZE = {"width": 1280, "height": 720}
SECONDS, PATIENCE = 4.0, 120.0  # for which pictures are counted, and within which there has to be a first one [s]
PAUSE = 20.0  # from one look for pictures to the next [ms]
FIRST, LARGEST = 5.0, 10.0  # [s], [MB]
TITLE = """Views in Chromium without a window, which renders in software, 1280 x 720. From the start of the command,
with a warm cache, to the address of the page and to the first picture with the robot in it; pictures a second while it
plays, which a graphics card draws at the rate of the screen; the file that plays without a server."""


def measure() -> dict[str, Any]:
    """Times [s], rates [1/s] and sizes [MB] of each motion; empty without a browser."""
    if CHROMIUM is None or shutil.which(CHROMIUM) is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(SOFTWARE))
        found = {f"{name} {robot}": _motion(chromium, name, robot, Path(folder)) for name, robot in MOTIONS}
        chromium.close()
    return found


def _motion(chromium: Any, name: str, robot: str, folder: Path) -> dict[str, float]:
    file = folder / f"{name}.html"
    command = [sys.executable, "-m", "trajopt", "show", name, "--robot", robot]
    subprocess.run([*command, "--html", str(file)], cwd=ROOT, check=True, capture_output=True)  # warms the cache
    page = chromium.new_page(viewport=SIZE)
    started, begun = time.perf_counter(), time.time()
    with _served([*command, "--no-browser"]) as address:
        served = time.perf_counter() - started
        drawn = _pictures(page)
        page.goto(address)
        while not drawn:
            assert time.perf_counter() - started < PATIENCE, "no picture"
            page.wait_for_timeout(PAUSE)
        picture = drawn[0] - begun
        rate = float(page.evaluate(_RATE, 1e3 * SECONDS))
        page.close()
    return {"served": served, "picture": picture, "rate": rate, "size": file.stat().st_size / 1e6}


_RATE = """(ms) => new Promise((done) => {
  let count = 0;
  const begin = performance.now();
  const next = () => {
    count += 1;
    const passed = performance.now() - begin;
    passed > ms ? done(1000 * count / passed) : requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""


@contextmanager
def _served(command: list[str]) -> Iterator[str]:
    """The address that a command prints; Ctrl-C ends it."""
    surroundings = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            yield next(found.group() for line in lines if (found := re.search(r"http://[\d.:]+", line)))
        finally:
            process.send_signal(signal.SIGINT)


def _pictures(page: Any) -> list[float]:
    """Time at which the browser shows the first picture with pixels darker than the ground beside the controls [s].

    It comes as soon as there is one. A screenshot would make the browser draw once more, which takes a second without a
    graphics card.
    """
    from PIL import Image

    session, drawn = page.context.new_cdp_session(page), list[float]()

    def look(event: dict[str, Any]) -> None:
        picture = Image.open(io.BytesIO(base64.b64decode(event["data"]))).convert("RGB")
        pixels = np.asarray(picture.crop((300, 160, 900, 700)))
        if float(np.mean(pixels.max(axis=2) < 120)) > 0.005:
            drawn.append(event["metadata"]["timestamp"])
            session.send("Page.stopScreencast")
        else:
            session.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

    session.on("Page.screencastFrame", look)
    session.send("Page.startScreencast", {"format": "jpeg", "quality": 60})
    return drawn


def report(figures: dict[str, Any]) -> str:
    """The table."""
    if not figures:
        return "Views: no browser on this machine (apt install chromium)\n"
    rows = [
        [
            name,
            number(each["served"]),
            number(each["picture"]),
            bar(each["picture"], FIRST, at_least=False),
            number(each["rate"]),
            number(each["size"]),
            bar(each["size"], LARGEST, at_least=False),
        ]
        for name, each in figures.items()
    ]
    header = ["motion", "address [s]", "picture [s]", "required", "pictures [1/s]", "file [MB]", "required"]
    return table(TITLE, header, rows)


if __name__ == "__main__":
    print(report(measure()))
