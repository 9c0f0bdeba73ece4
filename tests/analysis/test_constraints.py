"""Constraints of a solution, knot by knot: of solves that hold them, and of two that can't."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.support.constrained import DT, KNOTS, MOTOR, arm, pendulum, torn_mass, weak_pendulum
from trajopt import problems
from trajopt.analysis import ConstraintRows, constraint_rows, constraints_report
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.bands import _flags
from trajopt.solution import Solution, SolverStatus


def named(solution: Solution) -> dict[str, ConstraintRows]:
    return {rows.name: rows for rows in constraint_rows(solution)}


def test_rows_have_names_units_values_and_bounds() -> None:
    solution = pendulum()
    rows = named(solution)
    assert list(rows) == ["motor", "upright"]
    motor, upright = rows["motor"], rows["upright"]
    assert (motor.rows, motor.units, motor.controls) == (("torque",), ("N m",), (0,))
    assert (upright.rows, upright.units, upright.coordinates) == (("q", "v"), ("rad", "rad/s"), (0, 1))
    np.testing.assert_array_equal(motor.values[:-1], solution.us)
    assert np.all(np.isnan(motor.values[-1]))
    np.testing.assert_array_equal(motor.lower[:-1], -MOTOR)
    np.testing.assert_array_equal(motor.upper[:-1], MOTOR)
    np.testing.assert_allclose(upright.values[-1], solution.xs[-1] - [np.pi, 0.0], atol=1e-15)
    assert motor.knots.tolist() == list(range(KNOTS))
    assert upright.knots.tolist() == [KNOTS]
    assert motor.title(0) == "motor"
    assert upright.title(1) == "upright[v]"


def test_one_name_for_different_numbers_of_rows() -> None:
    """A wall at each knot and a goal at the end share a name; knots with the wall alone lack the second row."""
    import casadi as ca

    import trajopt
    from trajopt.solvers import SolverSQP

    class Mass(trajopt.ActionModelDiscrete):
        def next_state(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return ca.vertcat(x[0] + 0.1 * x[1], x[1] + 0.1 * u[0])

        def running_cost(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return u[0] ** 2

        def terminal_cost(self, x: ca.SX) -> ca.SX:
            return ca.SX(0.0)

    state = trajopt.StateVector(2)
    wall = trajopt.ResidualModelSymbolic(state, lambda x: x[0])
    way = trajopt.ConstraintStack(state).add("goal", wall, upper=0.5)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), equals=0.0)
    problem = trajopt.ShootingProblem(
        [0.0, 0.0], [Mass(state, 1, constraints=way)] * 9, Mass(state, 1, constraints=end)
    )
    solution = SolverSQP(problem).solve()
    rows = named(solution)["goal"]
    assert rows.rows == ("x0", "x1")
    assert np.all(np.isnan(rows.values[:-1, 1]))
    np.testing.assert_array_equal(rows.values[:-1, 0], solution.xs[:-1, 0])
    np.testing.assert_allclose(rows.values[-1], solution.xs[-1] - [1.0, 0.0], atol=1e-15)
    assert "'goal'" in solution.explain()


def test_active_is_what_touches_a_bound_and_has_a_multiplier_of_its_sign() -> None:
    motor = named(pendulum())["motor"]
    torque = motor.values[:-1, 0]
    np.testing.assert_array_equal(motor.active[:-1, 0], np.abs(np.abs(torque) - MOTOR) < 1e-6)
    assert 10 < motor.active.sum() < KNOTS
    assert motor.multipliers is not None
    y = motor.multipliers[:-1, 0]
    clear = np.abs(y) > 1e-6
    assert clear.sum() > 10
    assert np.all(motor.active[:-1, 0][clear])
    np.testing.assert_array_equal(np.sign(y[clear]), np.sign(torque[clear]))
    assert not motor.violated.any()
    assert not motor.equations.any()


def test_a_multiplier_is_the_price_of_its_bound() -> None:
    """The cost of a solve with a little more room falls as the multipliers say."""
    from trajopt.solvers import SolverSQP

    solution, room = pendulum(), 1e-4
    problem, motor = solution.problem, named(solution)["motor"]
    assert problem is not None
    assert motor.multipliers is not None
    try:
        problem.set_parameter("motor.upper", MOTOR + room)
        other = SolverSQP(problem).solve(solution.xs, solution.us)
    finally:
        problem.set_parameter("motor.upper", MOTOR)
    assert other.converged
    y = np.nan_to_num(motor.multipliers)
    assert solution.cost - other.cost == pytest.approx(room * y[y > 0].sum(), rel=1e-2)


def test_violations_are_those_of_the_solution() -> None:
    solution = weak_pendulum()
    assert solution.status is SolverStatus.INFEASIBLE
    for name, violations in solution.violations().items():
        np.testing.assert_allclose(named(solution)[name].violations, violations, atol=1e-12)
    upright = named(solution)["upright"]
    knot, row, excess = upright.largest(upright.violations)
    assert (knot, row) == (KNOTS, 0)
    assert excess == pytest.approx(np.pi - solution.xs[-1, 0])
    assert upright.violated[-1].all()
    assert not upright.violated[:-1].any()


def test_bounds_are_those_of_the_solve() -> None:
    motor = named(weak_pendulum())["motor"]  # the problem has got its first bounds back
    np.testing.assert_array_equal(motor.upper[:-1], 0.8)


def test_rows_that_x0_decides_are_not_enforced() -> None:
    rows = named(arm())
    assert rows["wall"].enforced[1:-1, 0].all()
    assert not rows["wall"].enforced[0].any()
    assert not rows["wall"].enforced[:, 1:].any()  # without a bound
    assert rows["torque"].enforced[0].all()
    assert rows["wall"].rows == ("x", "y", "z")
    assert rows["torque"].units == ("N m", "N m")


def test_a_problem_without_constraints_has_none() -> None:
    case = problems.load("pendulum")
    solution = case.solve()
    assert constraint_rows(solution) == ()
    assert all(line.least is None and line.most is None for line in solution.description.lines)


def test_lines_get_the_bounds_of_rows_that_are_they() -> None:
    lines = {(line.group, line.name): line for line in arm().description.lines}
    torque, speed, angle = lines["control", "joint_1"], lines["velocity", "joint_2"], lines["configuration", "joint_1"]
    np.testing.assert_allclose(torque.most, 9.0)
    np.testing.assert_allclose(torque.least, -9.0)
    np.testing.assert_allclose(speed.most[:-1], 6.0)
    np.testing.assert_allclose(speed.most[-1], 0.0, atol=1e-12)  # the goal: at rest
    np.testing.assert_allclose([angle.least[-1], angle.most[-1]], 0.9)
    assert np.all(np.isinf(angle.most[:-1]))


def test_a_file_keeps_them(tmp_path: Path) -> None:
    solution = pendulum()
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    for mine, kept in zip(constraint_rows(solution), constraint_rows(loaded), strict=True):
        for name in ("name", "rows", "units", "values", "lower", "upper", "enforced", "multipliers", "controls"):
            np.testing.assert_equal(getattr(kept, name), getattr(mine, name))
    for name, violations in solution.violations().items():
        np.testing.assert_allclose(loaded.violations()[name], violations, atol=1e-15)
    assert loaded.times is not None
    assert loaded.times[-1] == pytest.approx(KNOTS * DT)


def test_a_contact_without_force_is_at_the_bound_of_its_normal_force_alone() -> None:
    """Forces at knots 0..3: pressing, slipping, none, and none where 5 N are asked for."""
    names = ("friction +x", "friction -x", "normal")
    values = np.array([[-5.0, -5.0, 10.0], [0.0, -10.0, 10.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    lower = np.column_stack([np.full((4, 2), -np.inf), [0.0, 0.0, 0.0, 5.0]])
    upper = np.tile([0.0, 0.0, np.inf], (4, 1))
    rows = ConstraintRows(
        name="foot", rows=names, units=("N",) * 3, values=values, lower=lower, upper=upper,
        enforced=np.full((4, 3), True), multipliers=None, controls=(-1,) * 3, coordinates=(-1,) * 3,
    )  # fmt: skip
    expected = [[False, False, False], [True, False, False], [False, False, True], [False, False, True]]
    np.testing.assert_array_equal(rows.active, expected)


def test_how_near_a_bound_counts_as_at_it_grows_with_the_size_of_a_row() -> None:
    """A place that comes from 400 m: interior points leave it up to 1 cm from an active bound."""
    values = np.array([[400.0], [1e-2], [0.5], [-5e-4]])
    rows = ConstraintRows(
        name="glide", rows=("0",), units=("m",), values=values, lower=np.zeros((4, 1)), upper=np.full((4, 1), np.inf),
        enforced=np.full((4, 1), True), multipliers=None, controls=(-1,), coordinates=(-1,),
    )  # fmt: skip
    assert rows.active[:, 0].tolist() == [False, True, False, True]
    assert _flags(rows)[0].tolist() == [False, True, False, False]  # of the bars in pictures
    assert not _flags(rows)[1].any()
    upper = dataclasses.replace(rows, values=-values, lower=-rows.upper, upper=-rows.lower)
    assert _flags(upper)[1].tolist() == [False, True, False, False]
    assert not _flags(upper)[0].any()
    near = dataclasses.replace(rows, values=values / 400.0)
    assert near.active[:, 0].tolist() == [False, True, False, True]
    assert not dataclasses.replace(rows, values=values[1:], lower=rows.lower[1:], upper=rows.upper[1:],
                                   enforced=rows.enforced[1:]).active[:2].any()  # fmt: skip


def test_the_report_names_what_is_violated_or_at_a_bound() -> None:
    active = named(pendulum())["motor"].active.sum()
    assert constraints_report(pendulum()) == {"constraints": f"hold; knots at a bound: motor {active}"}
    missing = np.pi - weak_pendulum().xs[-1, 0]
    assert constraints_report(weak_pendulum()) == {
        "constraints": f"violated: upright[q] by {missing:.3g} rad at knot {KNOTS}"
    }
    case = problems.load("pendulum", T=5)
    assert constraints_report(case.solve()) == {}


def test_both_walls_of_a_torn_problem_are_violated() -> None:
    rows = named(torn_mass())
    assert {name for name, each in rows.items() if each.violated.any()} == {"right_of", "left_of"}


def test_wrong_rows_are_refused() -> None:
    motor = named(pendulum())["motor"]
    with pytest.raises(InvalidArgumentError, match="row: expected an integer <= 0, got 1"):
        motor.title(1)
    with pytest.raises(InvalidArgumentError, match=r"upper: expected shape \(101, 1\), got \(100, 1\)"):
        dataclasses.replace(motor, upper=motor.upper[1:])
    with pytest.raises(InvalidArgumentError, match="units: expected 1, one per row"):
        dataclasses.replace(motor, units=("N m", "N m"))
