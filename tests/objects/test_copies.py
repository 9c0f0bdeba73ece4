"""Copies and pickles of scenes, terrains, batches, libraries, retimed paths, plans, identifications and results of IK.

Each is the same to the last bit and works as before: a copy of a result computes what the result computes.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.fuzz.identified import FIXED_IDENTIFIED
from tests.fuzz.planned import FIXED_PLANNED
from tests.fuzz.retimed import FIXED_RETIMED
from trajopt import gaits, ik, solvers
from trajopt.robots import CollisionShapes
from trajopt.simulator import Plane

TARGET, OTHER = [0.6, 0.0, 0.2], [0.5, 0.0, -0.3]
SCENE = {"ball": trajopt.Sphere(0.1, center=[1.0, 0.0, 0.0]), "table": trajopt.Box([1.0, 2.0, 0.1])}


def arm() -> trajopt.Robot:
    """Two links with balls that may touch."""
    balls = (trajopt.Sphere(0.05, frame="link_1"), trajopt.Sphere(0.05, frame="tool"))
    return trajopt.load_robot("planar-2r").with_collision_shapes(CollisionShapes(bodies=balls, pairs=((0, 1),)))


def tasks(robot: trajopt.Robot) -> trajopt.ConstraintStack:
    state = trajopt.StateMultibody(robot)
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", TARGET)
    return trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)


def batch() -> trajopt.SolutionBatch:
    case = trajopt.problems.load("lqr")
    x0 = case.problem.x0 + np.arange(3.0)[:, None] * np.ones_like(case.problem.x0)
    return solvers.SolverFDDP(case.problem).solve_batch(x0=x0)


def of_scene(scene: trajopt.Scene) -> Any:
    result = ik.solve(arm(), tasks(arm()), collisions=scene, margin=0.02)
    return repr(scene), *scene.obstacles, result.q.tobytes()


def of_terrain(terrain: gaits.Terrain) -> Any:
    points = np.random.default_rng(0).uniform(-0.5, 1.0, (20, 2))
    return repr(terrain), terrain.heights(points).tobytes(), terrain.normals(points).tobytes()


def of_batch(found: trajopt.SolutionBatch) -> Any:
    return found.xs.tobytes(), found.status.tolist(), found.best().cost, found[1].us.tobytes(), len(found.library())


def of_library(library: trajopt.SolutionLibrary) -> Any:
    case = trajopt.problems.load("lqr")
    guess = library.guess(case.problem)
    return len(library), guess.xs.tobytes(), guess.us.tobytes()


def of_retimed(path: Any) -> Any:
    return repr(path), *(values.tobytes() for values in path.at([0.0, 0.1, 0.2])), path.torques([0.1]).tobytes()


def of_plan(found: Any) -> Any:
    return repr(found), found.solution(0.1).xs.tobytes(), found.clearance().distance


def of_identified(found: Any) -> Any:
    return repr(found), found.names, found.covariance.tobytes(), found.explain()


def of_result(result: ik.IKResult) -> Any:
    return repr(result), result.q.tobytes(), repr(result.residuals), result.solved


def of_results(results: ik.IKBatch) -> Any:
    return repr(results), results.q.tobytes(), results.solved.tolist()


def of_solver(solver: ik.IKSolver) -> Any:
    return solver.solve({"tip.reference": OTHER}).q.tobytes()


def of_robot(robot: trajopt.Robot) -> Any:
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), 1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    problem = trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelEuler(model, 0.1)], costs)
    problem.set_parameter("robot.link_2.mass", 3.0)
    return sorted(robot.parameters), problem.rollout([np.array([1.0, -0.5])]).tobytes()


THINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "scene": (lambda: trajopt.Scene(SCENE), of_scene),
    "box": (lambda: SCENE["table"], repr),
    "slope": (lambda: gaits.Terrain(Plane((0.0, 0.1, 1.0, 0.2))), of_terrain),
    "stairs": (lambda: gaits.Terrain.stairs(3, rise=0.1, depth=0.3), of_terrain),
    "batch": (batch, of_batch),
    "library": (lambda: batch().library(), of_library),
    "retimed": (lambda: FIXED_RETIMED["RetimedPath"](None, None), of_retimed),  # type: ignore[arg-type]
    "plan": (lambda: FIXED_PLANNED["Plan"](None, None), of_plan),  # type: ignore[arg-type]
    "identified": (lambda: FIXED_IDENTIFIED["Identification"](None, None), of_identified),  # type: ignore[arg-type]
    "IK": (lambda: ik.solve(arm(), tasks(arm())), of_result),
    "IK with collisions": (lambda: ik.solve(arm(), tasks(arm()), collisions=True), of_result),
    "IK of a batch": (lambda: ik.solve_batch(arm(), tasks(arm()), {"tip.reference": [TARGET, OTHER]}), of_results),
    "solver of IK": (lambda: ik.IKSolver(arm(), tasks(arm()), collisions=trajopt.Scene(SCENE)), of_solver),
    "parameters": (lambda: trajopt.load_robot("planar-2r").with_parameters(["link_2.mass"]), of_robot),
    "collision shapes": (lambda: arm().collision_shapes, lambda shapes: shapes.to_json()),
}


@pytest.mark.parametrize("name", THINGS)
def test_copies_and_pickles_work_as_the_thing_itself(name: str) -> None:
    make, use = THINGS[name]
    thing = make()
    expected = use(thing)
    for again in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert type(again) is type(thing)
        assert use(again) == expected
    assert use(thing) == expected
