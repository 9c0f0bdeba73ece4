"""Pages in a real browser: they load, move, and play offline."""

from __future__ import annotations

import io
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajopt.display import View
from trajopt.solution import Solution

SIZE, FILE = {"width": 900, "height": 400}, {"width": 580, "height": 400}  # beside the controls there is as much
PATIENCE = 60.0  # [s]

UNCOVERED = "#webgl-software-rendering { display: none !important }"
"""Style of a page without the note that rendering is slow, which stands over the scene."""
PRESS = "() => document.querySelector('button[data-variant=subtle][data-size=md]').click()"
"""Presses the button that plays and pauses a file."""
MOVE = f"""(change) => new Promise((done) => {{
  const slider = document.querySelector('[role=slider]'), start = Number(slider.ariaValueNow);
  const look = () => Math.abs(slider.ariaValueNow - start) >= change ? ({PRESS})() || done() : setTimeout(look, 5);
  ({PRESS})();
  look();
}})"""
"""Plays a file until its time has changed by so much [s]: rendered in software it would take all of the machine."""


def pixels(page: Any) -> np.ndarray:
    """Pixels of the scene."""
    from PIL import Image

    picture = page.screenshot(clip={"x": 90, "y": 20, "width": 400, "height": 330})
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), dtype=float)


def plain(view: View) -> View:
    """The view in a light that takes a third of the time to render in software: no reflections, no shadows."""
    view.server.scene.configure_environment_map(hdri=None)
    view.server.scene.configure_default_lights(cast_shadow=False)
    view.server.scene.add_light_ambient("/light", intensity=2.0)
    return view


def wait_for(page: Any, condition: Callable[[], bool]) -> None:
    """Lets the page go on until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the page did not get there"
        page.wait_for_timeout(200)


def changed(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether more pixels differ than at the edges of things that stand still."""
    return float(np.mean(np.abs(a - b).max(axis=2) > 25.0)) > 0.003


def drawn(image: np.ndarray) -> bool:
    """Whether there is a robot: dark pixels, and blue ones of the UR5's caps."""
    blue = (image[..., 2] > image[..., 0] + 20) & (image[..., 2] > 60)
    return float(np.mean(image.max(axis=2) < 90)) > 0.01 and float(np.mean(blue)) > 0.001


def watched(page: Any) -> list[str]:
    """Errors of a page, filled as they come."""
    errors: list[str] = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    return errors


def test_a_view_moves_by_its_controls_and_its_file_plays_offline(browser: Any, reach: Solution, tmp_path: Path) -> None:
    pytest.importorskip(
        "collada", reason="no pycollada, which reads the meshes of a UR5: pip install viser trimesh pycollada"
    )
    with plain(View(reach, playing=False)) as view:
        page = browser.new_page(viewport=SIZE)
        errors = watched(page)
        page.goto(view.url)
        page.add_style_tag(content=UNCOVERED)
        wait_for(page, lambda: bool(view.server.get_clients()) and drawn(pixels(page)))
        before = pixels(page)
        slider = page.get_by_role("slider").first
        slider.focus()
        page.keyboard.press("End")
        wait_for(page, lambda: abs(view.player.time - view.player.duration) < 1e-6)
        wait_for(page, lambda: changed(before, pixels(page)))
        assert not view.player.playing
        page.get_by_role("button", name="Play").click()  # at the end it starts anew
        wait_for(page, lambda: 0.0 < view.player.time < view.player.duration)
        page.get_by_role("button", name="Pause").click()
        wait_for(page, lambda: not view.player.playing)
        assert not errors
        page.close()
        file = view.save(tmp_path / "motion.html")
        assert urllib.request.urlopen(view.url).status == 200  # a page that is closed ended nothing
    assert file.stat().st_size < 10e6
    context = browser.new_context(offline=True, viewport=FILE)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    errors = watched(page)
    page.goto(file.as_uri())
    page.add_style_tag(content=UNCOVERED)
    page.locator("[role=slider]").wait_for(state="attached")
    page.evaluate(PRESS)  # it plays at first
    wait_for(page, lambda: drawn(pixels(page)))
    first = pixels(page)

    def moved() -> bool:
        """Whether another part of the motion looks different: near its end it begins anew, and may look the same."""
        page.evaluate(MOVE, 0.4)
        return changed(first, pixels(page))

    wait_for(page, moved)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert not errors
    context.close()


def test_a_layer_that_is_hidden_appears_when_its_box_is_ticked(browser: Any, reach: Solution) -> None:
    with plain(View(reach, playing=False)) as view:
        page = browser.new_page(viewport={"width": 900, "height": 800})
        errors = watched(page)
        page.goto(view.url)
        page.add_style_tag(content=UNCOVERED)
        wait_for(page, lambda: bool(view.server.get_clients()) and drawn(pixels(page)))
        before = pixels(page)
        page.get_by_role("checkbox", name="margins").check()
        wait_for(page, lambda: view.actors["solution"].layers["margins"].visible)
        wait_for(page, lambda: changed(before, pixels(page)))
        assert not errors
        page.close()
