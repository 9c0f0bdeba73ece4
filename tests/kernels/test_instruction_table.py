"""Instructions from the serialised form of a function are those of CasADi's calls, one by one."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.kernels import instruction_table
from trajopt.kernels.instruction_table import REFUSED, deserialised, from_calls, serialised
from trajopt.kernels.instructions import read_instructions

X, P, M = SX.sym("x", 3), SX.sym("p"), SX.sym("m", ca.Sparsity.lower(3))
RANDOM = np.random.default_rng(0).normal(size=40)

FUNCTIONS = {
    "constants": ca.Function("f", [X], [ca.vertcat(*(SX(c) for c in (0.0, -0.0, 1e-3, -7, np.inf, np.nan, 1, 2**40)))]),
    "copies": ca.Function("f", [X, P], [X, P, X[1]]),
    "empty results": ca.Function("f", [X, P], [SX(0, 1), X * P, SX(2, 2), SX(0, 0)]),
    "functions": ca.Function("f", [X, P], [ca.vertcat(ca.sin(X), ca.atan2(P, X), ca.fmax(X, -P), X**P, ca.erf(X))]),
    "many": ca.Function("f", [X], [sum(a * ca.sin(a * X) for a in RANDOM.tolist())]),
    "many results": ca.Function("f", [X, P], [X[0] * i for i in range(30)]),
    "no input": ca.Function("f", [], [SX(3.0)]),
    "selections": ca.Function("f", [X, P], [ca.if_else(P > 0, ca.sqrt(X), X**2), ca.logic_not(X[0] >= P)]),
    "squares": ca.Function("f", [X, P], [X * X, P + P, X[0] / X[0] * P]),
    "zeros": ca.Function("f", [M, X], [ca.mtimes(M.T, M), ca.jacobian(ca.mtimes(M, X), X)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_form_holds_what_the_calls_return(name: str) -> None:
    f = FUNCTIONS[name]
    expected, table = from_calls(f), instruction_table._from_data(f, serialised(f))
    assert table is not None
    np.testing.assert_array_equal(table.records, expected.records)
    assert np.array(table.constants).tobytes() == np.array(expected.constants).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_survives_its_form(name: str) -> None:
    f = FUNCTIONS[name]
    again = deserialised(serialised(f))
    assert again.serialize() == f.serialize()


@pytest.mark.parametrize("shift", [1, 16, -16])
def test_a_form_that_is_not_as_expected_is_not_used(shift: int) -> None:
    """As of another version of CasADi, with more or less behind the instructions; then the calls read them."""
    f = FUNCTIONS["functions"]
    data = serialised(f)
    other = data + bytes(shift) if shift > 0 else data[:shift]
    assert instruction_table._from_data(f, other) is None
    assert read_instructions(f, other) == read_instructions(f, data)


def test_refused_operations_are_named_in_the_form() -> None:
    f = ca.Function("f", [P], [P.printme(SX(1.0)) * 2])
    records = instruction_table.instruction_table(f, serialised(f)).records
    np.testing.assert_array_equal(records, from_calls(f).records)
    assert not REFUSED.keys().isdisjoint(records[:, 0].tolist())
