"""The disk cache: private, atomic, verified, bounded, shared by processes; right results need none of it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import program_of, run_kernel
from trajopt.cache import disk as cache
from trajopt.kernels import codegen, compilations, compiler, forget, functions
from trajopt.kernels.machine import Kernel

KEY = cache.key("something")
X = np.array([[0.3, -1.2]])


def function(k: float) -> ca.Function:
    x = SX.sym("x", 2)
    return ca.Function("f", [x], [ca.sin(k * x[0]) * x])


def run(k: float) -> np.ndarray:
    """Result of a function as a new process would get it: from the disk or compiled."""
    forget()
    return run_kernel(Kernel(program_of(function(k)), 8), [X])[0]


def expected(k: float) -> np.ndarray:
    return np.asarray(function(k)(X[0]).full()).T


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    cache._usable_directory.cache_clear()
    cache._warn_of_writing.cache_clear()
    yield tmp_path / "cache"
    cache._usable_directory.cache_clear()


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


def test_second_start_compiles_nothing(folder: Path) -> None:
    first, before = run(1.0), compilations()
    assert len(entries(folder)) >= 2  # the function and the program's entry
    np.testing.assert_array_equal(run(1.0), first)
    np.testing.assert_array_equal(first, expected(1.0))
    assert compilations() == before


def test_folder_and_files_are_private(folder: Path) -> None:
    before = os.umask(0)
    try:
        run(1.0)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 1]) + data[201:]


@pytest.mark.parametrize(
    "damage", [truncate, flip, lambda data: b"", lambda data: b"x" + data, lambda data: data + b"x"]
)
def test_damaged_entry_is_compiled_anew(folder: Path, damage: object, caplog: pytest.LogCaptureFixture) -> None:
    run(1.0)
    good = {path: path.read_bytes() for path in entries(folder)}
    for path, data in good.items():
        path.write_bytes(damage(data))  # type: ignore[operator]
    before = compilations()
    np.testing.assert_array_equal(run(1.0), expected(1.0))
    assert compilations() - before == len(good)
    assert caplog.text.count("is damaged; it is compiled again") == len(good)
    assert {path: path.read_bytes() for path in entries(folder)} == good


def test_entry_under_another_name_is_not_used(folder: Path) -> None:
    cache.store(KEY, b"content")
    other = cache.key("something else")
    entries(folder)[0].rename(folder / f"{other}.kernel")
    assert cache.contains(other)
    assert cache.load(other) is None
    assert cache.load(KEY) is None


def test_labels_are_verified_and_listed_without_content(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.store(KEY, b"content", "quick code: costs of go2")
    cache.store(cache.key("long"), b"", "é" * 1000)
    cache.store(cache.key("bare"), b"content")
    os.utime(folder / f"{KEY}.kernel", (1.0, 1.0))
    told = dict(cache.labels())
    assert set(told) == {"quick code: costs of go2", "é" * (cache.LABEL // 2), ""}
    assert sum(told.values()) == cache.info().size
    assert (folder / f"{KEY}.kernel").stat().st_mtime == 1.0  # it was not used
    assert cache.load(KEY) == b"content"
    assert cache.load(cache.key("long")) == b""
    path = folder / f"{KEY}.kernel"
    path.write_bytes(path.read_bytes().replace(b"go2", b"go1"))
    assert cache.load(KEY) is None
    assert "is damaged" in caplog.text


def test_files_of_another_format_are_not_met(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cache, "MAGIC", b"trajopt kernel 1\n")
        run(1.0)
    before, old = compilations(), len(entries(folder))
    np.testing.assert_array_equal(run(1.0), expected(1.0))
    assert compilations() - before == old
    assert not caplog.text
    assert len(list(cache.labels())) == 2 * old


def test_entry_that_others_could_have_written_is_not_used(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.store(KEY, b"content")
    assert cache.load(KEY) == b"content"
    for mode in (0o620, 0o602):
        entries(folder)[0].chmod(mode)
        assert cache.load(KEY) is None
    assert "is writable by other users" in caplog.text
    entries(folder)[0].chmod(0o600)
    if os.getuid() == 0:
        os.chown(entries(folder)[0], 12345, -1)
        assert cache.load(KEY) is None


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_folder_that_others_can_write_is_not_used(folder: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir()
    folder.chmod(mode)
    np.testing.assert_array_equal(run(2.0), expected(2.0))
    assert cache.info().directory is None
    assert not list(folder.iterdir())
    assert folder.stat().st_mode & 0o777 == mode  # the user's folder stays as it is
    assert caplog.text.count("is open to other users") == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)
    np.testing.assert_array_equal(run(2.0), expected(2.0))
    assert not list(folder.iterdir())


def test_an_unusable_folder_only_warns(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "/dev/null/cache")
    np.testing.assert_array_equal(run(3.0), expected(3.0))
    assert "cannot be used" in caplog.text
    assert cache.clear() == 0


def test_folder_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(mode=0o500)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    np.testing.assert_array_equal(run(3.0), expected(3.0))
    assert caplog.text.count("cannot be written") == 1


def test_full_disk_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device", source)

    monkeypatch.setattr(os, "replace", full)
    for k in (4.0, 4.1):
        np.testing.assert_array_equal(run(k), expected(k))
    assert not list(folder.iterdir())
    assert [record.message for record in caplog.records] == [
        f"cache folder {folder} cannot be written: No space left on device; compiled code is not stored"
    ]


def be_a_link(path: Path) -> None:
    good = path.with_suffix(".elsewhere")
    path.rename(good)
    path.symlink_to(good)


def be_a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_suffix(".nowhere"))


def be_a_folder(path: Path) -> None:
    path.unlink()
    (path / "of" / "folders").mkdir(parents=True)
    (path / "file").write_text("content")


def be_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [be_a_link, be_a_link_to_nothing, be_a_folder, be_a_pipe])
def test_entry_that_is_no_file_is_not_used_and_is_repaired(
    folder: Path, change: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A link is not followed, even to a file that passes every check."""
    cache.store(KEY, b"content")
    (path,) = entries(folder)
    change(path)
    elsewhere = {other: other.read_bytes() for other in folder.glob("*.elsewhere")}
    assert not cache.contains(KEY)
    assert cache.load(KEY) is None
    assert caplog.text.count(f"cache entry {path} ") == 1
    caplog.clear()
    cache.store(KEY, b"other content")
    assert cache.load(KEY) == b"other content"
    assert not path.is_symlink()
    assert {other: other.read_bytes() for other in elsewhere} == elsewhere
    assert not caplog.text


