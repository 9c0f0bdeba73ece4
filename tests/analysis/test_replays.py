"""Replays by the problem's own models, in shorter steps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import trajopt
from tests.support.unsolved import solution_of, solved
from trajopt.analysis import replay
from trajopt.errors import ModelEvaluationError
from trajopt.types import Reals

STATE = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])


class Upright(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = 19.62 sin(q) + u, with q = 0 upright."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return 19.62 * ca.sin(x[0]) + u


def plan(us: Reals, **options: trajopt.ControlParametrizationAbstract) -> trajopt.Solution:
    model = trajopt.IntegratedActionModelRK4(Upright(STATE, 1, trajopt.CostStack(STATE)), dt=0.2, **options)
    problem = trajopt.ShootingProblem([0.1, 0.0], [model] * len(us), trajopt.CostStack(STATE))
    problem.set_parameter("dt", 0.1, knots=[0, 1])
    return solution_of(problem, problem.rollout(us), us)


def true_end(solution: trajopt.Solution, *, linear: bool) -> Reals:
    x, times = solution.xs[0], solution.times
    assert times is not None
    for u, begin, end in zip(solution.us, times, times[1:]):

        def rate(t: float, x: Reals, u: Reals = u, begin: float = begin, h: float = end - begin) -> list[float]:
            force = u[0] + (u[1] - u[0]) * (t - begin) / h if linear else u[0]
            return [x[1], 19.62 * np.sin(x[0]) + force]

        x = solve_ivp(rate, (begin, end), x, rtol=1e-11, atol=1e-12).y[:, -1]
    return np.asarray(x)


@pytest.mark.parametrize("linear", [False, True])
def test_shorter_steps_are_those_of_an_accurate_integration(linear: bool) -> None:
    rng = np.random.default_rng(0)
    us = rng.normal(size=(8, 2 if linear else 1))
    control = trajopt.ControlParametrizationPolyOne(1) if linear else trajopt.ControlParametrizationPolyZero(1)
    solution = plan(us, control=control)
    motion = replay(solution, 20, feedback="open")
    assert isinstance(motion, trajopt.Solution)
    end = true_end(solution, linear=linear)
    np.testing.assert_allclose(motion.xs[-1], end, rtol=1e-6)
    assert np.abs(solution.xs[-1] - end).max() > 1e-3
    np.testing.assert_array_equal(motion.us, us)


def test_a_replay_says_how_far_it_ends_from_the_plan(tmp_path: Path) -> None:
    """In its picture and in its explanation, also from a file, in each unit."""
    solution = plan(np.ones((8, 1)))
    motion = replay(solution, 20, feedback="open")
    missed = np.abs(motion.xs[-1] - solution.xs[-1])
    words = f"ends {missed[0]:.2g} rad from the plan in q, {missed[1]:.2g} rad/s in v"
    for each in (motion, trajopt.Solution.load(motion.save(tmp_path / "replay.npz"))):
        assert words in each.plot().get_suptitle()
        assert f"  {words}\n" in f"{each.explain()}\n"
    assert "from the plan" not in solution.plot().get_suptitle()


def test_one_step_a_knot_is_the_plan_with_its_touch_downs() -> None:
    gait = solved("quadruped-trot")
    motion = replay(gait, 1)
    assert np.abs(motion.xs - gait.xs).max() < 1e-9
    finer = replay(gait, 4)
    assert np.abs(finer.xs - gait.xs).max() > 1e-4
    assert np.abs(finer.xs[:, :3] - gait.xs[:, :3]).max() < 0.01


def test_gains_act_in_every_step() -> None:
    """From another start, where the pendulum falls without feedback."""
    swing = solved("pendulum")
    start = swing.xs[0] + [0.1, 0.0]
    ends = [replay(swing, 10, feedback=kind, x0=start).xs[-1] - swing.xs[-1] for kind in ("open", "gains")]
    assert np.abs(ends[1]).max() < 0.2 * np.abs(ends[0]).max()
    assert np.abs(replay(swing, 10, feedback="gains").xs[0] - swing.xs[0]).max() == 0.0


def test_the_usual_feedback_is_the_one_that_ends_nearer_to_the_plan() -> None:
    """Gains of contacts that the motion has left drive it away, as those with the wrong sign do here."""
    swing = solved("pendulum")
    wrong = dataclasses.replace(swing, K=-5.0 * swing.K)
    away, still = (replay(wrong, 10, feedback=kind) for kind in ("gains", "open"))
    assert np.abs(away.xs[-1] - swing.xs[-1]).max() > 1.0
    np.testing.assert_array_equal(replay(wrong, 10).xs, still.xs)
    start = swing.xs[0] + [0.1, 0.0]
    np.testing.assert_array_equal(replay(swing, 10, x0=start).xs, replay(swing, 10, feedback="gains", x0=start).xs)


class Slow(trajopt.DifferentialActionModelSymbolic):
    """A motor that has no torque above 1 rad/s."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u * ca.sqrt(1.0 - x[1] ** 2)


def test_a_motion_that_fails_is_not_chosen() -> None:
    model = trajopt.IntegratedActionModelRK4(Slow(STATE, 1, trajopt.CostStack(STATE)), dt=0.1)
    problem = trajopt.ShootingProblem([0.0, 0.0], [model] * 5, trajopt.CostStack(STATE))
    still = solution_of(problem, np.zeros((6, 2)), np.zeros((5, 1)))
    wild, start = dataclasses.replace(still, K=np.tile([[-1e3, 0.0]], (5, 1, 1))), np.array([0.1, 0.0])
    with pytest.raises(ModelEvaluationError, match="plant: the replay"):
        replay(wild, 10, feedback="gains", x0=start)
    np.testing.assert_array_equal(replay(wild, 10, x0=start).xs, np.tile(start, (6, 1)))
