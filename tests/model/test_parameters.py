"""The one column of all run-time parameters: symbols and values in the same order, values by name."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import lqr
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.model import ParameterLayout


def test_symbols_and_values_are_in_the_same_order() -> None:
    """A matrix that is not symmetric tells rows from columns."""
    model = lqr()
    read = ca.Function("read", [model.layout.symbols], [model.A, model.f])
    A, f = read(model.layout.column({"A": np.arange(16.0).reshape(4, 4)}))
    np.testing.assert_array_equal(A.full(), np.arange(16.0).reshape(4, 4))
    np.testing.assert_array_equal(f.full().ravel(), model.parameters()["f"].default)


def test_slices_cover_the_column() -> None:
    layout = lqr().layout
    ends = [(s.start, s.stop) for s in layout.slices.values()]
    assert ends[0][0] == 0
    assert [a for a, _ in ends[1:]] == [b for _, b in ends[:-1]]
    assert ends[-1][1] == layout.size == layout.symbols.numel() == len(layout.column())
    assert {name: s.stop - s.start for name, s in layout.slices.items()} == {
        name: p.size for name, p in layout.parameters.items()
    }


def test_no_parameters_are_an_empty_column() -> None:
    layout = ParameterLayout({})
    assert layout.size == 0
    assert layout.symbols.shape == (0, 1)
    assert layout.column().shape == (0,)


def test_a_model_has_one_layout() -> None:
    model = trajopt.ActionModelUnicycle()
    assert model.layout is model.layout
    assert list(model.layout.slices) == list(model.parameters())


def test_values_are_checked_as_their_parameter_checks_them() -> None:
    layout = trajopt.ActionModelUnicycle().layout
    with pytest.raises(UnknownNameError, match="parameter 'weight' not found; did you mean 'weights'"):
        layout.column({"weight": [1.0, 2.0]})
    with pytest.raises(InvalidArgumentError, match="dt: expected a number > 0"):
        layout.column({"dt": -1.0})
