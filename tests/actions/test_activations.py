"""Activations: a battery over all of them, closed forms, and Crocoddyl's values."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.actions.test_models_parts import assert_own_symbols, every
from tests.support.model_list import ACTIVATIONS
from tests.support.slow_twin import assert_close, central_differences
from trajopt.activations.base import as_matrix
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def activation_numbers(activation: trajopt.ActivationModelAbstract) -> Callable[[Reals], tuple[float, Reals, Reals]]:
    r, layout = SX.sym("r", 4), activation.layout
    results = [activation.value(r), activation.gradient(r), as_matrix(activation.hessian(r))]
    function = ca.Function("activation", [r, layout.symbols], results)

    def evaluate(at: Reals) -> tuple[float, Reals, Reals]:
        value, gradient, hessian = function(at, layout.column())
        return float(value), gradient.full().ravel(), hessian.full()

    return evaluate


class Huber(trajopt.ActivationModelAbstract):
    """What a user writes: a value; its derivatives follow."""

    def value(self, r: SX) -> SX:
        return ca.sum1(ca.sqrt(1 + r * r) - 1)


@every({**ACTIVATIONS, "user": Huber})
def test_activation(make: Callable[[], trajopt.ActivationModelAbstract]) -> None:
    """Derivatives by central differences, away from the corners of barriers."""
    activation = make()
    evaluate, rng = activation_numbers(activation), np.random.default_rng(4)
    origin = [] if isinstance(activation, trajopt.ActivationModel2NormBarrier) else [np.zeros(4)]
    for r in [*origin, *rng.normal(size=(5, 4))]:
        _, gradient, hessian = evaluate(r)
        assert gradient.shape == (4,)
        assert_close(gradient[None], central_differences(lambda d, r=r: [evaluate(r + d)[0]], 4))
        assert_close(hessian, central_differences(lambda d, r=r: evaluate(r + d)[1], 4))
    again = pickle.loads(pickle.dumps(activation))
    assert activation_numbers(again)(np.ones(4))[0] == evaluate(np.ones(4))[0]
    assert repr(again) == repr(activation)
    assert_own_symbols(activation.clone().parameters(), activation.parameters())


def test_activations_have_their_closed_forms() -> None:
    r = np.array([1.0, -2.0, 3.0, -0.5])
    assert activation_numbers(ACTIVATIONS["quad"]())(r)[0] == pytest.approx(0.5 * (1 + 4 + 9 + 0.25))
    assert activation_numbers(ACTIVATIONS["weighted"]())(r)[0] == pytest.approx(0.5 * (0.5 * 4 + 2 * 9 + 30 * 0.25))
    value, gradient, hessian = activation_numbers(ACTIVATIONS["barrier"]())(np.array([-1.0, -9.0, 0.1, 1e9]))
    assert value == pytest.approx(0.5 * (0.25 + 0.01))
    np.testing.assert_allclose(gradient, [-0.5, 0, -0.1, 0])
    np.testing.assert_array_equal(hessian, np.diag([1, 0, 1, 0]))
    value, gradient, hessian = activation_numbers(ACTIVATIONS["barrier"]())(np.array([0.5, 0.1, 0.2, 0.0]))
    assert value == 0.0
    np.testing.assert_array_equal(gradient, 0.0)
    np.testing.assert_array_equal(hessian, np.diag([1, 1, 1, 0]))  # on a bound: as outside


R = np.array([0.3, -0.7, 0.5, 0.0])
LOW, HIGH = [-0.2, -0.2, -1.0, -1.0], [0.2, 0.2, 0.4, 1.0]
CROCODDYL = {  # value, gradient and Hessian's diagonal of Crocoddyl 3.2.1 at R
    "smooth-1": (
        trajopt.ActivationModelSmooth1Norm(0.5), 2.629127415677919 + np.sqrt(0.5),
        [0.3905667329424716, -0.7035264706814485, 0.5773502691896258, 0.0], None,
    ),
    "smooth-2": (
        trajopt.ActivationModelSmooth2Norm(0.5), 1.1532562594670797,
        [0.26013299085723596, -0.6069769786668839, 0.43355498476205995, 0.0], None,
    ),
    "barrier": (
        trajopt.ActivationModel2NormBarrier(1.5), 0.17343496312835516,
        [-0.19393916995360652, 0.4525247298917486, -0.32323194992267756, 0.0],
        [0.10843373493975902, 0.5903614457831324, 0.3012048192771084, 0.0],
    ),
    "exact barrier": (
        trajopt.ActivationModel2NormBarrier(1.5, exact=True), 0.17343496312835516,
        [-0.19393916995360652, 0.4525247298917486, -0.32323194992267756, 0.0],
        [-0.4679316697416419, 0.3255449084970833, -0.1505410384461518, 1.0 - 1.5 / np.sqrt(0.83)],
    ),
    "barrier far away": (trajopt.ActivationModel2NormBarrier(0.5), 0.0, np.zeros(4), np.zeros(4)),
    "flat exp": (
        trajopt.ActivationModelQuadFlatExp(0.8), 0.6456605758694113,
        [0.26575456809794157, -0.6200939922285302, 0.44292428016323593, 0.0],
        [0.6865326342530157, -0.19931592607345583, 0.332193210122427, 2 / 0.8 * (1 - 0.6456605758694113)],
    ),
    "flat log": (
        trajopt.ActivationModelQuadFlatLog(0.8), 0.7117235661328806,
        [0.36809815950920244, -0.8588957055214723, 0.6134969325153374, 0.0],
        [1.0914976099966127, 0.4892920320674471, 0.8506153788249464, 2 / 1.63],
    ),
    "weighted barrier": (
        trajopt.ActivationModelWeightedQuadraticBarrier(LOW, HIGH, np.square([1.0, 2.0, 3.0, 4.0])), 0.55,
        [0.1, -2.0, 0.9, 0.0], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CROCODDYL)
def test_activations_have_crocoddyls_values(name: str) -> None:
    """Values and gradients to 1e-12, and Hessians where Crocoddyl's are those of its values, by their diagonals."""
    activation, value, gradient, diagonal = CROCODDYL[name]
    found = activation_numbers(activation)(R)
    assert found[0] == pytest.approx(value, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-12, atol=1e-15)
    if diagonal is not None:
        np.testing.assert_allclose(np.diag(found[2]), diagonal, rtol=1e-12, atol=1e-15)


