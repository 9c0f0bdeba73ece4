"""Valid arguments of collision shapes, of rows that keep links apart, and of the check of derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World, folder, world
from tests.support.meshes import cube
from trajopt.robots import CollisionShapes


@functools.cache
def _shapes() -> CollisionShapes:
    bodies = (trajopt.Sphere(0.05, frame="link_1"), trajopt.Sphere(0.04, frame="tool"))
    return CollisionShapes(bodies=bodies, pairs=((0, 1),))


@functools.cache
def _state() -> trajopt.StateMultibody:
    return trajopt.StateMultibody(world("arm").robot.with_collision_shapes(_shapes()))


def _saved(w: World, rng: Random) -> Any:
    _shapes().save(folder() / "shapes.json")
    return folder() / "shapes.json"


def _scene(w: World, rng: Random) -> Any:
    table = trajopt.Box([1.0, rng.uniform(0.1, 1.0), 0.1])
    mesh = trajopt.TriangleMesh(cube(), cell=0.05)
    return rng.choice([True, False, trajopt.Scene({"ball": trajopt.Sphere(0.1), "table": table, "cube": mesh})])


def _saved_scene(w: World, rng: Random) -> Any:
    file = folder() / rng.choice(["scene.json", "scene.yaml"])
    trajopt.Scene({"ball": trajopt.Sphere(0.1), "table": trajopt.Box([1.0, 1.0, 0.1])}).save(file)
    return file


def _mesh(w: World, rng: Random) -> Any:
    triangle = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, rng.uniform(0.0, 1.0)]]])
    return rng.choice([triangle, cube()])


def _subject(w: World, rng: Random) -> Any:
    return rng.choice([w.problem(rng), w.action(rng), w.differential(rng)])


COLLIDED: dict[str, Callable[[World, Random], Any]] = {
    "CollisionShapes.from_json.text": lambda w, rng: _shapes().to_json(),
    "CollisionShapes.load.path": _saved,
    "Scene.load.path": _saved_scene,
    "TriangleMesh.surface": _mesh,
    "TriangleMesh.placement": lambda w, rng: rng.choice([None, np.eye(4)]),
    "TriangleMesh.scale": lambda w, rng: rng.choice([1.0, 0.5]),
    "TriangleMesh.waste": lambda w, rng: rng.choice([0.02, 0.1]),
    "TriangleMesh.cell": lambda w, rng: rng.choice([None, 0.05]),
    "TriangleMesh.at.placement": lambda w, rng: np.eye(4),
    "Scene.save.path": lambda w, rng: folder() / "saved.yaml",
    "CollisionShapes.save.path": lambda w, rng: folder() / "shapes.json",
    "ConstraintStack.of_robot.state": lambda w, rng: _state(),
    "ConstraintStack.of_robot.actuation": lambda w, rng: rng.choice([None, trajopt.ActuationModelFull(_state())]),
    "ConstraintStack.of_robot.collisions": _scene,
    "ConstraintStack.of_robot.pairs": lambda w, rng: rng.choice([1, 12]),
    "ConstraintStack.of_robot.obstacles": lambda w, rng: rng.choice([1, 4]),
    "Robot.with_collision_shapes.shapes": lambda w, rng: [trajopt.Sphere(0.05, frame=w.frames[-1])],
    "check_derivatives.subject": _subject,
    "check_derivatives.x": lambda w, rng: None,
    "check_derivatives.u": lambda w, rng: None,
    "check_derivatives.tolerance": lambda w, rng: rng.choice([1e-5, 1e-3]),
    "fit_collision_shapes.robot": lambda w, rng: trajopt.load_robot("double_pendulum_simple"),
    "fit_collision_shapes.waste": lambda w, rng: rng.choice([None, 0.5]),
    "fit_collision_shapes.srdf": lambda w, rng: None,
    "ControlParametrizationPolyOne.at.w": lambda w, rng: np.zeros(2 * w.nu),
    "ControlParametrizationPolyTwoRK.at.w": lambda w, rng: np.zeros(3 * w.nu),
    "ControlParametrizationPolyZero.at.w": lambda w, rng: np.zeros(w.nu),
}
"""By door and argument."""

FIXED_COLLIDED: dict[str, Callable[[World, Random], Any]] = {
    "CollisionShapes": lambda w, rng: _shapes(),
    "TriangleMesh": lambda w, rng: trajopt.TriangleMesh(cube(), cell=rng.choice([None, 0.05])),
}
"""Objects to call methods on."""
