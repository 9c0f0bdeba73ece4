"""The gallery of examples: sphinx-gallery runs each as a script, in a copy, and shows what it prints and draws.

Copies stand in folders by subject; the examples themselves stay as they are, plain files that need no site.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from machinery.docstrings import escaped, to_rst
from machinery.files import JOBS, remove_gone, source_changed, update

DOCS = Path(__file__).parents[1]
SOURCES = DOCS.parent / "examples"
COPIES = DOCS / "_build" / "examples"

SUBJECTS = {
    "First steps": (1, 2, 3, 4, 19, 36, 37, 40, 41, 42),
    "Arms": (12, 20, 21, 22, 23, 24, 34, 35, 43, 45, 47),
    "Legs": (6, 7, 18, 38),
    "Flight and contact": (8, 9, 10, 11, 44),
    "Control loops": (5, 13, 14, 15, 16, 17, 33, 46),
    "Wheels and maps": (25, 26, 27, 28, 29, 30, 31, 32),
}
"""Subjects of the gallery with the numbers of their examples; those that no subject lists stand under "More"."""

CONF: dict[str, Any] = {
    "examples_dirs": str(COPIES),
    "gallery_dirs": "examples",
    "filename_pattern": r"[\\/]\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("machinery.examples.pictures",),
    "reset_modules": ("machinery.examples.begin",),
    "capture_repr": (),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "thumbnail_size": (600, 400),
    "plot_gallery": str(not os.environ.get("TRAJOPT_DOCS_QUICK")),
    "parallel": JOBS if JOBS > 1 else False,
}

_written: list[str] = []
_listening: list[bool] = []


def stage() -> None:
    """Copies the examples into folders by subject; removes what was made of those that are gone."""
    if source_changed(COPIES / "source"):
        for done in (DOCS / "examples").rglob("*.md5"):
            done.unlink()  # sphinx-gallery runs again what has none
    files = {int(file.name[:2]): file for file in sorted(SOURCES.glob("[0-9][0-9]_*.py"))}
    listed = {number for numbers in SUBJECTS.values() for number in numbers}
    subjects = {**SUBJECTS, "More": tuple(sorted(set(files) - listed))}
    kept = {COPIES / "GALLERY_HEADER.rst", COPIES / "source"}
    about = (
        "Each example is one file of at most 80 lines with one idea; ``python examples/01_arm_reach.py`` runs it\n"
        "and writes the pictures. A test runs all of them and compares the cost that each of them expects.\n"
    )
    update(COPIES / "GALLERY_HEADER.rst", f"Examples\n========\n\n{about}")
    for subject, numbers in subjects.items():
        here = [files[number] for number in numbers if number in files]
        if not here:
            continue
        folder = COPIES / f"{list(subjects).index(subject) + 1}_{subject.lower().replace(' ', '_')}"
        header = folder / "GALLERY_HEADER.rst"
        update(header, f"{subject}\n{'-' * len(subject)}\n")
        kept |= {header, *(folder / file.name for file in here)}
        for file in here:
            update(folder / file.name, file.read_text(encoding="utf-8"))
            for data in SOURCES.glob(f"{file.stem}.npz"):
                shutil.copy(data, folder)
                kept.add(folder / data.name)
    for old in set(COPIES.rglob("*.*")) - kept:
        if old.is_file():
            old.unlink()
    remove_gone(DOCS / "examples", COPIES)


def begin(gallery_conf: dict[str, Any], name: str) -> None:
    """Before an example runs: notes from now on which pictures this process writes, without windows."""
    os.environ["MPLBACKEND"] = "agg"
    _written.clear()
    if not _listening:
        _listening.append(True)
        sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    """Notes a picture that is opened to be written."""
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)) and "w" in str(arguments[1]):
        name = os.fspath(arguments[0])
        if name.endswith((".png", ".gif")) and name not in _written:
            _written.append(name)


def pictures(block: Any, variables: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Moves the pictures that an example has written into the site; still ones first, of which one is the thumbnail."""
    from sphinx_gallery.scrapers import figure_rst

    names = []
    for written in sorted((Path(name) for name in _written), key=lambda file: file.suffix == ".gif"):
        if written.exists():
            place = Path(str(next(variables["image_path_iterator"]))).with_suffix(written.suffix)
            shutil.move(written, place)
            names.append(str(place))
    _written.clear()
    return "\n".join(figure_rst([name], gallery_conf["src_dir"]) for name in names)


def on_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Makes the docstring of an example a title and plain text with formulas."""
    file = Path(app.srcdir) / f"{docname}.py"
    if not (docname.startswith("examples/") and re.match(r"\d\d_", file.stem) and file.exists()):
        return
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")), clean=False) or ""
    title, _, rest = docstring.strip().partition("\n")
    title = escaped(title.rstrip("."))
    assert docstring.strip() in source[0], f"{docname} does not show its docstring"
    source[0] = source[0].replace(docstring.strip(), f"{title}\n{'=' * len(title)}\n\n{to_rst(rest.strip(chr(10)))}")


def setup(app: Sphinx) -> None:
    """Connects the gallery; copies are made before sphinx-gallery looks for them."""
    app.connect("builder-inited", lambda app: stage(), priority=100)
    app.connect("source-read", on_source)
