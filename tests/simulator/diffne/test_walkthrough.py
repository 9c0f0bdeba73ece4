"""The walk-through of DiffNE's README, step by step, on a robot on four limbs and on quadrupeds with files."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt.simulator.diffne as DNE
from tests.support.slow_twin import directions
from trajopt.errors import InvalidArgumentError
from trajopt.simulator.diffne import DiffNERobotModel
from trajopt.types import Reals

DT = 1e-3
DOCUMENT = Path(__file__).parents[3] / "docs" / "diffne.md"


def end_effectors(m: DiffNERobotModel) -> list[DNE.EndEffectorBounds]:
    """The loop of the README."""
    ees = []
    for i in range(m.body.nrJ()):
        if len(m.body.children(i, True)) == 0:
            ee = DNE.EndEffectorBounds(i)
            zRange = DNE.Vec3d(0, 0, 0)
            if m.body.joint(i)._name.startswith("limb1"):
                zRange = DNE.Vec3d(-0.1, 0, 0)
            elif m.body.joint(i)._name.startswith("limb2") or m.body.joint(i)._name.startswith("limb3"):
                zRange = DNE.Vec3d(0.1, 0, 0)
            elif m.body.joint(i)._name.startswith("limb4"):
                zRange = DNE.Vec3d(-0.1, 0, 0)
            ee.detectEndEffector(m.body, zRange)
            ees.append(ee)
    return ees


def four_limbs(**options: Any) -> DiffNERobotModel:
    """The robot in the posture of the README."""
    m = DiffNERobotModel(None, "four-limbs", **options)
    m.eliminate_joints([f"limb{k}_link{j}" for k in (1, 2, 3, 4) for j in (3, 5, 7)])
    m.set_joint_angle("limb1_link2", math.pi * 0.9 / 2)
    m.set_joint_angle("limb1_link4", -math.pi / 2)
    m.set_joint_angle("limb1_link6", math.pi * 1.1 / 2)
    m.set_joint_angle("limb2_link2", -math.pi * 0.9 / 2)
    m.set_joint_angle("limb2_link4", math.pi / 2)
    m.set_joint_angle("limb2_link6", -math.pi * 1.1 / 2)
    m.set_joint_angle("limb3_link2", math.pi * 0.9 / 2)
    m.set_joint_angle("limb3_link4", -math.pi / 2)
    m.set_joint_angle("limb3_link6", math.pi * 1.1 / 2)
    m.set_joint_angle("limb4_link2", -math.pi * 0.9 / 2)
    m.set_joint_angle("limb4_link4", math.pi / 2)
    m.set_joint_angle("limb4_link6", -math.pi * 1.1 / 2)
    return m


def standing(name: str) -> DiffNERobotModel:
    """A quadruped from its URDF in its posture."""
    m = DiffNERobotModel(None, name)
    m.set_qdq(m.robot.configuration("standing"))
    return m


def lowered(m: DiffNERobotModel, ees: list[DNE.EndEffectorBounds], depth: float) -> float:
    """Height of a floor in which the lowest sphere is `depth` deep [m]."""
    q = m.qdq[: m.robot.nq]
    spheres = [ee.on(m.body) for ee in ees]
    return min((m.robot.placement(q, s.frame) @ [*s.offset, 1.0])[2] - s.radius for s in spheres) + depth


def test_the_lines_of_the_documentation_run() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, str(DOCUMENT), "exec"), names)
    assert names["Dqdq"].shape == (44, 44)
    assert names["Dtau"].shape == (44, 22)


def test_kinematics() -> None:
    """N is 22 after the elimination; feet are where the whole robot's configuration "standing" has them."""
    m = four_limbs()
    assert (m.robot.nq, m.robot.nv, m.body.nrJ()) == (23, 22, 18)
    whole = DiffNERobotModel(None, "four-limbs")
    q = m.original_configuration(m.qdq[:23])
    np.testing.assert_allclose(q[7:], whole.robot.configuration("standing")[7:], atol=1e-15)
    for limb in ("limb1", "limb2", "limb3", "limb4"):
        np.testing.assert_allclose(m.robot.placement(m.qdq[:23], f"{limb}_foot")[:3, 0], [0, 0, -1], atol=1e-15)


