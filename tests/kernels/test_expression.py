"""Expressions evaluated through buffers: shapes, sparse matrices and the order of elements, as CasADi gives them."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.kernels.expression import Expression


@pytest.fixture
def expression() -> Expression:
    x, nothing, lower = SX.sym("x", 3, 2), SX.sym("nothing", 0), SX.sym("lower", ca.Sparsity.lower(3))
    outputs = [2 * x.T, ca.mtimes(lower, x), SX(2, 0), lower, SX(2, 2), ca.sum1(ca.sum2(x))]
    return Expression(ca.Function("f", [x, nothing, lower], outputs))


def test_outputs_are_those_of_casadi(expression: Expression, rng: np.random.Generator) -> None:
    """Also of arrays that are views backwards, read-only, or of another shape; structural zeros are not read."""
    x, square = rng.normal(size=(3, 2)), rng.normal(size=(3, 3))
    back = x[::-1].copy()[::-1]
    back.flags.writeable = False
    wanted = expression.function.call([ca.DM(x), ca.DM(0, 1), ca.DM(np.tril(square))])
    for given in (x, back, x.ravel()):
        found = expression.evaluate([given, np.zeros(0), square.ravel()])
        for mine, theirs in zip(found, wanted, strict=True):
            assert mine.shape == theirs.shape
            assert mine.flags.c_contiguous
            assert mine.flags.writeable
            np.testing.assert_array_equal(mine, theirs.full())


def test_a_pickled_expression_evaluates_to_the_same_bits(expression: Expression, rng: np.random.Generator) -> None:
    given = [rng.normal(size=(3, 2)), np.zeros(0), rng.normal(size=(3, 3))]
    expected = expression.evaluate(given)
    again = pickle.loads(pickle.dumps(expression))
    for mine, other in zip(again.evaluate(given), expected):
        np.testing.assert_array_equal(mine, other)


def test_inputs_are_as_many_as_the_function_has(expression: Expression) -> None:
    with pytest.raises(ValueError, match="zip"):
        expression.evaluate([np.zeros((3, 2))])


def test_other_versions_of_casadi_share_neither_code_nor_stored_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """They number operations otherwise, and can't read what newer ones have written."""
    x = ca.SX.sym("x")
    own = [Expression(ca.Function("f", [x], [ca.sin(x)])) for _ in range(2)]
    assert own[0].digest == own[1].digest
    monkeypatch.setattr(ca.CasadiMeta, "version", lambda: "3.0.0")
    assert Expression(ca.Function("f", [x], [ca.sin(x)])).digest != own[0].digest
