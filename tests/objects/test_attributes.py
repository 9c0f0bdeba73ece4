"""Attributes that there are not say what is meant: names of Crocoddyl, near names, constructors not called."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

import trajopt
from trajopt import problems
from trajopt.errors import TrajoptError, UnknownAttributeError
from trajopt.objects.attributes import CLASSES, CROCODDYL

STATE = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))


def costs() -> trajopt.CostStack:
    return trajopt.CostStack(STATE).add("goal", trajopt.ResidualModelState(STATE), 1.0)


def problem() -> trajopt.ShootingProblem:
    return problems.load("lqr").problem


class Unfinished(trajopt.ActionModelAbstract):
    """A black box whose constructor forgets that of its base."""

    def __init__(self) -> None:
        self.mass = 1.0

    def calc(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        """Never called."""


class Late(trajopt.DifferentialActionModelSymbolic):
    """A model that uses the state before the constructor of its base."""

    def __init__(self) -> None:
        self.size_of_x = self.state.nx

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


class Failing(trajopt.DifferentialActionModelSymbolic):
    """A model with a property that fails inside."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u

    @property
    def speed(self) -> float:
        return float(self.sped)  # type: ignore[attr-defined]


def failing() -> Failing:
    return Failing(trajopt.StateVector(2), 1, trajopt.CostStack(trajopt.StateVector(2)))


@pytest.mark.parametrize(
    ("thing", "name", "says"),
    [
        (problem, "runningModels", "ShootingProblem has no attribute 'runningModels'; here: running$"),
        (problem, "terminalModel", "here: terminal$"),
        (problem, "calcDiff", "here: calc_diff$"),
        (problem, "quasiStatic", "here: quasi_static$"),
        (problem, "nthreads", r"here: trajopt.set_num_threads\(n\)$"),
        (problem, "terminl", r"did you mean terminal\?"),
        (lambda: problem().terminal, "createData", "here: create_data$"),
        (costs, "addCost", r"here: add\(name, residual, weight\)$"),
        (costs, "goal", r"write stack\['goal'\]$"),
        (lambda: trajopt.ConstraintStack(STATE).add("a", trajopt.ResidualModelState(STATE), equals=0.0), "a", "stack"),
        (lambda: STATE, "diff", "here: difference$"),
        (lambda: STATE, "Jdiff", "here: jdifference$"),
        (lambda: STATE, "lb", "here: lower$"),
        (lambda: STATE, "pinocchio", "here: model, that of Pinocchio$"),
        (lambda: STATE.robot, "q0", "here: configurations, by name$"),
        (lambda: STATE.robot, "joint_name", r"did you mean joint_names"),
        (lambda: trajopt, "CostModelSum", r"did you mean trajopt.CostStack\?"),
        (lambda: trajopt, "RobotExpressions", r"did you mean trajopt.dynamics.RobotExpressions\?"),
        (lambda: trajopt, "SolverFDDP", r"did you mean trajopt.solvers.SolverFDDP\?"),
        (lambda: trajopt, "StateMultiBody", r"did you mean trajopt.StateMultibody"),
        (Unfinished, "state", r"the __init__ of Unfinished must call super\(\).__init__\(state, ...\) first"),
        (failing, "speed", r"Failing has no attribute 'sped'; did you mean speed\?"),
    ],
)
def test_a_missing_attribute_suggests_the_right_one(thing: Callable[[], Any], name: str, says: str) -> None:
    with pytest.raises(UnknownAttributeError, match=says) as caught:
        getattr(thing(), name)
    assert isinstance(caught.value, TrajoptError)
    assert isinstance(caught.value, AttributeError)


def test_an_attribute_used_before_super_init_says_to_call_it() -> None:
    with pytest.raises(UnknownAttributeError, match=r"Late has no attribute 'state'; the __init__ of Late must call"):
        Late()


def test_hasattr_getattr_and_copies_work_as_usual() -> None:
    for thing in (problem(), costs(), STATE, failing()):
        assert not hasattr(thing, "no_such_thing")
        assert not hasattr(thing, "_no_such_thing")
        assert getattr(thing, "no_such_thing", 3) == 3
    for same in (copy.deepcopy(STATE), pickle.loads(pickle.dumps(STATE)), copy.copy(STATE)):
        assert same == STATE


def test_the_suggested_names_exist() -> None:
    """A hint is of no use if it names what there is not."""
    owners = (problem(), problem().terminal, STATE, costs(), trajopt.ContactStack(STATE))
    for meant in CROCODDYL.values():
        if meant.isidentifier():
            assert any(hasattr(owner, meant) for owner in owners), meant
    for meant in CLASSES.values():
        thing: Any = trajopt
        for part in meant.split("(")[0].split(" ")[0].split("."):
            thing = getattr(thing, part)
