"""Files that the site's parts write, and whether the package has changed since."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
from pathlib import Path

JOBS = int(os.environ.get("JOBS", "2"))
"""Processes that solve, run and execute at a time."""


def update(file: Path, text: str) -> None:
    """Writes a file, unless it has this text already: pages that stay the same are not built again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def remove_gone(gallery: Path, copies: Path) -> None:
    """Removes what a gallery holds of examples, and of their subjects, that are no longer among its copies.

    What it holds of the others stays: with it their results, so that they need not run again.

    Args:
        gallery: Folder that sphinx-gallery writes: a folder for each subject, with pages, scripts and pictures.
        copies: Folder with the examples by subject.
    """
    for folder in (copies, gallery):
        for subject in [each for each in folder.glob("*") if each.is_dir() and each.name != "images"]:
            stems = tuple(file.stem for file in (copies / subject.name).glob("*.py"))
            if not stems:
                shutil.rmtree(subject)
            for file in [file for file in subject.rglob("*") if file.is_file()]:
                name = file.name.removeprefix("sphx_glr_")
                if re.match(r"\d\d_", name) and not name.startswith(stems):
                    file.unlink()


@functools.cache
def fingerprint() -> str:
    """Hash of the package's source."""
    import trajopt

    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(trajopt.__file__).parent, followlinks=True):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py"):
                digest.update((Path(folder) / file).read_bytes())
    return digest.hexdigest()


def source_changed(stamp: Path) -> bool:
    """Whether the package differs from that which a stamp tells; the stamp then tells this one."""
    changed = not stamp.exists() or stamp.read_text(encoding="utf-8") != fingerprint()
    update(stamp, fingerprint())
    return changed
