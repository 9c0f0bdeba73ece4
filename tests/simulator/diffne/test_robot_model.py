"""DiffNERobotModel without its simulator: joints, names, postures, bases, and a world that shows the robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt.simulator.diffne as DNE
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import load_robot
from trajopt.simulator import SimulatorMode
from trajopt.simulator.diffne import DiffNERobotModel
from trajopt.types import Reals

INERTIA = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
WHEEL = f"""<robot name="wheel"><link name="chassis"><inertial>{INERTIA}</inertial></link>
  <link name="tyre"><inertial>{INERTIA}</inertial></link>
  <joint name="axle" type="continuous"><parent link="chassis"/><child link="tyre"/><axis xyz="0 1 0"/></joint>
</robot>"""


def everywhere(model: pin.Model, q: Reals) -> dict[str, Reals]:
    """Placements of all frames by name."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return {frame.name: data.oMf[i].homogeneous for i, frame in enumerate(model.frames)}


def test_body_is_the_tree_of_joints_with_links() -> None:
    body = DiffNERobotModel(None, "hyq").body
    assert body.nrJ() == 14
    assert (body.joint(0).parent, body.joint(0)._name) == (-1, "universe")
    assert [body.joint(i)._name for i in (1, 2, 4)] == ["base_link", "lf_hipassembly", "lf_lowerleg"]
    assert body.joint(4).name == "lf_kfe_joint"
    assert (body.joint(1).nq, body.joint(1).nv, body.joint(4).nv) == (7, 6, 1)
    assert body.children(0, True) == (1,)
    assert body.children(1, True) == (2, 5, 8, 11)
    assert body.children(2) == (3, 4)
    assert body.children(1) == tuple(range(2, 14))
    assert [i for i in range(body.nrJ()) if not body.children(i, True)] == [4, 7, 10, 13]
    assert repr(body) == "ArticulatedBody('hyq', 14 joints)"
    with pytest.raises(InvalidArgumentError, match="i: expected"):
        body.children(14, True)


def test_eliminated_joints_stay_where_they_are(rng: np.random.Generator) -> None:
    """Placements of all frames are those of the whole robot at the configuration that the map gives."""
    m, whole = DiffNERobotModel(None, "four-limbs"), load_robot("four-limbs").model
    m.set_joint_angle("limb2_link3", 0.4)
    m.set_joint_angle("limb3_joint5", -0.7)
    m.eliminate_joints(["limb2_link3", "limb3_link5", "limb4"])
    assert (m.robot.nq, m.robot.nv, m.body.nrJ()) == (35 - 9, 34 - 9, 30 - 9)
    assert repr(m) == "DiffNERobotModel('four-limbs' without 9 joints, nq=26, nv=25)"
    for _ in range(5):
        q = pin.randomConfiguration(m.robot.model)
        full = m.original_configuration(q)
        assert full.shape == (35,)
        np.testing.assert_array_equal(m.reduced_configuration(full), q)
        places = everywhere(m.robot.model, q)
        for name, place in everywhere(whole, full).items():
            np.testing.assert_allclose(places[name], place, atol=3e-15, err_msg=name)
    assert full[whole.joints[whole.getJointId("limb2_joint3")].idx_q] == 0.4
    np.testing.assert_allclose(pin.centerOfMass(whole, whole.createData(), full), m.robot.com(q), atol=1e-14)


def test_joints_are_eliminated_once_more() -> None:
    m = DiffNERobotModel(None, "hyq")
    m.eliminate_joints("lf")
    m.eliminate_joints(["rf_kfe"])
    assert [m.body.joint(i).name for i in range(2, 5)] == ["lh_haa_joint", "lh_hfe_joint", "lh_kfe_joint"]
    assert m.robot.nv == 14
    assert m.original_configuration(m.qdq[: m.robot.nq]).shape == (19,)
    with pytest.raises(UnknownNameError, match="joint or link that begins with 'lf' not found"):
        m.set_joint_angle("lf", 0.1)


def test_every_match_of_a_prefix_is_set() -> None:
    m = DiffNERobotModel(None, "hyq")
    m.set_joint_angle("lf_kfe", 0.3)  # a joint
    m.set_joint_angle("rf_lowerleg", 0.5)  # a link
    m.set_joint_angle("lh", 0.2)  # three joints
    q = dict(zip(m.robot.joint_names[1:], m.qdq[7:19]))
    assert (q["lf_kfe_joint"], q["rf_kfe_joint"]) == (0.3, 0.5)
    assert [q[f"lh_{j}_joint"] for j in ("haa", "hfe", "kfe")] == [0.2] * 3
    assert sum(value != 0.0 for value in q.values()) == 5
    np.testing.assert_array_equal(m.qdq[19:], 0.0)
    assert m.qdq.shape == (37,)


