"""Scripts of pages beside viser's client: the name of a tab, keys, and what a file shows around the scene."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_MARK = "/* trajopt */ "


def name_tab(server: Any, title: str) -> None:
    """Gives open and later pages of a server their title and keys, and folds their panel if they are narrow."""
    from viser._messages import RunJavascriptMessage

    source = _MARK + _script("page.js").replace("TITLE", json.dumps(title), 1)
    server.gui._websock_interface.queue_message(RunJavascriptMessage(source=source))
    server.gui.set_panel_label(title)


def without_scripts(recording: Any) -> None:
    """Removes the scripts of `name_tab` from a recording, whose file has its own."""
    recording._messages = [(time, each) for time, each in recording._messages if not _is_ours(each)]


def file_script(data: Mapping[str, Any]) -> str:
    """Returns the HTML of the script that shows `data` around the scene of a file."""
    words = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return f"<script>{_script('offline.js').replace('DATA', words, 1)}</script>"


def _script(name: str) -> str:
    return files("trajopt.display").joinpath(name).read_text(encoding="utf-8")


def _is_ours(message: Mapping[str, Any]) -> bool:
    return message["type"] == "RunJavascriptMessage" and str(message["source"]).startswith(_MARK)
