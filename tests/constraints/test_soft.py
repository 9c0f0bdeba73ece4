"""Soft constraints: weights as users give them, as run-time parameters, and knot by knot in a problem."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.model_list import Pendulum, small_costs
from trajopt.actions import ActionModelTerminal
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.model import content

STATE = trajopt.StateVector(2)


def stack_of(soft: Any) -> trajopt.ConstraintStack:
    return trajopt.ConstraintStack(STATE).add("near", trajopt.ResidualModelState(STATE), upper=1.0, soft=soft)


def problem() -> trajopt.ShootingProblem:
    """Hard and soft rows at running knots, others at the end."""
    rows = trajopt.ConstraintStack(STATE)
    rows.add("torque", trajopt.ResidualModelControl(STATE), lower=-1.0, upper=1.0)
    rows.add("near", trajopt.ResidualModelState(STATE), upper=1.0, soft=([3.0, 0.0], 5.0))
    end = trajopt.ConstraintStack(STATE).add("rest", trajopt.ResidualModelState(STATE), equals=0.0, soft=(2.0, 0.0))
    node = trajopt.IntegratedActionModelEuler(Pendulum(small_costs(STATE), constraints=rows), 0.05)
    return trajopt.ShootingProblem(
        [0.3, 0.0], [node] * 3, ActionModelTerminal(trajopt.CostStack(STATE), constraints=end)
    )


def test_weights_of_each_knot() -> None:
    """(inf, 0) of hard rows, and where a knot has fewer rows than others."""
    one = problem()
    linear, quadratic = one.row_softness()
    assert linear.shape == quadratic.shape == (4, 3)
    np.testing.assert_array_equal(linear, [[np.inf, 3, 0]] * 3 + [[2, 2, np.inf]])
    np.testing.assert_array_equal(quadratic, [[0, 5, 5]] * 3 + [[0, 0, 0]])
    assert one.soft_constraint_names == ("near", "rest")


def test_weights_are_run_time_parameters() -> None:
    one = problem()
    assert one.parameters["near.linear"].shape == (2,)
    assert one.parameters["near.linear"].unit == "cost / unit"
    one.set_parameter("near.linear", [7.0, 8.0], knots=1)
    one.set_parameter("near.quadratic", [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    linear, quadratic = one.row_softness()
    np.testing.assert_array_equal(linear[:3, 1:], [[3, 0], [7, 8], [3, 0]])
    np.testing.assert_array_equal(quadratic[:3, 1], [1, 2, 3])
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidArgumentError, match="near.linear: expected finite weights >= 0"):
            one.set_parameter("near.linear", value)
    one.check_rows()
    one.set_parameter("near.quadratic", 0.0, knots=2)
    with pytest.raises(
        InvalidArgumentError, match="constraint 'near' at knot 2: expected a linear or quadratic slack we"
    ):
        one.check_rows()


@pytest.mark.parametrize(
    ("soft", "message"),
    [
        (
            (0.0, 0.0),
            "constraint 'near': soft: expected a linear or quadratic weight > 0 in each row, got 0.0",
        ),
        (([1.0, 0.0], 0.0), "weight > 0 in each row"),
        (([1.0, 0.0], [0.0, 0.0]), "weight > 0 in each row"),
        ((-1.0, 1.0), r"constraint 'near': soft\[0\]: expected finite weights >= 0, got -1.0"),
        ((1.0, [1.0, -2.0]), r"soft\[1\]: expected finite weights >= 0"),
        ((np.nan, 1.0), r"soft\[0\]: expected finite weights >= 0"),
        ((np.inf, 1.0), r"soft\[0\]: expected finite weights >= 0"),
        (([1.0, 2.0, 3.0], 1.0), r"constraint 'near': linear: expected a number or 2 numbers, got shape \(3,\)"),
        (([1.0, 2.0], [1.0, 2.0, 3.0]), r"soft\[1\]: expected 2 numbers as in soft\[0\], got 3"),
        ((np.eye(2), 1.0), r"soft\[0\]: expected one number, or one for each row, got shape \(2, 2\)"),
        (3.0, r"soft: expected slack weights \(linear, quadratic\), or None, got 3.0"),
        ((1.0,), "soft: expected slack weights"),
        ("ab", "soft: expected slack weights"),
        (("a", 1.0), r"soft\[0\]: .* got 'a'"),
    ],
)
def test_wrong_weights_are_refused(soft: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        stack_of(soft)


def test_a_residual_s_own_parameter_may_be_called_linear_where_rows_are_hard() -> None:
    residual = trajopt.ResidualModelSymbolic(STATE, lambda x, linear: linear * x, parameters={"linear": 2.0})
    stack = trajopt.ConstraintStack(STATE).add("a", residual, upper=1.0)
    with pytest.raises(DuplicateNameError, match="constraint 'b': two of its parameters have the name 'linear'"):
        stack.add("b", residual, upper=1.0, soft=(1.0, 0.0))


def test_repr_pickle_and_content() -> None:
    """Models share programs where weights differ, and not where rows are soft or hard."""
    stack = stack_of((1.0, [0.0, 2.0]))
    assert "near: ResidualModelState() <= 1 (soft: 1, [0. 2.])" in repr(stack)
    again = pickle.loads(pickle.dumps(stack))
    assert repr(again) == repr(stack)
    assert "soft" not in repr(stack_of(None))

    def digest(soft: Any) -> str:
        return content.model_hash(ActionModelTerminal(trajopt.CostStack(STATE), constraints=stack_of(soft)))

    assert digest((1.0, 2.0)) == digest((3.0, [4.0, 5.0])) != digest(None)
