"""The package is found whole beside a clone, in its root and elsewhere; `.ci/run` installs it for real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = (
    "import trajopt, trajopt.solvers as s, trajopt.problems as p;"
    "print(trajopt.load_robot('planar-2r').nq, trajopt.__file__, s.__file__, p.__file__)"
)


@pytest.fixture
def beside_a_clone(tmp_path: Path) -> Path:
    """A folder with this checkout as its folder `trajopt`."""
    (tmp_path / "trajopt").symlink_to(ROOT, target_is_directory=True)
    return tmp_path


def found_from(folder: Path, *options: str) -> list[str]:
    """Coordinates of a robot, and the files of the package's rooms, as Python finds them from a folder."""
    done = subprocess.run(
        [sys.executable, *options, "-c", CODE], capture_output=True, text=True, cwd=folder, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_beside_a_clone_named_trajopt(beside_a_clone: Path) -> None:
    """Python would take the clone's folder for a namespace package, were the package found later than by its path."""
    nq, *files = found_from(beside_a_clone)
    assert nq == "2"
    assert not [file for file in files if file.startswith(str(beside_a_clone))]


def test_in_the_root_all_rooms_come_from_one_place() -> None:
    nq, package, *rooms = found_from(ROOT)
    assert nq == "2"
    folder = Path(package).parent
    assert folder == ROOT / "trajopt"
    assert [Path(file).parent for file in rooms] == [folder / "solvers", folder / "problems"]


def test_elsewhere(tmp_path: Path) -> None:
    assert found_from(tmp_path)[0] == "2"


def test_only_the_package_gets_on_the_path(tmp_path: Path) -> None:
    """Not the clone's tests, examples, solvers and problems, which may be names of the user's own."""
    code = (
        "import importlib.util as u; names = ('tests', 'examples', 'solvers', 'problems', 'docs');"
        "print([n for n in names if (s := u.find_spec(n)) and %r in str(s.origin or s.submodule_search_locations)])"
    )
    done = subprocess.run([sys.executable, "-c", code % str(ROOT)], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]", done.stderr
