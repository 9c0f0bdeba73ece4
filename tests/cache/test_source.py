"""The digest of the package's source: of what this process has loaded, or of nothing that another one knows."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from trajopt import source


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files, as if they had been there when the process started."""
    (tmp_path / "room").mkdir()
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "room" / "b.py").write_text("two")
    monkeypatch.setattr(source, "_STARTED", time.time() + 3600)
    return tmp_path


def forget() -> None:
    for kept in (source._files, source._digest, source._is_as_loaded, source._imports, source._places):
        kept.cache_clear()


def digest(folder: Path) -> bytes:
    """As a new process would compute it."""
    forget()
    return source.digest(folder)


def test_content_and_names_of_files_count(folder: Path) -> None:
    found = {digest(folder)}
    for name, text in (("a.py", "ONE"), ("room/b.py", "TWO"), ("c.py", ""), ("room/d.py", "")):
        (folder / name).write_text(text)
        found.add(digest(folder))
    (folder / "c.py").rename(folder / "e.py")
    found.add(digest(folder))
    assert len(found) == 6
    (folder / "notes.txt").write_text("no code")
    assert digest(folder) in found


def test_the_digest_of_a_package_includes_its_imports(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directly, through others, or inside functions; not on what only type checkers import."""
    monkeypatch.setattr(source, "PACKAGE", folder)
    texts = {
        "top.py": "from trajopt import (\n    middle,\n    Name,\n)\n",
        "middle/a.py": "def f():\n    from trajopt.low import f\n",
        "low.py": "",
        "apart.py": "from trajopt import top\n",
    }
    checked = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from trajopt.apart import f\n\nimport trajopt.low\n"
    )
    (folder / "middle").mkdir()
    for name, text in {**texts, "middle/b.py": checked}.items():
        (folder / name).write_text(text)

    def digests() -> list[bytes]:
        forget()
        return [source.digest_of_rooms([room]) for room in ("apart", "top", "middle", "low")]

    forget()
    assert source.rooms_below(["apart"]) == {"apart", "top", "middle", "low"}
    assert source.rooms_below(["middle"]) == {"middle", "low"}
    before = digests()
    for k, name in enumerate(("apart.py", "top.py", "middle/a.py", "low.py")):
        (folder / name).write_text(f"{texts[name]}# edited")
        after = digests()
        assert [a != b for a, b in zip(after, before)] == [i <= k for i in range(4)]
        before = after


@pytest.mark.parametrize("again", [False, True])
def test_source_that_changed_after_the_start_is_unknown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Whether it was read before or not: nobody knows what is loaded."""
    monkeypatch.setattr(source, "MOMENT", 1)
    known = digest(folder)
    monkeypatch.setattr(source, "_STARTED", time.time() - 3600)
    assert (source.digest if again else digest)(folder) == source._UNKNOWN != known


def test_an_import_looks_at_the_files_again_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is imported after an edit is what its file says now."""
    monkeypatch.setattr(source, "MOMENT", 10**18)
    known = digest(folder)
    monkeypatch.setattr(source, "_STARTED", time.time() - 3600)
    assert source.digest(folder) == known
    monkeypatch.setitem(sys.modules, "just_imported", ModuleType("just_imported"))
    assert source.digest(folder) == source._UNKNOWN


def test_a_program_without_source_is_unknown(tmp_path: Path) -> None:
    assert digest(tmp_path) == source._UNKNOWN


def test_an_unknown_digest_differs_in_every_process() -> None:
    code = "from trajopt import source; print(source._UNKNOWN.hex(), source.digest(source.PACKAGE).hex())"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(2)]
    (one, known), (other, same) = (run.stdout.split() for run in runs)
    assert len({one, other, known}) == 3
    assert known == same


def test_the_clock_starts_before_other_modules_are_loaded() -> None:
    code = (
        "import sys; from importlib import abc\n"
        "class Watch(abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('trajopt.'): print(name)\n"
        "sys.meta_path.insert(0, Watch()); import trajopt"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.split()[0] == "trajopt.source", run.stderr
