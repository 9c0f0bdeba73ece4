"""Parts of Euler steps in world axes, beside rotation matrices and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

from trajopt.robots import Robot
from trajopt.states import StateMultibody
from trajopt.states.world_axes import WorldAxesStep
from trajopt.types import Reals

STEP = np.finfo(float).eps ** (1 / 3)


def tree(*joints: Any) -> StateMultibody:
    """A state of a chain of these joints, each with a body of 1 kg."""
    model, parent = pin.Model(), 0
    for i, joint in enumerate(joints):
        placement = pin.SE3(pin.exp3(np.array([0.3, -0.2, 0.5])), np.array([0.1, 0.2, -0.3]))
        parent = model.addJoint(parent, joint, placement, f"joint_{i}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
    return StateMultibody(Robot(model))


STATES: dict[str, Callable[[], StateMultibody]] = {
    "free flyer": lambda: tree(pin.JointModelFreeFlyer()),
    "planar": lambda: tree(pin.JointModelPlanar()),
    "arm on a free flyer": lambda: tree(pin.JointModelFreeFlyer(), pin.JointModelRX(), pin.JointModelSpherical()),
    "free flyer on an arm": lambda: tree(pin.JointModelRUBZ(), pin.JointModelFreeFlyer(), pin.JointModelPlanar()),
}


@pytest.fixture(params=list(STATES))
def state(request: pytest.FixtureRequest) -> StateMultibody:
    return STATES[request.param]()


def evaluated(expression: SX, symbols: list[SX], values: list[Reals]) -> Reals:
    """Value of an expression, a column as (n,)."""
    value = np.array(ca.Function("f", symbols, [ca.densify(expression)])(*values))
    return value.ravel() if value.shape[1] == 1 else value


def rotations(state: StateMultibody, q: Reals) -> Reals:
    """Matrix (nv, nv) that turns the linear velocities of free joints into the axes of their parents."""
    result = np.eye(state.nv)
    for joint in state.model.joints:
        if joint.shortname() == "JointModelFreeFlyer":
            turn = pin.Quaternion(q[joint.idx_q + 3 : joint.idx_q + 7]).matrix()
            result[joint.idx_v : joint.idx_v + 3, joint.idx_v : joint.idx_v + 3] = turn
        if joint.shortname() == "JointModelPlanar":
            c, s = q[joint.idx_q + 2], q[joint.idx_q + 3]
            result[joint.idx_v : joint.idx_v + 2, joint.idx_v : joint.idx_v + 2] = [[c, -s], [s, c]]
    return result


def places(state: StateMultibody) -> tuple[list[int], list[int]]:
    """Indices in q of the positions of free joints, and in v of their linear velocities."""
    sizes = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2}
    joints = [joint for joint in state.model.joints if joint.shortname() in sizes]
    pairs = [(joint.idx_q + k, joint.idx_v + k) for joint in joints for k in range(sizes[joint.shortname()])]
    return [i for i, _ in pairs], [j for _, j in pairs]


def test_a_displacement_is_along_the_axes_of_the_new_configuration(
    state: StateMultibody, rng: np.random.Generator
) -> None:
    q0, d0 = state.rand(1)[: state.nq], rng.normal(size=state.nv)
    q, d = SX.sym("q", state.nq), SX.sym("d", state.nv)
    moved = evaluated(WorldAxesStep(state).move(q, d), [q, d], [q0, d0])
    wanted = pin.integrate(state.model, q0, d0)
    positions, linear = places(state)
    wanted[positions] = q0[positions] + (rotations(state, wanted) @ d0)[linear]
    np.testing.assert_allclose(moved, wanted, rtol=0, atol=1e-13)


def test_turned_velocities_are_the_same_in_the_world(state: StateMultibody, rng: np.random.Generator) -> None:
    q0, (v0, d0) = state.rand(1)[: state.nq], rng.normal(size=(2, state.nv))
    v, d = SX.sym("v", state.nv), SX.sym("d", state.nv)
    turned = evaluated(WorldAxesStep(state).turn(v, d), [v, d], [v0, d0])
    after = rotations(state, pin.integrate(state.model, q0, d0))
    np.testing.assert_allclose(after @ turned, rotations(state, q0) @ v0, rtol=0, atol=1e-13)


def test_drift_is_the_rate_at_which_axes_turn_a_velocity(state: StateMultibody, rng: np.random.Generator) -> None:
    """d/dt (R v) = R (dv/dt + ω × v): at a constant v, by central differences along the motion."""
    q0, v0 = state.rand(1)[: state.nq], rng.normal(size=state.nv)
    v = SX.sym("v", state.nv)
    there, back = (rotations(state, pin.integrate(state.model, q0, s * STEP * v0)) @ v0 for s in (1, -1))
    wanted = rotations(state, q0).T @ (there - back) / (2 * STEP)
    found = evaluated(WorldAxesStep(state).drift(v), [v], [v0])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_derivatives(state: StateMultibody, rng: np.random.Generator) -> None:
    world, nq, nv = WorldAxesStep(state), state.nq, state.nv
    q, v, d = SX.sym("q", nq), SX.sym("v", nv), SX.sym("d", nv)
    values = [state.rand(1)[:nq], *rng.normal(size=(2, nv))]
    functions = {
        "move": ca.Function("move", [q, v, d], [world.move(q, d)]),
        "turn": ca.Function("turn", [q, v, d], [ca.densify(world.turn(v, d))]),
        "drift": ca.Function("drift", [q, v, d], [ca.densify(world.drift(v))]),
    }

    def slope(name: str, argument: int) -> Reals:
        columns = []
        for i in range(nv):
            ends = []
            for sign in (1.0, -1.0):
                moved, step = [np.array(value) for value in values], sign * STEP * np.eye(nv)[i]
                at = moved[argument]
                moved[argument] = pin.integrate(state.model, at, step) if argument == 0 else at + step
                ends.append(np.array(functions[name](*moved)).ravel())
            change = pin.difference(state.model, *ends[::-1]) if name == "move" else ends[0] - ends[1]
            columns.append(change / (2 * STEP))
        return np.array(columns).T

    by_q, by_d = world.move_derivatives(q, d)
    by_v, turn_by_d = world.turn_derivatives(v, d)
    cases = [
        *((by_q, "move", 0), (by_d, "move", 2), (by_v, "turn", 1), (turn_by_d, "turn", 2)),
        (world.drift_derivative(v), "drift", 1),
    ]
    for expression, name, argument in cases:
        wanted = slope(name, argument)
        found = evaluated(expression, [q, v, d], values)
        assert np.abs(found - wanted).max() <= 1e-6 * max(1.0, np.abs(wanted).max()), (name, argument)


def test_displacements_in_the_axes_before(state: StateMultibody, rng: np.random.Generator) -> None:
    """The chain rule over `turn` gives the same, to rounding."""
    world, d = WorldAxesStep(state), SX.sym("d", state.nv)
    by_d, by_turn = world.turn_derivatives(d, d)
    wanted = world.move_derivatives(SX(state.nq, 1), world.turn(d, d))[1] @ (by_d + by_turn)
    values = [rng.normal(size=state.nv)]
    found = evaluated(world.move_derivative_before(world.turn(d, d)), [d], values)
    np.testing.assert_allclose(found, evaluated(wanted, [d], values), rtol=0, atol=1e-13)


def test_robots_without_free_joints_are_not_free() -> None:
    assert not WorldAxesStep(tree(pin.JointModelRX(), pin.JointModelSpherical())).free
    assert WorldAxesStep(tree(pin.JointModelRX(), pin.JointModelPlanar())).free
