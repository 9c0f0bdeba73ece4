"""Files: written ones are whole or not there, and damaged ones raise errors of the package only."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.mpc import slider
from tests.support.full_disk import full_disk
from trajopt import mpc, problems
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.files import (
    DamagedFileError,
    check_output_path,
    read_arrays,
    read_rows,
    replacing,
    write_columns,
    write_rows,
)
from trajopt.inverse_dynamics import read_positions
from trajopt.mpc import ClosedLoop
from trajopt.plotting import animate, plot_summary
from trajopt.robots import load_robot
from trajopt.solution import Solution
from trajopt.sweeps.tables import write_parquet


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


# A full disk


@pytest.fixture(scope="module")
def solution() -> Solution:
    return problems.load("double-pendulum").solve()


WRITERS: dict[str, Callable[[Solution, Path], object]] = {
    "solution.csv": lambda solution, path: solution.to_csv(path),
    "solution.npz": lambda solution, path: solution.save(path),
    "picture.png": lambda solution, path: plot_summary(solution, path),
    "picture.svg": lambda solution, path: plot_summary(solution, path),
    "motion.gif": lambda solution, path: animate(solution, path, speed=20.0),
    "table.csv": lambda solution, path: write_columns(path, {"a": np.arange(1000)}),
    "table.parquet": lambda solution, path: write_parquet(path, {"a": np.arange(1000)}),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_file_as_it_was(name: str, solution: Solution, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(b"old")
    with (
        full_disk(100),
        pytest.raises(InvalidArgumentError, match=f"path: .*{name}' cannot be written: File too large"),
    ):
        WRITERS[name](solution, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    WRITERS[name](solution, path)
    assert path.stat().st_size > 100


# Tables


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_rows(path, [["time [s]", "größe"], [0.1, 2]])
    assert read_rows(path, "path") == [["time [s]", "größe"], ["0.1", "2"]]
    path.write_bytes("\ufefftime,q\r\n\r\n0,1\r\n".encode())  # as a spreadsheet writes it
    assert read_rows(path, "path") == [["time", "q"], ["0", "1"]]


def test_tables_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("time,größe\n0,1\n".encode("latin-1"))
    with pytest.raises(
        InvalidArgumentError, match=r"path: expected text in UTF-8, got byte 0xf6 in '.*table.csv'; save"
    ):
        read_rows(path, "path")
    with pytest.raises(InvalidArgumentError, match="expected text in UTF-8"):
        read_positions(load_robot("cart-pole"), path, 0.1)
    path.write_bytes(b"time,q\n" + b"1" * 200_000)
    with pytest.raises(InvalidArgumentError, match="path: .* cannot be read as a table: field larger than"):
        read_rows(path, "path")
    with pytest.raises(InvalidArgumentError, match="path: .* cannot be read as a table: .*directory"):
        read_rows(tmp_path, "path")


# Arrays


def array_file(header: str, data: bytes = b"") -> bytes:
    """A .npz file with one array, whose header is a text."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("xs.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)
    return content.getvalue()


GOOD = array_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8))
DAMAGED = {
    "empty": b"",
    "a text": b"xs = 1",
    "another kind of array file": b"\x93NUMPY\x01\x00",
    "no end of a bracket": array_file("{'descr': ((("),
    "a huge array": array_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}"),
    "objects": array_file("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"),
    "unknown compression": GOOD.replace(b"\x14\0\0\0\0\0", b"\x14\0\0\0\x63\0"),
    "encrypted": GOOD.replace(b"\x14\0\0\0\0\0", b"\x14\0\1\0\0\0"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_arrays_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    path.write_bytes(GOOD)
    assert read_arrays(path)["xs"].tolist() == [0.0]
    path.write_bytes(DAMAGED[name])
    with pytest.raises(DamagedFileError):
        read_arrays(path)
    for read in (Solution.load, ClosedLoop.load, lambda path: read_positions(load_robot("cart-pole"), path)):
        with pytest.raises(InvalidArgumentError):
            read(path)


def test_random_damages(solution: Solution, tmp_path: Path) -> None:
    """A reader gives what it should, or an error of the package."""
    path, rng, refused = tmp_path / "file.npz", np.random.default_rng(0), 0
    log = mpc.simulate(slider.controller(dt=0.05), None, [0.0, 0.2], 0.2)
    for write, read in ((solution.save, Solution.load), (log.save, ClosedLoop.load)):
        write(path)
        content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        for _ in range(300):
            damaged = content.copy()
            at = rng.integers(len(content), size=rng.integers(1, 4))
            damaged[at] ^= 1 << rng.integers(8, size=len(at)).astype(np.uint8)
            path.write_bytes(damaged[: len(content) if rng.random() < 0.8 else rng.integers(len(content))].tobytes())
            try:
                read(path)
            except TrajoptError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/proc/solution.npz", "--save: expected a writable file or folder, got '/proc/solution.npz': "),
        ("a" * 252 + ".npz", "--save: expected a shorter file name, got "),
        ("é" * 126 + ".npz", "--save: expected a shorter file name, got "),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_at_once(path: str, words: str, tmp_path: Path) -> None:
    """Also by root, for whom `os.access` answers True of every folder."""
    if path.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("the system has no /proc")
    with pytest.raises(InvalidArgumentError, match="^" + re.escape(words)):
        check_output_path(tmp_path / path, "--save", (".npz",))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_can_be_written_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "old.npz").write_bytes(b"old")
    for name in ("old.npz", "new.npz"):
        assert check_output_path(tmp_path / name, "path", (".npz",)) == tmp_path / name
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("old.npz", b"old")]
