"""Optimal control with the residuals of backward modes: direct transcription, and rollouts that solve them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulator.bodies import simulator, state
from tests.simulator.test_action import DT, model
from trajopt import CostStack, ShootingProblem, Solution
from trajopt.errors import ModelEvaluationError, UnsupportedOperationError
from trajopt.kernels.steps.iteration import Iteration
from trajopt.shooting import programs
from trajopt.simulator import ActionModelSimulator, Simulator
from trajopt.simulator.batch import StateBatch
from trajopt.simulator.programs import values_program
from trajopt.solvers import SolverBoxDDP, SolverBoxFDDP, SolverDDP, SolverFDDP, SolverIpopt, SolverSQP, SQPOptions

BACKWARD = ("BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F", "BACKWARD_RK1I")
LINEAR = SQPOptions(steps="linear")


def push(action: ActionModelSimulator, T: int = 15, dt: float = DT) -> ShootingProblem:
    """A block that falls by 52 mm into the ground, pushed to the side."""
    end = CostStack(action.state).add("goal", action.costs["state"].residual, weight=10.0)
    problem = ShootingProblem(state(0.002, tilt=0.0, speed=0.0) + np.r_[0.05, np.zeros(14)], [action] * T, end)
    problem.set_parameter("dt", dt)
    return problem


def residuals(solution: Solution, sim: Simulator, dt: float = DT) -> float:
    """Largest residual of the mode along a solution."""
    found = 0.0
    for x, u, after in zip(solution.xs, solution.us, solution.xs[1:]):
        tau = np.array([u[0], u[1], 0, 0, 0, 0, u[2]])
        r, _, _ = sim.simulate(dt, np.concatenate([after, x[8:]]), tau)
        found = max(found, float(np.abs(r).max()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in BACKWARD if mode != "BACKWARD_RK1F"])
def test_direct_transcription_finds_the_optimum_of_the_rollouts(mode: str) -> None:
    """From states that are no motion. The residual is what the simulator says, to rounding.

    `tests/problems/test_simulated.py` finds a jump with BACKWARD_RK1F.
    """
    sim, costs = simulator(mode, strength=1e5), []
    action = model(sim, forces=False)
    for solver, options in ((SolverSQP, LINEAR), (SolverSQP, None), (SolverFDDP, None), (SolverDDP, None)):
        problem = push(action)
        xs = np.tile(problem.x0, (16, 1)) + 0.01 * np.r_[1.0, np.zeros(14)]
        solution = solver(problem, options).solve(xs)
        assert solution.converged, solver
        assert residuals(solution, sim) < (1e-6 if mode.startswith("INVERSE") else 1e-9)
        costs.append(solution.cost)
    for box in (SolverBoxFDDP, SolverBoxDDP):
        costs.append(box(push(action)).solve().cost)
    assert np.ptp(costs) <= 1e-8 * costs[0]


@pytest.mark.slow
def test_forces_and_accelerations_of_implicit_steps_in_costs_and_rows() -> None:
    sim = simulator("BACKWARD_RK1F", strength=1e5)
    action = model(sim)
    first, second = (SolverSQP(push(action), options).solve() for options in (LINEAR, None))
    assert first.converged
    assert second.converged
    assert first.cost == pytest.approx(second.cost, rel=1e-8)
    told, x, u = first.contact_forces()["corner1"], first.xs, first.us
    tau = np.array([u[9, 0], u[9, 1], 0, 0, 0, 0, u[9, 2]])
    wanted = sim.contact_forces(DT, np.concatenate([x[10], x[9, 8:]]), tau)["corner1"]
    assert wanted[2] > 0.1
    np.testing.assert_allclose(told[9], wanted, atol=1e-6)


@pytest.mark.slow
def test_short_steps_lead_to_the_optimum_of_forward_steps() -> None:
    """The difference of both optima is of order 1 in dt: slope within 0.2."""
    differences, T = [], [12, 24, 48]
    for count in T:
        found = []
        for mode in ("BACKWARD_RK1F", "FORWARD_RK1F"):
            action = model(simulator(mode, strength=1e5), forces=False)
            solution = SolverSQP(push(action, count, 0.06 / count), LINEAR).solve()
            assert solution.converged
            found.append(solution.cost)
        differences.append(abs(found[0] - found[1]))
    assert np.polyfit(np.log(T), np.log(differences), 1)[0] == pytest.approx(-1, abs=0.2)


def test_only_rollouts_repeat() -> None:
    """Expansions and linear trials evaluate the residual once; the interior point is an iteration all the same."""
    action = model(simulator("BACKWARD_RK1F"))

    def roots(program: object) -> int:
        return sum(isinstance(s, Iteration) and s.body.name.endswith("root") for s in program.steps)  # type: ignore[attr-defined]

    assert roots(programs.expansion(action, 3, action.nc)) == 0
    assert roots(programs.point(action, action.nc)) == 0
    assert roots(programs.step(action, action.nc)) == 1


def test_a_gap_is_a_step_of_newtons_method() -> None:
    """x⁺ of a knot is the next state after one step of Newton's method for it, so its error is squared."""
    sim = simulator("BACKWARD_RK1F")
    action, x = model(sim, forces=False), state(0.003)
    tau = np.array([1.0, -2.0, 0, 0, 0, 0, 0.5])
    after, errors = sim.step(DT, x, tau)[0], []
    for size in (1e-2, 1e-3):
        following = sim.state.integrate(after, size * np.random.default_rng(3).normal(size=14))
        problem = ShootingProblem(x, [action], CostStack(sim.state))
        found = problem.calc(np.array([x, following]), tau[[0, 1, 6]][None])
        errors.append(np.abs(sim.state.difference(after, found.xnext[0])).max())
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 30


