"""Access to the browser of this machine."""

from __future__ import annotations

import os
import sys
import webbrowser


def open_page(url: str) -> bool:
    """Opens a page in the browser; returns whether there is a screen and a graphical browser."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a text browser could not show it
    return webbrowser.open(url)


def in_notebook() -> bool:
    """Whether this runs in a notebook, where a view is shown in its cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
