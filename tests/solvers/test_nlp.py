"""SolverIpopt and SolverFatrop, which know nothing of SolverSQP's ways, against it."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support import ocp_problems
from tests.support.chain import chain
from trajopt import problems
from trajopt.problems import ProblemCase
from trajopt.problems.quadrotor import hovering, state_of_quadrotor
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import NLPOptions, SolverAbstract, SolverFatrop, SolverIpopt, SolverSQP
from trajopt.solvers.nlp.nonlinear_program import NonlinearProgram
from trajopt.states import StateAbstract

TIGHT = {
    "mu_init": 1e-7,
    "bound_push": 1e-9,
    "bound_frac": 1e-9,
    "slack_bound_push": 1e-9,
    "slack_bound_frac": 1e-9,
}
"""Settings of IPOPT with which it stays where it starts."""


@functools.cache
def case_of(name: str) -> ProblemCase:
    return problems.load(name)


@functools.cache
def solution_of(name: str, solver: type[SolverAbstract]) -> Solution:
    case = case_of(name)
    return solver(case.problem).solve(case.xs, case.us)


AGREE = [
    *[(name, SolverIpopt) for name in ("pendulum-limits", "cart-pole-limits", "parking", "quadrotor-obstacles")],
    ("arm-spheres", SolverIpopt),
    *[(name, SolverFatrop) for name in ("pendulum-limits", "cart-pole-limits", "quadrotor-obstacles")],
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver"), AGREE, ids=[f"{name}-{solver.__name__}" for name, solver in AGREE])
def test_solvers_agree_from_the_same_guess(name: str, solver: type[SolverAbstract]) -> None:
    ours, theirs = solution_of(name, SolverSQP), solution_of(name, solver)
    assert ours.converged
    assert theirs.converged
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-6)
    state = case_of(name).problem.state
    apart = [state.difference(a, b) for a, b in zip(ours.xs, theirs.xs)]
    np.testing.assert_allclose(apart, 0.0, rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.us, theirs.us, rtol=0, atol=1e-4 * max(1.0, np.abs(ours.us).max()))


@pytest.mark.parametrize("name", ["pendulum-limits", "cart-pole-limits", "quadrotor-obstacles"])
def test_multipliers_agree(name: str) -> None:
    """In sign and in size, at upper and at lower bounds."""
    ours, theirs = (solution_of(name, solver).multipliers["constraints"] for solver in (SolverSQP, SolverIpopt))
    largest = np.abs(theirs).max()
    assert ours.min() < -0.1 * largest < 0.1 * largest < ours.max()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-4 * largest)


@pytest.mark.slow
def test_ipopt_confirms_a_better_optimum() -> None:
    """IPOPT's guess leads it to 12.04; from ours it stays, to ten digits, with the same controls."""
    known = ocp_problems.obstacles()
    ours = SolverSQP(known.problem).solve(*known.guess)
    alone = SolverIpopt(known.problem).solve(*known.guess)
    confirmed = SolverIpopt(known.problem, NLPOptions(settings=TIGHT)).solve(ours.xs, ours.us)
    assert confirmed.converged
    assert ours.cost == pytest.approx(confirmed.cost, rel=1e-6)
    assert ours.cost < alone.cost - 2.0
    np.testing.assert_allclose(ours.us, confirmed.us, rtol=0, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("wall", "cost"), [(False, 102.430949), (True, 102.59476)])
def test_chain_of_masses(wall: bool, cost: float) -> None:
    """To the digits of the reference, in no more iterations than IPOPT."""
    known = chain(wall=wall, cost=cost, iterations=13)
    ours, theirs = (solver(known.problem).solve(*known.guess) for solver in (SolverSQP, SolverIpopt))
    for solution in (ours, theirs):
        assert solution.converged
        assert solution.cost == pytest.approx(cost, rel=1e-8)
    assert ours.iterations <= theirs.iterations <= known.iterations
    np.testing.assert_allclose(ours.us, theirs.us, rtol=0, atol=1e-5)


# On manifolds


