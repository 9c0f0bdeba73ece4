"""A page that is served before there is a motion, and its light."""

from __future__ import annotations

import base64
import re
import urllib.request
from typing import Any

import numpy as np
import pytest

from tests.display.recording import Recording
from tests.display.test_live import until
from trajopt.cli.common import Screen
from trajopt.cli.show import show_until_closed
from trajopt.display import Page, View
from trajopt.display.offline import moments
from trajopt.display.origins import is_own
from trajopt.display.player import Player
from trajopt.errors import InvalidArgumentError
from trajopt.solution import Solution

msgspec = pytest.importorskip("msgspec", reason="no viser: pip install viser trimesh pycollada")
zstandard = pytest.importorskip("zstandard", reason="no viser: pip install viser trimesh pycollada")
LIGHTS = {"EnvironmentMapMessage", "EnableLightsMessage", "HemisphereLightMessage"}


def recorded(html: str) -> list[dict[str, Any]]:
    """Messages of a file, which viser compresses behind their length."""
    found = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', html)
    assert found is not None
    data = base64.b64decode(found.group(1))
    whole = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    end = 8 + int.from_bytes(whole[:8], "little")
    return [message for _, message in msgspec.msgpack.decode(whole[8:end])["messages"]]


def test_a_page_waits_for_a_view_and_ends_with_it(reach: Solution) -> None:
    with Page(words="solving <arm> ...") as page:
        assert b"<html" in urllib.request.urlopen(page.url, timeout=10).read()
        with View(reach, page=page, playing=False) as view:
            assert (view.url, view.port, view.server) == (page.url, page.port, page.server)
            with pytest.raises(InvalidArgumentError, match="page: expected an open page without a view, got a filled"):
                View(reach, page=page)
            assert not page.closed
        assert page.closed
        with pytest.raises(InvalidArgumentError, match="got a closed one; create a new Page"):
            View(reach, page=page)
    with pytest.raises(InvalidArgumentError, match="page: expected a Page"):
        View(reach, page="http://127.0.0.1")  # type: ignore[arg-type]
    assert repr(page) == "Page(closed)"


def test_the_text_of_a_page_is_removed_when_a_view_fills_it(reach: Solution) -> None:
    with Page(words="solving <arm> ...") as page:
        said = _messages(page.server, "GuiHtmlMessage")
        assert [message.props.content.count("solving &lt;arm&gt; ...") for message in said] == [1]
        View(reach, page=page, playing=False)
        assert _messages(page.server, "GuiRemoveMessage")


def test_files_stop_at_each_knot(reach: Solution) -> None:
    """Arrow keys go to frames of the file: knots between even frames are frames too, unless there are too many."""
    knots = np.array([0.0, 0.013, 0.05, 0.1])
    times, stops = moments(knots, 0.1, 30.0)
    np.testing.assert_allclose(times, [0.0, 0.013, 0.033333, 0.05, 0.066667, 0.1], atol=1e-9)
    np.testing.assert_allclose(stops, knots, atol=1e-9)
    times, stops = moments(np.linspace(0.0, 60.0, 7001), 60.0, 25.0)
    np.testing.assert_array_equal(times, stops)
    assert len(times) == 1501
    with View(reach, playing=False) as view:
        messages = recorded(view.html(frames_per_second=30.0))
        times, _ = moments(view.player.knots, view.player.duration, 30.0)
    moved = [m for m in messages if m["type"] == "SetPositionMessage" and m["name"].endswith("/elbow_joint")]
    assert len(moved) == len(times) > len(reach.xs)


@pytest.mark.slow
def test_light_comes_first_and_files_do_without(reach: Solution) -> None:
    with View(reach, playing=False) as view:
        kinds = [type(message).__name__ for message in _messages(view.server)]
        assert kinds.index("MeshMessage") > max(kinds.index(kind) for kind in LIGHTS)
        kinds = [message["type"] for message in recorded(view.html())]
        assert "MeshMessage" in kinds
        assert not LIGHTS & set(kinds)
        view.server.scene.add_light_hemisphere("/mine")
        lamps = [message["name"] for message in recorded(view.html()) if message["type"] in LIGHTS]
        assert lamps == ["/mine"]
        view.server.scene.configure_environment_map(None)  # who lights a page lights its files
        assert {message["type"] for message in recorded(view.html())} >= LIGHTS


@pytest.mark.slow
def test_the_clock_does_not_advance_while_no_page_is_open() -> None:
    asked: list[bool] = []
    open_now = [False]

    def watched() -> bool:
        asked.append(open_now[0])
        return open_now[0]

    player = Player(Recording(), np.array([0.0, 10.0]), lambda time: None, watched)
    player.start()
    try:
        assert until(lambda: len(asked) > 40)  # more than a second
        assert player.playing
        assert player.time == 0.0
        open_now[0] = True
        assert until(lambda: player.time > 0.0)
    finally:
        player.close()


def test_a_page_is_opened_before_the_problem_is_solved(reach: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr("trajopt.display.page.open_page", lambda url: not events.append(url))
    monkeypatch.setattr(View, "wait", lambda view: events.append(f"{view.url} {list(view.actors)}"))

    def solve() -> Solution:
        events.append("solved")
        return reach

    show_until_closed(Screen(), solve, "reach")
    opened, solved, shown = events
    assert solved == "solved"
    assert shown == f"{opened} ['reach']"


def _messages(server: Any, kind: str = "") -> list[Any]:
    """Messages that a new client is sent, of one kind."""
    every = server._websock_server._broadcast_buffer.message_from_id.values()
    return [message for message in every if kind in type(message).__name__]


@pytest.mark.parametrize(
    ("origin", "host", "local", "own"),
    [
        (None, "127.0.0.1:8080", True, True),  # no browser
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True, True),
        ("http://localhost:9000", "localhost:9000", True, True),  # through a tunnel
        ("http://[::1]:8080", "[::1]:8080", True, True),
        ("http://evil.example", "127.0.0.1:8080", True, False),
        ("http://127.0.0.1:9999", "127.0.0.1:8080", True, False),
        ("null", "127.0.0.1:8080", True, False),  # a file, or a frame without rights
        ("http://evil.example:8080", "evil.example:8080", True, False),  # a name that leads to this machine
        ("http://robot.lab:8080", "robot.lab:8080", False, True),
        ("http://evil.example", "robot.lab:8080", False, False),
    ],
)
def test_own_pages(origin: str | None, host: str, local: bool, own: bool) -> None:
    assert is_own(origin, host, local=local) == own


def test_pages_of_other_sites_cannot_read_the_motion() -> None:
    websockets = pytest.importorskip("websockets.sync.client")
    serve = __import__("websockets.asyncio.server").asyncio.server.serve
    with Page() as page:
        address = page.url.replace("http", "ws")
        viser = __import__("viser").__version__
        for origin in (None, page.url):
            with websockets.connect(address, origin=origin, subprotocols=[f"viser-v{viser}"]) as line:
                assert line.recv(timeout=10)
        for origin in ("http://evil.example", "null", "http://localhost:1"):
            with pytest.raises(Exception, match="rejected WebSocket connection: HTTP 403"):
                websockets.connect(address, origin=origin, subprotocols=[f"viser-v{viser}"])
    assert __import__("websockets.asyncio.server").asyncio.server.serve is serve