def test_prefixes_are_refused() -> None:
    m = DiffNERobotModel(None, "hyq")
    before = m.qdq
    with pytest.raises(UnknownNameError, match=r"begins with 'lf_kfa' not found; did you mean 'lf_kfe_joint'"):
        m.set_joint_angle("lf_kfa", 0.1)
    with pytest.raises(InvalidArgumentError, match=r"one degree of freedom, got 'base_link' with 6; use a longer pref"):
        m.set_joint_angle("base", 0.1)
    with pytest.raises(InvalidArgumentError, match="prefix: expected the beginning of a name"):
        m.set_joint_angle("", 0.1)
    with pytest.raises(InvalidArgumentError, match="value: expected"):
        m.set_joint_angle("lf_kfe", np.nan)
    with pytest.raises(UnknownNameError, match="begins with 'no'"):
        m.eliminate_joints(["lf_kfe", "no"])
    np.testing.assert_array_equal(m.qdq, before)
    assert m.robot.nv == 18


def test_angles_of_wheels_are_directions(tmp_path: Path) -> None:
    path = tmp_path / "wheel.urdf"
    path.write_text(WHEEL)
    m = DiffNERobotModel(None, str(path), base="fixed")
    m.set_joint_angle("tyre", 0.3)
    np.testing.assert_allclose(m.qdq, [np.cos(0.3), np.sin(0.3), 0.0])
    assert DiffNERobotModel(None, path).robot.floating_base


@pytest.mark.parametrize(("base", "nq", "nv"), [("free_flyer", 19, 18), ("euler", 18, 18), ("planar", 15, 15)])
def test_the_base_is_chosen(base: str, nq: int, nv: int) -> None:
    m = DiffNERobotModel(None, "hyq", base=base)
    assert (m.robot.nq, m.robot.nv) == (nq, nv)
    m.eliminate_joints(["lf_kfe"])
    m.set_qdq(m.robot.configuration("standing"))
    np.testing.assert_array_equal(m.qdq[: m.robot.nq], m.robot.configuration("standing"))
    assert DiffNERobotModel(None, "talos_arm").robot.nv == 7
    with pytest.raises(UnknownNameError, match="base 'float'"):
        DiffNERobotModel(None, "hyq", base="float")


def test_set_qdq_takes_a_state_or_a_configuration() -> None:
    m = DiffNERobotModel(None, "hyq")
    standing = m.robot.configuration("standing")
    m.set_qdq(np.concatenate([standing, np.ones(18)]))
    np.testing.assert_allclose(m.qdq, np.concatenate([standing, np.zeros(18)]))
    with pytest.raises(InvalidArgumentError, match=r"qdq: expected shape \(37,\), got \(5,\); \(q, v\) has 19 \+ 18"):
        m.set_qdq(np.zeros(5))


def test_modes_have_their_names_and_those_of_the_readme() -> None:
    for mode in SimulatorMode:
        assert getattr(DNE, mode.name) is mode
    assert DNE.FORWARD is SimulatorMode.FORWARD_I
    assert DNE.INVERSE is SimulatorMode.INVERSE_I
    assert DNE.FORWARD_IF is SimulatorMode.FORWARD_LF
    np.testing.assert_array_equal(DNE.Vec3d(1, 2, 3), [1.0, 2.0, 3.0])


def test_files_of_other_kinds_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"path: expected a \.urdf or the name of a robot, got 'some\.xml'"):
        DiffNERobotModel(None, "some.xml")
    with pytest.raises(InvalidArgumentError, match=r"expected an existing file, got 'nowhere\.urdf'"):
        DiffNERobotModel(None, "nowhere.urdf")
    with pytest.raises(InvalidArgumentError, match="world: expected None or a world with a method loadRobot"):
        DiffNERobotModel(3, "hyq")
    with pytest.raises(InvalidArgumentError, match="world: expected a world, got None; pass one"):
        DiffNERobotModel(None, "hyq").update_world()
    with pytest.raises(InvalidArgumentError, match="simulator: expected one, got none; call create_simulator"):
        DiffNERobotModel(None, "hyq").simulate(1e-3, np.zeros(37))


class OtherWorld:
    """A world of another package: a robot has an angle for each link in an order of its own, fixed ones included."""

    links = ("trunk", "rh_lowerleg", "a_fixed_link", "lf_upperleg")

    def loadRobot(self, path: str) -> OtherWorld:
        self.path, self.config, self.root = path, [0.0, 0.0, 9.0, 0.0], ([], [])
        return self

    def numLinks(self) -> int:
        return len(self.links)

    def link(self, i: int) -> Any:
        world = self

        class Link:
            def getName(self) -> str:
                return world.links[i]

            def setParentTransform(self, R: list[float], t: list[float]) -> None:
                world.root = (R, t)

        return Link()

    def getConfig(self) -> list[float]:
        return self.config

    def setConfig(self, q: list[float]) -> None:
        self.config = q


def test_a_world_shows_the_whole_robot() -> None:
    world = OtherWorld()
    m = DiffNERobotModel(world, "hyq", base="euler")
    assert world.path == "hyq"
    m.set_joint_angle("lf_upperleg", 0.3)
    m.eliminate_joints(["lf_upperleg"])
    q = np.concatenate([[1.0, 2.0, 3.0, 0.0, 0.0, np.pi / 2], np.linspace(0.1, 1.1, 11)])
    m.update_world(q)
    np.testing.assert_allclose(world.config, [0.0, 1.1, 9.0, 0.3])
    np.testing.assert_allclose(np.reshape(world.root[0], (3, 3)).T, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(world.root[1], [1.0, 2.0, 3.0])
    m.update_world()
    np.testing.assert_allclose(world.config, [0.0, 0.0, 9.0, 0.3])
