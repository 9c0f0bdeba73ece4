"""Constraint rows at the stages of integrators: where they are, what they keep, and everything that reads rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.model_list import DIFFERENTIALS
from tests.support.slow_twin import assert_close
from trajopt.analysis.advice.relaxation import softening
from trajopt.analysis.constraints import named_rows
from trajopt.errors import InvalidArgumentError
from trajopt.model import content
from trajopt.model.programs import outputs_at
from trajopt.mpc import MPCController, MPCOptions
from trajopt.solvers import SolutionDerivatives, SolverIpopt, SolverSQP

Reals = npt.NDArray[np.float64]
RK = trajopt.IntegratedActionModelRK
One, Parabola = trajopt.ControlParametrizationPolyOne, trajopt.ControlParametrizationPolyTwoRK
CLASSICAL, HEUN, MIDPOINT = trajopt.Tableau.CLASSICAL, trajopt.Tableau.HEUN, trajopt.Tableau.MIDPOINT
DT = 0.25


class Mass(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u - d v."""

    def __init__(self, costs: Any, **options: Any) -> None:
        super().__init__(costs.state, 1, costs, **options)
        self.damping = self.parameter("damping", 0.0)

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u - self.damping * x[1]


def stacks(soft: Any = None, *, force: float = 9.0, speed: float = np.inf) -> tuple[Any, Any]:
    """Cost of the effort; room up to 0.3 m, and a torque."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["m", "m/s"])
    effort, motion = trajopt.ResidualModelControl(state), trajopt.ResidualModelState(state)
    rows = trajopt.ConstraintStack(state)
    rows.add("room", motion, upper=[0.3, speed], soft=soft)
    rows.add("force", effort, lower=-force, upper=force)
    return trajopt.CostStack(state).add("effort", effort, weight=1.0), rows


def bounce(rows: str, control: Any = None, x0: Any = (0.0, 2.0), end: Any = (0.0, -2.0), **options: Any) -> Any:
    """A mass that comes in and goes out again within eight steps."""
    costs, limits = stacks(**options)
    knot = RK(Mass(costs, constraints=limits), DT, tableau=CLASSICAL, control=control, rows=rows)
    motion = trajopt.ResidualModelState(costs.state)
    out = trajopt.ConstraintStack(costs.state).add("out", motion, equals=end)
    last = trajopt.ActionModelTerminal(trajopt.CostStack(costs.state), constraints=out)
    return trajopt.ShootingProblem(x0, [knot] * 8, last)


@cache
def solved(rows: str, control: Any = None, **options: Any) -> trajopt.Solution:
    control = None if control is None else control(1)
    return SolverSQP(bounce(rows, control, **options)).solve()


def between(solution: trajopt.Solution, parts: int = 400) -> tuple[Reals, Reals]:
    """States (8, parts, 2) and controls (8, parts) of a fine simulation of each step, exact for a constant control."""
    control, h = solution.problem.running[0].control, DT / parts
    xs, us = np.empty((8, parts, 2)), np.empty((8, parts))
    for t, w in enumerate(solution.us):
        q, v = solution.xs[t]
        for i in range(parts):
            u = us[t, i] = control.at(w, (i + 0.5) / parts)[0]
            q, v = q + h * v + 0.5 * h * h * u, v + h * u
            xs[t, i] = q, v
    return xs, us


# What they keep


@pytest.mark.slow
def test_knots_alone_are_passed_between_them_and_stages_are_not() -> None:
    """q is a parabola within a step; q + v dt/2, that of the second stage, is the middle one of its Bézier points."""
    knot, stages = solved("knot"), solved("stages")
    assert knot.converged
    assert stages.converged
    assert knot.xs[:, 0].max() < 0.3 + 1e-8
    assert between(knot)[0][..., 0].max() > 0.309
    assert between(stages)[0][..., 0].max() < 0.3 + 1e-8
    assert max(rows.max() for rows in stages.violations().values()) < 1e-8


@pytest.mark.slow
def test_a_speed_under_a_linear_control() -> None:
    """v is a parabola then, and v + u dt/2 of the second stage the middle one of its Bézier points."""
    fastest = {}
    for rows in ("knot", "stages"):
        solution = solved(rows, One, speed=1.2, x0=(-2.0, 0.0), end=(0.0, 0.0))
        assert solution.converged
        fastest[rows] = between(solution)[0][..., 1].max()
    assert fastest["knot"] > 1.201
    assert fastest["stages"] < 1.2 + 1e-8


@pytest.mark.parametrize("control", [One, Parabola])
def test_a_force_with_a_parametrized_control(control: Any) -> None:
    """Its values at all nodes are within the limits; with rows at knots, only the first ones are."""
    knot, stages = solved("knot", control, force=8.0), solved("stages", control, force=8.0)
    assert np.abs(knot.us[:, 1:]).max() > 8.4
    assert stages.converged
    assert np.abs(stages.us).max() < 8.0 + 1e-6
    if control is One:
        assert np.abs(between(stages)[1]).max() < 8.0 + 1e-6
    assert between(stages)[0][..., 0].max() < 0.303 < 0.307 < between(knot)[0][..., 0].max()


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """Of 0.5 m and 1 kg."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return 4.0 * u - 19.62 * ca.sin(x[0])


