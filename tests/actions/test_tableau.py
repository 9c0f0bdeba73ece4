"""Tableaus of Runge-Kutta methods: conditions of their order, exactness on linear systems, and refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt import IntegratedActionModelRK, Tableau
from trajopt.errors import InvalidArgumentError

ORDERS = {"EULER": 1, "MIDPOINT": 2, "HEUN": 2, "KUTTA": 3, "CLASSICAL": 4}
SYSTEM = np.array([[0.0, 1.0, 0.0], [-1.625, -0.125, 0.375], [0.625, 0.0, 0.25]])


class Linear(trajopt.DifferentialActionModelSymbolic):
    """ẋ = A x + (0, 1, 0) u."""

    def xdot(self, x: SX, u: SX) -> SX:
        return SX(SYSTEM) @ x + SX([0.0, 1.0, 0.0]) * u


def linear() -> Linear:
    state = trajopt.StateVector(3)
    return Linear(state, 1, trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), 2.0))


def rational(numbers: tuple[float, ...]) -> list[Fraction]:
    return [Fraction(number).limit_denominator(100) for number in numbers]


@pytest.mark.parametrize("name", ORDERS)
def test_conditions_of_the_order_hold_exactly(name: str) -> None:
    """Those of Hairer, Nørsett, Wanner I, II.2, table 2.2, in fractions; one of the next order does not hold."""
    tableau: Tableau = getattr(Tableau, name)
    b, c = rational(tableau.b), rational(tableau.c)
    A = [rational(row) for row in tableau.A]
    np.testing.assert_allclose([float(x) for x in b], tableau.b, rtol=1e-15)

    def through(values: list[Fraction]) -> list[Fraction]:
        return [sum((a * value for a, value in zip(row, values)), Fraction(0)) for row in A]

    ones = [Fraction(1)] * len(b)
    squares, cubes = [x**2 for x in c], [x**3 for x in c]
    mixed = [x * y for x, y in zip(c, through(c), strict=True)]
    trees = {
        1: [(ones, 1)],
        2: [(c, 2)],
        3: [(squares, 3), (through(c), 6)],
        4: [(cubes, 4), (mixed, 8), (through(squares), 12), (through(through(c)), 24)],
        5: [([x**4 for x in c], 5)],
    }

    def holds(values: list[Fraction], denominator: int) -> bool:
        return sum((x * y for x, y in zip(b, values, strict=True)), Fraction(0)) == Fraction(1, denominator)

    order = ORDERS[name]
    assert all(holds(*tree) for at_most in range(1, order + 1) for tree in trees[at_most])
    assert not all(holds(*tree) for tree in trees[order + 1])


@pytest.mark.parametrize("name", ORDERS)
def test_a_step_of_a_linear_system_is_a_taylor_polynomial(name: str) -> None:
    """x⁺ = Σ (dt A)ᵏ / k! x up to the order, which is the number of stages here, and F its derivative."""
    dt, x = 0.25, np.array([0.3, -0.7, 1.1])
    expected, power = np.eye(3), np.eye(3)
    for k in range(1, ORDERS[name] + 1):
        power = power @ SYSTEM * dt / k
        expected = expected + power
    model = IntegratedActionModelRK(linear(), dt, tableau=getattr(Tableau, name))
    data = model.create_data()
    model.calc(data, x, np.zeros(1))
    model.calc_diff(data, x, np.zeros(1))
    np.testing.assert_allclose(data.xnext, expected @ x, rtol=0, atol=1e-15)
    np.testing.assert_allclose(data.Fx, expected, rtol=0, atol=1e-15)


def test_midpoint_and_heun_pay_by_the_rules_of_the_midpoint_and_of_the_trapezoid() -> None:
    """The cost is integrated by the weights of the stages, at their states."""
    dt, x = 0.25, np.array([0.3, -0.7, 1.1])
    middle, end = x + dt / 2 * SYSTEM @ x, x + dt * SYSTEM @ x
    for tableau, expected in (
        (Tableau.MIDPOINT, dt * middle @ middle),
        (Tableau.HEUN, dt / 2 * (x @ x + end @ end)),
    ):
        model = IntegratedActionModelRK(linear(), dt, tableau=tableau)
        data = model.create_data()
        model.calc(data, x, np.zeros(1))
        assert data.cost == pytest.approx(expected, rel=1e-14)


def test_the_classical_tableau_is_rk4_to_the_bit() -> None:
    x, u = np.array([0.3, -0.7, 1.1]), np.array([0.4])
    results = []
    for model in (
        trajopt.IntegratedActionModelRK4(linear(), 0.1),
        IntegratedActionModelRK(linear(), 0.1, tableau=Tableau.CLASSICAL),
    ):
        data = model.create_data()
        model.calc(data, x, u)
        model.calc_diff(data, x, u)
        results.append([data.xnext, data.cost, data.Fx, data.Fu, data.Lx, data.Lxx, data.Lxu])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("A", "b", "message"),
    [
        (((0.5,),), (1.0,), r"A: expected rows of 0, 1, 2, ... entries.*got rows of \[1\] entries; implicit"),
        (((), (0.5,)), (1.0,), "one row for each of the 1 weights"),
        ((), (), "one row for each of the 0 weights"),
        (((), (0.5,)), (0.5, 0.4), "A, b: expected finite numbers and weights b of sum 1"),
        (((), (float("nan"),)), (0.5, 0.5), "b: expected finite numbers"),
        (((), (0.5,)), (10**400, 0.5), "A, b: expected rows of numbers"),
    ],
)
def test_refused_tableaus(A: tuple[tuple[float, ...], ...], b: tuple[float, ...], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Tableau(A, b)


def test_a_tableau_is_expected() -> None:
    with pytest.raises(InvalidArgumentError, match=r"tableau: expected a Tableau, got 'heun'; such as"):
        IntegratedActionModelRK(linear(), 0.1, tableau="heun")  # type: ignore[arg-type]
