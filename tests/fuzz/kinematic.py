"""Valid arguments of inverse kinematics, and objects to call methods on: a planar arm of two links."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World, folder
from trajopt import ik
from trajopt.ik import FiveBar, IKSolver, IKTracker
from trajopt.robots import CollisionShapes

Q0 = (0.3, 0.8)
DT = 0.01


@functools.cache
def _state() -> trajopt.StateMultibody:
    """Of an arm with a ball on each link, for collisions."""
    balls = (trajopt.Sphere(0.05, frame="link_1"), trajopt.Sphere(0.05, frame="tool"))
    shapes = CollisionShapes(bodies=balls, pairs=((0, 1),))
    return trajopt.StateMultibody(trajopt.load_robot("planar-2r").with_collision_shapes(shapes))


def _collisions(w: World, rng: Random) -> Any:
    ball = trajopt.Sphere(0.1, center=(rng.uniform(-0.6, 0.6), 0.0, rng.uniform(-0.6, 0.6)))
    return rng.choice([True, False, trajopt.Scene({"ball": ball})])


def _robot(w: World, rng: Random) -> trajopt.Robot:
    return _state().robot


def _tasks(w: World, rng: Random) -> Any:
    tip = trajopt.ResidualModelFrameTranslation(_state(), "tool", _point(w, rng))
    rest = trajopt.CostStack(_state()).add("rest", trajopt.ResidualModelState(_state()), weight=0.1)
    tasks = trajopt.ConstraintStack(_state()).add("tip", tip, equals=0.0)
    return rng.choice([tasks, (tasks, rest)])


def _tasks_or_soft(w: World, rng: Random) -> Any:
    angle = trajopt.ResidualModelState(_state(), elements=[1])
    rows = trajopt.ConstraintStack(_state()).add("angle", angle, lower=-0.5, upper=0.5, soft=(rng.uniform(0, 1), 1.0))
    tip = trajopt.ResidualModelFrameTranslation(_state(), "tool", _point(w, rng))
    return rng.choice([_tasks(w, rng), rows.add("tip", tip, equals=0.0)])


def _point(w: World, rng: Random) -> Any:
    return np.array([rng.uniform(-0.6, 0.6), 0.0, rng.uniform(-0.6, 0.6)])


def _points(w: World, rng: Random) -> Any:
    return np.array([_point(w, rng) for _ in range(4)])


def _configuration(w: World, rng: Random) -> Any:
    return rng.choice([None, np.array(Q0), [0.1, 0.2]])


def _q(w: World, rng: Random) -> Any:
    return np.array([rng.uniform(-1, 1), rng.uniform(-1, 1)])


def _acceleration(w: World, rng: Random) -> Any:
    return rng.choice([None, 10.0, [10.0, 20.0]])


def _path(w: World, rng: Random) -> Any:
    return rng.choice([_points(w, rng), {"tip.reference": _points(w, rng)}])


def _weights(w: World, rng: Random) -> Any:
    return rng.choice([None, {}, {_state().model.names[1]: rng.uniform(0.1, 10.0)}])


@functools.cache
def _track() -> ik.IKPath:
    w, rng = None, Random(1)
    tip = trajopt.ResidualModelFrameTranslation(_state(), "tool")
    tasks = trajopt.ConstraintStack(_state()).add("tip", tip, equals=0.0)
    return ik.track(_state().robot, tasks, _points(w, rng), DT)  # type: ignore[arg-type]


@functools.cache
def _five_bar() -> FiveBar:
    return FiveBar()


FIXED_KINEMATIC: dict[str, Callable[[World, Random], Any]] = {
    "FiveBar": lambda w, rng: _five_bar(),
    "IKSolver": lambda w, rng: IKSolver(_state().robot, _tasks(w, rng)),
    "IKTracker": lambda w, rng: IKTracker(_state().robot, _tasks(w, rng), Q0, DT),
    "IKResult": lambda w, rng: ik.solve(_state().robot, _tasks(w, rng), starts=1),
    "IKBatch": lambda w, rng: ik.solve_batch(_state().robot, _tasks(w, rng), {"tip.reference": _points(w, rng)}),
    "IKPath": lambda w, rng: _track(),
    "IKStep": lambda w, rng: IKTracker(_state().robot, _tasks(w, rng), Q0, DT).step(),
    "Departure": lambda w, rng: ik.Departure(0, 1, 1, 0.1, True, ()),
    "TaskResidual": lambda w, rng: _track().residuals["tip"],
}

KINEMATIC: dict[str, Callable[[World, Random], Any]] = {
    **{f"{name}.robot": _robot for name in ("solve", "solve_batch", "track", "IKSolver", "IKTracker")},
    **{f"{name}.weights": _weights for name in ("solve", "solve_batch", "track", "IKSolver", "IKTracker")},
    **{f"{name}.tasks": _tasks_or_soft for name in ("solve", "solve_batch", "IKSolver")},
    **{f"{name}.collisions": _collisions for name in ("solve", "solve_batch", "IKSolver")},
    **{f"{name}.margin": lambda w, rng: 0.01 for name in ("solve", "solve_batch", "IKSolver")},
    "tasks": _tasks,
    "targets": lambda w, rng: {"tip.reference": _points(w, rng)},
    "solve.targets": lambda w, rng: rng.choice([None, {"tip.reference": _point(w, rng)}]),
    "IKSolver.solve.targets": lambda w, rng: rng.choice([None, {"tip.reference": _point(w, rng)}]),
    "IKSolver.first_start.targets": lambda w, rng: rng.choice([None, {"tip.reference": _point(w, rng)}]),
    "IKSolver.solve_batch.first": lambda w, rng: rng.choice([None, {"tip.lower": -0.1}]),
    "IKTracker.step.targets": lambda w, rng: rng.choice([None, {"tip.reference": _point(w, rng)}]),
    "IKTracker.step.q": _configuration,
    "IKTracker.reset.q": _q,
    "IKTracker.reset.v": _configuration,
    "IKTracker.q0": _q,
    "IKBatch.save.path": lambda w, rng: folder() / "batch.npz",
    "IKBatch.to_csv.path": lambda w, rng: folder() / "batch.csv",
    "IKBatch.load.path": lambda w, rng: FIXED_KINEMATIC["IKBatch"](w, rng).save(folder() / "saved batch.npz"),
    "IKPath.plot.path": lambda w, rng: rng.choice([None, folder() / "track.png"]),
    "IKPath.animate.path": lambda w, rng: folder() / "track.gif",
    "IKPath.animate.options": lambda w, rng: {},
    **{
        f"{name}.collisions": lambda w, rng: False
        for name in ("solve", "solve_batch", "track", "IKSolver", "IKTracker")
    },
    **{f"{name}.margin": lambda w, rng: rng.choice([0.0, 0.02]) for name in ("solve", "track", "IKTracker")},
    "track.path": _path,
    "track.duration": lambda w, rng: None,
    "track.method": lambda w, rng: rng.choice(["differential", "optimal"]),
    "track.max_iterations": lambda w, rng: rng.choice([1, 5]),
    "track.q0": _configuration,
    "acceleration": _acceleration,
    "solve.start": _configuration,
    "IKSolver.solve.start": _configuration,
    "starts": lambda w, rng: rng.choice([1, 8, 9]),
    "seed": lambda w, rng: rng.randrange(10),
    "planar_2r.target": lambda w, rng: rng.choice([_q(w, rng), np.array([_q(w, rng), _q(w, rng)])]),
    "planar_2r.first": lambda w, rng: rng.uniform(0.1, 2.0),
    "planar_2r.second": lambda w, rng: rng.uniform(0.1, 2.0),
    "cranks": lambda w, rng: rng.choice([np.array([2.3, 0.8]), np.array([[2.3, 0.8], [1.6, 1.5]])]),
    "FiveBar.masses": lambda w, rng: (1.0, 2.0),
    "FiveBar.closure.state": lambda w, rng: trajopt.StateMultibody(_five_bar().robot),
    "FiveBar.configurations.target": lambda w, rng: np.array([rng.uniform(-0.3, 0.3), rng.uniform(0.8, 1.1)]),
    "planar_arm.lengths": lambda w, rng: (0.5, 0.4),
    "planar_arm.masses": lambda w, rng: rng.choice([None, (1.0, 2.0)]),
}
