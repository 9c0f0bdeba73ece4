"""The command `trajopt identify`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.identification.test_identify import arm, with_noise
from tests.support.command_line import CliRunner
from trajopt import cli
from trajopt.files import write_rows
from trajopt.identification import Log


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A table of the planar arm's log, in another order of columns."""
    _, xs, us = arm()
    log = with_noise(xs, us, 0)
    head = ["u:joint_1 [N m]", "u:joint_2", "time [s]", "q:joint_1", "q:joint_2", "v:joint_1", "v:joint_2", "note"]
    controls = [*log.controls.tolist(), ["", ""]]
    rows = [[*u, t, *x, "a"] for u, t, x in zip(controls, log.times.tolist(), log.states.tolist())]
    write_rows(tmp_path / "log.csv", [head, *rows])
    return tmp_path / "log.csv"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli.app, ["identify", *map(str, arguments)])


SMALL = ("--noise", "q=1e-3", "--noise", "v=1e-2", "--noise", "u=0.05")


def test_it_prints_estimates_and_draws_them(recording: Path, tmp_path: Path) -> None:
    picture = tmp_path / "identified.png"
    unknown = "link_2.mass,link_2.com,link_2.inertia,joint_1.damping,joint_1.friction"
    more = ("--unknown", unknown, "--unknown", "joint_2.damping", "--unknown", "joint_2.friction")
    found = run("planar-2r", recording, *more, *SMALL, "--width", 0.1, "--plot", picture)
    assert found.exit_code == 0, found.output
    assert "joint_2.damping = 0.20" in found.output
    assert "as noise explains" in " ".join(found.output.split())
    assert picture.stat().st_size > 10_000


def test_logs_from_files(recording: Path, tmp_path: Path) -> None:
    robot, xs, us = arm()
    log, table = with_noise(xs, us, 0), Log.read(robot, recording)
    path = tmp_path / "log.npz"
    np.savez(path, times=log.times, states=log.states, controls=log.controls)
    for each in (table, Log.read(robot, path)):
        np.testing.assert_allclose(each.states, log.states, rtol=1e-12)
        np.testing.assert_allclose(each.controls, log.controls, rtol=1e-12)
        np.testing.assert_allclose(each.times, log.times, rtol=1e-12)


def test_wrong_calls_are_one_line(recording: Path, tmp_path: Path) -> None:
    one = ("--unknown", "link_2.mass")
    (tmp_path / "log.txt").write_text("a")
    np.savez(tmp_path / "bare.npz", times=np.zeros(3))
    for arguments, wanted in [
        (("planar-2r", tmp_path / "none.csv", *one, *SMALL), "LOG: expected an existing file"),
        (("planar-2r", tmp_path / "log.txt", *one, *SMALL), "path: expected a .csv or .npz file"),
        (("planar-2r", tmp_path / "bare.npz", *one, *SMALL), "expected an array 'states', got times"),
        (("planar-3r", recording, *one, *SMALL), "expected a column 'q:joint_3'"),
        (("planar-2r", recording, "--unknown", "link_9.mass", *SMALL), "frame 'link_9' not found"),
        (("planar-2r", recording, *one, "--noise", "q=1e-3"), "noise: expected standard deviations of q, v, u"),
        (("planar-2r", recording, *one, *SMALL, "--width", -1), "--width: expected a number > 0"),
        (("planar-2r", recording, *one, *SMALL, "--plot", tmp_path / "a.txt"), "--plot"),
    ]:
        found = run(*arguments)
        assert found.exit_code == 1, found.output
        assert wanted in " ".join(found.output.split())
