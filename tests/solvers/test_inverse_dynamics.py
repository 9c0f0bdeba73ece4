"""SolverSQP on inverse dynamics reaches the costs of forward dynamics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.solvers.test_sqp_robots import arm_reach
from tests.support.inverse_dynamics import inverse_controls, inverse_problem
from tests.support.legged_problems import guess_of, problem_of, solved
from trajopt import problems
from trajopt.analysis import limit_uses
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_solution
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverSQP

GAITS = {  # cost of forward dynamics, as Crocoddyl gives it, and iterations
    "anymal-walk": (588.6368067889, 11),
    "anymal-chain-trot": (427.3296136241, 8),
    "anymal-jump": (2950.233992888, 10),
    "talos-legs-walk": (5111.964479134, 17),
}


def solve_inverse(name: str) -> Solution:
    """A gait with inverse dynamics, from standing still."""
    problem = problem_of(name, "inverse")
    return SolverSQP(problem).solve(*guess_of(problem))


@pytest.mark.slow
@pytest.mark.parametrize("name", GAITS)
def test_gaits(name: str) -> None:
    """The same motion, torques and forces as forward dynamics, from the same standing robot."""
    solution, (cost, iterations) = solve_inverse(name), GAITS[name]
    assert solution.converged
    assert solution.iterations <= iterations
    assert solution.cost == pytest.approx(cost, rel=1e-8)
    assert max(float(v.max()) for v in solution.violations().values()) < 1e-7
    forward = solved(name)
    assert solution.cost == pytest.approx(forward.cost, rel=1e-9)
    torques, expected = solution.torques(), forward.torques()
    assert list(torques) == list(expected)
    largest = max(np.abs(t).max() for t in expected.values())
    for joint, torque in torques.items():
        np.testing.assert_allclose(torque, expected[joint], rtol=0, atol=1e-4 * largest, err_msg=joint)
    forces = forward.contact_forces()
    largest = max(np.nanmax(np.abs(f)) for f in forces.values())
    for foot, force in solution.contact_forces().items():
        np.testing.assert_allclose(force, forces[foot], rtol=0, atol=1e-4 * largest, err_msg=foot)


def test_multipliers_exist_at_the_optimum_of_forward_dynamics() -> None:
    """What forward dynamics gives there is stationary and meets all equations."""
    forward, problem = solved("anymal-chain-trot"), problem_of("anymal-chain-trot", "inverse")
    us = inverse_controls(problem_of("anymal-chain-trot"), problem, forward.xs, forward.us)
    values = problem.calc(forward.xs, us)
    assert values.cost == pytest.approx(forward.cost, rel=1e-12)
    assert np.abs(values.rows).max() < 1e-10
    assert np.abs(values.gaps).max() < 1e-12
    solution = SolverSQP(problem).solve(forward.xs, us)
    assert solution.converged
    assert solution.iterations <= 5
    assert solution.cost == pytest.approx(forward.cost, rel=1e-11)
    largest = max(np.abs(y).max() for y in solution.multipliers.values())
    assert np.abs(solution.stationarity()).max() < 1e-8 * largest


@pytest.mark.slow
def test_small_quadruped_trots_within_the_same_cost() -> None:
    forward = problems.load("quadruped-trot", robot="small-quadruped")
    known = SolverFDDP(forward.problem, forward.options).solve(forward.xs, forward.us)
    inverse = inverse_problem(forward.problem)
    solution = SolverSQP(inverse).solve(forward.xs, inverse.quasi_static(np.asarray(forward.xs)[:-1]))
    assert solution.converged
    assert solution.iterations <= 8
    assert solution.cost == pytest.approx(known.cost, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5", "panda", "planar-3r"])
def test_arms(name: str) -> None:
    """No equations at all: torques are what costs see. The guess moves as forward dynamics without torques."""
    forward = arm_reach(limited=False) if name == "ur5" else problems.load("arm-reach", robot=name).problem
    still = np.zeros((forward.T, forward.nu)) if name == "ur5" else forward.quasi_static([forward.x0] * forward.T)
    inverse, xs = inverse_problem(forward), forward.rollout(still)
    solution = SolverSQP(inverse).solve(xs, inverse_controls(forward, inverse, xs, still))
    assert solution.converged
    assert solution.iterations <= 15
    expected = SolverSQP(forward).solve(xs, still)
    assert solution.cost == pytest.approx(expected.cost, rel=1e-8)
    for joint, torque in solution.torques().items():
        np.testing.assert_allclose(torque, expected.torques()[joint], rtol=0, atol=1e-3, err_msg=joint)


def test_double_pendulum() -> None:
    """A joint without a motor: swung up from below."""
    case = problems.load("double-pendulum")
    inverse, xs = inverse_problem(case.problem), np.tile(case.problem.x0, (case.problem.T + 1, 1))
    solution = SolverSQP(inverse).solve(xs, np.zeros((case.problem.T, 2)))
    assert solution.converged
    expected = SolverSQP(case.problem).solve(xs, np.zeros((case.problem.T, 1)))
    assert expected.cost == pytest.approx(0.00368196605104, rel=1e-8)
    assert solution.cost == pytest.approx(expected.cost, rel=1e-8)
    assert solution.violations()["unactuated"].max() < 1e-7


def test_arm_with_a_limited_tool() -> None:
    """Rows of a user beside none of the dynamics, from the motion of forward dynamics."""
    forward = arm_reach(limited=True)
    known = SolverSQP(forward).solve(np.zeros((41, 12)), np.zeros((40, 6)))
    inverse = inverse_problem(forward)
    solution = SolverSQP(inverse).solve(known.xs, inverse_controls(forward, inverse, known.xs, known.us))
    assert solution.converged
    assert solution.cost == pytest.approx(0.689878879, rel=1e-8)
    assert solution.violations()["box"][1:].max() < 1e-6


def test_plots_and_limits_show_torques(tmp_path: Path) -> None:
    """Torques of inverse dynamics have the limits of the motors; accelerations have none."""
    solution = solve_inverse("anymal-chain-trot")
    lines = [line for line in solution.description.lines if line.group in ("control", "torque")]
    assert [line.quantity for line in lines] == ["acceleration"] * 18 + ["contact force"] * 12 + ["torque"] * 12
    assert [line.unit for line in lines[:18]] == list(solution.control_units[:18])
    expected = [use for use in limit_uses(solved("anymal-chain-trot")) if use.quantity == "torque"]
    found = [use for use in limit_uses(solution) if use.quantity == "torque"]
    assert [use.name for use in found] == [use.name for use in expected]
    np.testing.assert_allclose([use.value for use in found], [use.value for use in expected], rtol=1e-3)
    labels = {axes.get_ylabel() for axes in plot_solution(solution).axes}
    assert "torque [N m]" in labels
    assert not any("force" in label or "acceleration" in label for label in labels)
    file = solution.save(tmp_path / "trot.npz")
    again = Solution.load(file)
    for joint, torque in solution.torques().items():
        np.testing.assert_array_equal(again.torques()[joint], torque)


def test_solvers_without_constraints_refuse_it() -> None:
    with pytest.raises(InvalidArgumentError, match="unactuated"):
        SolverFDDP(problem_of("anymal-chain-trot", "inverse"))
