"""Writes tests/data/public_names_of_2720678.txt: names of the package that README, docs and examples of 2720678 use.

    git worktree add DIR 2720678
    cd DIR && PYTHONPATH=DIR/src python PATH/TO/public_names_of_2720678.py > FILE

A line is an import ("import trajopt.plotting", "from trajopt.kinematics import ik") or a chain of attributes
("trajopt.gaits.Stance.of"), by whatever name the file has imported its beginning. They are those of Python files in
examples/, of blocks of Python in README.md and docs/**/*.md, and of words in backticks there: with the package before
them, or a name of `trajopt.__all__`. Each line was tried: those that fail with that revision are left out and go to the
error stream.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"^```+\s*(?:python|\{code-cell\}[^\n]*)\n(.*?)^```+", re.DOTALL | re.MULTILINE)
WORDS = re.compile(r"`+(?:from )?(trajopt(?:\.[A-Za-z_]\w*)+)")


def programs(file: Path) -> Iterator[str]:
    """Python in a file: all of it, or its blocks as one program, as later ones use names of earlier ones."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        yield text
        return
    blocks = [re.sub(r"(?m)^(?:---\n.*?\n---\n|:[a-z-]+:.*\n|%.*\n)", "", block) for block in BLOCK.findall(text)]
    try:
        ast.parse(together := "\n".join(blocks))
        yield together
    except SyntaxError:
        for block in blocks:
            try:
                ast.parse(block)
                yield block
            except SyntaxError as error:
                print(f"{file}: not Python: {error}: {block[:60]!r}", file=sys.stderr)


def uses(program: str) -> Iterator[str]:
    """Imports of the package in a program, and chains of attributes that begin with what was imported."""
    tree, places = ast.parse(program), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == "trajopt":
                    yield f"import {each.name}"
                    places[each.asname or "trajopt"] = each.name if each.asname else "trajopt"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "trajopt":
            for each in node.names:
                yield f"from {node.module} import {each.name}"
                places[each.asname or each.name] = f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in places:
            yield ".".join([places[inner.id], *reversed(parts)])


def get(line: str) -> None:
    """Raises what the line raises: an import as it stands, a chain after imports of its modules."""
    if " " in line:
        exec(line, {})
        return
    thing, path = importlib.import_module("trajopt"), "trajopt"
    for part in line.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError:
            if not hasattr(thing, "__path__"):
                raise
            thing = importlib.import_module(path)


def main() -> None:
    """Prints the names."""
    files = [Path("README.md"), *Path("docs").rglob("*.md"), *Path("examples").glob("*.py")]
    found = {line for file in files for program in programs(file) for line in uses(program)}
    public = importlib.import_module("trajopt").__all__
    for text in (file.read_text(encoding="utf-8") for file in files if file.suffix == ".md"):
        found |= set(WORDS.findall(text))
        found |= {f"trajopt.{name}" for name in re.findall(r"`(\w+)", text) if name in public}
    for line in sorted(found):
        try:
            get(line)
            print(line)
        except Exception as error:
            print(f"left out: {line}: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