def test_the_tip_of_a_pendulum_stays_before_a_wall() -> None:
    """Steps of 0.15 s; a fine simulation of the controls begins anew at each knot."""
    state, deepest = trajopt.StateVector(2), {}
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    tip = trajopt.ResidualModelSymbolic(state, lambda x, u: 0.5 * ca.sin(x[0]))
    back = trajopt.ConstraintStack(state).add("back", trajopt.ResidualModelState(state), equals=[0.0, -4.0])
    last = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=back)
    for rows in ("knot", "stages"):
        wall = trajopt.ConstraintStack(state).add("wall", tip, upper=0.2)
        d = Pendulum(state, 1, costs, constraints=wall)
        knot = trajopt.IntegratedActionModelRK4(d, 0.15, rows=rows)
        solution = SolverSQP(trajopt.ShootingProblem([0.0, 4.0], [knot] * 8, last)).solve()
        assert solution.converged
        fine, angles = trajopt.IntegratedActionModelRK4(d, 1e-3), list[float]()
        data = fine.create_data()
        for x, u in zip(solution.xs, solution.us):
            for _ in range(150):
                fine.calc(data, x, u)
                x = data.xnext.copy()
                angles.append(x[0])
        deepest[rows] = 0.5 * np.sin(max(angles))
    assert deepest["knot"] > 0.21
    assert deepest["stages"] < 0.2


# Where they are


def model_of(name: str, tableau: Any = CLASSICAL, control: Any = None, rows: str = "stages") -> Any:
    d = DIFFERENTIALS[name]()
    return RK(d, 0.05, tableau=tableau, control=None if control is None else control(d.nu), rows=rows)


def names(model: Any) -> list[str]:
    return [block.name for block in model.row_blocks]


def test_blocks_of_rows() -> None:
    """States at the end of a step are left to the next knot, and a constant control to its own knot."""
    name, knot = "constrained-pendulum", ["near", "both", "torque"]
    half, end = ["near at dt/2", "both at dt/2"], ["both at dt"]
    assert names(model_of(name, rows="knot")) == knot
    assert names(model_of(name)) == [*knot, *half, *end]
    assert names(model_of(name, HEUN)) == [*knot, *end]
    assert names(model_of(name, MIDPOINT)) == [*knot, *half]
    assert names(model_of(name, trajopt.Tableau.EULER)) == knot
    assert names(model_of(name, control=One)) == [*knot, *half, "torque at dt/2", *end, "torque at dt"]
    assert names(model_of("pendulum")) == []
    thirds = trajopt.Tableau(((), (1 / 3,), (0.0, 2 / 3)), (0.25, 0.0, 0.75))
    assert "near at 0.333 dt" in names(model_of(name, thirds))
    implicit = trajopt.IntegratedActionModelImplicit
    ends = {"midpoint": half, "euler": end}
    for method, more in ends.items():
        assert names(implicit(DIFFERENTIALS[name](), 0.05, method=method, rows="stages")) == [*knot, *more]
    model = model_of(name)
    assert model.row_names[6:] == [*(f"near[{i}] at dt/2" for i in (0, 1)), *(f"both[{i}] at dt/2" for i in range(3)),
                                   *(f"both[{i}] at dt" for i in range(3))]  # fmt: skip
    np.testing.assert_array_equal(model.rows_of_states[6:8], [True, True])
    np.testing.assert_array_equal(model.rows_free_of_control[6:8], [True, False])  # q + v dt/2 has no u


def test_limits_of_parametrized_controls_are_bounds() -> None:
    model = model_of("constrained-pendulum", control=Parabola)
    alone = {name: int(j) for name, j in zip(model.row_names, model.rows_on_one_control) if j >= 0}
    assert alone == {"torque": 0, "torque at dt/2": 1, "torque at dt": 2}


def test_contact_forces_are_no_limits_of_a_parametrized_control() -> None:
    model = model_of("contact-constrained-forces", control=One, rows="knot")
    alone = {name: int(j) for name, j in zip(model.row_names, model.rows_on_one_control) if j >= 0}
    assert alone == {"torque[0]": 0, "torque[1]": 1}


