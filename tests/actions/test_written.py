"""Mistakes inside the methods that users write: the error names the method, the line, what happened and the cure."""

from __future__ import annotations

import math
import pydoc
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.solvers import SolverFDDP

STATE = trajopt.StateVector(2)
EFFORT = trajopt.ResidualModelControl(STATE)


def branch(self: Any, x: ca.SX, u: ca.SX) -> ca.SX:
    if x[0] > 0:
        return u
    return -u


MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing returned": (lambda self, x, u: None, r"got None; end it with return"),
    "MX": (lambda self, x, u: ca.MX.sym("a"), r"expected .*casadi.SX, got one of casadi.MX"),
    "list of MX": (lambda self, x, u: [ca.MX.sym("a")], r"expected .*casadi.SX, got one of casadi.MX"),
    "text": (lambda self, x, u: "u", r"expected an expression \(casadi.SX\), or a list of them, got 'u'"),
    "if": (branch, r"needs the truth value .* \(test_written.py, line \d+: if x\[0\] > 0:\).*write casadi.if_else"),
    "max": (lambda self, x, u: max(u, 0.0), r"casadi.fmax"),
    "index of u": (
        lambda self, x, u: u[5],
        r"an index is out of range \(.*u\[5\].*\): .*u has 1 element",
    ),
    "index of x": (lambda self, x, u: x[2], r"out of range .*: x has 2 elements"),
    "math": (lambda self, x, u: u + math.sin(x[0]), r"contains NaN, .*casadi.sin"),
    "float": (lambda self, x, u: float(u), r"contains NaN"),
    "attribute": (lambda self, x, u: self.mas * u, r"raised AttributeError: .*'mas'"),
    "missing argument": (lambda self, x: x, r"expected a function of 2 arguments, got one that takes \(x\)"),
    "further argument": (
        lambda self, x, u, t: x,
        r"expected a function of 2 arguments, got one that takes \(x, u, t\)",
    ),
    "size": (
        lambda self, x, u: ca.vertcat(u, u),
        r"expected shape \(1, 1\), got \(2, 1\); return one row for each velocity of",
    ),
}


def model(**methods: Any) -> trajopt.DifferentialActionModelSymbolic:
    cls = type("Cart", (trajopt.DifferentialActionModelSymbolic,), methods)
    return cls(STATE, 1, trajopt.CostStack(STATE).add("effort", EFFORT, 1.0))


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("integrator", [trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4])
def test_a_mistake_in_acceleration_is_reported_by_the_integrator(name: str, integrator: Any) -> None:
    method, says = MISTAKES[name]
    with pytest.raises(InvalidArgumentError, match=rf"^Cart.acceleration: .*{says}"):
        integrator(model(acceleration=method), 0.1)


def test_a_model_without_a_method_names_both() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"Cart: expected acceleration\(x, u\) or xdot\(x, u\), got neither; write"
    ):
        trajopt.IntegratedActionModelEuler(model(), 0.1)


@pytest.mark.parametrize("name", [name for name in MISTAKES if "argument" not in name and name != "size"])
@pytest.mark.parametrize("method", ["next_state", "running_cost"])
def test_a_mistake_in_a_discrete_model_or_a_residual_is_reported(name: str, method: str) -> None:
    wrong, says = MISTAKES[name]
    fine: dict[str, Any] = {"next_state": lambda self, x, u: x + u, "running_cost": lambda self, x, u: u**2}
    fine["terminal_cost"] = lambda self, x: x[0] ** 2
    cls = type("Hop", (trajopt.ActionModelDiscrete,), fine | {method: wrong})
    with pytest.raises(ModelEvaluationError, match=rf"knot 0: Hop.{method}: .*{says}"):
        SolverFDDP(trajopt.ShootingProblem([0.0, 0.0], [cls(STATE, 1)], cls(STATE, 1))).solve()
    if name != "attribute":
        costs = trajopt.CostStack(STATE)
        residual = trajopt.ResidualModelSymbolic(STATE, lambda x, u: wrong(None, x, u))
        costs.add("own", residual, 1.0)
        with pytest.raises(InvalidArgumentError, match=says):
            trajopt.IntegratedActionModelEuler(cart(costs), 0.1)


def cart(costs: trajopt.CostStack) -> trajopt.DifferentialActionModelSymbolic:
    cls = type("Cart", (trajopt.DifferentialActionModelSymbolic,), {"acceleration": lambda self, x, u: u})
    return cls(STATE, 1, costs)


@pytest.mark.parametrize("undefined", [lambda self, x, u: ca.sqrt(x[0] - 1.0) + u, lambda self, x, u: u / x[0]])
def test_an_expression_that_is_not_finite_is_reported_with_its_state(undefined: Any) -> None:
    """Not as a missing quasi-static control: the expression is right elsewhere."""
    node = trajopt.IntegratedActionModelEuler(model(acceleration=undefined), 0.1)
    problem = trajopt.ShootingProblem([0.0, 0.0], [node], trajopt.CostStack(STATE))
    with pytest.raises(ModelEvaluationError, match=r"knot 0: .* not finite at x = \[0, 0\], u = \[0\]; look for an"):
        SolverFDDP(problem).solve()


def test_a_table_is_written_as_an_expression() -> None:
    """The call of casadi.interpolant is refused with that cure; a control at rest, or a guess, cures nothing."""
    points, values = np.linspace(-4.0, 4.0, 9), np.sin(np.linspace(-4.0, 4.0, 9))
    table = ca.interpolant("table", "bspline", [points], values)

    def solved(drag: Callable[[ca.SX], ca.SX]) -> trajopt.Solution:
        knot = trajopt.IntegratedActionModelEuler(model(acceleration=lambda self, x, u: u - drag(x[0])), 0.1)
        return SolverFDDP(trajopt.ShootingProblem([0.3, 0.0], [knot] * 10, trajopt.CostStack(STATE))).solve()

    with pytest.raises(ModelEvaluationError, match=r"casadi.interpolant.*casadi.pw_lin\(x, points, values\).*outside$"):
        solved(table)
    found = solved(lambda q: ca.pw_lin(q, ca.DM(points), ca.DM(values)))
    x, v = found.xs[4]
    assert found.xs[5, 1] == pytest.approx(v + 0.1 * (found.us[4, 0] - np.interp(x, points, values)), abs=1e-12)


def test_a_robot_is_no_state() -> None:
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    with pytest.raises(InvalidArgumentError, match=r"^state: .*FreeFwdDynamics needs a StateMultibody, got Robot"):
        trajopt.DifferentialActionModelFreeFwdDynamics(
            robot,  # type: ignore[arg-type]
            trajopt.ActuationModelFull(state),
            trajopt.CostStack(state),
        )
    with pytest.raises(InvalidArgumentError, match=r"^state: expected a state such as StateVector\(nx\)"):
        type("Swapped", (trajopt.DifferentialActionModelSymbolic,), {})(1, STATE, trajopt.CostStack(STATE))


@pytest.mark.parametrize(
    ("cls", "methods"),
    [
        (trajopt.ActionModelDiscrete, ("next_state", "running_cost", "terminal_cost")),
        (trajopt.DifferentialActionModelSymbolic, ("acceleration", "xdot")),
        (trajopt.ActionModelAbstract, ("calc", "calc_diff")),
    ],
)
def test_help_begins_with_the_methods_to_write(cls: type, methods: tuple[str, ...]) -> None:
    first = pydoc.plain(pydoc.render_doc(cls)).partition("Method resolution order")[0]
    assert all(f"{name}" in first for name in methods)
