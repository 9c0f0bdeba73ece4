"""The command `trajopt ik --path`: positions over time in, joint angles over time out."""

import json

import numpy as np
import pytest

from tests.support.command_line import CliRunner
from trajopt import cli, load_robot
from trajopt.inverse_dynamics import read_positions

TIMES = np.array([0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5])


def run(*arguments):
    return CliRunner().invoke(cli.app, ["ik", "--robot", "planar-2r", "--frame", "tool", *map(str, arguments)])


@pytest.fixture
def path(tmp_path):
    """A file of places that the tip passes when both joints turn slowly."""
    robot, file = load_robot("planar-2r"), tmp_path / "path.csv"
    places = [robot.placement(np.array([0.5 + 0.4 * t, -1.0 + 0.3 * t]), "tool")[:3, 3] for t in TIMES]
    rows = [",".join(map(repr, map(float, (t + 2.0, *place)))) for t, place in zip(TIMES, places)]
    file.write_text("\n".join(["time [s],x [m],y [m],z [m]", *rows]))
    return file


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_a_path_is_followed_and_written(path, tmp_path, suffix):
    saved, plot, robot = tmp_path / f"motion.{suffix}", tmp_path / "motion.png", load_robot("planar-2r")
    result = run("--path", path, "--dt", 0.01, "--save", saved, *(("--plot", plot) if suffix == "csv" else ()))
    assert result.exit_code == 0, result.output
    assert "every constraint holds at all times" in result.output
    assert "50 steps, 0.5 s" in result.output
    qs, times = read_positions(robot, saved)
    assert times == pytest.approx(0.01 * np.arange(51))
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    for t, q in zip(times, qs):
        asked = [np.interp(t, TIMES, column) for column in table[:, 1:].T]
        assert np.allclose(robot.placement(q, "tool")[:3, 3], asked, atol=2e-4)
    assert suffix == "npz" or plot.stat().st_size > 10_000


def test_a_fixed_joint_stays_or_the_path_is_out_of_reach(path, tmp_path):
    saved, robot = tmp_path / "motion.csv", load_robot("planar-2r")
    result = run("--path", path, "--dt", 0.05, "--fixed", "joint_2=-1", "--save", saved)
    assert result.exit_code == 2
    assert np.allclose(read_positions(robot, saved)[0][:, 1], -1.0)
    place = robot.placement(np.array([0.7, -1.0]), "tool")[:3, 3]
    result = run("--position", *place, "--fixed", "joint_2=-1", "--json")
    assert json.loads(result.stdout)["q"] == pytest.approx([0.7, -1.0], abs=1e-5)
    assert "fixed: joint 'elbow' not found" in run("--position", *place, "--fixed", "elbow=1").output


def test_a_path_beyond_reach_is_reported_with_exit_code_2(path):
    path.write_text("time,x,y,z\n0,0.4,0.4,0\n1,40,0.4,0\n2,40,0.5,0\n")
    result = run("--path", path, "--dt", 0.1)
    assert result.exit_code == 2
    assert "departure" in result.output


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            "time,x,y\n0,1,2\n1,1,2\n",
            (),
            "--path: expected columns time, x, y, z and at least two rows; path.csv lacks z",
        ),
        ("time,x,y,z\n0,1,2,0\n", (), "path.csv has 1 rows"),
        ("time,x,y,z\n0,1,2,0\n0,1,2,0\n", (), "--path: expected finite numbers and ascending times"),
        ("time,x,y,z\n0,1,2,0\n1,1,a,0\n", (), "--path: expected numbers in every row"),
        ("time,x,y,z\n0,1,2,0\n1,1,2,0\n", ("--dt", -1), "--dt: expected a number > 0"),
        ("time,x,y,z\n0,1,2,0\n1,1,2,0\n", ("--dt", 1e-9), "--dt: expected 1 to 1e6 steps in 1 s"),
        ("time,x,y,z\n0,1,2,0\n1,1,2,0\n", ("--save", "a.txt"), "--save: expected a file ending in .csv or .npz"),
        ("", ("--position", 1, 0, 0), "--position: expected either --position or --path"),
    ],
)
def test_wrong_arguments_give_a_one_line_error(path, text, arguments, message):
    path.write_text(text)
    result = run("--path", path, *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_options_of_a_path_need_one():
    assert "--position: expected either --position or --path" in run().output
    assert "--save: expected with --path only" in run("--position", 1, 0, 0, "--save", "a.csv").output
