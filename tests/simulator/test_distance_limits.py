"""Limits of distance joints: a ball on a rope, a rod's end on another rope, forces and derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tests.articulations.built import tethered
from trajopt.articulations import ArticulationBuilder
from trajopt.robots import Robot
from trajopt.simulator import Simulator
from trajopt.types import Reals

GRAVITY, DT = 9.81, 1e-3


def ball(lower: float = 0.0, upper: float = 0.5) -> Robot:
    """A ball of 2 kg on a rope from the origin."""
    builder = ArticulationBuilder()
    builder.add_link("ball", mass=2.0, inertia=np.diag([0.01] * 3))
    builder.add_distance("world", "ball", lower=lower, upper=upper)
    return builder.build("ball")


def state(place: tuple[float, float, float], velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Reals:
    """(q, v) of the ball without rotation."""
    return np.r_[place, 0, 0, 0, 1, velocity, 0, 0, 0]


@pytest.mark.parametrize(
    ("mode", "most"), [("FORWARD_RK1F", 0.51), ("BACKWARD_RK1F", 0.51), ("FORWARD_RK1I", 0.52), ("FORWARD_RK4I", 0.52)]
)
def test_a_falling_ball_is_caught_by_its_rope(mode: str, most: float) -> None:
    """It falls 0.4 m, 0.3 m beside its anchor, and stays within 0.5 m plus 1 cm; the rope does not throw it back.

    With impulses it sinks by a dt² in each step, 2 cm at most.
    """
    simulator = Simulator(ball(), mode=mode)
    xs = simulator.rollout(state((0.3, 0.0, 0.0)), None, 1500, DT).xs
    lengths = np.linalg.norm(xs[:, :3], axis=1)
    assert lengths.max() < most
    taut = int(np.argmax(lengths > 0.5))
    assert lengths[taut + 20 :].min() > 0.495
    assert xs[:, 2].min() < -0.49  # it swings below its anchor


def test_a_ball_at_rest_hangs_one_millimetre_below() -> None:
    """By the strength that carries its weight there; its force is the weight, upwards, in world axes."""
    simulator = Simulator(ball())
    x = simulator.rollout(state((0.0, 0.0, -0.501)), None, 500, DT).xs[-1]
    np.testing.assert_allclose(x[:3], [0.0, 0.0, -0.501], atol=1e-5)
    (force,) = simulator.contact_forces(DT, x).values()
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * GRAVITY], atol=1e-2)


def test_a_lower_limit_pushes_away() -> None:
    """Thrown towards its anchor, the ball stops at the lower limit."""
    simulator = Simulator(ball(lower=0.2, upper=np.inf))
    xs = simulator.rollout(state((0.4, 0.0, 0.0), (-3.0, 0.0, 1.0)), None, 300, DT).xs
    assert np.linalg.norm(xs[:, :3], axis=1).min() > 0.19


def test_a_slack_rope_has_no_effect() -> None:
    """Bits may differ, since the program has a contact more; to rounding."""
    free = Simulator(ball(upper=np.inf))
    assert free.model.names == ()
    x = state((0.1, 0.0, 0.2), (0.5, 0.1, 0.0))
    np.testing.assert_allclose(Simulator(ball()).simulate(DT, x)[0], free.simulate(DT, x)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F", "FORWARD_I", "FORWARD_LF", "INVERSE_LF"])
def test_derivatives_of_ropes(mode: str) -> None:
    """Two ropes, one between links, both taut: central differences, the best of four steps counts."""
    simulator = Simulator(tethered().robot, mode=mode, barrier_weight=0.5)
    model, rng = simulator.robot.model, np.random.default_rng(2)
    q = pin.neutral(model)
    for name, length in (("ball_joint", 0.701), ("buoy_joint", 2.0008)):
        start = model.joints[model.getJointId(name)].idx_q
        direction = rng.normal(size=3)
        q[start : start + 3] = length * direction / np.linalg.norm(direction)
    q = pin.integrate(model, q, np.r_[0.4, np.zeros(model.nv - 1)])
    v, more = rng.normal(size=(2, model.nv))
    x = np.r_[q, v] if mode.startswith("FORWARD") else np.r_[q, v, more]
    result, Dqdq, _ = simulator.simulate(DT, x, Dqdq=True)
    assert Dqdq is not None
    assert max(np.abs(force).max() for force in simulator.contact_forces(DT, x).values()) > 1e-3

    def at(dx: Reals) -> Reals:
        moved = np.r_[pin.integrate(model, q, dx[: model.nv]), x[model.nq :] + dx[model.nv :]]
        after = simulator.simulate(DT, moved)[0]
        if mode != "FORWARD_RK1F":
            return after
        return np.r_[pin.difference(model, result[: model.nq], after[: model.nq]), after[model.nq :]]

    errors = []
    for step in (1e-5, 1e-6, 1e-7, 1e-8):
        columns = [(at(step * e) - at(-step * e)) / (2 * step) for e in np.eye(Dqdq.shape[1])]
        errors.append(np.abs(Dqdq - np.array(columns).T).max() / max(1.0, np.abs(Dqdq).max()))
    assert min(errors) <= 1e-6, errors


def test_ropes_have_the_names_of_their_joints() -> None:
    """Their forces are reported beside those of contacts, and their strength is a parameter."""
    simulator = Simulator(tethered().robot)
    assert list(simulator.contact_forces(DT, tethered().zero())) == ["ball_joint", "buoy_joint"]
    simulator.set_parameter("contacts.buoy_joint.strength", 1e8)


def test_a_rope_between_links_pulls_both() -> None:
    """The forces on two balls on a free joint and a rope are opposite: their momentum changes by gravity alone."""
    builder = ArticulationBuilder()
    for link in ("one", "two"):
        builder.add_link(link, mass=1.0, inertia=np.diag([0.01] * 3))
    builder.add_free("world", "one")
    builder.add_distance("one", "two", upper=0.5)
    simulator = Simulator(builder.build("two balls"))
    model = simulator.robot.model
    x = np.r_[0, 0, 0, 0, 0, 0, 1, 0.51, 0, 0, 0, 0, 0, 1, np.zeros(6), 2.0, 0.3, 0, 0, 0, 0]
    data, q = model.createData(), x[: model.nq]
    before, after = x[model.nq :], simulator.velocity_after(DT, x)
    momenta = [pin.computeCentroidalMomentum(model, data, q, v).linear.copy() for v in (before, after)]
    np.testing.assert_allclose(momenta[1] - momenta[0], [0, 0, -2.0 * GRAVITY * DT], rtol=0, atol=1e-12)
    assert before[6] - after[6] > 0.9  # both move on together


def test_a_new_floor_keeps_ropes_and_their_parameters() -> None:
    simulator = Simulator(ball())
    (rope,) = simulator.model.contacts
    simulator.set_parameter(f"contacts.{rope.name}.strength", 5.0)
    simulator.set_floor([0.0, 0.0, 1.0, 2.0], ["ball"])
    assert simulator.parameter_values() == {f"contacts.{rope.name}.strength": 5.0}