def test_solvers_of_expressions_refuse() -> None:
    action = model(simulator("BACKWARD_RK1F"), forces=False)
    with pytest.raises(UnsupportedOperationError, match="is not a single expression; use SolverSQP"):
        SolverIpopt(push(action)).solve()


def test_steps_hold_a_controller_implicitly() -> None:
    """A controller of a backward mode acts at (q₊, v₊), and holds with gains that explicit ones would blow up."""
    sim = simulator("BACKWARD_RK1F")
    kd = np.r_[np.zeros(6), 50.0]
    sim.set_PD_controller(np.r_[np.zeros(6), 1e4], kd)
    x = state(0.01)
    after, _ = sim.step(DT, x)
    tau = sim.controller_torque(after)
    np.testing.assert_allclose(after, sim.step(DT, x, tau)[0], atol=1e-8)
    assert abs(sim.rollout(x, steps=200, dt=DT).xs[-1][7]) < 1e-2


def test_implicit_steps_have_the_bits_of_their_lanes_and_agree_with_128() -> None:
    """Lanes need different numbers of passes: in the air, touching, sliding, deep."""
    sim = simulator("BACKWARD_RK1F")
    xs = np.array(
        [state(depth, seed, speed) for depth in (-0.1, 1e-3, 0.02) for seed in (0, 1) for speed in (0.1, 5.0)]
    )
    program = values_program(sim.model, controlled=False, stepping=True)
    batch = StateBatch(program, len(xs))
    batch.qdqs[:], batch.parameters[:] = xs, sim.model.layout.column({"dt": DT})
    batch.run()
    for x, found in zip(xs, batch.results[0].reshape(len(xs), -1)):
        np.testing.assert_array_equal(found, sim.step(DT, x)[0])
    exact = Simulator(sim.robot, sim.model.contacts, "BACKWARD_RK1F", accuracy=128)
    for x in xs[[9]]:
        np.testing.assert_allclose(sim.step(DT, x)[0], exact.step(DT, x)[0], atol=1e-11)


def test_a_step_without_a_root_says_so() -> None:
    """In a second of free fall at 1e5 rad/s."""
    sim = simulator("BACKWARD_RK1F")
    with pytest.raises(ModelEvaluationError, match="the implicit step.*residual.*use a smaller dt"):
        sim.step(1.0, state(0.01, speed=1e5))
