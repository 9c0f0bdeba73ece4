"""SolverSQP takes the same iterations in any units of states, controls, rows and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from trajopt import problems
from trajopt.actions import ActionModelDiscrete
from trajopt.constraints import ConstraintStack
from trajopt.residuals import ResidualModelControl, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverIpopt, SolverSQP, SQPOptions
from trajopt.solvers.sqp.first_program import deviations
from trajopt.states import StateVector
from trajopt.types import Reals

Rate = Callable[[SX, SX], SX]


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """Units: a quantity is its value in SI units times its scale."""

    states: Reals
    controls: Reals
    rows: float = 1.0
    cost: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Formulas:
    """A problem in SI units, with dimensions of states and controls in (length, mass, time)."""

    rate: Rate
    cost: Rate
    dt: float
    goal: Sequence[float]
    largest: float
    control: float
    states: dict[str, Sequence[int]]
    controls: dict[str, Sequence[int]]
    walls: tuple[Callable[[SX], SX], Sequence[float], Sequence[float]] | None = None
    guess: Sequence[float] = field(default_factory=tuple)

    def solve(self, units: Scaled, T: int = 100) -> Solution:
        """Solves it in these units."""
        model, end = _Model(self, units), ConstraintStack(StateVector(len(self.goal)))
        end.add(
            "goal",
            ResidualModelSymbolic(end.state, lambda x: units.rows * x / units.states),
            equals=units.rows * np.array(self.goal),
        )
        last = _Model(self, units, end)
        xs = np.linspace(np.zeros(len(self.goal)), self.guess or np.zeros(len(self.goal)), T + 1) * units.states
        us = np.full((T, len(units.controls)), self.control) * units.controls
        problem = ShootingProblem(0.0 * units.states, [model] * T, last)
        return SolverSQP(problem, SQPOptions(max_iterations=300)).solve(xs, us)


class _Model(ActionModelDiscrete):
    """One Runge-Kutta step, in units."""

    def __init__(self, formulas: Formulas, units: Scaled, rows: ConstraintStack | None = None) -> None:
        state, nu = StateVector(len(units.states)), len(units.controls)
        self.formulas, self.units = formulas, units
        if rows is None:
            most = formulas.largest * units.controls
            rows = ConstraintStack(state).add("limits", ResidualModelControl(state), lower=-most, upper=most)
            if formulas.walls is not None:
                place, lower, upper = formulas.walls
                residual = ResidualModelSymbolic(state, lambda x: units.rows * place(x / units.states))
                rows.add("walls", residual, lower=units.rows * np.array(lower), upper=units.rows * np.array(upper))
        super().__init__(rows.state, nu, constraints=rows)

    def next_state(self, x: SX, u: SX) -> SX:
        f, h, x, u = self.formulas.rate, self.formulas.dt, x / self.units.states, u / self.units.controls
        a = f(x, u)
        b = f(x + h / 2 * a, u)
        c = f(x + h / 2 * b, u)
        d = f(x + h * c, u)
        return SX(self.units.states * (x + h / 6 * (a + 2 * b + 2 * c + d)))

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(self.units.cost * self.formulas.cost(x / self.units.states, u / self.units.controls))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def _cart_pole(x: SX, u: SX) -> SX:
    sine, cosine, pole, length = ca.sin(x[1]), ca.cos(x[1]), 0.3, 0.5
    push = u[0] + pole * sine * (length * x[3] ** 2 + 9.81 * cosine)
    cart = push / (1.0 + pole * sine**2)
    return ca.vertcat(x[2], x[3], cart, -(cart * cosine + 9.81 * sine) / length)


PROBLEMS = {
    "cart-pole": Formulas(
        rate=_cart_pole,
        cost=lambda x, u: 0.02 * u[0] ** 2,
        dt=0.02,
        goal=[1.0, np.pi, 0.0, 0.0],
        guess=[1.0, np.pi, 0.0, 0.0],
        largest=20.0,
        control=0.0,
        states={"length": [1, 0, 1, 0], "mass": [0, 0, 0, 0], "time": [0, 0, -1, -1]},
        controls={"length": [1], "mass": [1], "time": [-2]},
        walls=(lambda x: x[0], [-2.0], [2.0]),
    ),
    "parking": Formulas(
        rate=lambda x, u: ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1]),
        cost=lambda x, u: 1.5e-4 * (ca.sumsqr(x - ca.DM([0.0, 1.5, 0.0])) + ca.sumsqr(u)),
        dt=0.03,
        goal=[0.0, 1.5, 0.0],
        largest=2.0,
        control=0.1,
        states={"length": [1, 1, 0], "time": [0, 0, 0]},
        controls={"length": [1, 0], "time": [-1, -1]},
        walls=(lambda x: x[:2], [-0.25, -1e-3], [0.25, 1.501]),
    ),
}
KINDS = [(name, kind) for name, p in PROBLEMS.items() for kind in (*p.states, "controls", "rows", "cost")]


def units(problem: Formulas, kind: str, factor: float) -> Scaled:
    """Units in which one kind of quantity has another scale."""
    ones = Scaled(states=np.ones(len(problem.goal)), controls=np.ones(len(next(iter(problem.controls.values())))))
    if kind in problem.states:
        return Scaled(states=power(factor, problem.states[kind]), controls=power(factor, problem.controls[kind]))
    if kind == "controls":
        return Scaled(states=ones.states, controls=factor * ones.controls)
    return Scaled(states=ones.states, controls=ones.controls, **{kind: factor})


def power(factor: float, exponents: npt.ArrayLike) -> Reals:
    """Powers of a factor."""
    return factor ** np.asarray(exponents, dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_iterations_do_not_depend_on_units(name: str, kind: str) -> None:
    problem = PROBLEMS[name]
    plain = problem.solve(units(problem, "rows", 1.0))
    assert plain.converged
    for factor in (2.0**10, 2.0**-10, 1e3, 1e-3):
        other = problem.solve(units(problem, kind, factor))
        assert other.converged
        exact = np.log2(factor).is_integer()
        assert abs(other.iterations - plain.iterations) <= (0 if exact else max(2, 0.1 * plain.iterations))
        assert other.cost / (factor if kind == "cost" else 1.0) == pytest.approx(plain.cost, rel=1e-6)


@pytest.mark.parametrize("name", ["arm-limits", "quadrotor-obstacles"])
def test_iterations_of_robots_do_not_depend_on_the_unit_of_cost(name: str) -> None:
    iterations, costs = [], []
    for factor in (1.0, 2.0**10, 2.0**-10, 1e3, 1e-3):
        case = problems.load(name)
        table = case.problem.table
        for weight in (name for name in case.problem.parameters if name.endswith(".weight")):
            for ts, columns in table.places(weight, None):
                table.values[ts, columns] *= factor
        solution = SolverSQP(case.problem).solve(case.xs, case.us)
        assert solution.converged
        iterations.append(solution.iterations)
        costs.append(solution.cost / factor)
    assert len(set(iterations)) == 1
    np.testing.assert_allclose(costs, costs[0], rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-2])
def test_rounding_of_a_guess_is_no_size(noise: float) -> None:
    """A coordinate that stays at 0, such as the angle of an arm's base, is 1e-14 in most guesses (239 iterations)."""
    state = trajopt.StateVector(4)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    rows = trajopt.ConstraintStack(state).add("force", trajopt.ResidualModelControl(state), lower=-9.0, upper=9.0)
    rows.add("speed", trajopt.ResidualModelSymbolic(state, lambda x: x[2:]), lower=-2.0, upper=2.0)
    rows.add("line", trajopt.ResidualModelSymbolic(state, lambda x: x[1]), equals=0.0)
    goal = trajopt.ConstraintStack(state)
    goal.add("goal", trajopt.ResidualModelState(state, [1.0, 0.0, 0.0, 0.0]), equals=0.0)
    knot = trajopt.IntegratedActionModelEuler(Masses(state, 2, costs, constraints=rows), dt=0.05)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = trajopt.ShootingProblem(np.zeros(4), [knot] * 30, end)
    xs = np.linspace(0.0, 1.0, 31)[:, None] * [1.0, 0.0, 0.0, 0.0]
    xs[1:] += noise * np.random.default_rng(0).normal(size=(30, 4))
    solution = SolverSQP(problem).solve(xs)
    assert solution.converged
    assert solution.iterations <= 6


