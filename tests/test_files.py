"""Files that are written beside their place: whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajopt.files import replacing


@pytest.mark.parametrize("name", ["page.html", "é" * 120 + ".html", ".html"])
def test_a_file_comes_when_it_is_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_is_cut_off_leaves_the_file_as_it_was(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")

    def cut_off() -> None:
        with replacing(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(error):
        cut_off()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "runs.html", tmp_path / "latest.html"
    path.write_bytes(b"old")
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