@pytest.mark.parametrize("control", [None, Parabola])
def test_rows_are_those_of_the_first_stage_at_each_time(control: Any) -> None:
    """By hand, with rates from the continuous-time model; a knot without steps has the rows of an instant."""
    model, x = model_of("constrained-planar-2r", control=control), np.array([0.3, -0.5, 0.7, 0.2])
    d, rng = model.differential, np.random.default_rng(3)
    w = rng.normal(size=model.nu)
    at = {c: model.control.at(w, c) for c in (0.0, 0.5, 1.0)}
    instant = trajopt.IntegratedActionModelRK4(d, 0.05)

    def rate(y: Reals, u: Reals) -> Reals:
        data = d.create_data()
        d.calc(data, y, u)
        return np.array(data.xnext)

    def rows(y: Reals, u: Reals) -> dict[str, float]:
        return dict(zip(instant.row_names, outputs_at(instant, instant.program("calc"), y, u)[2].ravel()))

    k1 = rate(x, at[0.0])
    half = x + 0.025 * k1
    end = x + 0.05 * rate(x + 0.025 * rate(half, at[0.5]), at[0.5])
    states = {"": (x, at[0.0]), " at dt/2": (half, at[0.5]), " at dt": (end, at[1.0])}
    expected = {f"{name}{place}": value for place, (y, u) in states.items() for name, value in rows(y, u).items()}
    values = outputs_at(model, model.program("calc"), x, w)[2].ravel()
    assert_close(values, np.array([expected[name] for name in model.row_names]), 1e-14)


def test_models_that_do_not_ask_for_them_stay_as_they_are() -> None:
    """Programs are the same, also where no constraint differs at a stage."""
    costs, _ = stacks()
    effort = trajopt.ConstraintStack(costs.state).add("force", trajopt.ResidualModelControl(costs.state), upper=1.0)
    d = Mass(costs, constraints=effort)
    default, told, stages = (
        RK(d, DT, tableau=CLASSICAL),
        *(RK(d, DT, tableau=CLASSICAL, rows=r) for r in ("knot", "stages")),
    )
    assert content.model_hash(default) == content.model_hash(told) != content.model_hash(stages)
    for name in ("calc", "calc_diff"):
        digests = {model._build_program(name).digest() for model in (default, told, stages)}
        assert len(digests) == 1
    assert "rows='stages'" in repr(stages)


# Everything that reads them


def test_reports_and_files(tmp_path: Path) -> None:
    solution = solved("stages")
    by_name = ["room", "force", "room at dt/2", "out"]
    assert list(solution.violations()) == list(solution.prices()) == by_name
    (rows,) = (each for each in solution.description.constraints if each.name == "room at dt/2")
    assert rows.rows == ("q", "v")
    assert rows.title(0) == "room[q] at dt/2"
    assert rows.active[:, 0].sum() >= 2
    assert "'room at dt/2': q at a bound at" in solution.explain()
    trajopt.plotting.plot_constraints(solution)
    solution.save(tmp_path / "a.npz")
    read = trajopt.Solution.load(tmp_path / "a.npz")
    assert list(read.violations()) == by_name
    np.testing.assert_array_equal(read.violations()["room at dt/2"], solution.violations()["room at dt/2"])


def test_violated_rows_of_stages_are_named() -> None:
    solution = solved("stages", force=5.0)
    assert not solution.converged
    words = solution.explain()
    assert "'room at dt/2', row 0, is violated most: q by 0.138 m at knot 1" in words
    assert "constraints force at knot 0 and room[q] at dt/2 at knot 1 and x0: they exclude each other" in words
    assert 'add("room", ..., soft=(linear, quadratic))' in softening(named_rows(solution))


def test_bounds_and_prices_of_slacks_are_shared_with_the_knot() -> None:
    problem = bounce("stages", soft=(50.0, 1.0))
    problem.set_parameter("room.upper", [0.25, 7.0], knots=3)
    problem.set_parameter("room.linear", 60.0, knots=3)
    np.testing.assert_array_equal(problem.row_bounds()[1][3], [0.25, 7.0, 9.0, 0.25, 7.0])
    np.testing.assert_array_equal(problem.row_softness()[0][3], [60.0, 60.0, np.inf, 60.0, 60.0])
    solution = SolverSQP(bounce("stages", soft=(50.0, 1.0), force=5.0)).solve()
    assert solution.converged
    assert solution.violations()["room at dt/2"].max() > 0.01


def test_rows_that_x0_determines_are_not_enforced() -> None:
    """q + v dt/2 of knot 0 is 0.25 m: a smaller room makes no difference there."""
    problem = bounce("stages")
    problem.set_parameter("room.upper", [0.2, np.inf], knots=0)
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(solved("stages").cost, rel=1e-9)
    assert solution.violations()["room at dt/2"][0, 0] == pytest.approx(0.05)


