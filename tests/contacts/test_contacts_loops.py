"""Closed chains: a four-bar linkage against its one coordinate, its energy, and loops of robots against Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.contact_models import GAINS, contact_dynamics_of, force_costs
from tests.support.contact_numbers import Motion, assert_derivatives, assert_same_motion
from tests.support.contact_robots import LENGTHS, Reals, random_state, robot_state
from tests.support.contact_twin import Body, contact_dynamics
from tests.support.slow_twin import assert_close
from trajopt import ContactModelLoop, ContactStack

CRANK, COUPLER, ROCKER, GROUND = LENGTHS


def loop_model(
    robot: str, a: str, b: str, dimension: int, *, costs: bool = True, gains: Any = GAINS, **options: Any
) -> Any:
    state = robot_state(robot)
    stack = ContactStack(state).add("loop", ContactModelLoop(state, a, b, dimension=dimension, gains=gains))
    terms = force_costs(stack, gravity=False) if costs else trajopt.CostStack(state)
    return contact_dynamics_of(stack, costs=terms, **options)


# The linkage: bars in the x-z plane, angles from x towards z


def angles(crank: Any) -> Reals:
    """(crank, coupler relative to the crank, rocker) of the open assembly, in closed form."""
    elbow = CRANK * np.exp(1j * crank)
    away = GROUND - elbow
    reach = abs(away)
    turn = np.arccos((COUPLER**2 + reach**2 - ROCKER**2) / (2 * COUPLER * reach))
    tip = elbow + COUPLER * away / reach * np.exp(1j * turn)
    return np.array([crank, np.angle((tip - elbow) / np.exp(1j * crank)), np.angle(tip - GROUND)])


def slope(f: Any, at: float, h: float = 1e-3) -> Any:
    """df/ds by differences of fourth order."""
    return (f(at - 2 * h) - 8 * f(at - h) + 8 * f(at + h) - f(at + 2 * h)) / (12 * h)


def centres(crank: float) -> Reals:
    """Centres of mass of the bars (3,) as complex numbers: x + i z."""
    q = angles(crank)
    first, second, third = np.exp(1j * q[0]), np.exp(1j * (q[0] + q[1])), np.exp(1j * q[2])
    return np.array([0.4 * CRANK * first, CRANK * first + 0.4 * COUPLER * second, GROUND + 0.4 * ROCKER * third])


MASSES = 2.0 * np.array(LENGTHS[:3])
TURNING = 0.1 * np.array(LENGTHS[:3]) ** 3  # about the centres of mass


def inertia(crank: float) -> float:
    """I of the kinetic energy ½ I ds/dt², s the crank's angle."""
    dq = slope(angles, crank)
    speeds = np.array([dq[0], dq[0] + dq[1], dq[2]])
    return float(MASSES @ np.abs(slope(centres, crank)) ** 2 + TURNING @ speeds**2)


def weight(crank: float) -> float:
    """Potential energy."""
    return float(9.81 * MASSES @ centres(crank).imag)


def closed_state(crank: float, speed: float) -> Reals:
    return np.concatenate([angles(crank), speed * slope(angles, crank)])


@pytest.mark.parametrize("crank", [0.4, 2.0, 4.5])
def test_four_bar_moves_as_its_one_coordinate(crank: float) -> None:
    """I s'' + ½ I' s'² + V' = τ: with three joints and a ball joint that closes the loop."""
    motion = Motion(loop_model("four-bar", "coupler_tip", "rocker_tip", 3, costs=False, gains=(0, 0), damping=1e-9))
    speed, torque = -1.3, 0.7
    x = closed_state(crank, speed)
    body = Body(robot_state("four-bar").model, x[:3], x[3:])
    a, b = (body.placement(f) for f in ("coupler_tip", "rocker_tip"))
    assert np.abs(a.translation - b.translation).max() < 1e-12
    found, forces = motion(x, np.array([torque, 0.0, 0.0]))
    forcing = torque - 0.5 * slope(inertia, crank) * speed**2 - slope(weight, crank)
    assert found[0] == pytest.approx(forcing / inertia(crank), rel=1e-6)
    along = slope(lambda s: speed * slope(angles, s), crank) * speed + slope(angles, crank) * found[0]
    assert_close(found, along, 1e-6)
    assert abs(forces["loop"][1]) < 1e-6  # nothing pushes out of the plane


def test_four_bar_keeps_its_energy_and_its_loop() -> None:
    """Without gains, damping or torque, over a second in which the crank turns by more than a radian."""
    model = loop_model("four-bar", "coupler_tip", "rocker_tip", 3, costs=False, gains=(0, 0), damping=1e-9)
    step, steps = trajopt.IntegratedActionModelRK4(model, dt=0.01), 100
    data, x = step.create_data(), closed_state(0.4, 4.0)
    start = 0.5 * inertia(x[0]) * x[3] ** 2 + weight(x[0])
    for _ in range(steps):
        step.calc(data, x, np.zeros(3))
        x = data.xnext.copy()
    assert abs(x[0] - 0.4) > 1.0
    closed = closed_state(x[0], x[3])
    assert_close(np.exp(1j * x[:3]), np.exp(1j * closed[:3]), 1e-5)
    assert_close(x[3:], closed[3:], 1e-5)
    assert 0.5 * inertia(x[0]) * x[3] ** 2 + weight(x[0]) == pytest.approx(start, rel=1e-5)


