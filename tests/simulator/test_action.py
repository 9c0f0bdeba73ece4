"""Optimal control through the simulator: derivatives, forces and accelerations in costs, every solver."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tests.simulator.bodies import simulator, state
from tests.support.slow_twin import directions
from trajopt import ActuationModelMatrix, ConstraintStack, CostStack, ShootingProblem, StateMultibody
from trajopt.articulations import ArticulationBuilder
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Program
from trajopt.model.programs import outputs_at
from trajopt.residuals import (
    ResidualModelContactForce,
    ResidualModelControl,
    ResidualModelJointAcceleration,
    ResidualModelState,
)
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solvers import SolverBoxDDP, SolverBoxFDDP, SolverDDP, SolverFDDP, SolverSQP

DT = 5e-3


def model(sim: Simulator, *, forces: bool = True) -> ActionModelSimulator:
    """A pushed block: two forces on the base and the motor of the pendulum."""
    costs = CostStack(sim.state)
    goal = sim.state.at_rest(state(0.0, tilt=0.0)[:8])
    costs.add("state", ResidualModelState(sim.state, goal), weight=1.0)
    costs.add("effort", ResidualModelControl(sim.state, reference=np.zeros(3)), weight=1e-2)
    constraints = ConstraintStack(sim.state)
    if forces:
        costs.add("push", ResidualModelContactForce(sim.state, "corner1", np.array([0.0, 0.0, 5.0])), weight=1e-3)
        costs.add("smooth", ResidualModelJointAcceleration(sim.state), weight=1e-4)
        constraints.add("load", ResidualModelContactForce(sim.state, "corner0", np.zeros(3)), upper=[99.0] * 3)
    motors = ActuationModelMatrix(sim.state, np.eye(7)[:, [0, 1, 6]])
    return ActionModelSimulator(sim, costs, dt=DT, constraints=constraints, actuation=motors)


WAYS = [(m, "projected") for m in ("FORWARD_RK1F", "FORWARD_RK1I", "FORWARD_RK2I", "FORWARD_RK4I")]
WAYS += [("FORWARD_RK1I", "readme"), ("FORWARD_RK1I", "source"), ("FORWARD_RK2I", "readme")]
WAYS += [(m, "projected") for m in ("BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F", "BACKWARD_RK1I")]


@pytest.mark.parametrize(("mode", "variant"), WAYS)
def test_derivatives(mode: str, variant: str) -> None:
    """Central differences of values, costs and rows; their error is ε^⅔ of large numbers."""
    sim = simulator(mode, variant=variant)
    told = mode != "BACKWARD_RK1I" and (variant == "projected" or (mode, variant) == ("FORWARD_RK1I", "readme"))
    action = model(sim, forces=told)
    x, u, n = landing(), np.array([1.0, -2.0, 0.5]), 14
    _, _, F, g, _, *rows = outputs_at(action, action.program("calc_diff"), x, u)
    base = outputs_at(action, action.program("calc"), x, u)[0].ravel()

    def at(dz: np.ndarray) -> list[np.ndarray]:
        xnext, *others = outputs_at(action, action.program("calc"), sim.state.integrate(x, dz[:n]), u + dz[n:])
        return [sim.state.difference(base, xnext.ravel()), *(other.ravel() for other in others)]

    step, along = 1e-6, np.sqrt(n + 3) * directions(n + 3)  # ±1
    ends = [(at(step * e), at(-step * e)) for e in along.T]
    for i, exact in enumerate([F, g.T, *rows[1:]]):
        numeric = np.array([(forth[i] - back[i]) / (2 * step) for forth, back in ends]).T
        assert np.abs(exact @ along - numeric).max() <= 1e-6 * max(1.0, np.abs(exact).max())
        assert np.abs(exact).max() > 1e-3


def landing() -> np.ndarray:
    """The block falls on two of its corners."""
    x = state(0.02, tilt=0.1)
    x[10] = -0.8
    return x


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "FORWARD_RK2I", "BACKWARD_RK1F"])
def test_derivatives_of_a_rollout_match_central_differences(mode: str) -> None:
    sim = simulator(mode)
    problem = ShootingProblem(landing(), [model(sim, forces=False)] * 6, CostStack(sim.state))
    us = np.random.default_rng(3).normal(size=(6, 3))
    xs, by_x0, by_us = problem.rollout_derivatives(us)
    np.testing.assert_array_equal(xs, problem.rollout(us))
    assert (by_x0.shape, by_us.shape) == ((14, 14), (6, 14, 3))
    h = 1e-6
    for i in range(14):
        ends = []
        for sign in (-h, h):
            problem.x0 = sim.state.integrate(xs[0], sign * np.eye(14)[i])
            ends.append(problem.rollout(us)[-1])
        slope = sim.state.difference(*ends) / (2 * h)
        np.testing.assert_allclose(by_x0[:, i], slope, rtol=0, atol=5e-5 * np.abs(by_x0).max())
    problem.x0 = xs[0]
    for t in (0, 5):
        du = np.zeros((6, 3))
        du[t, 2] = h
        ends = [problem.rollout(us + sign * du)[-1] for sign in (-1, 1)]
        slope = sim.state.difference(*ends) / (2 * h)
        np.testing.assert_allclose(by_us[t, :, 2], slope, rtol=0, atol=5e-5 * np.abs(by_us).max())


def test_rows_of_a_rollouts_derivatives_are_in_the_axes_of_the_end() -> None:
    """A ball that rolls: its rotation at the end turns the rows into the place along the world's axes."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("ball"), 0.1)
    builder.add_free("world", "ball")
    ball = builder.build("ball")
    contact = MDPContact("ball", radius=0.1, surface=(0.0, 0.0, 1.0, 0.0), friction=0.5)
    step = ActionModelSimulator(Simulator(ball, [contact], "BACKWARD_RK1F"), CostStack(StateMultibody(ball)), dt=4e-3)
    x0, us = np.r_[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0, 1.0, 0.4, 0.0, -4.0, 10.0, 0.0], np.zeros((50, step.nu))
    problem = ShootingProblem(x0, [step] * 50, CostStack(step.state))
    xs, by_x0, _ = problem.rollout_derivatives(us)
    turned = ball.placement(xs[-1, :7], "ball")[:3, :3] @ by_x0[:3, 6]
    ends = []
    for v in (-1e-5, 1e-5):
        problem.x0 = x0 + v * np.eye(13)[7]
        ends.append(problem.rollout(us)[-1, :3])
    moved = (ends[1] - ends[0]) / 2e-5
    assert moved[0] > 0.1
    np.testing.assert_allclose(turned, moved, rtol=0, atol=1e-4)
    assert np.abs(by_x0[:3, 6] - moved).max() > 0.1


