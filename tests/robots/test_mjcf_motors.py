"""Tests of torque limits from the actuators of MJCF files, beside MuJoCo's reader."""

from __future__ import annotations

import logging
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trajopt import ActuationModelFull, ConstraintStack, StateMultibody, load_robot
from trajopt.errors import InvalidArgumentError

ARM = """<mujoco model="arm">{compiler}
<default><motor gear="2"/><general ctrlrange="-3 3"/>
  <default class="strong"><motor ctrlrange="-9 8"/><default class="weak"><motor gear="0.5"/></default></default>
</default>
<worldbody><body name="a"><joint name="j1" axis="0 1 0"/><geom size="0.05" mass="1"/>
  <body name="b" pos="0 0 0.3"><joint name="j2" axis="0 1 0" {joint}/><geom size="0.05" mass="1"/></body></body>
</worldbody><actuator>{actuators}</actuator></mujoco>"""

CASES = {
    "a motor": '<motor joint="j1" ctrlrange="-40 30" gear="3"/>',
    "gear of the defaults": '<motor joint="j1" ctrlrange="-40 30"/>',
    "force below control": '<motor joint="j1" ctrlrange="-40 40" forcerange="-10 10"/>',
    "a class": '<motor joint="j1" class="strong"/>',
    "a class inside another": '<motor joint="j2" class="weak"/>',
    "general": '<general joint="j1" gainprm="5" gear="4"/>',
    "general with a bias": '<general joint="j1" gainprm="5" biastype="affine" biasprm="0 -5 0" forcerange="-7 7"/>',
    "position with a force": '<position joint="j2" kp="30" ctrlrange="-1 1" forcerange="-6 6" gear="-2"/>',
    "two on a joint": '<motor joint="j1" ctrlrange="-1 1"/><motor joint="j1" ctrlrange="-2 2" gear="1"/>',
    "not limited": '<motor joint="j1" ctrlrange="-1 1" ctrllimited="false"/>',
}


def load(tmp_path: Path, actuators: str, *, compiler: str = "", joint: str = "") -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(actuators=actuators, compiler=compiler, joint=joint))
    return path


def least_torques(path: Path) -> np.ndarray:
    """Torque of each joint where all its actuators push up or down as much as they can, whichever is less."""
    model = mujoco.MjModel.from_xml_path(str(path))
    limits, data = np.full(model.nv, np.inf), mujoco.MjData(model)
    for side in (-1.0, 1.0):
        data.ctrl[:] = side * 1e6 * np.sign(model.actuator_gear[:, 0])
        mujoco.mj_forward(model, data)
        np.minimum(limits, np.abs(data.qfrc_actuator), out=limits)
    return limits


@pytest.mark.parametrize("name", CASES)
def test_limits_are_what_mujoco_gives_at_most(tmp_path: Path, name: str) -> None:
    path = load(tmp_path, CASES[name])
    robot, least = load_robot(path), least_torques(path)
    limits = np.where(least == 0.0, np.inf, np.where(least > 1e4, np.inf, least))  # no motor, or one without a limit
    np.testing.assert_allclose(robot.model.effortLimit, limits)


def test_of_robot_has_a_row_of_torques(tmp_path: Path) -> None:
    state = StateMultibody(load_robot(load(tmp_path, CASES["a motor"])))
    stack = ConstraintStack.of_robot(state, ActuationModelFull(state))
    assert "torques" in stack.names
    assert stack["torques"].upper[0] == 90.0


def test_a_servo_without_a_force_range_has_no_limit(tmp_path: Path) -> None:
    servo = '<position joint="j2" kp="30" ctrlrange="-1 1"/>'  # what it gives depends on where the joint is
    assert load_robot(load(tmp_path, servo)).model.effortLimit[1] == np.inf


def test_the_least_of_joint_and_motor_counts(tmp_path: Path) -> None:
    path = load(tmp_path, '<motor joint="j2" ctrlrange="-40 40"/>', joint='actuatorfrcrange="-15 15"')
    assert load_robot(path).model.effortLimit[1] == 15.0


def test_ranges_need_a_switch_without_automatic_limits(tmp_path: Path) -> None:
    off = '<compiler autolimits="false"/>'
    plain, switched = (f'<motor joint="j1" ctrlrange="-1 1"{more}/>' for more in ("", ' ctrllimited="true"'))
    assert load_robot(load(tmp_path, plain, compiler=off)).model.effortLimit[0] == np.inf
    assert load_robot(load(tmp_path, switched, compiler=off)).model.effortLimit[0] == 2.0


def test_a_motor_of_no_single_joint_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load_robot(load(tmp_path, '<motor name="rope" tendon="t" ctrlrange="-1 1"/>'))
    assert "the limit of actuator 'rope' is not used" in caplog.text


@pytest.mark.parametrize("wrong", ['ctrlrange="-1"', 'gear="x"', 'forcerange="nan 1"'])
def test_wrong_numbers_are_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"actuator 'm1': expected .*line 8"):
        load_robot(load(tmp_path, f'\n<motor name="m1" joint="j1" {wrong}/>'))
