"""Mistakes in classes of the user's: the message names the class, the line and the cure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError

ROBOT = trajopt.load_robot("planar-2r")


def residual(function: Callable[[Any], Any], nr: int = 1) -> trajopt.ResidualModelAbstract:
    """A residual of a class of its own, `Own`, with this method."""
    own: Any = type("Own", (trajopt.ResidualModelAbstract,), {"evaluate": lambda self, instant: function(instant)})
    made: trajopt.ResidualModelAbstract = own(trajopt.StateMultibody(ROBOT), nr)
    return made


def problem(
    own: trajopt.ResidualModelAbstract, activation: trajopt.ActivationModelAbstract | None = None
) -> trajopt.ShootingProblem:
    costs = trajopt.CostStack(own.state).add("own", own, 1.0, activation)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(own.state, trajopt.ActuationModelFull(own.state), costs)
    return trajopt.ShootingProblem(own.state.zero(), [trajopt.IntegratedActionModelEuler(arm, 0.02)], costs)


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "size": (lambda i: i.x[:3], r"Own.evaluate: expected shape \(1, 1\), as nr = 1 was given .*, got \(3, 1\)"),
    "index": (lambda i: i.x[99], r"Own.evaluate: an index is out of range \(.*\): x has 4 elements, u has \d"),
    "branch": (lambda i: i.x[0] if i.x[1] > 0 else i.x[1], r"Own.evaluate: an if, while, .* casadi.if_else"),
    "nothing": (lambda i: None, "Own.evaluate: expected an expression .*, got None; end it with return"),
    "instant": (lambda i: i[0], "Own.evaluate: it raised TypeError: .* x and u of an instant, are casadi.SX symbols"),
    "robot": (
        lambda i: i.frame_placement("x"),
        "no attribute 'frame_placement'; it is one of instant.robot",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_in_residuals(name: str) -> None:
    function, words = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=words):
        problem(residual(function)).calc(np.zeros((2, 4)), np.zeros((1, 2)))


def test_a_list_is_a_column() -> None:
    own = residual(lambda i: [i.x[0], 2.0 * i.x[1]], 2)
    values = problem(own).calc(np.tile([0.3, 0.4, 0.0, 0.0], (2, 1)), np.zeros((1, 2)))
    assert values.costs[1] == pytest.approx(0.5 * (0.3**2 + 0.8**2))


class Vector(trajopt.ActivationModelAbstract):
    def value(self, r: casadi.SX) -> casadi.SX:
        return r


class Branch(trajopt.ActivationModelAbstract):
    def value(self, r: casadi.SX) -> Any:
        return max(r[0], 0)


def test_mistakes_in_activations() -> None:
    own = residual(lambda i: i.x[:2], 2)
    for activation, words in (
        (Vector(), r"Vector.value: expected a scalar, got shape \(2, 1\); sum over elements"),
        (Branch(), r"Branch.value: an if, while, .* casadi.if_else"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            problem(own, activation).calc(np.zeros((2, 4)), np.zeros((1, 2)))