@pytest.mark.parametrize("change", [be_a_link, be_a_link_to_nothing, be_a_folder, be_a_pipe])
def test_entry_that_is_no_file_can_be_removed(
    folder: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for remove in (cache.clear, lambda: cache.store(cache.key("another"), b"content")):
        cache.store(KEY, b"content")
        change(folder / f"{KEY}.kernel")
        with monkeypatch.context() as patch:
            patch.setenv("TRAJOPT_CACHE_SIZE", "0")
            remove()
        assert not entries(folder)
        assert not caplog.text
        for path in folder.iterdir():
            path.unlink()


def test_the_check_and_the_read_use_the_same_open_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can put another file there between the check and the reading."""
    cache.store(KEY, b"content")
    (path,) = entries(folder)
    private = cache._private

    def exchanged(status: os.stat_result) -> bool:
        path.rename(path.with_suffix(".before"))
        path.write_bytes(b"of somebody else")
        return private(status)

    monkeypatch.setattr(cache, "_private", exchanged)
    assert cache.load(KEY) == b"content"


def test_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    run(4.0)  # with what a process compiles once
    before = compilations()
    np.testing.assert_array_equal(run(5.0), run(5.0))
    assert compilations() - before == 4
    assert not folder.exists()
    assert cache.info() == cache.CacheInfo(directory=None, entries=0, size=0, limit=2**30)


def test_least_recently_used_entries_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [cache.key(str(i)) for i in range(4)]
    for age, key in zip((50, 40, 30), keys):
        cache.store(key, bytes(400_000))
        os.utime(folder / f"{key}.kernel", (time.time() - age,) * 2)
    assert cache.load(keys[0]) is not None  # now it was used last
    monkeypatch.setenv("TRAJOPT_CACHE_SIZE", "1.2")
    cache.store(keys[3], bytes(400_000))
    assert [cache.contains(key) for key in keys] == [True, False, True, True]
    assert cache.info().size <= cache.info().limit == int(1.2 * 2**20)


@pytest.mark.parametrize("size", ["lots", "inf", "nan"])
def test_size_that_is_no_number(size: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_SIZE", size)
    assert cache.limit() == 2**30
    assert "TRAJOPT_CACHE_SIZE: expected a number of MiB" in caplog.text


def test_info_and_clear(folder: Path) -> None:
    assert cache.info() == cache.CacheInfo(directory=folder, entries=0, size=0, limit=2**30)
    for i in range(3):
        cache.store(cache.key(str(i)), bytes(1000))
    files = entries(folder)
    assert cache.info().entries == 3
    assert cache.info().size == sum(path.stat().st_size for path in files) > 3000
    (folder / "notes.txt").write_text("of the user")
    assert cache.clear() == 3
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert cache.info().entries == 0


def test_files_of_dead_processes_are_removed_sometime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, b"content")
    dead, alive = folder / ".dead.part", folder / ".alive.part"
    for path in (dead, alive):
        path.write_bytes(b"half")
    os.utime(dead, (time.time() - 2 * cache.STALE,) * 2)
    monkeypatch.setattr(cache, "_written", math.inf)  # as in another process
    cache.store(cache.key("another"), b"content")
    assert not dead.exists()
    assert alive.exists()


def test_entries_are_not_all_looked_at_for_each_that_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once by a process that writes, and again after each hundredth of the limit."""
    looks = []
    monkeypatch.setattr(cache, "_shrink", looks.append)
    monkeypatch.setattr(cache, "_written", math.inf)
    monkeypatch.setenv("TRAJOPT_CACHE_SIZE", "10")
    for i in range(100):
        cache.store(cache.key(str(i)), bytes(10_000))
    assert looks == [folder] * (1 + 99 // 11)  # eleven of them are more than 0.1 MiB


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (compiler, "host", lambda: ("another processor", "+sse2")),
        (codegen, "triple", lambda: "aarch64-unknown-linux-gnu"),
        (cache, "_source_digest", lambda: b"another version of trajopt"),
    ],
)
def test_key_depends_on_processor_and_versions(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, value: object
) -> None:
    def key() -> str:
        compiler.target_description.cache_clear()
        return functions.Wanted(program_of(function(1.0)).functions[0], 8, compiler.OPTIMISED).key

    first = key()
    with monkeypatch.context() as patch:
        patch.setattr(module, name, value)
        assert key() != first
    with monkeypatch.context() as patch:
        patch.setattr("llvmlite.__version__", "0.0")
        assert key() != first
    assert key() == first


