"""Reaches of arms: within the limits of every listed robot, and for any other arm by name or file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt import problems
from trajopt.analysis import limit_uses, limits_report
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.problems.arm_reach import REACHES

URDF = """<robot name="stick"><link name="base"/>
<link name="one"><inertial><mass value="1"/><origin xyz="0 0 .2"/>
  <inertia ixx=".02" iyy=".02" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tip"/>
<link name="two"><inertial><mass value="1"/><origin xyz="0 0 .2"/>
  <inertia ixx=".02" iyy=".02" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>
  <limit lower=".3" upper="1.5" effort="20" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0 0 .4"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
<joint name="tool" type="fixed"><parent link="two"/><child link="tip"/><origin xyz="0 0 .4"/></joint></robot>"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """An arm with two joints; the first cannot be at 0."""
    path = tmp_path / "stick.urdf"
    path.write_text(URDF)
    return path


def solve(robot: str, **options: object) -> tuple[problems.ProblemCase, trajopt.Solution]:
    case = problems.load("arm-reach", robot=robot, **options)
    return case, case.solve()


@pytest.mark.parametrize("robot", REACHES)
def test_listed_robots_stay_within_their_limits(robot: str) -> None:
    case, solution = solve(robot)
    assert solution.converged
    assert solution.iterations <= 20
    uses = limit_uses(solution)
    assert uses or robot.startswith("planar"), "the robot's file has limits"
    assert not [str(use) for use in uses if use.knots]
    assert max([use.use for use in uses if use.quantity in ("torque", "velocity")], default=0.0) < 0.9
    assert float(case.report(solution)["distance"].split()[0]) < 1.0  # [mm]


def test_crocoddyls_reach_exceeds_the_limits_and_reports_it() -> None:
    case = problems.load("arm-reach-crocoddyl")
    solution = case.solve()
    worst = limit_uses(solution)[0]
    assert (worst.quantity, worst.name) == ("velocity", "gripper_left_joint")
    assert abs(worst.value) == pytest.approx(260.4, abs=0.1)
    assert limits_report(solution)["limits"].startswith("exceeded: velocity of gripper_left_joint")


def test_an_arm_from_a_file_starts_inside_its_limits_and_reaches(urdf: Path) -> None:
    case, solution = solve(str(urdf))
    assert solution.converged
    q0, q1 = case.problem.x0[:2]
    assert 0.3 < q0 < 1.5
    assert q1 == pytest.approx(0.0)
    assert "tip" in case.description
    assert case.reference_cost is None
    assert float(case.report(solution)["distance"].split()[0]) < 1.0


def test_with_limits_an_arm_stays_within_them(urdf: Path) -> None:
    """To the goal behind it, the shoulder would turn below its limit of 0.3 rad."""
    target = {"frame": "tip", "target": (-0.2, 0.0, 0.75)}
    _, free = solve(str(urdf), **target)
    assert limits_report(free)["limits"].startswith("exceeded")
    case, kept = solve(str(urdf), limits=True, **target)
    assert kept.converged
    assert case.problem.constraint_names == ("positions", "velocities", "torques")
    assert kept.xs[:, 0].min() > 0.3 - 1e-6
    assert not [str(use) for use in limit_uses(kept) if use.knots]
    assert kept.cost > free.cost


def test_limits_do_not_change_a_reach_that_keeps_them() -> None:
    (_, free), (_, kept) = solve("ur5"), solve("ur5", limits=True)
    assert kept.converged
    assert kept.cost == pytest.approx(free.cost, rel=1e-6)


def test_a_robot_is_taken_as_its_file_is(urdf: Path) -> None:
    robot = trajopt.load_robot(urdf, name="ur5")  # the name has no effect
    case, from_file = problems.load("arm-reach", robot=robot), problems.load("arm-reach", robot=str(urdf))
    np.testing.assert_array_equal(case.problem.x0, from_file.problem.x0)
    goals = [each.problem.get_parameter("goal.reference") for each in (case, from_file)]
    np.testing.assert_array_equal(*goals)
    assert case.reference_cost is None
    assert case.solve().converged


def test_wrong_robots_are_refused_with_the_expected_ones() -> None:
    robot = trajopt.load_robot("small-quadruped")
    for name, wrong, words in (
        ("arm-reach", 3, "arm-reach: robot: expected a name, the path of a file or a Robot, got 3"),
        ("quadruped-trot", robot, "quadruped-trot: robot: expected one of anymal, .*go2.*, got Robot"),
        ("pendulum", robot, "robot: expected None for pendulum, which has its own model, got Robot"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            problems.load(name, robot=wrong)  # type: ignore[arg-type]


def test_a_target_of_ones_own(urdf: Path) -> None:
    case, solution = solve(str(urdf), target=(0.5, 0.0, 0.4), frame="two")
    assert solution.converged
    assert set(case.report(solution)) == {"distance"}
    _, default = solve(str(urdf), target=(0.6, 0.0, 0.2))
    data, model = default.problem.state.model.createData(), default.problem.state.model  # type: ignore[union-attr]
    import pinocchio as pin

    pin.framesForwardKinematics(model, data, default.xs[-1, :2])
    np.testing.assert_allclose(data.oMf[model.getFrameId("tip")].translation, [0.6, 0.0, 0.2], atol=2e-3)


def test_joints_that_do_not_carry_the_frame_are_locked() -> None:
    assert problems.load("arm-reach", robot="panda").problem.nu == 7  # without its fingers
    assert problems.load("arm-reach", robot="panda", frame="panda_link4").problem.nu == 4


def test_robots_and_frames_that_cannot_reach_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"robot: expected an arm with a fixed base, got 'go2'.*quadruped-"):
        problems.load("arm-reach", robot="go2")
    with pytest.raises(InvalidArgumentError, match=r"frame: expected a frame that moves, got 'base_link'"):
        problems.load("arm-reach", frame="base_link")
    with pytest.raises(UnknownNameError, match=r"frame 'tool' not found; did you mean 'tool0'"):
        problems.load("arm-reach", frame="tool")
    with pytest.raises(InvalidArgumentError, match=r"target: expected shape \(3,\)"):
        problems.load("arm-reach", target=(0.1, 0.2))
