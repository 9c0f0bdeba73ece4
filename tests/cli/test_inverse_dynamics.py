"""The command `trajopt inverse-dynamics`: what it prints, what it writes, what it refuses."""

import numpy as np
import pytest

import trajopt
from tests.support.command_line import CliRunner
from trajopt import cli


@pytest.fixture
def recording(tmp_path):
    """A small biped that bends its knees and stretches them again."""
    robot = trajopt.load_robot("small-biped")
    count, q0 = 60, robot.configuration("half_sitting")
    q = np.tile(q0, (count, 1))
    bend = 0.2 * (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, count)))
    for side in ("left", "right"):
        for joint, sign in (("hip_pitch", -0.5), ("knee", 1.0), ("ankle_pitch", -0.5)):
            q[:, robot.model.joints[robot.joint_id(f"{side}_{joint}")].idx_q] += sign * bend
    q[:, 2] -= robot.placement(q, "left_sole")[:, 2, 3] - robot.placement(q0, "left_sole")[2, 3]
    path = tmp_path / "knees.npz"
    np.savez(path, positions=q, times=0.01 * np.arange(count))
    return path


def run(*arguments):
    return CliRunner().invoke(cli.app, ["inverse-dynamics", *map(str, arguments)])


def test_the_command_prints_the_contact_forces_of_a_motion(recording, tmp_path):
    picture, table = tmp_path / "forces.png", tmp_path / "forces.npz"
    found = run("small-biped", recording, "--friction", 0.7, "--plot", picture, "--save", table)
    assert found.exit_code == 0, found.output
    assert "explained by the contacts" in found.output
    assert "left_sole: in contact 100 %" in found.output
    assert picture.stat().st_size > 10_000
    with np.load(table) as arrays:
        weight = 9.81 * sum(inertia.mass for inertia in trajopt.load_robot("small-biped").model.inertias)
        vertical = arrays["wrenches"][:, :, 2].sum(axis=1)
        assert vertical.mean() == pytest.approx(weight, rel=0.02)
        assert list(arrays["contacts"]) == ["right_sole", "left_sole"]


def test_feet_may_be_named_and_points(recording):
    found = run("small-biped", recording, "--feet", "left_sole,right_sole", "--points", "--as-it-is")
    assert found.exit_code == 0, found.output
    assert "needs friction" in found.output


def test_wrong_calls_are_one_line(recording, tmp_path):
    for arguments, wanted in [
        (("small-biped", tmp_path / "none.npz"), "MOTION: expected an existing file"),
        (("small-biped", recording, "--dt", -1), "--dt: expected a number > 0 [s], got -1"),
        (("small-biped", recording, "--friction", -1), "--friction: expected a number > 0, got -1"),
        (("small-biped", recording, "--feet", "left_foot"), "left_foot"),
        (("small-biped", recording, "--plot", tmp_path / "a.txt"), "--plot"),
        (("small-biped", recording, "--smoothness", -1), "--smoothness"),
        (("ur5", recording), "--feet"),
        (("talos", recording), "positions"),
    ]:
        found = run(*arguments)
        assert found.exit_code == 1, found.output
        assert wanted in found.output
        assert "Traceback" not in found.output