@pytest.mark.parametrize("control", [None, One])
def test_ipopt_agrees(control: Any) -> None:
    ours = solved("stages", control)
    theirs = SolverIpopt(bounce("stages", None if control is None else control(1))).solve()
    assert theirs.converged
    assert theirs.cost == pytest.approx(ours.cost, rel=1e-6)


def test_derivatives_of_a_solution() -> None:
    """That of the cost by a bound is the sum of the multipliers of all rows with that bound."""
    problem, h = bounce("stages"), 1e-4
    sides = []
    for upper in (0.3 - h, 0.3 + h):
        problem.set_parameter("room.upper", [upper, np.inf], knots="running")
        sides.append(SolverSQP(problem).solve())
    low, high = sides
    prices, slope = solved("stages").prices(), (high.cost - low.cost) / (2 * h)
    assert slope == pytest.approx(-sum(prices[name][:, 0].sum() for name in ("room", "room at dt/2")), rel=1e-4)
    by = SolutionDerivatives(solved("stages")).by("room.upper", knots="running")
    assert_close(by.dxs[..., 0], (high.xs - low.xs) / (2 * h), 1e-4)


@pytest.mark.parametrize("name", ["dt", "damping"])
def test_unknown_parameters(name: str) -> None:
    """The best value is not worse than the first one, and has the cost that it has where it is fixed."""
    problem, at = bounce("stages"), {"dt": DT, "damping": 0.0}[name]
    problem.free(name, at - 0.1, at + 0.1, guess=at)
    best = SolverSQP(problem).solve()
    assert best.converged
    assert best.cost < (1.0 - 1e-5) * solved("stages").cost
    fixed = bounce("stages")
    fixed.set_parameter(name, float(best.unknowns[name]))
    assert SolverSQP(fixed).solve().cost == pytest.approx(best.cost, rel=1e-6)


def test_a_bound_that_x0_exceeds_holds_at_the_stages_of_its_step() -> None:
    """v is 2 m/s at knot 0, and v + u dt/2 at its second stage; with unknowns too."""
    for free in (False, True):
        problem = bounce("stages", speed=0.9)
        if free:
            problem.free("damping", -1e-9, 1e-9)
        solution = SolverSQP(problem).solve()
        assert solution.converged
        assert solution.violations()["room"][0, 1] == pytest.approx(1.1)
        assert solution.violations()["room at dt/2"].max() < 1e-8


def test_controllers_soften_limits_of_states_at_stages() -> None:
    problem = bounce("stages")
    controller = MPCController(problem, options=MPCOptions(dt=DT))
    assert np.isinf(problem.row_softness()[0]).all()
    controller.reset(np.array([0.0, 2.0]))
    soft = np.isfinite(controller.problem.row_softness()[0][0])
    np.testing.assert_array_equal(soft, [True, True, False, True, True])
    step = controller.step(np.array([0.31, 1.0]), t=DT)
    assert np.isfinite(step.u).all()


def test_the_end_of_a_horizon_has_the_rows_of_a_state() -> None:
    """An integrated model at the end, beside running knots with and without rows at stages."""
    costs, _ = stacks()
    state, free = costs.state, trajopt.CostStack(costs.state)
    motion = trajopt.ResidualModelState(state)
    rest = trajopt.ConstraintStack(state).add("rest", motion, equals=[0.2, 0.0])
    end = RK(Mass(free, constraints=rest), DT, tableau=CLASSICAL, rows="stages")
    knot = trajopt.IntegratedActionModelRK4(Mass(costs), DT)
    for running in (knot, bounce("stages").running[0]):
        problem = trajopt.ShootingProblem([0.0, 0.0], [running] * 4, end)
        solution = SolverSQP(problem).solve()
        assert solution.converged
        assert_close(solution.xs[-1], np.array([0.2, 0.0]), 1e-7)
        assert "rest at dt/2" not in solution.violations()
        assert SolverIpopt(problem).solve().cost == pytest.approx(solution.cost, rel=1e-6)
        assert not [row for row in trajopt.check_derivatives(problem).rows if row.verdict == "wrong"]


def test_motors_see_them() -> None:
    model = trajopt.ActionModelMotors(bounce("stages").running[0], 0.1)
    assert names(model) == ["room", "force", "room at dt/2"]
    assert model.nc == 5
    np.testing.assert_array_equal(model.rows_of_states, [True, True, False, True, True])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: model_of("inverse-cart-pole"),
            "rows: .* keeps its equations at the start of a step alone; use rows='knot'",
        ),
        (lambda: model_of("pendulum", rows="all"), "rows 'all' not found. Known: knot, stages"),
        (lambda: model_of("pendulum", rows=3), "rows"),
        (lambda: trajopt.ActionModelNumDiff(model_of("constrained-pendulum")), "rows at stages; use rows='knot'"),
    ],
)
def test_what_can_not_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises((InvalidArgumentError, LookupError), match=message):
        make()
