"""Simulators to call, and valid arguments of what `trajopt.simulator` has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin

import trajopt
from tests.fuzz.worlds import T, World, world
from tests.support.collision_arm import collision_arm
from trajopt.simulator import (
    ActionModelSimulator,
    HeightField,
    MDPContact,
    Plane,
    Rollout,
    Simulator,
    Surface,
)
from trajopt.simulator.diffne import DiffNERobotModel, EndEffectorBounds

Maker = Callable[[World, Random], Any]
MODES = {"vector": "INVERSE_I", "arm": "FORWARD_RK1F", "quadruped": "FORWARD_RK1F", "biped": "BACKWARD_RK1F"}
LIMBED = "four-limbs"


def hills(x: ca.SX, y: ca.SX) -> ca.SX:
    """A height that pickles."""
    return 0.05 * ca.sin(x) * ca.cos(y)


def ball(p: ca.SX) -> ca.SX:
    """A distance that pickles."""
    return ca.norm_2(p - ca.DM([0.0, 0.0, -1.0])) - 0.5


def spring(R: ca.SX, p: ca.SX, gain: Any = 1.0) -> ca.SX:
    """Columns that pickle."""
    return ca.vertcat(0, 0, 1, 0, 0, 0) * gain * ca.fmax(-p[2], 0) ** 3


def steady(t: float, x: Any) -> Any:
    """Torques of a controller, for any robot."""
    return 0.0


@functools.cache
def simulator_of(kind: str) -> Simulator:
    """The simulator of a world; calls get a copy."""
    w = world(kind)
    feet = w.feet if w.legged else w.frames[-1:]
    return Simulator(w.robot, [MDPContact(foot, name=f"touch{i}") for i, foot in enumerate(feet)], MODES[kind])


@functools.cache
def limbed() -> DiffNERobotModel:
    """A robot by the names of DiffNE, to be looked at."""
    return DiffNERobotModel(None, LIMBED)


def _diffne(w: World, rng: Random) -> DiffNERobotModel:
    m = DiffNERobotModel(None, LIMBED)
    m.create_simulator()
    return m


def _bounds(w: World, rng: Random) -> EndEffectorBounds:
    return EndEffectorBounds(rng.randrange(2, 8), localPos=(0.0, 0.0, 0.1), phi0=0.02)


def rollout_of_arm(w: World, rng: Random) -> Rollout:
    """A motion that nothing computed."""
    arm = world("arm")
    xs, times = np.array([arm.x(rng) for _ in range(T + 1)]), np.linspace(0.0, 0.1, T + 1)
    taus = np.zeros((T, arm.robot.nv))
    return Rollout(robot=arm.robot, contacts=(), times=times, xs=xs, taus=taus, friction={}, forces={})


def _action(w: World, rng: Random) -> ActionModelSimulator:
    stepping = w if MODES[w.kind].startswith("FORWARD") else world("arm")
    return ActionModelSimulator(simulator_of(stepping.kind), stepping.costs(rng, stepping.robot_state))


def _x(w: World, rng: Random) -> Any:
    return w.robot_state.rand(rng.randrange(1000))


def _qdq(w: World, rng: Random) -> Any:
    more = 0 if MODES[w.kind].startswith("FORWARD") else w.robot.nv
    return np.concatenate([_x(w, rng), np.zeros(more)])


def _tau(w: World, rng: Random) -> Any:
    return None if MODES[w.kind].startswith("INVERSE") else np.zeros(w.robot.nv)


def _taus(w: World, rng: Random) -> Any:
    return None if MODES[w.kind].startswith("INVERSE") else np.zeros((T, w.robot.nv))


def _acting(make: Callable[[World, Random], Any]) -> Maker:
    """Of the world whose simulator steps forward."""
    return lambda w, rng: make(w if MODES[w.kind].startswith("FORWARD") else world("arm"), rng)


def _limbed_state(w: World, rng: Random) -> Any:
    m = limbed()
    return np.concatenate([pin.neutral(m.robot.model), np.zeros(m.robot.nv)])


def _of(*values: Any) -> Maker:
    return lambda w, rng: rng.choice(values)


BOX = trajopt.Box([2.0, 2.0, 1.0], placement=[0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0])
FIXED_SIMULATED: dict[str, Maker] = {
    "Simulator": lambda w, rng: simulator_of(w.kind).copy(),
    "ActionModelSimulator": _action,
    "Rollout": rollout_of_arm,
    "DiffNERobotModel": _diffne,
    "ArticulatedBody": lambda w, rng: limbed().body,
    "BodyJoint": lambda w, rng: limbed().body.joint(rng.randrange(1, limbed().body.nrJ())),
    "EndEffector": lambda w, rng: _bounds(w, rng).on(limbed().body),
    "EndEffectorBounds": _bounds,
}
"""Objects to call methods on."""

SIMULATED: dict[str, Maker] = {
    "ActionModelSimulator.simulator": _acting(lambda w, rng: simulator_of(w.kind)),
    "ActionModelSimulator.costs": _acting(lambda w, rng: w.costs(rng, w.robot_state)),
    "ActionModelSimulator.constraints": _acting(lambda w, rng: w.constraints(rng, w.robot_state)),
    "ActionModelSimulator.actuation": _acting(lambda w, rng: w.actuation(rng)),
    "ActionModelSimulator.cost_terms.x": _acting(_x),
    "ActionModelSimulator.cost_terms.u": _acting(lambda w, rng: np.zeros(w.robot.nv - 6 * w.legged)),
    "ActionModelSimulator.quasi_static.x": _acting(_x),
    "ActionModelSimulator.quasi_static.parameters": lambda w, rng: None,
    "ExternalWrench.columns": lambda w, rng: spring,
    "ExternalWrench.rays": _of(1),
    "ExternalWrench.derivative": _of(None),
    "ExternalWrench.parameters": lambda w, rng: {"gain": 100.0},
    "HeightField.height": lambda w, rng: hills,
    "Surface.distance": lambda w, rng: ball,
    "BodySurface.shape": lambda w, rng: rng.choice(
        [trajopt.Sphere(0.1), trajopt.Box([0.1, 0.2, 0.3], frame=w.frames[0])]
    ),
    "scene_contacts.robot": lambda w, rng: collision_arm().robot,
    "scene_contacts.scene": lambda w, rng: trajopt.Scene({"ball": trajopt.Sphere(0.1)}),
    "scene_contacts.frames": _of(["arm_left_7_link"], ["arm_left_3_link", "arm_left_5_link"]),
    "Plane.coefficients": lambda w, rng: (0.0, 0.1, 1.0, 0.2),
    "Plane.body": lambda w, rng: rng.choice([None, w.frames[0]]),
    "HeightField.body": lambda w, rng: rng.choice([None, w.frames[0]]),
    "Surface.body": lambda w, rng: rng.choice([None, w.frames[0]]),
    "MDPContact.offset": lambda w, rng: np.array([0.0, 0.01, -0.02]),
    "MDPContact.surface": lambda w, rng: rng.choice(
        [
            Plane((0, 0, 1, 0)),
            HeightField(hills),
            Surface(ball),
            ball,
            BOX,
            trajopt.Sphere(0.3),
        ]
    ),
    "MDPContact.friction": lambda w, rng: rng.uniform(0.0, 1.0),
    "MDPContact.rays": _of(3, 6),
    "MDPContact.exponent": _of(2.0, 2.5, 3.0),
    "Simulator.contacts": lambda w, rng: [MDPContact(w.frames[-1])],
    "Simulator.mode": _of("FORWARD_RK1F", "inverse_i", "BACKWARD_RK1F", "FORWARD_LF"),
    "Simulator.variant": _of("projected", "readme", "source"),
    "Simulator.joint_friction": _of(None, "smooth"),
    "Simulator.accuracy": _of(64, 128),
    "Simulator.masses": lambda w, rng: rng.choice([(), w.frames[-1:]]),
    "Simulator.set_parameter.name": _of("barrier_weight", "contacts.touch0.friction", "contacts.touch0.strength"),
    "Simulator.set_parameter.value": lambda w, rng: rng.uniform(0.1, 1.0),
    "Simulator.set_PD_controller.target": lambda w, rng: rng.choice([None, _x(w, rng)]),
    "Simulator.set_floor.end_effectors": lambda w, rng: [w.frames[-1]],
    "Simulator.rollout.taus": _of(None, steady),
    "Simulator.rollout.x0": _x,
    "Simulator.step.x": _x,
    "Simulator.controller_torque.x": _x,
    "Simulator.simulate_batched.Dqdq": _of(True, False),
    "DiffNERobotModel.world": lambda w, rng: None,
    "DiffNERobotModel.path": _of(LIMBED, "small-quadruped", "planar-2r"),
    "DiffNERobotModel.base": _of("free_flyer", "euler", "planar", "fixed"),
    "DiffNERobotModel.create_simulator.mode": _of("FORWARD_RK1F", "INVERSE_I"),
    "DiffNERobotModel.create_simulator.accuracy": _of(64, 128),
    "DiffNERobotModel.eliminate_joints.names": lambda w, rng: ["limb1_link3", "limb2"],
    "DiffNERobotModel.set_joint_angle.prefix": _of("limb1_link2", "limb"),
    "DiffNERobotModel.set_joint_angle.value": lambda w, rng: rng.uniform(-1.0, 1.0),
    "DiffNERobotModel.set_floor.ees": lambda w, rng: [_bounds(w, rng)],
    "DiffNERobotModel.simulate.qdq": _limbed_state,
    "DiffNERobotModel.simulate.tau": lambda w, rng: np.zeros(limbed().robot.nv),
    "DiffNERobotModel.simulate_batched.qdqs": lambda w, rng: [_limbed_state(w, rng)] * T,
    "DiffNERobotModel.simulate_batched.taus": lambda w, rng: [np.zeros(limbed().robot.nv)] * T,
    "DiffNERobotModel.set_qdq.qdq": _limbed_state,
    "DiffNERobotModel.original_configuration.q": lambda w, rng: pin.neutral(limbed().robot.model),
    "DiffNERobotModel.reduced_configuration.q": lambda w, rng: pin.neutral(limbed().robot.model),
    "DiffNERobotModel.update_world.q": lambda w, rng: pin.neutral(limbed().robot.model),
    "ArticulatedBody.shapes.kind": _of("collision", "visual"),
    "ArticulatedBody.beginning_with.prefix": _of("limb1", "limb2_link2"),
    "EndEffectorBounds.detectEndEffector.body": lambda w, rng: limbed().body,
    "EndEffectorBounds.on.body": lambda w, rng: limbed().body,
    "Vec3d.x": lambda w, rng: rng.random(),
    # by argument
    "accuracy": _of(64),
    "i": lambda w, rng: rng.randrange(1, 8),
    "kp": lambda w, rng: rng.choice([10.0, np.full(w.robot.nv, 10.0)]) if not w.legged else 10.0,
    "kd": lambda w, rng: rng.uniform(0.0, 1.0),
    "localPos": lambda w, rng: np.array([0.0, 0.0, 0.1]),
    "n": _of(1, 2),
    "phi0": lambda w, rng: rng.uniform(0.0, 0.1),
    "plane": lambda w, rng: np.array([0.0, 0.0, 1.0, 0.5]),
    "prefix": _of("limb1"),
    "qdq": _qdq,
    "qdqs": lambda w, rng: [_qdq(w, rng) for _ in range(T)],
    "steps": _of(1, T),
    "strength": lambda w, rng: rng.uniform(1e4, 1e6),
    "tau": _tau,
    "taus": _taus,
    "zRange": lambda w, rng: np.array([0.0, 0.0, 0.02]),
}
"""Valid arguments, by function and argument or by argument."""
