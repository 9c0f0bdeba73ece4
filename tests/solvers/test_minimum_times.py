"""Minimum times of known problems: as IPOPT on the same transcription, in about as many iterations or fewer."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support import minimum_times
from trajopt.retiming import retime
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverIpopt, SolverSQP
from trajopt.types import Reals


@pytest.mark.slow
@pytest.mark.parametrize("name", ["particle", "arm", "lander", "glider", "rocket"])
def test_minimum_times_are_those_of_ipopt(name: str) -> None:
    """IPOPT takes 14, 25, 11, 23 and 354 iterations; required are at most 1.5 times as many, or 10 more."""
    problem, guess, most = getattr(minimum_times, name)()
    own, other = SolverSQP(problem).solve(*guess), SolverIpopt(problem).solve(*guess)
    assert own.converged
    assert own.cost == pytest.approx(other.cost, rel=1e-6)
    assert own.iterations <= min(most, max(1.5 * other.iterations, other.iterations + 10))


def at_limits(values: Reals, lower: float, upper: float) -> Reals:
    """Mask of the values that are at a limit."""
    width = 1e-3 * (upper - lower)
    mask: Reals = (values < lower + width) | (values > upper - width)
    return mask


def solved(name: str) -> tuple[ShootingProblem, Solution]:
    problem, guess, _ = getattr(minimum_times, name)()
    return problem, SolverSQP(problem).solve(*guess)


def test_glider_flies_as_far_as_in_cops() -> None:
    """1248.03 m; source: COPS 3.0, with the trapezoidal rule. RK4 with N = 400 gives 1248.024 m."""
    problem, guess, _ = minimum_times.glider(400)
    solution = SolverSQP(problem).solve(*guess)
    assert solution.converged
    assert solution.xs[-1, 0] == pytest.approx(1248.0242, abs=1e-3)


def test_particle_and_arm_take_the_times_of_cops() -> None:
    """0.554570 and 9.14093 s; source: COPS 3.0. Time steps are finite here."""
    for name, time in (("particle", 0.554570), ("arm", 9.14093)):
        _, solution = solved(name)
        assert solution.times is not None
        assert solution.times[-1] == pytest.approx(time, rel=2e-4)


def test_lander_falls_then_brakes() -> None:
    """The thrust is 0, then 3 m/s²; of 60 knots one is between. In continuous time it takes 4.1641 s and 8.2462 m/s."""
    _, solution = solved("lander")
    assert solution.times is not None
    assert solution.times[-1] == pytest.approx(4.1641, rel=1e-3)
    assert -solution.xs[-1, 2] == pytest.approx(8.2462, rel=1e-3)
    full = at_limits(solution.us[:, 0], 0.0, 3.0)
    assert np.sum(~full) <= 1
    assert np.all(np.diff(solution.us[full, 0]) > -1e-2)


def test_rocket_uses_least_and_full_thrust_and_touches_its_glide_slope() -> None:
    _, solution = solved("rocket")
    thrust, (x, y, z) = np.linalg.norm(solution.us, axis=1), solution.xs[:-1, :3].T
    assert np.mean(at_limits(thrust, 0.24, 0.8)) > 0.9
    assert thrust.min() < 0.241
    slope = z - np.tan(np.pi / 6.0) * np.hypot(x, y)
    assert slope.min() > -1e-4


@pytest.mark.slow
def test_double_pendulum_swings_up_by_torques_at_their_limits() -> None:
    problem, solution = solved("double_pendulum")
    assert solution.converged
    assert solution.cost == pytest.approx(SolverIpopt(problem).solve(solution).cost, rel=1e-6)
    assert solution.cost < 1.0049  # IPOPT from the same guess; a swing of 0.956 s exists, too
    mask = at_limits(solution.us, *minimum_times.TORQUES)
    assert np.mean(mask.any(axis=1)) > 0.9


@pytest.mark.slow
def test_motion_between_the_ends_of_a_path_is_faster_than_along_it() -> None:
    """UR5 within the velocities and torques of its file; the motion along the path is the guess."""
    robot = trajopt.load_robot("ur5")
    ends = np.array(
        [[0.0, -1.2, 1.2, 0.0, 0.3, 0.0], [0.6, -0.8, 1.5, 0.4, -0.2, 0.5], [1.2, -1.6, 0.8, -0.3, 0.5, 1.0]]
    )
    path = retime(robot, ends)
    assert path.converged
    problem, guess = minimum_times.between(robot, path)
    solution = SolverSQP(problem).solve(*guess)
    assert solution.converged
    assert solution.times is not None
    assert solution.times[-1] < 0.97 * path.duration