def test_calc_and_calc_diff_run_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step by step evaluation takes 5 to 30 times as long; the results are those of the problem."""
    action = model(simulator("BACKWARD_RK1F"), forces=False)
    x, u, data = landing(), np.array([1.0, -2.0, 0.5]), action.create_data()
    wanted = action.program("calc_diff").evaluate(x, u, action.layout.column())[2]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("evaluated step by step")

    monkeypatch.setattr(Program, "evaluate", refuse)
    action.calc(data, x, u)
    action.calc_diff(data, x, u)
    np.testing.assert_allclose(np.hstack([data.Fx, data.Fu]), wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
def test_every_solver_finds_the_same_push() -> None:
    action, costs = model(simulator(strength=1e5), forces=False), []
    x0 = state(0.002, tilt=0.0, speed=0.0)
    end = CostStack(action.state).add("goal", action.costs["state"].residual, weight=10.0)
    for solver in (SolverFDDP, SolverDDP, SolverBoxFDDP, SolverBoxDDP, SolverSQP):
        solution = solver(ShootingProblem(x0 + np.r_[0.05, np.zeros(14)], [action] * 15, end)).solve()
        assert solution.converged, solver
        costs.append(solution.cost)
    assert np.ptp(costs) <= 1e-7 * costs[0]


def test_force_values_match_the_contact_forces_by_name() -> None:
    sim = simulator()
    action, x, u = model(sim), state(0.01), np.array([1.0, -2.0, 0.5])
    told = action.force_values(x[None], u[None], action.layout.column()[None])
    tau = np.array([1.0, -2.0, 0, 0, 0, 0, 0.5])
    for name, force in sim.contact_forces(DT, x, tau).items():
        assert np.allclose(told[name][0], force, atol=1e-9)
    terms = action.term_values(x[None], u[None], action.layout.column()[None])
    _, cost, *_ = outputs_at(action, action.program("calc"), x, u)
    assert sum(value.item() for value in terms.values()) == pytest.approx(cost.item())
    assert repr(pickle.loads(pickle.dumps(action))) == repr(action)


def test_later_changes_of_the_simulator_do_not_affect_the_model() -> None:
    sim = simulator()
    sim.set_parameter("contacts.corner2.friction", 0.3)
    action = model(sim)
    sim.set_parameter("contacts.corner2.friction", 0.9)
    assert action.parameters()["contacts.corner2.friction"].default == 0.3
    assert action.time_step() == DT


def test_modes_without_a_next_state_are_refused() -> None:
    for mode in ("FORWARD_I", "INVERSE_LF"):
        sim = simulator(mode)
        with pytest.raises(InvalidArgumentError, match="simulator: expected a mode that computes the next state"):
            ActionModelSimulator(sim, CostStack(sim.state))
    sim = simulator("FORWARD_RK2I", variant="source")
    costs = CostStack(sim.state).add("f", ResidualModelContactForce(sim.state, "corner1", np.zeros(3)), weight=1.0)
    with pytest.raises(
        InvalidArgumentError,
        match=r"'f'.*terms cannot use contact forces of steps .*the variant 'source': use variant='proj",
    ):
        ActionModelSimulator(sim, costs)


def test_forces_of_impulse_modes_are_means() -> None:
    """p / dt [N], for costs and for who asks."""
    sim = simulator("FORWARD_RK1I")
    action, x, u = model(sim), state(0.01), np.array([1.0, -2.0, 0.5])
    told = action.force_values(x[None], u[None], action.layout.column()[None])
    impulse = sim.contact_forces(DT, x)["corner1"]
    assert np.allclose(told["corner1"][0], impulse / DT, rtol=1e-12)
    terms = action.term_values(x[None], u[None], action.layout.column()[None])
    rest = impulse / DT - [0.0, 0.0, 5.0]
    assert terms["push"].item() == pytest.approx(DT * 1e-3 * rest @ rest / 2)
