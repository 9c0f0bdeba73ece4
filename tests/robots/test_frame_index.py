"""Frames by their names, which a joint and its link may share."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot
from trajopt.robots.builtin import planar_arm
from trajopt.robots.frame_index import frame_index


def test_a_name_that_a_joint_and_a_link_share_is_that_of_the_link_everywhere() -> None:
    """As in ANYmal C, whose link LF_HFE ends at the joint LF_HFE: no name was known for either."""
    model = planar_arm()
    index = model.addFrame(pin.Frame("joint_2", 1, 0, pin.SE3(np.eye(3), np.ones(3)), pin.FrameType.BODY))
    robot = Robot(model)
    assert robot.frame_id("joint_2") == frame_index(robot.model, "joint_2") == index
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.ones(2))
    np.testing.assert_allclose(robot.placement(np.ones(2), "joint_2"), data.oMf[index].homogeneous, atol=1e-15)
    expressions = RobotExpressions(robot.model, SX.sym("q", 2), SX.sym("v", 2))
    assert expressions.attachment("joint_2")[0] == expressions.attachment(index)[0]
    np.testing.assert_array_equal(expressions.attachment("joint_2")[1], expressions.attachment(index)[1])


def test_other_frames_of_one_name_have_one_placement() -> None:
    model = planar_arm()
    model.addFrame(pin.Frame("tool", 1, 0, pin.SE3.Identity(), pin.FrameType.SENSOR))
    robot = Robot(model)
    for find in (robot.frame_id, functools.partial(frame_index, robot.model)):
        with pytest.raises(InvalidArgumentError, match="frame 'tool': expected one placement, got frames"):
            find("tool")
