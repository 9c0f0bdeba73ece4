"""Derivatives of the control of a step, against solving the window again."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.mpc import support
from trajopt import mpc
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.types import Reals

TIGHT = SQPOptions(tolerance=1e-11, relative_tolerance=0.0, max_iterations=50)
MODES = {
    "real-time": mpc.MPCOptions(dt=0.005),
    "converged": mpc.MPCOptions(dt=0.005, mode="converged", solver_options=TIGHT),
}


def at_rest(mode: str) -> tuple[mpc.MPCController, mpc.MPCStep]:
    """A controller whose plan has converged: it gets the same state at the same time again and again."""
    problem = support.arm()
    controller = mpc.MPCController(problem, options=MODES[mode])
    controller.follow("hand.reference", support.target)
    step = controller.reset(problem.x0, t=0.0)
    for _ in range(12):
        step = controller.feedback(problem.x0, t=0.0)
    return controller, step


def resolved(controller: mpc.MPCController, step: mpc.MPCStep, name: str, i: int, change: float) -> Reals:
    """The first control of the same window with another parameter or start, solved to the end."""
    problem: ShootingProblem = copy.deepcopy(controller.problem)
    problem.x0 = step.xs[0]
    if name == "x0":
        problem.x0 = problem.state.integrate(step.xs[0], change * np.eye(problem.state.ndx)[i])
    else:
        value = problem.get_parameter(name, "all") + change * np.eye(problem.parameters[name].shape[0])[i]
        problem.set_parameter(name, value, "all")
    found = SolverSQP(problem, TIGHT).solve(step.xs, step.us)
    assert found.converged
    return found.us[0]


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("name", "i"), [("x0", 1), ("x0", 9), ("hand.reference", 0), ("hand.reference", 2)])
def test_sensitivity_matches_differences_of_solving_again(mode: str, name: str, i: int) -> None:
    controller, step = at_rest(mode)
    found = controller.sensitivity(name)
    h = 1e-4
    expected = (resolved(controller, step, name, i, h) - resolved(controller, step, name, i, -h)) / (2 * h)
    np.testing.assert_allclose(found[:, i], expected, rtol=0, atol=2e-4 * np.abs(expected).max())


def test_sensitivity_to_x0_is_minus_the_gain() -> None:
    controller, step = at_rest("converged")
    np.testing.assert_allclose(controller.sensitivity("x0"), -step.K, rtol=0, atol=1e-4 * np.abs(step.K).max())


def test_sensitivity_belongs_to_the_last_step() -> None:
    """Whatever the window has moved to since, which stays as it is."""
    one, other = at_rest("real-time")[0], at_rest("real-time")[0]
    one.prepare()
    table = one.problem.table.values.copy()
    np.testing.assert_array_equal(one.sensitivity("hand.reference"), other.sensitivity("hand.reference"))
    np.testing.assert_array_equal(one.problem.table.values, table)
    np.testing.assert_array_equal(*(each.feedback(each.problem.x0).u for each in (one, other)))


def test_sensitivity_before_reset_and_of_unknown_names_is_refused() -> None:
    controller = mpc.MPCController(support.arm(), options=MODES["real-time"])
    with pytest.raises(InvalidArgumentError, match="reset"):
        controller.sensitivity("x0")
    controller.reset()
    with pytest.raises(UnknownNameError, match=r"hand\.reference"):
        controller.sensitivity("hand.refrence")
