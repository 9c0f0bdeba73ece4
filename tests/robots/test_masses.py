"""Files of robots with masses, axes or joints that no dynamics can have: what is refused, where, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from tests.support.command_line import CliRunner
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
        (BAD_MASS, "expected a mass >= 0, got -1 kg; correct <mass>"),
        (BAD_MOMENT, "expected an inertia whose principal moments are >= 0, got -0.1 kg m²; correct <inertia>"),
        (BAD_PRODUCT, "expected an inertia whose principal moments are >= 0, got -0.1 kg m²; correct <inertia>"),
    ],
)
@pytest.mark.parametrize("link", ["base", "upper", "tip"])
def test_impossible_inertias_of_a_urdf(tmp_path: Path, link: str, inertia: str, message: str) -> None:
    path = arm(tmp_path, **{link: inertia})
    with pytest.raises(InvalidArgumentError, match=f"^link '{link}': {message} in line 1 of .*arm.urdf"):
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


def urdf(folder: Path, line: str) -> Path:
    """File of a pendulum; a line replaces the one with the same element, which is the fifth or a later one."""
    lines = [
        '<robot name="pole">',
        '<link name="base"/>',
        '<joint name="hinge" type="revolute">',
        '<parent link="base"/><child link="pole"/>',
        '<origin xyz="0 0 1" rpy="0 0 0"/>',
        '<axis xyz="0 1 0"/>',
        '<limit lower="-1" upper="1" effort="10" velocity="2"/>',
        "</joint>",
        '<link name="pole"><inertial>',
        '<mass value="2"/>',
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>',
        "</inertial>",
        "<collision><geometry>",
        '<sphere radius="0.1"/>',
        "</geometry></collision></link>",
        "</robot>",
    ]
    tag = line.split()[0].removesuffix("/>") if line else "<mass"
    assert any(tag in each for each in lines)
    path = folder / "pole.urdf"
    path.write_text("\n".join(line if each.startswith(tag) else each for each in lines))
    return path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('<mass value="2,5"/>', "link 'pole': expected numbers as value, got '2,5'; correct <mass> in line 10 of"),
        ('<mass value="2.0kg"/>', "link 'pole': expected numbers as value, got '2.0kg'; correct <mass> in line 10 of"),
        ('<mass value="${m}"/>', r"got '\${m}' \(is this a xacro file that was not expanded\?\); correct <mass>"),
        ('<mass value="nan"/>', "link 'pole': expected finite numbers as value, got 'nan'; correct <mass> in line 10"),
        ('<mass value="inf"/>', "link 'pole': expected finite numbers as value, got 'inf'"),
        ('<mass value="1e400"/>', "link 'pole': expected finite numbers as value, got '1e400'"),
        ('<mass value="1_0"/>', "link 'pole': expected numbers as value, got '1_0'"),
        ('<mass value="1 2"/>', "link 'pole': expected a number as value, got '1 2'"),
        ('<mass value=""/>', "link 'pole': expected a number as value, got ''"),
        ("<mass/>", "link 'pole': expected a <mass value>, got none, .* correct <mass> in line 10"),
        ("", "link 'pole': expected a <mass value>, got none, .* correct <inertial> in line 9"),
        ('<inertia ixx="nan" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>', "link 'pole': .* ixx, got 'nan'; .* line 11"),
        ('<inertia ixx="1" iyy="1" izz="1"/>', "<inertia> with ixx, .*, got ixx, iyy, izz, so that .* line 11"),
        (
            '<limit lower="1" upper="-1" effort="1" velocity="2"/>',
            "joint 'hinge': .* upper limit, got 1 > -1; .* line 7",
        ),
        ('<limit lower="-inf" upper="inf" effort="1" velocity="2"/>', "a joint without limits is of type 'continuous'"),
        ('<limit lower="-1" upper="1" effort="a" velocity="2"/>', "joint 'hinge': expected numbers as effort, got 'a'"),
        ('<axis xyz="0,1,0"/>', "joint 'hinge': expected numbers as xyz, got '0,1,0'; correct <axis> in line 6"),
        ('<axis xyz="0 1"/>', "joint 'hinge': expected 3 numbers as xyz, got '0 1'; correct <axis> in line 6"),
        ('<origin xyz="0 0 nan"/>', "joint 'hinge': expected finite numbers as xyz, got '0 0 nan'"),
        ('<sphere radius="10cm"/>', "link 'pole': expected numbers as radius, got '10cm'; correct <sphere> in line 14"),
    ],
)
def test_wrong_numbers_of_a_urdf_are_named_with_their_line(tmp_path: Path, line: str, message: str) -> None:
    assert load_robot(urdf(tmp_path, '<mass value="2"/>')).model.inertias[1].mass == 2.0
    with pytest.raises(InvalidArgumentError, match=message):
        load_robot(urdf(tmp_path, line))


def mjcf(folder: Path, geom: str, *, joint: str = "", default: str = "") -> Path:
    """File of a pendulum whose mass follows from a geom."""
    path = folder / "pole.xml"
    path.write_text(
        f'<mujoco>\n<default>{default}</default>\n<worldbody>\n<body name="pole">\n'
        f'<joint type="hinge" axis="0 1 0" {joint}/>\n<geom {geom}/>\n</body>\n</worldbody>\n</mujoco>'
    )
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"geom": 'type="capsule" size="0 0.1"'},
            "link 'pole': expected 2 sizes > 0 of a capsule, got '0 0.1'; .* line 6",
        ),
        ({"geom": 'type="capsule" size="0" fromto="0 0 0 0 0 1"'}, "expected a size > 0 of a capsule, got '0'"),
        ({"geom": 'type="capsule" size="0.1" fromto="0 0 0 0 1"'}, "expected 6 numbers as fromto, got '0 0 0 0 1'"),
        ({"geom": 'type="capsule" size="0.1" fromto="0 0 1 0 0 1"'}, "expected two ends at different points as fromto"),
        ({"geom": 'type="box" size="0.1 0.1"'}, "expected 3 sizes > 0 of a box, got '0.1 0.1'"),
        ({"geom": 'name="ball"'}, "geom 'ball': expected a size > 0 of a sphere, got none"),
        ({"geom": 'size="0.1" mass="2,5"'}, "link 'pole': expected numbers as mass, got '2,5'"),
        ({"geom": 'size="0.1" pos="0 nan 0"'}, "link 'pole': expected finite numbers as pos, got '0 nan 0'"),
        ({"geom": 'size="0.1"', "joint": 'range="1 -1"'}, "joint 'pole': .* lower limit <= upper limit, got 1 > -1"),
        ({"geom": "", "default": '<geom size="0"/>'}, "link 'pole': expected a size > 0 of a sphere, got '0'"),
    ],
)
def test_wrong_numbers_of_an_mjcf_are_named_with_their_line(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        load_robot(mjcf(tmp_path, **options))


def test_sizes_of_geoms_come_from_their_classes(tmp_path: Path) -> None:
    classes = '<geom size="0.1"/><default class="rod"><geom type="capsule" size="0.1 0.2"/></default>'
    for geom in ("", 'class="rod"', 'type="plane" size="0 0 0.1" mass="1"', 'class="rod" fromto="0 0 0 0 0 1"'):
        assert load_robot(mjcf(tmp_path, geom, default=classes)).nv == 1


def test_a_moment_above_the_sum_of_the_others_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        load_robot(arm(tmp_path, FLAT))
    (record,) = caplog.records
    assert "link 'tip': no body has the principal moments [0.1 0.1 0.4] kg m²" in record.message


@pytest.mark.parametrize("length", [0.3, 300.0])
def test_lengths_in_millimetres_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, length: float) -> None:
    """A joint or a centre of mass 300 m away; the root may be anywhere."""
    path, text = arm(tmp_path), arm(tmp_path).read_text()
    first, wrist = text.index('<parent link="base"'), text.index('<parent link="upper"')
    origin = f'<origin xyz="0 0 {length}"/>'
    inertial = SOLID.replace("<inertial>", f"<inertial>{origin}")
    with caplog.at_level("WARNING"):
        path.write_text(f"{text[:first]}<origin xyz='500 0 0'/>{text[first:]}")
        load_robot(path)
        assert not caplog.records
        path.write_text(text[:wrist] + origin + text[wrist:])
        load_robot(path)
        load_robot(arm(tmp_path, inertial))
        bodies = f'<body name="tip" pos="0 0 {length}"><joint name="tip"/><geom size="0.1"/></body>'
        load_robot(mjcf(tmp_path, f'size="0.1"/>{bodies}<site'))
    words = "its origin is 300 m away (line "
    found = [record.message.split(": ")[0] for record in caplog.records if words in record.message]
    assert found == (["joint 'wrist'", "link 'tip'", "link 'tip'"] if length > 1.0 else [])


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
