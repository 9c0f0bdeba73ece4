"""Feedback within limits of controls, those of models and those of constraints."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.constrained import MOTOR, Pendulum, pendulum, pendulum_problem
from tests.support.unsolved import solution_of
from trajopt.analysis import replay

STATE = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])


def test_replays_and_samples_clip_controls_to_constraints() -> None:
    solution, plant = pendulum(), pendulum_problem().running[0]
    largest = {
        clip: np.abs(replay(solution, 1, plant=plant, x0=[1.0, 0.0], clip=clip).us).max() for clip in (True, False)
    }
    assert largest[True] <= MOTOR * (1.0 + 1e-6) < largest[False]  # rows hold to 1e-6
    sampled = {clip: np.abs(solution.monte_carlo(0.1, 20, clip=clip).us).max() for clip in (True, False)}
    assert sampled[True] <= MOTOR * (1.0 + 1e-6) < sampled[False]


@pytest.mark.parametrize("soft", [None, (1.0, 1.0)])
def test_limits_are_the_tightest_of_model_and_hard_rows(soft: tuple[float, float] | None) -> None:
    """The rows are u - 0.5 >= -1 at knots 0 and 1, and 2 u <= 1, which is no control plus a constant."""
    costs = trajopt.CostStack(STATE).add("u", trajopt.ResidualModelControl(STATE), weight=1.0)
    rows = trajopt.ConstraintStack(STATE).add(
        "motor", trajopt.ResidualModelControl(STATE, [0.5]), lower=-1.0, soft=soft
    )
    rows.add("double", trajopt.ResidualModelSymbolic(STATE, lambda x, u: 2.0 * u[0]), upper=1.0)
    model = Pendulum(STATE, 1, costs, constraints=rows, lower=[-2.0], upper=[3.0])
    knots = [trajopt.IntegratedActionModelEuler(model, dt=0.1)] * 3
    problem = trajopt.ShootingProblem([0.0, 0.0], knots, trajopt.CostStack(STATE))
    problem.set_parameter("motor.lower", -np.inf, knots=2)
    solution = solution_of(problem, np.zeros((4, 2)), np.array([[0.1], [0.2], [0.3]]))
    for sign, expected in ((-1.0, [-2.0 if soft else -0.5, -2.0 if soft else -0.5, -2.0]), (1.0, [3.0, 3.0, 3.0])):
        far = np.array([[sign * 100.0], [sign * 100.0], [sign * 100.0]])
        policy = solution_of(problem, solution.xs, far).feedback("open", clip=True)
        np.testing.assert_allclose([policy(t, np.zeros(2))[0] for t in (0.0, 0.1, 0.2)], expected, atol=1e-12)