def test_end_effectors() -> None:
    """Four spheres of the links' radius at the ends of links 7, which are fixed to links 6 of 12 cm."""
    m = four_limbs()
    ees = end_effectors(m)
    assert [m.body.joint(ee._index)._name for ee in ees] == [f"limb{k}_link6" for k in (1, 2, 3, 4)]
    for ee in ees:
        np.testing.assert_allclose(ee.localPos, [0.27, 0.0, 0.0], atol=1e-15)
        assert ee.phi0 == pytest.approx(0.04)


@pytest.mark.parametrize("accuracy", [128, 129])
def test_accuracies_agree(accuracy: int) -> None:
    m = four_limbs(base="fixed")
    ees = end_effectors(m)
    m.set_PD_controller(1000, 1)
    m.set_floor([0, 0, 1, -lowered(m, ees, 2e-3)], ees)
    m.create_simulator(accuracy=64)
    qdq = m.qdq + np.linspace(-0.01, 0.01, 32)
    expected = m.simulate(DT, qdq, Dqdq=True, Dtau=True)
    m.create_simulator(accuracy=accuracy)
    found = m.simulate(DT, qdq, Dqdq=True, Dtau=True)
    for one, other in zip(found, expected):
        assert one is not None
        assert other is not None
        assert one.dtype == np.float64
        assert np.abs(one - other).max() <= 1e-9 * max(1.0, np.abs(other).max())


@pytest.mark.parametrize("order", ["create first", "create last"])
def test_controller_and_floor_stay_with_a_new_simulator(order: str) -> None:
    m = four_limbs()
    ees = end_effectors(m)
    if order == "create first":
        m.create_simulator()
    m.set_PD_controller(1000, 1)
    m.set_floor([0, 0, 1, 2], ees)
    m.create_simulator(accuracy=64, mode=DNE.FORWARD_RK1F)
    assert m.simulator.mode is DNE.FORWARD_RK1F
    assert m.simulator.model.names == tuple(f"limb{k}_joint6" for k in (1, 2, 3, 4))
    x = m.qdq + 0.0
    x[7] += 0.01
    torque = m.simulator.controller_torque(x)
    np.testing.assert_allclose(torque, np.concatenate([np.zeros(6), [-10.0], np.zeros(15)]), atol=1e-12)
    m.set_floor([0, 0, 1, 2], ees[:2])
    assert m.simulator.model.names == ("limb1_joint6", "limb2_joint6")


def test_above_the_floor_it_falls_freely() -> None:
    """z₊ = z - g dt², v₊ = -g dt: the floor of the README, two metres below."""
    m = four_limbs()
    m.create_simulator()
    m.set_floor([0, 0, 1, 2], end_effectors(m))
    qdq_next, Dqdq, Dtau = m.simulate(DT, m.qdq)
    assert Dqdq is None
    assert Dtau is None
    np.testing.assert_allclose(qdq_next[23:29], [0, 0, -9.81 * DT, 0, 0, 0], atol=1e-12)
    assert qdq_next[2] == pytest.approx(-9.81 * DT**2, rel=1e-9)


