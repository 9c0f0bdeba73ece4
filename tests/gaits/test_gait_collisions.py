"""Gaits whose links keep apart from each other and from a scene."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import trajopt
from tests.benchmarks.collision_gaits import BAR, measure
from trajopt import gaits
from trajopt.errors import InvalidArgumentError
from trajopt.robots import CollisionShapes
from trajopt.robots.collisions.distances import body_distances
from trajopt.solvers import SolverSQP


@functools.cache
def robot() -> trajopt.Robot:
    """A quadruped with a ball on each lower leg and one on the base."""
    plain = trajopt.load_robot("small-quadruped")
    bodies = tuple(
        trajopt.Sphere(0.02, frame=f"{leg}_foot", center=[0.0, 0.0, 0.05]) for leg in ("lf", "rf", "lh", "rh")
    )
    pairs = ((0, 1), (0, 2), (1, 3), (2, 3))
    return plain.with_collision_shapes(CollisionShapes(bodies=bodies, pairs=pairs))


def trot() -> gaits.ContactSchedule:
    stance = gaits.Stance.of(robot(), ("lf_foot", "rf_foot", "lh_foot", "rh_foot"))
    return gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, step_knots=12)


def solved(**options: object) -> trajopt.Solution:
    schedule = trot()
    problem = gaits.gait_problem(robot(), schedule, **options)  # type: ignore[arg-type]
    return SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))


def least(solution: trajopt.Solution, ball: trajopt.Sphere | None = None) -> float:
    """Least distance of the balls from each other, or from another one, at all knots but the first [m]."""
    shapes = robot().collision_shapes
    bodies, pairs = shapes.bodies, shapes.pairs
    if ball is not None:
        bodies, pairs = (*bodies, ball), tuple((i, 4) for i in range(4))
    return float(body_distances(robot().model, bodies, pairs, solution.xs[1:, : robot().nq]).min())


@pytest.mark.slow
def test_links_keep_apart_from_each_other_and_from_a_scene() -> None:
    alone = solved()
    wide = least(alone) + 0.003
    apart = solved(collisions=True, margin=wide)
    assert apart.converged
    assert least(apart) > wide - 1e-6
    path = robot().placement(alone.xs[:, : robot().nq], "lf_foot") @ np.array([0.0, 0.0, 0.05, 1.0])
    stone = trajopt.Sphere(0.05, center=path[np.argmax(path[:, 2]), :3] + [0.0, 0.067, 0.0])
    scene = trajopt.Scene({"stone": stone})
    around = solved(collisions=scene)
    assert around.converged
    assert least(alone, stone) < -0.002
    assert least(around, stone) > -1e-6
    kinds = {
        type(model).__name__: model.constraints.names for model in (*around.problem.running, around.problem.terminal)
    }
    assert [name for name, rows in kinds.items() if "collisions" not in rows] == ["ActionModelImpulseFwdDynamics"]
    np.testing.assert_array_equal(around.problem.get_parameter("collisions.lower"), 0.0)


def test_reduced_models_have_no_links() -> None:
    with pytest.raises(InvalidArgumentError, match="collisions: expected False with model='srbd', got True"):
        gaits.gait_problem(robot(), trot(), model="srbd", collisions=True)


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "name"), [("anymal", "quadruped-walk"), ("talos_legs", "biped-jump")])
def test_ready_gaits_take_no_more_iterations_with_collisions(robot: str, name: str) -> None:
    found = measure(name, robot, timed=False)
    assert found.status == ("CONVERGED", "CONVERGED")
    assert found.touching[1] == []
    assert found.iterations[1] <= BAR * found.iterations[0]