@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-13, 1e-10, 1e-6, 1e-2])
def test_a_row_whose_gradient_vanishes_has_the_size_of_its_distance(noise: float) -> None:
    """A tool that points down tilts to second order only; rounding of its gradient is no size (300 iterations)."""
    state = trajopt.StateVector(4)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    upright = trajopt.ResidualModelSymbolic(state, lambda x: ca.cos(x[0] + x[1]))
    rows = trajopt.ConstraintStack(state).add("upright", upright, lower=np.cos(0.17))
    goal = trajopt.ConstraintStack(state).add("upright", upright, lower=np.cos(0.17))
    goal.add("hand", trajopt.ResidualModelSymbolic(state, lambda x: ca.sin(x[0]) - 0.6), equals=0.0)
    goal.add("rest", trajopt.ResidualModelState(state, elements=[2, 3]), equals=0.0)
    knot = trajopt.IntegratedActionModelEuler(Masses(state, 2, costs, constraints=rows), dt=0.05)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = trajopt.ShootingProblem([noise, 0.0, 0.0, 0.0], [knot] * 40, end)
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert solution.iterations <= 25
    assert abs(solution.xs[-1, :2].sum()) == pytest.approx(0.17, abs=1e-6)


class Masses(trajopt.DifferentialActionModelSymbolic):
    """Unit masses, a force on each."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def test_variances_that_rounding_makes_negative_are_none() -> None:
    np.testing.assert_allclose(deviations(np.array([4.0, -1e-18]), 9.0), [6.0, 0.0])  # and no warning


HOVER = np.array([0.3, 1.1, 0.0, 0.0, 0.0, 0.0])


class Drone(trajopt.DifferentialActionModelSymbolic):
    """x = (x, z, angle, velocities), u = two rotor forces [N]; 0.8 kg."""

    def acceleration(self, x: SX, u: SX) -> SX:
        lift = (u[0] + u[1]) / 0.8
        return ca.vertcat(-lift * ca.sin(x[2]), lift * ca.cos(x[2]) - 9.81, 0.17 * (u[0] - u[1]) / 0.005)


@pytest.mark.parametrize("scale", [1.0, 2.0**-30, 2.0**30])
def test_a_guess_that_is_the_solution_to_rounding_is_the_end(scale: float) -> None:
    """A drone that hovers, whose cost is that of rounding."""
    state = trajopt.StateVector(6)
    motion, effort = trajopt.ResidualModelState(state, HOVER), trajopt.ResidualModelControl(state, np.full(2, 3.924))
    costs = trajopt.CostStack(state).add("motion", motion, weight=100.0 * scale).add("effort", effort, 0.1 * scale)
    rotors = trajopt.ConstraintStack(state).add("rotors", effort, lower=-3.924, upper=1.0)
    knot = trajopt.IntegratedActionModelRK4(Drone(state, 2, costs, constraints=rotors), dt=0.04)
    problem = trajopt.ShootingProblem(HOVER, [knot] * 30, trajopt.CostStack(state).add("end", motion, scale))
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert solution.iterations <= 3
    assert 0.0 < solution.cost < 1e-20 * scale


class Mixing(trajopt.DifferentialActionModelSymbolic):
    """Two catalysts, of which u is the part of the first one: catalyst mixing of the COPS collection."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(u * (10.0 * x[1] - x[0]), u * (x[0] - 10.0 * x[1]) - (1.0 - u) * x[1])


