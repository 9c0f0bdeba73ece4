"""Impulses: against Pinocchio's matrices, velocities after, energy, activity, and costs of a touch-down."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support.contact_numbers import Motion, assert_derivatives, assert_same_motion
from tests.support.contact_robots import Reals, random_state, robot_state
from tests.support.contact_twin import Body, impulse_dynamics
from tests.support.slow_twin import ImpulseTwin, assert_close
from trajopt import ActionModelImpulseFwdDynamics, ImpulseModel3D, ImpulseModel6D, ImpulseStack
from trajopt.contacts.base import Motions

NOTHING: Reals = np.zeros(0)


def stack_of(robot: str, **frames: tuple[type, str, str]) -> ImpulseStack:
    """Impulses by name: kind, frame and axes."""
    state, stack = robot_state(robot), ImpulseStack(robot_state(robot))
    for name, (kind, frame, axes) in frames.items():
        stack.add(name, kind(state, frame, reference_frame=axes))
    return stack


def model_of(stack: ImpulseStack, costs: trajopt.CostStack | None = None, **options: Any) -> Any:
    state = stack.state
    return ActionModelImpulseFwdDynamics(state, stack, costs or trajopt.CostStack(state), **options)


def with_costs(stack: ImpulseStack) -> trajopt.CostStack:
    state = stack.state
    costs = trajopt.CostStack(state).add("com", trajopt.ResidualModelImpulseCoM(state), 0.7)
    for i, name in enumerate(stack.names):
        reference = np.arange(stack[name].nc) * 0.3
        costs.add(f"push_{i}", trajopt.ResidualModelContactForce(state, name, reference), 0.2)
    return costs


class Landing(trajopt.ImpulseModelAbstract):
    """What a user writes: the height of a point stops to change; the push along z turns against the frame."""

    def __init__(self, state: trajopt.StateMultibody, frame: str, *, reference_frame: str = "world") -> None:
        super().__init__(state, [frame], 1, reference_frame=reference_frame)

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.horzcat(motions[self.frame].rotation[2, :], SX(1, 3)))}


CASES: dict[str, tuple[str, dict[str, tuple[type, str, str]], dict[str, float]]] = {
    "point": ("hopper", {"foot": (ImpulseModel3D, "foot0", "world")}, {}),
    "point, local": ("hopper", {"foot": (ImpulseModel3D, "foot0", "local")}, {"restitution": 0.3}),
    "sole": ("hopper", {"foot": (ImpulseModel6D, "foot0", "local_world_aligned")}, {}),
    "sole, local": ("hopper", {"foot": (ImpulseModel6D, "foot0", "local")}, {"restitution": 1.0}),
    "point and sole": (
        "biped",
        {"a": (ImpulseModel3D, "foot0", "local"), "b": (ImpulseModel6D, "foot1", "world")},
        {"restitution": 0.3},
    ),
    "fixed base": ("arm", {"hand": (ImpulseModel3D, "2_RX_frame", "world")}, {"restitution": 0.5}),
    "redundant": (
        "zoo",
        {"a": (ImpulseModel6D, "2_Translation_frame", "world"), "b": (ImpulseModel3D, "2_Translation_frame", "local")},
        {"restitution": 0.3, "damping": 0.01},
    ),
    "height": ("hopper", {"foot": (Landing, "foot0", "world")}, {"restitution": 0.6}),
    "mimic": ("mimic", {"a": (ImpulseModel3D, "8_RY_frame", "world")}, {"restitution": 0.2}),
}


@pytest.mark.parametrize("name", CASES)
def test_impulses_agree_with_pinocchio(name: str) -> None:
    robot, frames, options = CASES[name]
    stack = stack_of(robot, **frames)
    model = model_of(stack, with_costs(stack), **options)
    motion = Motion(model)
    for seed in (0, 1):
        x = random_state(robot, seed)
        assert_same_motion(motion(x), impulse_dynamics(model, x), 1e-10)
    assert_derivatives(model, random_state(robot, 2), NOTHING)


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_frame_stops_or_bounces(restitution: float) -> None:
    """J v⁺ = -e J v, and the energy that is lost is ½ (1 - e²) (J v)ᵀ (J M⁻¹ Jᵀ)⁻¹ J v."""
    motion = Motion(model_of(stack_of("hopper", foot=(ImpulseModel3D, "foot0", "world"))))
    x, state = random_state("hopper", 4), robot_state("hopper")
    body = Body(state.model, x[: state.nq], x[state.nq :])
    J, M = body.jacobian("foot0")[:3], body.mass_matrix()
    after, impulse = motion(x, restitution=restitution)
    assert_close(J @ after, -restitution * (J @ body.v), 1e-11)
    assert_close(M @ (after - body.v), J.T @ impulse["foot"], 1e-11)
    lost = 0.5 * body.v @ M @ body.v - 0.5 * after @ M @ after
    speed = J @ body.v
    expected = 0.5 * (1 - restitution**2) * speed @ np.linalg.solve(J @ np.linalg.solve(M, J.T), speed)
    assert lost == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert expected > 0.1 or restitution == 1.0


def test_the_configuration_stays() -> None:
    model, x = model_of(stack_of("hopper", foot=(ImpulseModel6D, "foot0", "local"))), random_state("hopper", 1)
    data = model.create_data()
    model.calc(data, x, NOTHING)
    np.testing.assert_array_equal(data.xnext[: model.state.nq], x[: model.state.nq])
    assert model.nu == 0
    assert model.time_step() == 0.0
    assert model.quasi_static(x).shape == (0,)


def test_impulses_that_are_not_active_are_not_there() -> None:
    """Exactly zero; without any, velocities stay as they are, and so does all else."""
    stack = stack_of("biped", a=(ImpulseModel3D, "foot0", "world"), b=(ImpulseModel6D, "foot1", "world"))
    motion, alone = Motion(model_of(stack)), Motion(model_of(stack_of("biped", a=(ImpulseModel3D, "foot0", "world"))))
    x = random_state("biped", 0)
    v, impulses = motion(x, impulses__b__active=0.0)
    np.testing.assert_array_equal(impulses["b"], np.zeros(6))
    assert_same_motion((v, impulses), alone(x), 1e-12)
    v, impulses = motion(x, impulses__a__active=0.0, impulses__b__active=0.0)
    np.testing.assert_array_equal(v, x[robot_state("biped").nq :])
    np.testing.assert_array_equal(np.concatenate([*impulses.values()]), np.zeros(9))


def test_damping_leaves_some_velocity() -> None:
    """J v⁺ + e J v = -μ Λ."""
    motion = Motion(model_of(stack_of("hopper", foot=(ImpulseModel3D, "foot0", "world")), damping=0.2))
    x, state = random_state("hopper", 0), robot_state("hopper")
    body = Body(state.model, x[: state.nq], x[state.nq :])
    after, impulse = motion(x, restitution=0.5)
    J = body.jacobian("foot0")[:3]
    assert_close(J @ after + 0.5 * J @ body.v, -0.2 * impulse["foot"], 1e-11)


def test_costs_of_a_touch_down() -> None:
    """The change of the centre of mass's velocity and the momentum before, as Pinocchio has them; no time enters."""
    state, x = robot_state("biped"), random_state("biped", 0)
    stack = stack_of("biped", a=(ImpulseModel3D, "foot0", "world"))
    costs = trajopt.CostStack(state)
    costs.add("com", trajopt.ResidualModelImpulseCoM(state), 2.0)
    costs.add("momentum", trajopt.ResidualModelCentroidalMomentum(state, np.arange(6.0)), 3.0)
    costs.add("push", trajopt.ResidualModelContactForce(state, "a", [1.0, 2.0, 3.0]), 5.0)
    model = model_of(stack, costs)
    data, (after, impulse) = model.create_data(), impulse_dynamics(model, x)
    model.calc(data, x, NOTHING)
    q, v, pinocchio = x[: state.nq], x[state.nq :], state.model.createData()
    change = pin.jacobianCenterOfMass(state.model, pinocchio, q) @ (after - v)
    momentum = pin.computeCentroidalMomentum(state.model, pinocchio, q, v).vector - np.arange(6.0)
    push = impulse["a"] - [1.0, 2.0, 3.0]
    expected = change @ change + 1.5 * momentum @ momentum + 2.5 * push @ push
    assert data.cost == pytest.approx(expected, rel=1e-11)


def test_a_touch_down_costs_nothing_where_nothing_moves() -> None:
    state = robot_state("hopper")
    stack = stack_of("hopper", foot=(ImpulseModel3D, "foot0", "world"))
    costs = trajopt.CostStack(state).add("com", trajopt.ResidualModelImpulseCoM(state), 1.0)
    model, x = model_of(stack, costs), state.at_rest(random_state("hopper", 0))
    data = model.create_data()
    model.calc(data, x, NOTHING)
    model.calc_diff(data, x, NOTHING)
    np.testing.assert_array_equal(data.xnext, x)
    assert data.cost == 0.0
    assert not data.Lx.any()
    assert_close(data.Lxx, ImpulseTwin(model).gauss_newton(x))