def test_the_plane_need_not_have_a_unit_normal() -> None:
    m = four_limbs()
    m.create_simulator()
    ees, steps = end_effectors(m), []
    level = lowered(m, ees, 1e-3)
    for scale in (1.0, 20.0):
        m.set_floor(scale * np.array([0.0, 0.0, 1.0, -level]), ees)
        steps.append(m.simulate(DT, m.qdq)[0])
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-13)
    assert np.abs(steps[0][23:] - m.simulate(DT, m.qdq + 0.1 * np.eye(45)[2])[0][23:]).max() > 1e-3  # it touched


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hyq", "anymal", "four-limbs"])
def test_simulate_and_batches(name: str) -> None:
    """Derivatives are those of central differences in tangent spaces, and batches have the bits of single steps."""
    m = four_limbs() if name == "four-limbs" else standing(name)
    ees = end_effectors(m)
    m.create_simulator(accuracy=64)
    m.set_PD_controller(1000, 1)
    m.set_floor([0, 0, 1, -lowered(m, ees, 1.5e-3)], ees)
    rng, nq, nv = np.random.default_rng(0), m.robot.nq, m.robot.nv
    qdqs = [np.concatenate([m.qdq[:nq], 0.1 * rng.normal(size=nv)]) for _ in range(3)]
    taus = [rng.normal(size=nv) for _ in range(3)]
    nexts, Dqdqs, Dtaus = m.simulate_batched(DT, qdqs, taus, Dqdqs=True, Dtaus=True)
    also = m.simulate_batched(DT, qdqs, taus, Dqdq=True, Dtau=True)
    for one, other in zip((nexts, Dqdqs, Dtaus), also):
        np.testing.assert_array_equal(one, other)
    for i, (qdq, tau) in enumerate(zip(qdqs, taus)):
        qdq_next, Dqdq, Dtau = m.simulate(DT, qdq, tau, Dqdq=True, Dtau=True)
        np.testing.assert_array_equal(nexts[i], qdq_next)
        np.testing.assert_array_equal(Dqdqs[i], Dqdq)
        np.testing.assert_array_equal(Dtaus[i], Dtau)
    assert Dqdqs[0].shape == (2 * nv, 2 * nv)
    assert Dtaus[0].shape == (2 * nv, nv)
    _check_derivatives(m, qdqs[0], taus[0], Dqdqs[0], Dtaus[0])
    _check_derivatives(m, qdqs[1], None, m.simulate(DT, qdqs[1], Dqdq=True)[1], None)
    m.set_threads(2)
    np.testing.assert_array_equal(m.simulate_batched(DT, qdqs, taus)[0], nexts)


def _check_derivatives(m: DiffNERobotModel, qdq: Reals, tau: Reals | None, Dqdq: Any, Dtau: Any) -> None:
    state, n = m.simulator.state, 2 * m.robot.nv
    step = 6e-8  # the step curves within 1e-5: errors are 1e-4, 1e-6, 1e-8 at 6e-6, 6e-7, 6e-8
    along = np.sqrt(n) * directions(n)  # ±1
    size = max(1.0, np.abs(Dqdq).max())
    for k, way in enumerate(along.T):
        ends = [m.simulate(DT, state.integrate(qdq, sign * step * way), tau)[0] for sign in (-1, 1)]
        difference = state.difference(*ends) / (2 * step)
        np.testing.assert_allclose((Dqdq @ along)[:, k], difference, atol=1e-6 * size)
    if Dtau is not None and tau is not None:
        along = np.sqrt(n / 2) * directions(n // 2)
        for k, way in enumerate(along.T):
            ends = [m.simulate(DT, qdq, tau + sign * step * way)[0] for sign in (-1, 1)]
            np.testing.assert_allclose((Dtau @ along)[:, k], state.difference(*ends) / (2 * step), atol=1e-6)


def test_the_robot_lands_and_comes_to_rest() -> None:
    """After a fall of 10 cm the floor carries the weight, and the robot is 1 mm deep in it."""
    m = four_limbs()
    ees = end_effectors(m)
    m.create_simulator()
    m.set_PD_controller(2000, 30)
    level = lowered(m, ees, -0.1)
    m.set_floor([0, 0, 1, -level], ees)
    rollout = m.simulator.rollout(m.qdq, None, 1000, DT)
    weight = 9.81 * pin.computeTotalMass(m.robot.model)
    total = sum(forces[-1] for forces in rollout.forces.values())
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.02 * weight)
    q = rollout.xs[-1, : m.robot.nq]
    for ee in ees:
        sphere = ee.on(m.body)
        depth = level + sphere.radius - (m.robot.placement(q, sphere.frame) @ [*sphere.offset, 1.0])[2]
        assert 0.5e-3 < depth < 4e-3  # 0.63 mm on four feet alike; it sank deeper when it landed, and creeps up