class Rates(trajopt.DifferentialActionModelSymbolic):
    """A rotation under angular velocities."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(costs.state, 3, costs)

    def xdot(self, x: SX, u: SX) -> SX:
        return u


def turn(angle: float) -> ShootingProblem:
    """A body turns by an angle about a slanted axis within 1 s; angular velocities cost their square."""
    state = trajopt.StateSO3()
    goal = state.integrate(state.zero(), angle * np.array([1.0, 2.0, -2.0]) / 3.0)
    costs = trajopt.CostStack(state).add("rate", trajopt.ResidualModelControl(state), weight=1.0)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, goal), equals=0.0)
    node = trajopt.IntegratedActionModelEuler(Rates(costs), dt=0.1)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    return ShootingProblem(state.zero(), [node] * 10, terminal)


def yaw(angle: float) -> ShootingProblem:
    """The quadrotor turns on the spot, within the limits of its rotors."""
    case = problems.load("quadrotor-obstacles", T=60, pillars=())
    problem, state = case.problem, state_of_quadrotor()
    problem.set_parameter("goal.reference", state.integrate(hovering(problem.x0[:3]), np.eye(12)[5] * angle))
    return problem


class Centres:
    """Records the states that steps are counted from, one array (T + 1, nx) a centre."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[np.ndarray] = []
        plain = NonlinearProgram.values

        def values(program: NonlinearProgram, xs: np.ndarray) -> np.ndarray:
            self.seen.append(xs.copy())
            return plain(program, xs)

        monkeypatch.setattr(NonlinearProgram, "values", values)

    def farthest(self, state: StateAbstract, xs: np.ndarray, directions: slice) -> float:
        """Largest rotation from the last centre [rad]."""
        away = [state.difference(a, b)[directions] for a, b in zip(self.seen[-1], xs)]
        return float(np.abs(away).max())


@pytest.mark.parametrize("solver", [SolverIpopt, SolverFatrop])
@pytest.mark.parametrize("angle", [0.8, 2.5, 3.1])
def test_rotations_are_counted_from_near(
    solver: type[SolverAbstract], angle: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A geodesic at constant speed, whose cost is half of the squared angle, from a guess that does not turn."""
    problem, centres = turn(angle), Centres(monkeypatch)
    solution = solver(problem).solve(np.tile(problem.x0, (11, 1)), np.zeros((10, 3)))
    assert solution.converged
    assert solution.cost == pytest.approx(angle**2 / 2, rel=1e-8)
    np.testing.assert_allclose(solution.us, np.tile(angle * np.array([1.0, 2.0, -2.0]) / 3.0, (10, 1)), atol=1e-6)
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-8)
    assert (len(centres.seen) > 1) == (angle > 1.0)
    assert centres.farthest(problem.state, solution.xs, slice(0, 3)) < 1.0
    ours = SolverSQP(problem).solve(np.tile(problem.x0, (11, 1)), np.zeros((10, 3)))
    assert ours.cost == pytest.approx(solution.cost, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [SolverIpopt, SolverFatrop])
def test_a_quadrotor_turns_by_more_than_a_radian(solver: type[SolverAbstract], monkeypatch: pytest.MonkeyPatch) -> None:
    problem, centres = yaw(2.5), Centres(monkeypatch)
    guess = np.tile(problem.x0, (problem.T + 1, 1))
    theirs, ours = solver(problem).solve(guess), SolverSQP(problem).solve(guess)
    assert theirs.converged
    assert ours.converged
    assert theirs.cost == pytest.approx(ours.cost, rel=1e-6)
    assert len(centres.seen) > 1
    assert centres.farthest(problem.state, theirs.xs, slice(3, 6)) < 1.0
    np.testing.assert_allclose(theirs.us, ours.us, rtol=0, atol=1e-4)


def test_only_rotations_are_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quadrotor flies four metres at 3.6 m/s, and leans by less than a radian."""
    centres, case = Centres(monkeypatch), case_of("quadrotor-obstacles")
    solution = SolverIpopt(case.problem).solve(case.xs, case.us)
    assert np.abs(solution.xs[:, 7:10]).max() > 3.0
    assert len(centres.seen) == 1
    assert np.flatnonzero(NonlinearProgram(case.problem).curved).tolist() == [3, 4, 5]


def test_jacobian_of_the_program_is_sparse() -> None:
    """No more entries than the knots' own, which is what one writes by hand: 15 a knot of the pendulum."""
    program = NonlinearProgram(case_of("pendulum-limits").problem)
    jacobian = ca.jacobian(program.symbols["g"], program.symbols["x"])
    assert jacobian.nnz() <= 50 * (2 * 3 + 2 + 1) + 2


@pytest.mark.parametrize("T", [5, 20])
def test_knots_of_one_kind_are_one_call(T: int) -> None:
    """So that CasADi derives each function once: calls of the steps, the running and the last knot, and the gaps."""
    program = NonlinearProgram(problems.load("pendulum-limits", T=T).problem)
    symbols = [program.symbols[name] for name in "xpfg"]
    whole = ca.Function("whole", symbols[:2], symbols[2:])
    assert [whole.instruction_id(k) for k in range(whole.n_instructions())].count(ca.OP_CALL) == 4