def test_key_depends_on_expression_lanes_and_optimisation_level() -> None:
    expressions = [program_of(function(k)).functions[0] for k in (1.0, 2.0)]
    keys = [
        functions.Wanted(e, w, level).key
        for e in expressions
        for w in (1, 8)
        for level in (compiler.OPTIMISED, compiler.QUICK)
    ]
    assert len(set(keys)) == 8


def test_several_processes_with_a_cold_cache(folder: Path) -> None:
    """All start at once, compile the same, and write the same files; a fourth one finds everything."""
    script = """
        import numpy as np, sys
        from tests.cache.test_disk import expected, run
        from trajopt.kernels import compilations
        print("ready", file=sys.stderr, flush=True)
        sys.stdin.readline()
        for k in range(8):
            np.testing.assert_array_equal(run(k), expected(k))
        print(compilations())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    processes = [subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) for _ in range(3)]
    for process in processes:
        assert process.stderr.readline() == "ready\n"  # type: ignore[union-attr]
    for process in processes:
        process.stdin.write("go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    compiled = 0
    for process in processes:
        output, error = process.communicate(timeout=120)
        assert (process.returncode, error) == (0, "")
        compiled += int(output)
    assert compiled >= 17  # 8 functions, 8 entries and the driver, by whoever comes first
    last = subprocess.run(command, input="go\n", capture_output=True, text=True, timeout=120)
    assert (last.stdout, last.stderr) == ("0\n", "ready\n")
    assert not list(folder.glob(".*"))