class Dragged(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u - 0.3 v²."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u - 0.3 * x[1] ** 2


def least(model: type, place: Callable[[SX], SX], x0: Reals, bounds: Reals, dt: float, weight: float) -> Solution:
    """The least value of a place at the end, with a cost of the control; a car has to stop there."""
    state = StateVector(2)
    costs = trajopt.CostStack(state).add("effort", ResidualModelControl(state), weight=weight)
    rows = ConstraintStack(state).add("limits", ResidualModelControl(state), lower=bounds[0], upper=bounds[1])
    linear = trajopt.ActivationModelSymbolic(lambda r: r[0])
    end = trajopt.CostStack(state).add("place", ResidualModelSymbolic(state, place), 1.0, linear)
    stop = ConstraintStack(state)
    if model is Dragged:
        stop.add("stop", ResidualModelSymbolic(state, lambda x: x[1]), equals=0.0)
    knot = trajopt.IntegratedActionModelRK4(model(state, 1, costs, constraints=rows), dt=dt)
    return SolverSQP(ShootingProblem(x0, [knot] * 50, trajopt.ActionModelTerminal(end, constraints=stop))).solve()


MIXING = (Mixing, lambda x: x[0] + x[1] - 1.0, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.02)
FAR_AWAY = (Dragged, lambda x: -x[0], np.zeros(2), np.array([-1.0, 1.0]), 0.1)


@pytest.mark.parametrize("case", [MIXING, FAR_AWAY], ids=["mixing", "far away"])
@pytest.mark.parametrize("weight", [1e-6, 1e-8, 1e-10])
def test_a_control_that_costs_next_to_nothing_loosens_no_tolerance(case: Any, weight: float) -> None:
    """A program without limits takes it to 1e8 times its limit, and the cost to bring it back is no typical one."""
    free, solution = least(*case, 0.0), least(*case, weight)
    assert solution.converged
    assert solution.cost == pytest.approx(free.cost, abs=3.0 * weight + 1e-6)


class _Upright(ActionModelDiscrete):
    """Cart with a pole that stands upright, θ'' = 25 θ - a, and a body beside it, in Euler steps of 20 ms."""

    def __init__(self) -> None:
        super().__init__(StateVector(6), nu=2)  # places of cart and body, angle; their rates

    def next_state(self, x: SX, u: SX) -> SX:
        """The next state."""
        rates = x[3:] + 0.02 * ca.vertcat(u, 25.0 * x[2] - u[0])
        return ca.vertcat(x[:3] + 0.02 * rates, rates)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Effort."""
        return 0.01 * ca.sumsqr(u)

    def terminal_cost(self, x: SX) -> SX:
        """None."""
        return SX(0)


@pytest.mark.parametrize("T", [200, 400, pytest.param(2000, marks=pytest.mark.slow)])
def test_an_upright_pole_hides_no_equation_at_the_end(T: int) -> None:
    """From rest to rest, 1 m and 2 m away. In 40 s the pole grows by 1e86, and rounding hides all other directions."""
    end = ConstraintStack(StateVector(6)).add(
        "goal", trajopt.ResidualModelState(StateVector(6), [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]), equals=0.0
    )
    last = trajopt.ActionModelTerminal(trajopt.CostStack(StateVector(6)), constraints=end)
    problem = ShootingProblem(np.zeros(6), [_Upright()] * T, last)
    solution, known = SolverSQP(problem).solve(), SolverIpopt(problem).solve()
    assert solution.converged
    assert known.converged
    assert solution.iterations <= 10
    assert np.abs(solution.violations()["goal"]).max() < 1e-8
    np.testing.assert_allclose(solution.cost, known.cost, rtol=1e-6)
