"""`trajopt show`, and `trajopt solve --show`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.command_line import CliRunner
from trajopt.cli import app
from trajopt.display import View
from trajopt.solution import Solution

run = CliRunner()


def test_show_writes_a_page(reach: Solution, tmp_path: Path) -> None:
    file, page = reach.save(tmp_path / "reach.npz"), tmp_path / "reach.html"
    done = run.invoke(app, ["show", str(file), "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "page        " in done.output
    text = page.read_text()
    assert "__VISER_EMBED_DATA__" in text
    assert "<title>reach</title>" in text
    assert "status      converged" in done.output


def across(view: View) -> float:
    """Distance of the first camera from the middle of the motion along x [m]."""
    camera = view.server.initial_camera
    return round(float(camera.position[0] - camera.look_at[0]), 9)


def test_show_serves_until_it_is_ended(reach: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []
    monkeypatch.setattr(View, "wait", lambda view: served.append(f"{view.url} {list(view.actors)} {across(view)}"))
    file = reach.save(tmp_path / "reach.npz")
    done = run.invoke(app, ["show", str(file), "--no-browser", "--camera", "side"])
    assert done.exit_code == 0, done.output
    assert "(Ctrl-C ends it)" in done.output
    (words,) = served
    assert words.startswith("http://127.0.0.1:")
    assert words.endswith("['reach'] 0.0")  # seen from the side


def test_solve_shows_its_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("trajopt.cli.solve.show_until_closed", lambda console, solution, label: shown.append(label))
    done = run.invoke(app, ["solve", "arm-reach", "--quiet", "--show"])
    assert done.exit_code == 0, done.output
    assert shown == ["arm-reach"]


def test_doors(reach: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(reach.save(tmp_path / "reach.npz"))
    for arguments, words in [
        (["show", file, "--robot", "ur5"], "expected none for a file"),
        (["show", file, "--html", "motion.gif"], "--html: expected a file ending in .html"),
        (["show", "arm-mpc-nowhere"], "not found"),
        (["show", file, "--camera", "behind"], "--camera 'behind' not found"),
    ]:
        done = run.invoke(app, arguments)
        assert done.exit_code == 1
        assert words in done.output
    monkeypatch.setitem(sys.modules, "viser", None)
    done = run.invoke(app, ["show", file])
    assert done.exit_code == 1
    assert "pip install viser trimesh pycollada" in done.output
