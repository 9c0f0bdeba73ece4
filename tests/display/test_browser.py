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
from trajopt.types import Reals

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


@pytest.mark.slow
def test_a_view_moves_by_its_controls_and_its_file_plays_offline(browser: Any, reach: Solution, tmp_path: Path) -> None:
    pytest.importorskip(
        "collada", reason="no pycollada, which reads the meshes of a UR5: pip install viser trimesh pycollada"
    )
    with plain(View(reach, labels=["reach <1>"], playing=False)) as view:
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
        assert page.title() == "reach <1>"
        (client,) = view.server.get_clients().values()
        place, knots = client.camera.position, view.actors["reach <1>"].timeline.times
        page.keyboard.press("ArrowLeft")
        wait_for(page, lambda: abs(view.player.time - knots[-2]) < 1e-6)
        page.keyboard.press("ArrowRight")
        wait_for(page, lambda: abs(view.player.time - knots[-1]) < 1e-6)
        np.testing.assert_array_equal(client.camera.position, place)  # viser's camera does not turn by arrows
        page.keyboard.press("2")
        wait_for(page, lambda: abs(client.camera.position[0] - client.camera.look_at[0]) < 1e-6)
        away = client.camera.position - client.camera.look_at
        np.testing.assert_allclose(
            away / np.linalg.norm(away), np.array([0.0, -1.0, 0.15]) / np.hypot(1.0, 0.15), atol=1e-6
        )
        page.get_by_role("button", name="Play").click()  # at the end it starts anew
        wait_for(page, lambda: 0.0 < view.player.time < view.player.duration)
        page.keyboard.press("Space")  # on the button, too
        wait_for(page, lambda: not view.player.playing)
        assert not errors
        page.close()
        file = view.save(tmp_path / "motion.html")
        assert urllib.request.urlopen(view.url).status == 200  # a page that is closed ended nothing
    assert file.stat().st_size < 10e6
    play_offline(browser, file, reach, knots)


def play_offline(browser: Any, file: Path, reach: Solution, knots: Reals) -> None:
    """Plays a file without a network, and tries what it shows around the scene."""
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
    assert page.title() == page.locator("#trajopt summary").text_content() == "reach <1>"
    assert not page.locator("#trajopt p").is_visible()  # folded, as the page is narrow
    page.locator("#trajopt summary").click()
    assert "converged" in str(page.locator("#trajopt p").text_content())
    page.locator("#trajopt label", has_text="paths").click()
    state = "() => ['paths', 'goals', 'margins'].map((l) => __viserSceneTree.getState()[`/reach <1>/${l}`].visibility)"
    wait_for(page, lambda: bool(page.evaluate(state) == [False, True, False]))
    page.evaluate(MOVE, 0.2)
    at = float(page.evaluate("document.querySelector('[role=slider]').ariaValueNow"))
    knot = int(np.searchsorted(knots, at + 1e-9)) - 1
    wait_for(page, lambda: page.locator("#trajopt .key span span").first.text_content() == f"{reach.xs[knot, 0]:.3g}")
    assert page.evaluate(state) == [False, True, False]
    press_keys(page, knots, first)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert not errors
    context.close()


def press_keys(page: Any, knots: Reals, first: np.ndarray) -> None:
    """Arrow keys go from knot to knot and pause, space plays and pauses: also after a click in the panel."""

    def now() -> float:
        return float(page.evaluate("document.querySelector('[role=slider]').ariaValueNow"))

    while now() > knots[-3]:  # two more knots follow
        page.keyboard.press("ArrowLeft")
    near = int(np.searchsorted(knots, now() + 1e-5))
    for key, knot in (("ArrowRight", near), ("ArrowRight", near + 1), ("ArrowLeft", near), ("ArrowLeft", near - 1)):
        page.keyboard.press(key)
        wait_for(page, lambda knot=knot: abs(now() - knots[knot]) < 1e-5)
    for _ in range(len(knots)):
        page.keyboard.press("ArrowRight")
    wait_for(page, lambda: abs(now() - knots[-1]) < 1e-5)  # the player does not begin anew
    wait_for(page, lambda: changed(first, pixels(page)))
    page.keyboard.press("ArrowLeft")
    wait_for(page, lambda: abs(now() - knots[-2]) < 1e-5)
    page.locator("#trajopt label", has_text="paths").click()  # the box has the focus no more
    button = page.locator("button[data-variant=subtle][data-size=md]").first  # it plays, and has the focus then
    for start in (lambda: page.keyboard.press("Space"), button.click) * 2:
        still = now()
        start()
        wait_for(page, lambda still=still: now() != still)
        page.keyboard.press("Space")
        page.wait_for_timeout(100)
        still = now()
        page.wait_for_timeout(300)
        assert now() == still


@pytest.mark.slow
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
        page.set_viewport_size({"width": 400, "height": 300})
        page.reload()
        page.get_by_text("solution", exact=True).wait_for()
        wait_for(page, lambda: not page.get_by_role("button", name="Play").is_visible())
        page.close()
