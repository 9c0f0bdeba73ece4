"""Reports of closed loops: bodies at a bound, steps that their time budget ended, and why plans do not come true."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.mpc.slider import controller
from tests.support.collision_arm import collision_arm
from tests.support.unsolved import solution_of
from trajopt import mpc
from trajopt.analysis import constraint_rows

BALL = trajopt.Sphere(0.4, center=[0.4, 0.2, 0.5])


@pytest.fixture(scope="module")
def log() -> mpc.ClosedLoop:
    """Half a second of a mass on a rail, as fast as it may be."""
    return mpc.simulate(controller(), None, [0.0, 0.8], 0.5)


@pytest.fixture(scope="module")
def beside(log: mpc.ClosedLoop) -> mpc.ClosedLoop:
    """The same log with the motion of an arm that turns into a ball."""
    state = collision_arm()
    limits = trajopt.ConstraintStack.of_robot(state, collisions=trajopt.Scene({"ball": BALL}), margin=0.3)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), trajopt.CostStack(state), constraints=limits
    )
    knot = trajopt.IntegratedActionModelEuler(dynamics, 0.1)
    problem = trajopt.ShootingProblem(state.zero(), [knot] * 5, trajopt.CostStack(state))
    xs = np.zeros((6, state.nx))
    xs[:, :7] = np.linspace(0.0, 1.2, 6)[:, None] * np.array([1.0, -0.5, 0.7, 0.4, -0.8, 0.3, 0.2])
    motion = solution_of(problem, xs, np.zeros((5, 7)))
    violations = {name: rows.max(axis=1)[:-1] for name, rows in motion.violations().items()}
    return dataclasses.replace(log, motion=motion, violations=violations, soft=())


def test_the_bodies_at_a_bound_of_collisions_are_named(beside: mpc.ClosedLoop, tmp_path: Path) -> None:
    assert beside.motion is not None
    (rows,) = (rows for rows in constraint_rows(beside.motion) if rows.name == "collisions")
    knot, row = np.unravel_index(int(rows.violations.argmax()), rows.violations.shape)
    report = beside.report()
    size = beside.violated["collisions"]
    assert f"collisions[{rows.bodies[knot][row]}] by {size:.3g} m at " in report["constraints"]
    beyond = Counter(rows.bodies[k][i] for k, i in zip(*np.nonzero(rows.active | rows.violated)))
    assert len(beyond) > 1
    words = report["bounds"].partition("collisions[")[2].partition("]")[0].split(", ")
    assert [beyond[name] for name in words[:2]] == [count for _, count in beyond.most_common(2)]
    loaded = mpc.ClosedLoop.load(beside.save(tmp_path / "loop.npz"))
    assert loaded.report()["bounds"] == report["bounds"]
    assert "speed beyond" not in report["bounds"]


def test_a_plant_that_is_the_controllers_own_model_has_its_parameters(log: mpc.ClosedLoop) -> None:
    wrong = "the model's parameters may be wrong"
    missed = dataclasses.replace(log, missed="q by 1 m")
    assert "it misses q by 1 m" in missed.explain()
    assert "the horizon may be too short, or the limits too tight (see bounds)" in missed.explain()
    assert wrong not in missed.explain()
    other = mpc.simulate(controller(), None, [0.0, 0.8], 0.5, model_error={"mass": 2.0})
    assert wrong in dataclasses.replace(other, missed="q by 1 m").explain()
    pushed = dataclasses.replace(missed, pushes=(mpc.Push(time=0.1, duration=0.2, value=[0.0, 1.0]),))
    assert wrong in pushed.explain()
    learned = dataclasses.replace(other, missed="q by 1 m", estimated={"mass": np.ones((len(other), 2))})
    assert wrong not in learned.explain(), "estimates leave no constant difference"
    assert wrong in dataclasses.replace(learned, biased="v by 1 m/s").explain()


def test_a_time_budget_is_the_reason_of_steps_that_it_ended(tmp_path: Path) -> None:
    log = mpc.simulate(controller(time_budget=1e-9), None, [0.0, 0.8], 0.5)
    late = int(np.count_nonzero(log.statuses != "solved"))
    assert late > 0
    words = (
        f"-> {late} of 5 steps ({20 * late} %) used up the time_budget of 1e-06 ms before they were solved: raise it"
    )
    assert words in log.explain()
    failed = dataclasses.replace(
        log, statuses=np.full(5, "failed"), reasons={k: "the step is too long" for k in range(5)}
    )
    assert "-> 5 of 5 steps (100 %) used up the time_budget" in failed.explain()
    assert "start closer to a feasible motion" not in failed.explain()
    assert words in mpc.ClosedLoop.load(log.save(tmp_path / "loop.npz")).explain()
    longer = dataclasses.replace(failed, time_budget=1e3)
    assert "used up" not in longer.explain()
    assert "-> steps fail: start closer to a feasible motion" in longer.explain()