def test_the_hessian_of_huber_is_that_of_a_parabola_above() -> None:
    """The parabola touches the function with the same slope, so that a Newton step never increases it."""
    evaluate = activation_numbers(trajopt.ActivationModelHuber(0.5))
    rng = np.random.default_rng(0)
    for r in rng.normal(size=(20, 4)):
        value, gradient, hessian = evaluate(r)
        far = np.abs(r) > 0.5
        np.testing.assert_allclose(gradient, np.where(far, 0.5 * np.sign(r), r))
        assert value == pytest.approx(np.where(far, 0.5 * (np.abs(r) - 0.25), 0.5 * r**2).sum())
        for other in rng.normal(size=(20, 4)):
            d = other - r
            assert evaluate(other)[0] <= value + gradient @ d + 0.5 * d @ hessian @ d + 1e-12


def test_hubers_function_ignores_outliers() -> None:
    """The least cost of five points, one of them far away, is at their median, and not at their mean."""
    points = np.array([0.0, 0.1, 0.2, 0.3, 100.0])
    state = trajopt.StateVector(1)
    costs = trajopt.CostStack(state)
    for i, point in enumerate(points):
        residual = trajopt.ResidualModelState(state, [point])
        costs.add(f"p{i}", residual, 1.0, trajopt.ActivationModelHuber(1e-3))
    problem = trajopt.ShootingProblem([50.0], [], costs, start="free")
    assert trajopt.solvers.SolverSQP(problem).solve().xs[0, 0] == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: trajopt.ActivationModelHuber(0.0), "delta: expected a number > 0"),
        (lambda: trajopt.ActivationModelSymbolic(lambda r: r), "function: expected a scalar, got shape"),
        (lambda: trajopt.ActivationModelWeightedQuad([1, -2]), "weights: expected weights >= 0, got -2.0 at index 1"),
        (lambda: trajopt.ActivationModelWeightedQuad([np.nan]), "weights: expected finite numbers"),
        (lambda: trajopt.ActivationModelWeightedQuad([[1.0]]), r"weights: expected a vector .* got shape \(1, 1\)"),
        (
            lambda: trajopt.ActivationModelQuadraticBarrier([0, 2], [1, 1]),
            "expected lower <= upper, got 2.0 > 1.0 at index 1",
        ),
        (
            lambda: trajopt.ActivationModelQuadraticBarrier([0], [1, 1]),
            r"upper: expected 1 bound, .* got shape \(2,\)",
        ),
        (lambda: trajopt.ActivationModelQuadraticBarrier([np.nan], [1]), "lower: expected 1 bound,"),
        (lambda: trajopt.ActivationModelQuadraticBarrier(-1, 1), r"lower: expected a vector .* got shape \(\)"),
    ],
)
def test_activations_refuse(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build().value(SX.sym("r", 4))