# Loops of other robots


LOOPS = {
    "weld of feet": ("biped", "foot0", "foot1", 6, {}),
    "ball between feet": ("biped", "foot0", "foot1", 3, {"friction": "smooth"}),
    "ball on the world": ("arm", "ground", "2_RX_frame", 3, {}),
    "hinge of feet": ("biped", "foot0", "foot1", 5, {}),
    "hinge, the world first": ("arm", "ground", "2_RX_frame", 5, {"damping": 0.01}),
    "weld, the world second": ("zoo", "1_SphericalZYX_frame", "ground", 6, {"damping": 0.01}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_agree_with_pinocchio(name: str) -> None:
    robot, a, b, dimension, options = LOOPS[name]
    model = loop_model(robot, a, b, dimension, **options)
    motion, u = Motion(model), np.random.default_rng(0).normal(size=model.nu)
    for seed in (0, 1):
        x = random_state(robot, seed)
        assert_same_motion(motion(x, u), contact_dynamics(model, x, u), 1e-8)
    assert_derivatives(model, random_state(robot, 0), u)


def test_a_weld_to_the_world_is_a_contact_of_six_dimensions() -> None:
    """The force on B is in the axes of A, about its origin; the opposite acts on A, which does not move."""
    state, x = robot_state("arm"), random_state("arm", 3)
    welded, loop_forces = Motion(loop_model("arm", "ground", "2_RX_frame", 6, costs=False, gains=(0, 0)))(x)
    contact = trajopt.ContactModel6D(state, "2_RX_frame", reference_frame="local")
    held, forces = Motion(contact_dynamics_of(ContactStack(state).add("hand", contact)))(x)
    assert_close(welded, held, 1e-9)
    body = Body(state.model, x[: state.nq], x[state.nq :])
    ground, hand = body.placement("ground"), body.placement("2_RX_frame")
    wrench = ground.actInv(hand).act(pin.Force(forces["hand"]))
    assert_close(loop_forces["loop"], wrench.vector, 1e-9)


def test_a_loop_can_be_opened() -> None:
    motion, x = Motion(loop_model("four-bar", "coupler_tip", "rocker_tip", 3, damping=0.1)), closed_state(1.0, 2.0)
    a, forces = motion(x, contacts__loop__active=0.0)
    np.testing.assert_array_equal(forces["loop"], np.zeros(3))
    model = robot_state("four-bar").model
    assert_close(a, pin.aba(model, model.createData(), x[:3], x[3:], np.zeros(3)), 1e-10)
    assert np.abs(a - motion(x)[0]).max() > 1.0


def two_bodies(joint: pin.JointModel) -> trajopt.Robot:
    """A free body that carries another by a joint, with the frames "socket" and "pin" at the joint."""
    rng, model = np.random.default_rng(4), pin.Model()
    model.name = joint.shortname()
    at = pin.SE3(pin.exp3(np.array([0.3, -0.2, 0.5])), np.array([0.2, 0.1, -0.3]))
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    arm = model.addJoint(base, joint, at, "arm")
    for number, mass in ((base, 2.0), (arm, 0.7)):
        inertia = pin.Inertia(mass, 0.2 * rng.normal(size=3), np.diag(mass * np.array([0.02, 0.03, 0.04])))
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    model.addFrame(pin.Frame("socket", base, 0, at, pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("pin", arm, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    return trajopt.Robot(model)


def test_a_hinge_is_a_revolute_joint() -> None:
    """Two free bodies with a hinge between them move like one that carries the other by a revolute joint."""
    loose, tree = two_bodies(pin.JointModelFreeFlyer()), two_bodies(pin.JointModelRZ())
    state = trajopt.StateMultibody(loose)
    stack = ContactStack(state).add("hinge", ContactModelLoop(state, "socket", "pin", dimension=5))
    actuation = trajopt.ActuationModelMatrix(state, np.eye(12))
    costs = trajopt.CostStack(state)
    motion = Motion(trajopt.DifferentialActionModelContactFwdDynamics(state, actuation, stack, costs))
    rng, angle, rate = np.random.default_rng(5), 2.2, -1.7
    base, twist, force = pin.neutral(tree.model)[:7], rng.normal(size=6), rng.normal(size=12)
    base = pin.integrate(tree.model, pin.neutral(tree.model), np.append(rng.normal(size=6), angle))[:7]
    turn = [0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)]
    x = np.concatenate([base, np.zeros(3), turn, twist, np.zeros(5), [rate]])
    found, forces = motion(x, force)
    q, v = np.append(base, [np.cos(angle), np.sin(angle)] if tree.nq == 9 else [angle]), np.append(twist, rate)
    expected = pin.aba(tree.model, tree.model.createData(), q, v, np.append(force[:6], force[11]))
    across = np.append(force[6:11], 0.0)  # in the directions that the hinge holds: no effect on the motion
    assert np.abs(across).max() > 0.1
    assert_close(found[:6], expected[:6], 1e-9)
    assert_close(found[6:], np.append(np.zeros(5), expected[6]), 1e-9)
    assert forces["hinge"].shape == (5,)
