"""Files of robots with masses, axes or joints that no dynamics can have: what is refused, where, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

from trajopt import cli, ik, problems
from trajopt.actuation import ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.residuals import ResidualModelFrameTranslation
from trajopt.robots import Robot, load_robot
from trajopt.robots.example import example_robot_files
from trajopt.simulator import Simulator
from trajopt.states import StateMultibody

SOLID = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
POINT = SOLID.replace("0.1", "0")


def joint(name: str, parent: str, child: str) -> str:
    return f"""<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
        <origin xyz="0 0 0.5"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="4"/></joint>"""


def arm(folder: Path, tip: str = SOLID, *, upper: str = SOLID, base: str = "") -> Path:
    """File of an arm with two joints whose links have these inertias."""
    path = folder / "arm.urdf"
    path.write_text(
        f'<robot name="arm"><link name="base">{base}</link><link name="upper">{upper}</link><link name="tip">{tip}'
        f"</link>{joint('shoulder', 'base', 'upper')}{joint('wrist', 'upper', 'tip')}</robot>"
    )
    return path


@pytest.mark.parametrize("tip", ["", POINT], ids=["no inertia", "mass on the axis"])
@pytest.mark.parametrize(
    "build",
    [
        lambda robot: problems.load("arm-reach", robot=robot, frame="tip").solve(),
        lambda robot: Simulator(robot).rollout(np.zeros(4), None, 1, 1e-3),
    ],
    ids=["arm-reach", "simulator"],
)
def test_a_joint_that_moves_no_inertia_is_named(tmp_path: Path, tip: str, build: Callable[[Robot], object]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"joint 'wrist': expected inertia behind each.*lock_joints"):
        build(load_robot(arm(tmp_path, tip)))


def test_kinematics_need_no_inertia(tmp_path: Path) -> None:
    robot = load_robot(arm(tmp_path, ""))
    state = StateMultibody(robot)
    target = robot.placement([0.4, 0.7], "tip")[:3, 3]
    residual = ResidualModelFrameTranslation(state, "tip", target)
    found = ik.solve(robot, ConstraintStack(state).add("tip", residual, equals=0.0))
    assert found.solved
    np.testing.assert_allclose(robot.placement(found.q, "tip")[:3, 3], target, atol=1e-5)


BAD_MASS = SOLID.replace('"1"', '"-1"')
BAD_MOMENT = SOLID.replace('ixx="0.1"', 'ixx="-0.1"')
BAD_PRODUCT = SOLID.replace('ixy="0"', 'ixy="0.2"')
FLAT = SOLID.replace('ixx="0.1"', 'ixx="0.4"')
"""A moment above the sum of the two others, as rounded or hand-written files have it."""


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (BAD_MASS, "expected a mass >= 0, got -1 kg"),
        (BAD_MOMENT, "expected an inertia whose principal moments are >= 0, got -0.1"),
        (BAD_PRODUCT, "expected an inertia whose principal moments are >= 0, got -0.1"),
    ],
)
@pytest.mark.parametrize("link", ["base", "upper", "tip"])
def test_impossible_inertias_of_a_urdf(tmp_path: Path, link: str, inertia: str, message: str) -> None:
    path = arm(tmp_path, **{link: inertia})
    with pytest.raises(InvalidArgumentError, match=f"^link '{link}': {message}.*correct its <inertial> in .*arm.urdf"):
        load_robot(path)


@pytest.mark.parametrize(
    "inertial",
    ['mass="-1" diaginertia="1 1 1"', 'mass="1" diaginertia="1 1 -1"', 'mass="1" fullinertia="1 1 1 2 0 0"'],
)
def test_impossible_inertias_of_an_mjcf(tmp_path: Path, inertial: str) -> None:
    path = tmp_path / "pole.xml"
    path.write_text(
        '<mujoco><worldbody><body name="pole"><joint name="hinge" type="hinge" axis="0 1 0"/>'
        f'<inertial pos="0 0 0.5" {inertial}/></body></worldbody></mujoco>'
    )
    with pytest.raises(InvalidArgumentError, match=r"^link 'pole': expected .* >= 0, got -1"):
        load_robot(path)


@pytest.mark.parametrize("name", ["tiago", "icub"])
def test_small_defects_of_files_in_use_are_let_pass(name: str) -> None:
    """Products of inertia of an antenna of 1 mg, and of 2e-35 kg m²."""
    file, folder = example_robot_files(name)
    assert load_robot(file, package_dirs=[folder]).nv > 30


def test_unusual_files_load(tmp_path: Path) -> None:
    path = arm(tmp_path, FLAT)
    path.write_text(path.read_text().replace("<link", '<xacro:property name="left_over"/><link', 1))
    assert load_robot(path).nv == 2


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_an_axis_of_zeros_is_named(tmp_path: Path, kind: str) -> None:
    path = arm(tmp_path)
    path.write_text(path.read_text().replace("0 1 0", "0 0 0", 1).replace("revolute", kind))
    with pytest.raises(InvalidArgumentError, match=r"^joint 'shoulder': expected an axis other than 0, got '0 0 0'"):
        load_robot(path)
    path.write_text(path.read_text().replace(kind, "fixed", 1))
    assert load_robot(path).joint_names == ("wrist",)


def test_a_robot_whose_root_link_has_no_mass_is_fixed_by_default(tmp_path: Path) -> None:
    """The command `trajopt simulate`, which lets other URDFs float."""
    run = ["simulate", str(arm(tmp_path)), "--duration", "0.01"]
    fixed = CliRunner().invoke(cli.app, run)
    assert fixed.exit_code == 0, fixed.output
    assert "arm, 2 degrees" in fixed.output
    refused = CliRunner().invoke(cli.app, [*run, "--base", "free_flyer"])
    assert refused.exit_code == 1
    assert "link 'base': expected a mass > 0, since 'root_joint' lets it move" in " ".join(refused.output.split())
    assert "base='fixed'" in refused.output
    arm(tmp_path, base=SOLID)
    assert "arm, 8 degrees" in CliRunner().invoke(cli.app, run).output


def test_a_robot_of_fixed_joints_has_no_state(tmp_path: Path) -> None:
    path = arm(tmp_path)
    path.write_text(path.read_text().replace("revolute", "fixed"))
    with pytest.raises(
        InvalidArgumentError, match=r"robot: .*got 'arm', whose joints are all fixed; make a joint revolute"
    ):
        StateMultibody(load_robot(path))


def test_a_joint_that_mimics_another_one_is_independent(tmp_path: Path) -> None:
    """As docs/howto/own-robot.md says."""
    path = arm(tmp_path)
    path.write_text(path.read_text().replace("</joint></robot>", '<mimic joint="shoulder"/></joint></robot>'))
    robot = load_robot(path)
    assert robot.joint_names == ("shoulder", "wrist")
    assert ActuationModelFull(StateMultibody(robot)).nu == 2
    assert StateMultibody(Robot(pin.buildModelFromUrdf(str(path), True))).nv == 1
