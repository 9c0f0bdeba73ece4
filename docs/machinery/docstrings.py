"""Docstrings as reStructuredText: plain text with Unicode formulas, `names` in backticks, formulas and code indented.

Bars, stars and underscores of formulas are no markup; an indented block is shown as it is written.
"""

from __future__ import annotations

import re

SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note|Notes|References|Warning):\s*$")
FENCE = re.compile(r"\s*```python$")
FENCED = re.compile(r"(?ms)^([ \t]*```python\n.*?^[ \t]*```)$")
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")


def to_rst(text: str) -> str:
    """A docstring as reStructuredText, sections in Google's style left for napoleon."""
    blocks, in_section = [], False
    for block in split_blocks(text):
        lines = block.split("\n")
        if FENCE.match(lines[0]):
            margin = " " * (len(lines[0]) - len(lines[0].lstrip()))
            code = "\n".join(f"{margin}    {line.removeprefix(margin)}".rstrip() for line in lines[1:-1])
            blocks.append(f"{margin}.. code-block:: python\n\n{code}")
            continue
        indented = all(line.startswith("    ") for line in lines if line.strip())
        if SECTION.match(lines[0]):
            in_section = True
        elif not indented:
            in_section = False
        table = all(line.startswith("|") for line in lines)
        formula = not lines[0].startswith((" ", "- ")) and any(line.startswith("     ") for line in lines[1:])
        if (not in_section and (indented or formula)) or table:
            blocks.append("::\n\n" + "\n".join("    " + line for line in lines))
        else:
            blocks.append("\n".join(with_lists_apart(escaped(block).split("\n"))))
    return "\n\n".join(blocks) + "\n"


def split_blocks(text: str) -> list[str]:
    """Paragraphs of a docstring; code between fences is one of them."""
    blocks: list[str] = []
    for i, part in enumerate(FENCED.split(text.rstrip("\n"))):
        blocks += [part.rstrip("\n")] if i % 2 else [b for b in re.split(r"\n[ \t]*\n", part.strip("\n")) if b.strip()]
    return blocks


def escaped(text: str) -> str:
    """Text without accidental markup; what is in backticks stays as it is."""
    parts = CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            part = re.sub(r"(?m)(?<!^)(?<!^    )([*|\\])|(?<=^)([|\\])", r"\\\1\2", part)
            parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part)
        else:
            before = "\\ " if re.search(r"[^\s'\"(\[{</:-]$", parts[i - 1]) else ""
            after = "\\ " if re.match(r"[^\s'\")\]}>/:.,;!?-]", parts[i + 1]) else ""
            parts[i] = before + part.replace("\\", "\\\\") + after
    return "".join(parts)


def with_lists_apart(lines: list[str]) -> list[str]:
    """Lines with an empty one between a sentence that ends in a colon and the list that follows it."""
    apart: list[str] = []
    for line in lines:
        if line.startswith("- ") and apart and apart[-1].endswith(":"):
            apart.append("")
        apart.append(line)
    return apart
