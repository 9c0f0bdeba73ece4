"""Tests of what an MJCF file means, beside MuJoCo's reader."""

from __future__ import annotations

import logging
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from trajopt import load_robot
from trajopt.errors import InvalidArgumentError

GEOM = '<geom type="box" size="0.1 0.2 0.3"/>'
TREE = f"""<body name="a"><joint name="a1" {{}}/><joint name="a2" axis="0 1 0" {{}}/>{GEOM}
<body name="b" pos="0 0 1"><joint type="slide" name="b1" {{}}/>{GEOM}</body>
<body name="c" pos="0 1 0"><joint name="c1" {{}}/>{GEOM}</body></body>"""

BRANCHES = f"""<body name="a">{GEOM}<body name="b">{GEOM}<joint name="b1" range="-10 10"/></body>
<joint name="a1" range="-50 50"/></body>"""

RANGES = {
    "none by zeros": (
        '<default><joint range="-5 5"/></default>',
        ('range="0 0"', "", 'range="-0.1 0.2"', 'range="0 0"'),
    ),
    "slides beside hinges": ("", ('range="-90 60"', "", 'range="-0.1 0.2"', 'range="0 45"')),
    "radians": ('<compiler angle="radian"/>', ('range="-1 1"', "", 'range="-0.1 0.2"', 'range="0 0.5"')),
    "a reference": ("", ("", "", 'ref="0.1" range="-0.1 0.2"', 'ref="30" range="-10 60"')),
    "switched off": ("", ("", 'range="-10 20" limited="false"', 'range="-1 2" limited="false"', "")),
    "switched on": (
        '<compiler autolimits="false"/>',
        ("", 'range="-10 20" limited="true"', 'range="-1 2" limited="true"', ""),
    ),
    "of a class": (
        '<default><joint range="-5 5"/><default class="x"><joint range="-0.3 7"/></default></default>',
        ("", 'class="x"', 'class="x"', ""),
    ),
}


def write(tmp_path: Path, bodies: str, *, before: str = "", after: str = "") -> Path:
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{before}<worldbody>{bodies}</worldbody>{after}</mujoco>")
    return path


@pytest.mark.parametrize("name", RANGES)
def test_position_limits_are_those_of_mujoco(tmp_path: Path, name: str) -> None:
    before, joints = RANGES[name]
    path = write(tmp_path, TREE.format(*joints), before=before)
    model, theirs = load_robot(path).model, mujoco.MjModel.from_xml_path(str(path))
    limits = np.where(theirs.jnt_limited[:, None] == 1, theirs.jnt_range, [-np.inf, np.inf])
    np.testing.assert_allclose(np.stack([model.lowerPositionLimit, model.upperPositionLimit], axis=1), limits)


def test_joints_of_a_body_come_before_those_of_bodies_inside_it(tmp_path: Path) -> None:
    motor = '<actuator><motor joint="a1" ctrlrange="-3 3"/><motor joint="b1" ctrlrange="0 0"/></actuator>'
    path = write(tmp_path, BRANCHES, after=motor)
    model, theirs = load_robot(path).model, mujoco.MjModel.from_xml_path(str(path))
    np.testing.assert_allclose(model.upperPositionLimit, theirs.jnt_range[:, 1])
    np.testing.assert_array_equal(model.effortLimit, [3.0, np.inf])


def test_limits_keep_their_joints_below_a_floating_base(tmp_path: Path) -> None:
    bodies = f'<body name="root">{GEOM}{TREE.format("", "", "", "")}</body>'.replace(
        'name="b1"', 'name="b1" range="-0.1 0.2"'
    )
    robot = load_robot(write(tmp_path, bodies), floating_base=True)
    np.testing.assert_allclose(robot.model.lowerPositionLimit[7:], [-np.inf, -np.inf, -0.1, -np.inf])


def test_a_motor_limits_the_second_joint_of_a_body(tmp_path: Path) -> None:
    motor = '<actuator><motor joint="a2" ctrlrange="-2 2" gear="3"/></actuator>'
    robot = load_robot(write(tmp_path, TREE.format("", "", "", ""), after=motor))
    np.testing.assert_array_equal(robot.model.effortLimit, [np.inf, 6.0, np.inf, np.inf])


