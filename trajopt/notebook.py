"""HTML representations of objects in notebooks: tables, text and pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(title: str, rows: Mapping[str, str]) -> str:
    """HTML table with a title and one row per name; the text of a row may have several lines."""
    cells = (
        f'<tr><td style="text-align:left;vertical-align:top"><b>{escape(name)}</b></td>'
        f'<td style="text-align:left">{escape(text).replace(chr(10), "<br>")}</td></tr>'
        for name, text in rows.items()
    )
    return f"<div><b>{escape(title)}</b></div><table>{''.join(cells)}</table>"


def text(lines: str) -> str:
    """HTML of a text in a fixed-width font."""
    return f'<pre style="line-height:1.2">{escape(lines)}</pre>'


def picture(figure: Figure, dpi: float = 80.0) -> str:
    """HTML of a figure as an embedded PNG image; `dpi` is its resolution [pixels/inch]."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi)
    return f'<img src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"/>'
