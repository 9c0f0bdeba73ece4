"""Expressions that models share are those that each would build."""

from __future__ import annotations

import gc
import threading
import weakref

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.dynamics import RobotExpressions, SmoothFriction, shared
from trajopt.dynamics.shared import shared_expressions, state_symbol
from trajopt.kernels.program import Program
from trajopt.robots import load_robot, planar_arm


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    shared._kept.clear()


def expressions(model, x=None, *, friction=None, derivatives=False) -> RobotExpressions:
    symbol = state_symbol(model.nq + model.nv) if x is None else x
    return shared_expressions(model, symbol, friction=friction, derivatives=derivatives)


def digest(robot: RobotExpressions, x: SX) -> str:
    a = SX.sym("a", robot.model.nv)
    results = [robot.rnea(a), robot.crba(), robot.com_position(), *robot.forward_dynamics_derivatives(a)]
    return Program.of("f", ca.Function("f", [x, a], [*results, robot.nonlinear_effects()])).digest()


def test_what_depends_on_the_state_alone_is_built_once() -> None:
    one, other = (expressions(load_robot("go2").model, derivatives=each) for each in (False, True))
    assert one.tree is other.tree
    assert one.crba() is other.crba()
    assert one.frame_placement(10)[0] is other.frame_placement(10)[0]
    assert one.tree_dynamics().velocities() is other.tree_dynamics().velocities()


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", ["go2", "talos_arm"])
def test_code_does_not_depend_on_what_was_built_before(name: str, first: bool) -> None:
    model = load_robot(name).model
    x = state_symbol(model.nq + model.nv)
    options = [(friction, derivatives) for friction in (None, SmoothFriction(0.1)) for derivatives in (False, True)]
    for friction, derivatives in options[::-1] if first else options:
        alone = RobotExpressions(model, x[: model.nq], x[model.nq :], friction=friction, with_derivatives=derivatives)
        assert digest(expressions(model, friction=friction, derivatives=derivatives), x) == digest(alone, x)


def test_a_changed_model_has_expressions_of_its_own() -> None:
    model = planar_arm()
    first = expressions(model)
    model.gravity.linear = np.zeros(3)
    second = expressions(model)
    assert first.tree is not second.tree
    assert first.model.gravity.linear[2] < 0 == second.model.gravity.linear[2]
    model.effortLimit = np.full(2, 7.0)  # which Pinocchio's == leaves out
    assert expressions(model).tree is not second.tree


def test_another_symbol_of_the_state_is_not_replaced() -> None:
    model = planar_arm()
    x = SX.sym("x", model.nq + model.nv)
    robot = expressions(model, x)
    assert robot.tree is not expressions(model).tree
    assert {str(s) for s in ca.symvar(robot.crba())} <= {str(s) for s in ca.symvar(x)}
    assert ca.Function("f", [x], [robot.crba()]).n_in() == 1


def test_threads_share_nothing() -> None:
    model, trees = planar_arm(), []
    thread = threading.Thread(target=lambda: trees.append(expressions(model).tree))
    thread.start()
    thread.join()
    assert expressions(model).tree is not trees[0]


def test_expressions_of_other_symbols_are_not_kept() -> None:
    """Else each edit in a notebook would leave the dynamics of its model behind."""
    model = planar_arm()
    robot = expressions(model, derivatives=True)
    torque = SX.sym("tau", model.nv)
    robot.forward_dynamics_derivatives(torque)
    kept = [weakref.ref(robot._cache), weakref.ref(robot.tree_dynamics()._cache)]
    tree = weakref.ref(robot.tree)
    del robot
    gc.collect()
    assert [each() for each in kept] == [None, None]
    assert tree() is expressions(model).tree