LOST = {
    "a second tree": f'<body name="t">{GEOM}</body><body name="a"><joint name="lost"/>{GEOM}</body>',
    "two free bodies": f'<body name="a"><freejoint/>{GEOM}</body><body name="b"><freejoint name="lost"/>{GEOM}</body>',
    "a body without a name": f"""<body name="a"><joint/>{GEOM}<body name="b"><joint/>{GEOM}<body><joint name="lost"/>
{GEOM}</body></body><body><joint/>{GEOM}</body></body>""",
}


@pytest.mark.parametrize("name", LOST)
def test_joints_that_pinocchio_leaves_out_are_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, LOST[name])
    assert pin.buildModelFromMJCF(str(path)).nv < mujoco.MjModel.from_xml_path(str(path)).nv
    with pytest.raises(InvalidArgumentError, match=r"'lost': expected a body with a name .* leaves out"):
        load_robot(path)


BODY = f'<body name="a" euler="30 40 50"><joint/>{GEOM}</body>'
MISREAD = {
    "a frame": ("", f'<body name="a"><joint/>{GEOM}<frame pos="0 0 1">{GEOM}</frame></body>', "got <frame>"),
    "copies": ("", f'<replicate count="2" offset="1 0 0">{BODY}</replicate>', "got <replicate>"),
    "another file": ('<include file="motors.xml"/>', BODY, r"got <include>.*line 1"),
    "order of angles": ('<compiler eulerseq="ZYX"/>', BODY, r"eulerseq='xyz' or quaternions .*got 'ZYX'"),
    "total mass": ('<compiler settotalmass="7"/>', BODY, "got settotalmass"),
    "axis": (
        "",
        BODY.replace("euler", "axisangle").replace("50", "50 9"),
        "an axis of norm 1 as axisangle, got 70.7107",
    ),
    "groups": (
        '<compiler inertiagrouprange="0 2"/>',
        BODY.replace("<geom", '<geom group="3"'),
        "mass='0'.*got a group outside of inertiagrouprange",
    ),
    "mass of a class": ('<default><geom mass="2"/></default>', BODY, "mass as its own attribute, or an <inertial>"),
    "a mesh": (
        '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>',
        '<body name="a"><joint/><geom type="mesh" mesh="m"/></body>',
        "an <inertial> in its body, got a mesh",
    ),
    "gravity of a file": ('<include file="moon.xml"/>', BODY, "got <include>"),
    "two defaults": ("<default/><default><joint armature='3'/></default>", BODY, "expected one <default>"),
    "two bodies without names": (
        "",
        f'<body name="a"><joint/>{GEOM}{f"<body>{GEOM}</body>" * 2}</body>',
        "expected a name of this body",
    ),
    "a reference": ("", f'<body name="a"><joint ref="30"/><joint axis="1 0 0"/>{GEOM}</body>', "expected ref='0'"),
    "a type": ("", f'{BODY}<body name="b"><joint type="screw"/></body>', "expected a type of free, ball"),
    "one group": ('<compiler inertiagrouprange="0"/>', BODY, "expected 2 numbers as inertiagrouprange"),
    "a class": ("<default><default class='x'/></default>", BODY.replace("<geom", "<geom class='y'"), "got 'y'"),
    "a class of children": (
        "",
        BODY.replace('name="a"', 'name="a" childclass="y"'),
        "a class of <default> as childclass",
    ),
    "no weight": ("", BODY.replace('name="a"', 'name="a" gravcomp="1"'), "expected no gravcomp"),
    "picture": ("", BODY.replace("<geom", '<geom contype="0" conaffinity="0"'), "got contype='0' and conaffinity='0'"),
}


@pytest.mark.parametrize("name", MISREAD)
def test_what_pinocchio_reads_as_other_values_is_refused(tmp_path: Path, name: str) -> None:
    before, bodies, message = MISREAD[name]
    (tmp_path / "moon.xml").write_text('<mujoco><option gravity="0 0 -1.62"/></mujoco>')
    with pytest.raises(InvalidArgumentError, match=message):
        load_robot(write(tmp_path, bodies, before=before))


def test_what_does_not_matter_is_taken(tmp_path: Path) -> None:
    (tmp_path / "sky.xml").write_text("<mujoco><visual/><asset/></mujoco>")
    inertial = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
    picture = BODY.replace("<geom", f'{inertial}<geom contype="0" conaffinity="0" group="3"')
    before = '<include file="sky.xml"/><compiler inertiagrouprange="0 2"/><default><geom mass="3"/></default>'
    assert load_robot(write(tmp_path, picture, before=before)).mass == 2.0


