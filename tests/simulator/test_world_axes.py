"""Free joints are stepped in world axes: spinning bodies keep their momentum, and balls roll without gaining energy."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.cases import incline
from tests.simulator.free_bodies import RADIUS, body, energy, linear_momentum, world_velocity
from trajopt.simulator import MDPContact, Simulator
from trajopt.types import Reals

DT = 1e-3
EULER = [
    *(("FORWARD_RK1F", "projected"), ("FORWARD_RK1I", "projected"), ("FORWARD_RK1I", "readme")),
    *(("FORWARD_RK1I", "source"), ("BACKWARD_RK1F", "projected"), ("INVERSE_BACKWARD_RK1F", "projected")),
    ("BACKWARD_RK1I", "projected"),
]
TWIST = [2.0, 0.3, -0.4, 12.0, -10.0, 12.0]  # |ω| = 20 rad/s


def start(model: pin.Model, twist: list[float]) -> Reals:
    """A state with this twist."""
    return np.concatenate([pin.neutral(model), twist])


@pytest.mark.parametrize(("mode", "variant"), EULER)
def test_a_spinning_body_keeps_its_momentum(mode: str, variant: str) -> None:
    """To 1e-12 over 1 s; with Euler's method in the body's axes, speed grew by e^{ω² dt t / 2}, which is 22 %."""
    model = body(inertia=(0.004, 0.005, 0.007), gravity=False)
    rollout = Simulator(model, mode=mode, variant=variant).rollout(start(model, TWIST), None, 1000, DT)
    for x in rollout.xs[::100]:
        np.testing.assert_allclose(linear_momentum(model, x), TWIST[:3], rtol=0, atol=1e-12)
    centre = rollout.xs[-1][:3]
    np.testing.assert_allclose(centre, TWIST[:3], rtol=0, atol=1e-11)  # p = v t at t = 1 s


@pytest.mark.parametrize(("mode", "variant"), EULER)
def test_a_planar_body_keeps_its_momentum(mode: str, variant: str) -> None:
    model = body(pin.JointModelPlanar(), gravity=False)
    rollout = Simulator(model, mode=mode, variant=variant).rollout(start(model, [2.0, 0.3, 20.0]), None, 1000, DT)
    for x in rollout.xs[::100]:
        np.testing.assert_allclose(linear_momentum(model, x), [2.0, 0.3, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(rollout.xs[-1][:2], [2.0, 0.3], rtol=0, atol=1e-11)


@pytest.mark.parametrize(("mode", "variant"), EULER)
def test_a_body_with_its_centre_off_the_joint_keeps_momentum_as_in_mujoco(mode: str, variant: str) -> None:
    """5 cm off at 20 rad/s: off by m ω² c dt at most, 1 %, and by 0.55 % after 1 s, which is MuJoCo's Euler step.

    The joint's acceleration ω² c turns by ω dt in a step, and Euler's step keeps it constant.
    """
    centre = np.array([0.05, 0.0, 0.0])
    model = body(centre=tuple(centre), gravity=False)
    x = start(model, [2.0, -20.0 * centre[0], 0.0, 0.0, 0.0, 20.0])  # the centre moves at 2 m/s
    xs = Simulator(model, mode=mode, variant=variant).rollout(x, None, 1000, DT).xs
    off = [np.linalg.norm(linear_momentum(model, x) - [2.0, 0.0, 0.0]) for x in xs]
    assert max(off) < 20.0**2 * centre[0] * DT * (1 + 1e-4)
    assert off[-1] < 0.0055 * 2.0


def test_free_steps_are_those_of_mujoco() -> None:
    """A body off its joint that tumbles and falls, for 1 s: positions within 1e-12 m."""
    mujoco = pytest.importorskip("mujoco")
    centre, moments = (0.03, 0.02, -0.04), (0.004, 0.005, 0.007)
    peer = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{DT}" integrator="Euler"/><worldbody><body><freejoint/><inertial mass="1"
        pos="{" ".join(map(str, centre))}" diaginertia="{" ".join(map(str, moments))}"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(peer)
    data.qvel[:] = TWIST
    xs = Simulator(body(inertia=moments, centre=centre)).rollout(start(body(), TWIST), None, 1000, DT).xs
    for x in xs[1:]:
        mujoco.mj_step(peer, data)
        np.testing.assert_allclose(x[:3], data.qpos[:3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(world_velocity(x), data.qvel[:3], rtol=0, atol=1e-11)


@pytest.mark.parametrize(("mode", "order"), [("FORWARD_RK2I", 2), ("FORWARD_RK4I", 4)])
def test_runge_kutta_steps_keep_momentum_to_their_order(mode: str, order: int) -> None:
    model = body(inertia=(0.004, 0.005, 0.007), gravity=False)
    steps, errors, simulator = np.array([25, 50, 100]), [], Simulator(model, mode=mode)
    for n in steps:
        x = simulator.rollout(start(model, TWIST), None, int(n), 0.2 / n).xs[-1]
        errors.append(np.linalg.norm(linear_momentum(model, x) - TWIST[:3]))
    assert np.polyfit(np.log(0.2 / steps), np.log(errors), 1)[0] > order - 0.2


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F"])
def test_a_falling_spinning_body_gains_the_momentum_of_gravity(mode: str) -> None:
    model = body()
    x = Simulator(model, mode=mode).rollout(start(model, TWIST), None, 500, DT).xs[-1]
    np.testing.assert_allclose(linear_momentum(model, x), [2.0, 0.3, -0.4 - 9.81 * 0.5], rtol=0, atol=1e-12)


def ball(mode: str = "FORWARD_RK1F", angle: float = 0.0) -> tuple[pin.Model, Simulator, float]:
    """A ball on a plane, its simulator, and the height of its centre above the plane at rest [m]."""
    model = body()
    simulator = Simulator(model, [MDPContact("body", radius=RADIUS, surface=incline(angle))], mode)
    return model, simulator, RADIUS - 1e-3


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F"])
def test_a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed(mode: str) -> None:
    """Friction acts at a radius r, so m r v + I ω is constant, and v = r ω at the end: within 0.1 %, for 2 s.

    It starts at its depth at rest. Sliding, all n rays' budget carries it at (n/(n+1))^(1/3) of that, 0.05 mm higher;
    the depth stays within 0.1 mm of this one.
    """
    _, simulator, height = ball(mode)
    x = start(body(), [2.0, 0, 0, 0, 0, 0])
    x[2] = height
    xs = simulator.rollout(x, None, 2000, DT).xs
    assert world_velocity(xs[-1])[0] == pytest.approx(2.0 * 5 / 7, rel=1e-3)
    assert np.abs(RADIUS - 1e-3 * (6 / 7) ** (1 / 3) - xs[:, 2]).max() < 1e-4


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F"])
def test_a_ball_that_rolls_down_gains_no_energy(mode: str) -> None:
    """Down 20 degrees for 1 s; the speed along the plane is 5/7 g sin(20°) t within 0.5 %."""
    angle = np.radians(20)
    model, simulator, height = ball(mode, angle)
    x = start(model, [0.0] * 6)
    x[:3] = height * np.array([np.sin(angle), 0.0, np.cos(angle)])
    xs = simulator.rollout(x, None, 1000, DT).xs
    energies = np.array([energy(model, x) for x in xs])
    along = world_velocity(xs[-1]) @ [np.cos(angle), 0.0, -np.sin(angle)]
    assert along == pytest.approx(5 / 7 * 9.81 * np.sin(angle), rel=5e-3)
    assert np.diff(energies).max() < 1e-4
    assert energies[-1] <= energies[0] + 1e-6
