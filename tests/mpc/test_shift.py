"""Plans that move along with time, by any part of a knot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from casadi import SX

from trajopt import problems
from trajopt.actions import ActionModelDiscrete
from trajopt.costs import CostStack
from trajopt.mpc.shift import Shift
from trajopt.residuals import ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solvers.sqp.real_time import Plan
from trajopt.states import StateAbstract, StateSE3, StateVector
from trajopt.types import Reals


class Standing(ActionModelDiscrete):
    """A body that stays where it is, with two controls that do nothing."""

    def __init__(self, state: StateAbstract) -> None:
        super().__init__(state, nu=2)

    def next_state(self, x: SX, u: SX) -> SX:
        return x

    def running_cost(self, x: SX, u: SX) -> SX:
        return u.T @ u

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def standing(state: StateAbstract, N: int) -> ShootingProblem:
    end = CostStack(state).add("state", ResidualModelState(state), weight=1.0)
    return ShootingProblem(state.zero(), [Standing(state)] * N, end)


def plan_of(problem: ShootingProblem, xs: Reals, seed: int = 0) -> Plan:
    rng, plan = np.random.default_rng(seed), Plan.zeros(problem)
    plan.xs[:] = xs
    for array in (plan.us, plan.K, plan.lam, plan.y):
        array[:] = rng.standard_normal(array.shape)
    return plan


def copied(plan: Plan) -> Plan:
    return Plan(plan.t, *(array.copy() for array in (plan.xs, plan.us, plan.K, plan.lam, plan.y)))


@pytest.fixture
def vector() -> tuple[ShootingProblem, Plan]:
    problem = standing(StateVector(3), 5)
    return problem, plan_of(problem, np.random.default_rng(1).standard_normal((6, 3)))


@pytest.mark.parametrize("knots", [1, 2, 5, 9])
def test_whole_knots_move_bit_by_bit_but_for_controls(vector: tuple[ShootingProblem, Plan], knots: int) -> None:
    problem, plan = vector
    before = copied(plan)
    Shift(problem, 0.1 * np.arange(6))(plan, 0.1 * knots)
    later, during = np.minimum(np.arange(6) + knots, 5), np.minimum(np.arange(5) + knots, 4)
    np.testing.assert_array_equal(plan.xs, before.xs[later])
    np.testing.assert_array_equal(plan.lam, before.lam[later])
    np.testing.assert_array_equal(plan.K, before.K[during])
    np.testing.assert_allclose(plan.us, before.us[during], atol=1e-14)
    assert plan.t == 0.1 * knots


def test_nothing_moves_without_time(vector: tuple[ShootingProblem, Plan]) -> None:
    problem, plan = vector
    before = copied(plan)
    Shift(problem, 0.1 * np.arange(6))(plan, 0.0)
    for name in ("xs", "us", "K", "lam", "y"):
        np.testing.assert_array_equal(getattr(plan, name), getattr(before, name))


def test_a_part_of_a_knot(vector: tuple[ShootingProblem, Plan]) -> None:
    problem, plan = vector
    before = copied(plan)
    Shift(problem, 0.1 * np.arange(6))(plan, 0.03)
    np.testing.assert_allclose(plan.xs[:-1], 0.7 * before.xs[:-1] + 0.3 * before.xs[1:], atol=1e-14)
    np.testing.assert_array_equal(plan.xs[-1], before.xs[-1])
    np.testing.assert_allclose(plan.us[:-1], 0.7 * before.us[:-1] + 0.3 * before.us[1:], atol=1e-14)
    np.testing.assert_allclose(plan.us[-1], before.us[-1], atol=1e-14)
    np.testing.assert_array_equal(plan.K, before.K)


def test_a_plan_may_move_back(vector: tuple[ShootingProblem, Plan]) -> None:
    """As where a measurement comes earlier than it was prepared for: what was planned first holds before, too."""
    problem, plan = vector
    before = copied(plan)
    Shift(problem, 0.1 * np.arange(6))(plan, -0.03)
    np.testing.assert_array_equal(plan.xs[0], before.xs[0])
    np.testing.assert_allclose(plan.xs[1:], 0.3 * before.xs[:-1] + 0.7 * before.xs[1:], atol=1e-14)
    np.testing.assert_allclose(plan.us[0], before.us[0], atol=1e-14)
    np.testing.assert_allclose(plan.us[1:], 0.3 * before.us[:-1] + 0.7 * before.us[1:], atol=1e-14)


def test_parts_add_up() -> None:
    """A straight motion is the same after ten parts as after one knot, but for as many knots at its end."""
    problem, direction = standing(StateVector(3), 20), [1.0, -2.0, 0.5]
    plan = plan_of(problem, np.outer(np.arange(21), direction))
    plan.us[:] = [1.0, -1.0]
    shift = Shift(problem, 0.1 * np.arange(21))
    for k in range(1, 11):
        shift(plan, 0.01 * k)
    np.testing.assert_allclose(plan.xs[:10], np.outer(np.arange(1, 11), direction), atol=1e-12)
    np.testing.assert_allclose(plan.us, np.tile([1.0, -1.0], (20, 1)), atol=1e-13)


@pytest.mark.parametrize("shift", [0.05, 0.35, 0.85])
@pytest.mark.parametrize("offsets", [[0.0, 0.1, 0.2, 0.5, 1.0], [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]])
def test_knots_of_different_lengths_keep_the_integral_of_a_control(offsets: Any, shift: float) -> None:
    problem, offsets = standing(StateVector(3), len(offsets) - 1), np.array(offsets)
    plan = plan_of(problem, np.zeros((len(offsets), 3)))
    planned = plan.us.copy()
    Shift(problem, offsets)(plan, shift)

    def integral(end: float) -> Reals:
        held = np.clip(end - offsets[:-1], 0.0, np.append(np.diff(offsets)[:-1], np.inf))
        return held @ planned

    for k in range(len(planned)):
        wanted = integral(offsets[k + 1] + shift) - integral(offsets[k] + shift)
        np.testing.assert_allclose(plan.us[k] * (offsets[k + 1] - offsets[k]), wanted, atol=1e-14)


def test_several_knots_beyond_the_end_and_one_between() -> None:
    problem, xs = standing(StateVector(3), 3), np.random.default_rng(1).standard_normal((4, 3))
    plan = plan_of(problem, xs)
    before = copied(plan)
    Shift(problem, np.array([0.0, 1.0, 1.5, 2.5]))(plan, 1.0)
    np.testing.assert_array_equal(plan.xs[[0, 2, 3]], xs[[1, 3, 3]])
    np.testing.assert_allclose(plan.xs[1], (xs[2] + xs[3]) / 2.0, atol=1e-14)
    np.testing.assert_allclose(plan.us[0], (before.us[1] + before.us[2]) / 2.0, atol=1e-14)
    np.testing.assert_array_equal(plan.us[1:], before.us[[2, 2]])
    np.testing.assert_array_equal(plan.K, before.K[[1, 2, 2]])


def test_states_stay_on_their_manifold() -> None:
    """Half-way between two placements is as far from the one as from the other."""
    state = StateSE3()
    problem = standing(state, 3)
    xs = np.array([state.rand(k) for k in range(4)])
    plan = plan_of(problem, xs)
    Shift(problem, 0.1 * np.arange(4))(plan, 0.05)
    for k in range(3):
        middle = state.check(plan.xs[k])
        np.testing.assert_allclose(state.difference(xs[k], middle), 0.5 * state.difference(xs[k], xs[k + 1]), atol=1e-9)


def test_multipliers_of_the_end_stay_there() -> None:
    problem = problems.load("lqr-bounds", T=4).problem
    plan = plan_of(problem, np.zeros((5, 4)))
    before = copied(plan)
    Shift(problem, 0.5 * np.arange(5))(plan, 0.25)
    np.testing.assert_array_equal(plan.y[-1], before.y[-1])
    np.testing.assert_allclose(plan.y[:-2], 0.5 * before.y[:-2] + 0.5 * before.y[1:-1], atol=1e-14)
    np.testing.assert_array_equal(plan.y[-2], before.y[-2])
