"""Files with joints that follow others: one coordinate, the mass of both fingers, and what is left out."""

from __future__ import annotations

import copy
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt import ik
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError

MASS = '<mass value="{0}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = '<link name="{0}"><inertial>' + MASS.replace("0}", "1}") + "</inertial></link>"
JOINT = (
    '<joint name="{0}" type="prismatic"><parent link="palm"/><child link="{0}_finger"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="20" velocity="1"/>{1}</joint>'
)
MIMIC = '<mimic joint="left" multiplier="-2" offset="0.01"/>'
LINKS = LINK.format("palm", 1) + LINK.format("left_finger", 0.3) + LINK.format("right_finger", 0.5)
URDF = f'<robot name="gripper">{LINKS}{JOINT.format("left", "")}{JOINT.format("right", MIMIC)}</robot>'
BODY = (
    '<body name="{0}_finger"><joint name="{0}" type="slide" axis="0 1 0" range="-1 1"/>'
    '<inertial pos="0 0 0" mass="{1}" diaginertia="1 1 1"/></body>'
)
MJCF = (
    f'<mujoco model="gripper"><worldbody><body name="palm">{BODY.format("left", 0.3)}{BODY.format("right", 0.5)}</body>'
    "</worldbody><equality>{0}</equality></mujoco>"
)
EQUALITY = '<joint joint1="right" joint2="left" polycoef="0.01 -2 0 0 0"/>'


def gripper(folder: Path, text: str, suffix: str, **options: bool) -> trajopt.Robot:
    path = folder / f"gripper{suffix}"
    path.write_text(text)
    return trajopt.load_robot(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "suffix"), [(URDF, ".urdf"), (MJCF.replace("{0}", EQUALITY), ".xml")])
def test_fingers_stay_coupled(tmp_path: Path, text: str, suffix: str) -> None:
    """The right finger is at 0.01 - 2 q and moves twice as fast: one coordinate with the inertia m_l + 4 m_r."""
    robot = gripper(tmp_path, text, suffix, mimic=True)
    assert (robot.nq, robot.nv) == (1, 1)
    assert gripper(tmp_path, text, suffix).nv == 2
    y = [robot.placement([0.2], f"{side}_finger")[1, 3] for side in ("left", "right")]
    np.testing.assert_allclose(y, [0.2, -0.39], atol=1e-15)
    for again in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert (again.nq, again.name, list(again.configurations)) == (1, "gripper", list(robot.configurations))
        np.testing.assert_array_equal(again.placement([0.2], "right_finger"), robot.placement([0.2], "right_finger"))
        assert trajopt.StateMultibody(again) == trajopt.StateMultibody(robot)
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    data = d.create_data()
    d.calc(data, np.array([0.1, 0.3]), np.array([2.3]))
    np.testing.assert_allclose(data.xnext, [0.3, 2.3 / (0.3 + 4 * 0.5)], rtol=1e-12)


COUPLED = [(URDF, ".urdf"), (MJCF.replace("{0}", EQUALITY), ".xml")]


@pytest.mark.parametrize(("text", "suffix"), COUPLED)
def test_a_joint_keeps_those_that_follow_it_within_their_limits(tmp_path: Path, text: str, suffix: str) -> None:
    """-1 <= 0.01 - 2 q <= 1 gives -0.495 <= q <= 0.505, and |2 q'| <= 1 a speed of 0.5 (MJCF files have none)."""
    robot = gripper(tmp_path, text, suffix, mimic=True)
    state = trajopt.StateMultibody(robot)
    np.testing.assert_allclose([state.lower[0], state.upper[0]], [-0.495, 0.505], atol=1e-15)
    if suffix == ".urdf":
        assert state.upper[1] == 0.5
    task = trajopt.ConstraintStack(state)
    task.add("y", trajopt.ResidualModelFrameTranslation(state, "left_finger", [0.0, 0.9, 0.0]), equals=0.0)
    found = ik.solve(robot, task)
    assert found.status is ik.IKStatus.UNREACHABLE
    assert found.active_limits == ("q:left",)
    assert robot.placement(found.q, "right_finger")[1, 3] == pytest.approx(-1.0)


def test_limits_of_a_follower_that_leave_no_range_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """0 <= q <= 1 with 0 <= -q <= 1, as some files have that mean the absolute value of q."""
    text = URDF.replace('lower="-1"', 'lower="0"').replace('offset="0.01"', 'offset="0"')
    with caplog.at_level(logging.WARNING):
        robot = gripper(tmp_path, text, ".urdf", mimic=True)
    assert "mimic: the limits of right are left out" in caplog.text
    assert (robot.model.lowerPositionLimit[0], robot.model.upperPositionLimit[0]) == (0.0, 1.0)


def test_a_pickle_needs_no_file_and_holds_all_of_the_robot(tmp_path: Path) -> None:
    """In another process, where the file is not; one whose joint is locked or whose mass differs is refused."""
    robot = gripper(tmp_path, URDF, ".urdf", mimic=True, floating_base=True)
    assert robot.nq == 8
    data = tmp_path / "robot.pickle"
    data.write_bytes(pickle.dumps(robot))
    changed = robot.with_values({"left_finger.mass": 3.0})
    locked = robot.lock_joints("root_joint")
    for other in (changed, locked):
        with pytest.raises(UnsupportedOperationError, match="gripper: robots with mimic joints can't be pickled.*load"):
            pickle.dumps(other)
    (tmp_path / "gripper.urdf").unlink()
    with pytest.raises(UnsupportedOperationError, match="can't be pickled"):
        pickle.dumps(robot)
    code = f"import pickle; r = pickle.load(open({str(data)!r}, 'rb')); r.com([0] * 6 + [1, 0.2]); print(r.nq, r.mass)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("8 1.8")


@pytest.mark.parametrize(
    ("equality", "reason"),
    [
        ('<joint joint1="right" joint2="left" polycoef="0 1 0.5 0 0"/>', "it is not linear"),
        ('<joint joint1="right" polycoef="0.1"/>', "it names one joint only"),
    ],
)
def test_other_equalities_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, equality: str, reason: str
) -> None:
    with caplog.at_level(logging.WARNING):
        robot = gripper(tmp_path, MJCF.replace("{0}", equality), ".xml", mimic=True)
    assert robot.nv == 2
    assert "mimic: the equality of right" in caplog.text
    assert reason in caplog.text
    off = MJCF.replace("{0}", EQUALITY.replace("/>", ' active="false"/>'))
    assert gripper(tmp_path, off, ".xml", mimic=True).nv == 2


def test_robots_by_name_have_no_mimic_joints() -> None:
    with pytest.raises(InvalidArgumentError, match="mimic: expected False for 'panda', got True; pass the path"):
        trajopt.load_robot("panda", mimic=True)