@pytest.mark.parametrize("weightless", ['mass="0"', 'density="0"'])
def test_pictures_without_mass_are_taken(tmp_path: Path, weightless: str) -> None:
    before = f"""<compiler eulerseq="ZYX"/><default><default class="picture">
<geom contype="0" conaffinity="0" {weightless}/></default></default>"""
    bodies = f"""<body name="a"><joint/>{GEOM}<geom class="picture" type="box" size="1 1 1"/>
<camera euler="1 2 3"/></body>"""
    path = write(tmp_path, bodies, before=before)
    assert load_robot(path).mass == pytest.approx(mujoco.MjModel.from_xml_path(str(path)).body_mass.sum())


def test_a_free_joint_in_a_second_tree_is_no_floating_base(tmp_path: Path) -> None:
    bodies = f'<body name="table">{GEOM}</body><body name="a"><freejoint name="lost"/>{GEOM}</body>'
    with pytest.raises(InvalidArgumentError, match="'lost': expected a body with a name"):
        load_robot(write(tmp_path, bodies), floating_base=True)


def test_coupled_joints_in_another_order_are_refused_by_name(tmp_path: Path) -> None:
    coupled = '<equality><joint joint1="a1" joint2="b1"/></equality>'
    path = write(tmp_path, BRANCHES, after=coupled)
    with pytest.raises(InvalidArgumentError, match="source: expected a valid robot"):
        load_robot(path, mimic=True)


def test_the_order_of_angles_does_not_matter_without_angles(tmp_path: Path) -> None:
    bodies = BODY.replace('euler="30 40 50"', 'axisangle="0 0.6 0.8 30"')
    path = write(tmp_path, bodies, before='<compiler eulerseq="ZYX" inertiagrouprange="0 2"/>')
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(load_robot(path).placement([0.0], "a")[:3, :3], data.xmat[1].reshape(3, 3), atol=1e-12)


@pytest.mark.parametrize(
    ("option", "z"),
    [
        ('<option gravity="0 1 -1.62"/>', -1.62),
        ("<option/>", -9.81),
        ('<option><flag gravity="disable"/></option>', 0.0),
        ('<option><flag gravity="disable"/></option><option gravity="0 0 -3"/>', 0.0),
        ('<option><flag gravity="disable"/></option><option><flag gravity="enable"/></option>', -9.81),
    ],
)
def test_torques_that_hold_a_posture_are_those_of_mujoco(tmp_path: Path, option: str, z: float) -> None:
    path = write(tmp_path, TREE.format("", "", "", ""), before=option)
    model, theirs = load_robot(path).model, mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    data.qpos[:] = q = np.array([0.3, -0.4, 0.1, 0.5])
    mujoco.mj_forward(theirs, data)
    assert model.gravity.linear[2] == z
    np.testing.assert_allclose(pin.computeGeneralizedGravity(model, model.createData(), q), data.qfrc_bias, atol=1e-9)


def test_gravity_has_three_numbers(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="expected 3 numbers as gravity, got '-9.81'"):
        load_robot(write(tmp_path, BODY, before='<option gravity="-9.81"/>'))


LOOP = '<equality><connect body1="b" body2="c" anchor="0 0 0" {}/></equality>'


@pytest.mark.parametrize(
    ("before", "joint", "after", "words"),
    [
        ("", 'stiffness="30" springref="0.2"', "", ["springs of joints a1"]),
        ('<default><joint stiffness="2"/></default>', "", "", ["springs of joints a1, a2, b1, c1"]),
        ("", "", LOOP.format(""), ["loops of <connect> or <weld>"]),
        ("", 'stiffness="0"', LOOP.format('active="false"'), []),
    ],
)
def test_forces_that_pinocchio_leaves_out_are_named(
    before: str, joint: str, after: str, words: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, TREE.format(joint, "", "", ""), before=before, after=after)
    with caplog.at_level(logging.WARNING):
        model = load_robot(path).model
    assert [each.getMessage().split(": ")[1].split(" are")[0] for each in caplog.records] == words
    peer = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(peer)
    data.qpos[:] = [0.3, -0.2, 0.1, 0.4]
    mujoco.mj_forward(peer, data)
    ours = pin.aba(model, model.createData(), data.qpos, np.zeros(4), np.zeros(4))
    assert np.allclose(ours, data.qacc) == (not words)