def test_messages() -> None:
    m = four_limbs()
    ees = end_effectors(m)
    m.create_simulator()
    with pytest.raises(InvalidArgumentError, match=r"expected a nonzero normal \(a, b, c\)"):
        m.set_floor([0, 0, 0, 2], ees)
    with pytest.raises(InvalidArgumentError, match=r"coefficients: expected shape \(4,\), got \(3,\)"):
        m.set_floor([0, 0, 1], ees)
    with pytest.raises(InvalidArgumentError, match="expected a sphere, got none; call detectEndEffector"):
        m.set_floor([0, 0, 1, 2], [DNE.EndEffectorBounds(5)])
    with pytest.raises(InvalidArgumentError, match="ees: expected .*EndEffectorBounds"):
        m.set_floor([0, 0, 1, 2], ["limb1_joint6"])  # type: ignore[list-item]
    with pytest.raises(InvalidArgumentError, match="friction: expected"):
        m.set_floor([0, 0, 1, 2], ees, friction=-0.1)
    m.set_floor([0, 0, 1, 2], ees)
    message = r"taus: expected 2 torque vectors \(nv,\), one for each row of qdqs, got 1"
    with pytest.raises(InvalidArgumentError, match=message):
        m.simulate_batched(DT, [m.qdq, m.qdq], [np.zeros(22)])
    with pytest.raises(InvalidArgumentError, match=r"qdqs\[1\]: expected shape \(45,\), got \(44,\)"):
        m.simulate_batched(DT, [m.qdq, m.qdq[:-1]])
    with pytest.raises(InvalidArgumentError, match="qdqs: expected at least one state"):
        m.simulate_batched(DT, [])
    with pytest.raises(InvalidArgumentError, match=r"qdq: expected finite"):
        m.simulate(DT, np.full(45, np.nan))
    with pytest.raises(InvalidArgumentError, match="dt: expected"):
        m.simulate(0.0, m.qdq)
    with pytest.raises(InvalidArgumentError, match="accuracy: expected"):
        m.create_simulator(accuracy=32)
    with pytest.raises(InvalidArgumentError, match="mode: expected one of"):
        m.create_simulator(mode="FORWARD_RK3F")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="kp: expected"):
        m.set_PD_controller(-1, 1)


def test_a_refused_setting_does_not_stay() -> None:
    m = four_limbs()
    ees = end_effectors(m)
    m.create_simulator()
    m.set_PD_controller(1000, 1)
    m.set_floor([0, 0, 1, 2], ees)
    for wrong in (lambda: m.set_PD_controller(-1, 1), lambda: m.set_floor([0, 0, 0, 2], ees)):
        with pytest.raises(InvalidArgumentError):
            wrong()
    m.create_simulator()
    assert len(m.simulator.model.names) == 4


def test_eliminating_joints_asks_for_a_new_simulator() -> None:
    m = four_limbs()
    ees = end_effectors(m)
    m.create_simulator()
    m.set_PD_controller(1000, 1)
    m.set_floor([0, 0, 1, 2], ees)
    m.eliminate_joints("limb1_link6")
    with pytest.raises(InvalidArgumentError, match="call create_simulator"):
        m.simulate(DT, m.qdq)
    m.create_simulator()
    sphere = ees[0].on(m.body)
    assert sphere.frame == "limb1_joint6"
    assert m.simulate(DT, m.qdq)[0].shape == (22 + 21,)
