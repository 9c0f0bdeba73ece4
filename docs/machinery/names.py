"""Names in docstrings and signatures: links where they are public names of trajopt, code elsewhere.

A name of trajopt that does not exist is a warning, and with that an error of the build.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from machinery.docstrings import to_rst

NAME = re.compile(r"[A-Za-z_][\w.]*(\(\))?$")


def on_docstring(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Rewrites the docstring of an object, before napoleon does."""
    lines[:] = to_rst("\n".join(lines)).split("\n")


def anything(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The role of `text`: a reference that may lead nowhere."""
    words = nodes.unescape(text)
    code = nodes.literal(words, words, classes=["py"])
    if not NAME.match(words):
        return [code], []
    env = inliner.document.settings.env
    target = words.removesuffix("()")
    reference = addnodes.pending_xref(
        "", code, refdomain="py", reftype="obj", reftarget=target, refexplicit=False, refwarn=False, may_miss=True
    )
    reference["refdoc"] = env.current_document.docname
    reference["py:module"], reference["py:class"] = env.ref_context.get("py:module"), env.ref_context.get("py:class")
    return [reference], []


def on_missing(app: Sphinx, env: BuildEnvironment, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """Finds a public name by its last part; leaves names of other packages and of internals as text."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    objects = env.domaindata["py"]["objects"]
    short = target.rsplit(".", 1)[-1] if target.startswith("trajopt.") or node.get("reftype") == "class" else target
    near = {
        (entry.docname, entry.node_id)
        for name, entry in objects.items()
        if name.rsplit(".", 1)[-1] == short and entry.objtype in ("class", "exception", "function", "data")
    }
    if len(near) == 1 and "." not in short:
        docname, anchor = near.pop()
        return make_refnode(app.builder, node["refdoc"], docname, anchor, [contnode], target)
    ours = target.startswith("trajopt")
    return contnode if node.get("may_miss") or not ours or exists(target) else None


def exists(target: str) -> bool:
    """Whether a full name is one of trajopt, public or not."""
    parts = target.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def setup(app: Sphinx) -> None:
    """Connects docstrings and references."""
    app.add_role("anything", anything)
    app.connect("autodoc-process-docstring", on_docstring, priority=100)
    app.connect("missing-reference", on_missing)
