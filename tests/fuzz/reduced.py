"""Valid arguments and objects of reduced models, of supports and of their gaits; of motors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.fuzz.worlds import World, world
from trajopt import gaits
from trajopt.simulator import Plane


def _supports() -> trajopt.SupportStack:
    return trajopt.SupportStack().add("left", (0.1, 0.2, 0.0)).add("right", pin.SE3.Identity())


@functools.cache
def _body() -> trajopt.StateMultibody:
    return trajopt.StateMultibody(trajopt.single_rigid_body(world("quadruped").robot))


def _costs(state: trajopt.StateAbstract) -> trajopt.CostStack:
    return trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), 1.0)


def _centroidal() -> trajopt.DifferentialActionModelCentroidal:
    return trajopt.DifferentialActionModelCentroidal(2.0, _supports(), _costs(trajopt.centroidal_state()))


def _rigid() -> trajopt.DifferentialActionModelSingleRigidBody:
    return trajopt.DifferentialActionModelSingleRigidBody(_body(), _supports(), _costs(_body()))


def _knot() -> trajopt.IntegratedActionModelEuler:
    return trajopt.IntegratedActionModelEuler(world("arm").differential(Random(0)), 0.05)


@functools.cache
def _models() -> gaits.ReducedGaitModels:
    w = world("quadruped")
    return gaits.ReducedGaitModels(w.robot, w.stance, model="centroidal")


_CENTROIDAL, _RIGID = "DifferentialActionModelCentroidal", "DifferentialActionModelSingleRigidBody"


def _terrain(w: World, rng: Random) -> gaits.Terrain:
    return rng.choice([gaits.Terrain(Plane((0.0, 0.1, 1.0, 0.2))), gaits.Terrain.stairs(2, rise=0.1, depth=0.3)])


REDUCED: dict[str, Callable[[World, Random], Any]] = {
    "terrain": _terrain,
    "GaitModels.terrain": lambda w, rng: None,
    "GaitLimits.terrain": lambda w, rng: True,
    "ContactSchedule.terrain": lambda w, rng: None,
    "Terrain.surfaces": lambda w, rng: Plane((0.0, 0.1, 1.0, 0.2)),
    "Terrain.stairs.count": lambda w, rng: rng.randrange(1, 4),
    "Terrain.heights.points": lambda w, rng: [(0.0, rng.uniform(-1.0, 1.0))],
    "Terrain.normals.points": lambda w, rng: [(0.0, rng.uniform(-1.0, 1.0))],
    "Terrain.distances.points": lambda w, rng: [(0.0, rng.uniform(-1.0, 1.0), 0.3)],
    "Terrain.relief.low": lambda w, rng: (0.0, 0.0, 0.0),
    "Terrain.relief.high": lambda w, rng: (1.0, 0.5, 0.5),
    "Terrain.place.foothold": lambda w, rng: gaits.Foothold((0.1, 0.2, 0.0)),
    "Terrain.place.edge": lambda w, rng: 0.02,
    "ResidualModelTerrainDistance.bodies": lambda w, rng: [trajopt.Sphere(0.1, frame=w.frames[-1])],
    "GaitLimits.bodies": lambda w, rng: [trajopt.Sphere(0.1, frame=w.frames[-1])],
    "ActionModelMotors.model": lambda w, rng: _knot(),
    "ActionModelMotors.time_constant": lambda w, rng: 0.1,
    "ActionModelMotors.motors": lambda w, rng: None,
    "supports": lambda w, rng: _supports(),
    "SupportStack.add.name": lambda w, rng: f"foot_{rng.randrange(1000)}",
    "SupportStack.add.place": lambda w, rng: rng.choice([(0.0, 0.1, 0.2), pin.SE3.Identity()]),
    "single_rigid_body.robot": lambda w, rng: world("quadruped").robot,
    "single_rigid_body.q": lambda w, rng: None,
    f"{_CENTROIDAL}.costs": lambda w, rng: _costs(trajopt.centroidal_state()),
    f"{_CENTROIDAL}.constraints": lambda w, rng: None,
    f"{_RIGID}.state": lambda w, rng: _body(),
    f"{_RIGID}.costs": lambda w, rng: _costs(_body()),
    f"{_RIGID}.constraints": lambda w, rng: None,
    "ReducedGaitModels.robot": lambda w, rng: world("quadruped").robot,
    "ReducedGaitModels.stance": lambda w, rng: world("quadruped").stance,
    "ReducedGaitModels.model": lambda w, rng: rng.choice(["srbd", "centroidal"]),
    "ReducedGaitModels.posture": lambda w, rng: None,
    "ReducedGaitModels.problem.schedule": lambda w, rng: world("quadruped").schedule,
    "ReducedGaitModels.problem.x0": lambda w, rng: None,
    "ReducedGaitModels.set_schedule.schedule": lambda w, rng: world("quadruped").schedule,
    "ReducedGaitModels.set_schedule.problem": lambda w, rng: _models().problem(world("quadruped").schedule),
    "ReducedGaitModels.state_of.x": lambda w, rng: None,
    "centre_of_mass.x": lambda w, rng: np.zeros(9),
    "gait_problem.model": lambda w, rng: "whole-body",
    "gait_problem.plan": lambda w, rng: None,
    "gait_guess.plan": lambda w, rng: None,
    "GaitModels.problem.plan": lambda w, rng: None,
    "GaitModels.follows": lambda w, rng: False,
}

FIXED_REDUCED: dict[str, Callable[[World, Random], Any]] = {
    "ActionModelMotors": lambda w, rng: trajopt.ActionModelMotors(_knot(), 0.1),
    "SupportStack": lambda w, rng: _supports(),
    _CENTROIDAL: lambda w, rng: _centroidal(),
    _RIGID: lambda w, rng: _rigid(),
    "ReducedGaitModels": lambda w, rng: _models(),
    "Terrain": _terrain,
}
