"""Keys of a view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trajopt.display.camera import DIRECTIONS
from trajopt.display.player import Player
from trajopt.display.viewpoint import Viewpoint


def add_keys(gui: Any, player: Player, viewpoint: Viewpoint) -> None:
    """Adds the keys of a view, which its list of commands (Ctrl-K) shows too."""

    def look(name: str, event: Any) -> None:
        viewpoint.look_from(name, event.client)

    def follow(_: Any) -> None:
        viewpoint.following = not viewpoint.following

    keys: list[tuple[str, str, Callable[[Any], None]]] = [
        ("Play or pause", "space", lambda _: player.toggle()),
        ("Next knot", "arrowright", lambda _: player.step(1)),
        ("Previous knot", "arrowleft", lambda _: player.step(-1)),
        *((f"Camera: {name}", str(i), partial(look, name)) for i, name in enumerate(DIRECTIONS, 1)),
        *([("Follow", "F", follow)] if viewpoint.moves else []),
    ]
    for label, key, function in keys:
        gui.add_command(label, hotkey=key).on_trigger(function)
