"""HTML representations of objects in notebooks: tables, text and pictures."""

from __future__ import annotations

import base64
import io
import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.states.base import StateAbstract

_MOST = 40  # largest number of rows of a table with columns


def table(title: str, rows: Mapping[str, str]) -> str:
    """HTML table with a title and one row per name; the text of a row may have several lines."""
    cells = (
        f'<tr><td style="text-align:left;vertical-align:top"><b>{escape(name)}</b></td>'
        f'<td style="text-align:left">{escape(text).replace(chr(10), "<br>")}</td></tr>'
        for name, text in rows.items()
    )
    return f"<div><b>{escape(title)}</b></div><table>{''.join(cells)}</table>"


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """HTML table with a head and several columns; of more than 40 rows it shows the first."""

    def line(cells: Sequence[str], tag: str) -> str:
        inside = (f'<{tag} style="text-align:left">{escape(each)}</{tag}>' for each in cells)
        return f"<tr>{''.join(inside)}</tr>"

    body = "".join(line(row, "td") for row in rows[:_MOST])
    more = f"<div>and {len(rows) - _MOST} more</div>" if len(rows) > _MOST else ""
    return f"<table>{line(heads, 'th')}{body}</table>{more}"


def page(url: str, height: int, otherwise: str) -> str:
    """HTML of a served page in a frame; while nothing answers at its address, as in a saved notebook, `otherwise`.

    Args:
        url: Address of the page.
        height: Height of the frame [pixel].
        otherwise: HTML to show instead.
    """
    name = f"trajopt-{uuid.uuid4().hex}"
    frame = f'<iframe src="{url}" width="100%" height="{height}" style="border:1px solid #ddd"></iframe>'
    script = (
        f"fetch({json.dumps(url)}, {{mode: 'no-cors'}}).then(() => "
        f"{{ document.getElementById('{name}').innerHTML = {json.dumps(frame)}; }}).catch(() => {{}});"
    )
    return f'<div id="{name}">{otherwise}</div><script>{script}</script>'


def text(lines: str) -> str:
    """HTML of a text in a fixed-width font."""
    return f'<pre style="line-height:1.2">{escape(lines)}</pre>'


def picture(figure: Figure, dpi: float = 80.0) -> str:
    """HTML of a figure as an embedded PNG image; `dpi` is its resolution [pixels/inch].

    The figure is closed, as a notebook would show an open one again at the end of the cell.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return f'<img src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"/>'


def state(state: StateAbstract) -> str:
    """HTML tables of a state manifold: its coordinates, units and limits."""
    words = {"x": f"nx = {state.nx}: {', '.join(state.coordinate_names)}", "dx": f"ndx = {state.ndx}"}
    rows = [
        (name, unit, f"{low:.4g}", f"{high:.4g}")
        for name, unit, low, high in zip(state.tangent_names, state.tangent_units, state.lower, state.upper)
    ]
    heads = ("coordinate of dx", "unit", "lower", "upper")
    return table(type(state).__name__, words) + columns(heads, rows)
