"""Assignments that would be ignored are refused, and say what to do instead."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt import gaits
from trajopt.errors import ImmutableError, TrajoptError, UnsupportedOperationError
from trajopt.objects.immutable import Immutable
from trajopt.solvers import SolverFDDP


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """As a user writes it: attributes before and after the base's constructor."""

    def __init__(self, costs: trajopt.CostStack, mass: float = 1.0) -> None:
        self.gravity = 9.81
        super().__init__(costs.state, 1, costs)
        self.mass = self.parameter("mass", mass, unit="kg")
        self.length = 0.5

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u / self.mass - self.gravity / self.length * ca.sin(x[0])


class Heavier(Pendulum):
    """A subclass that sets attributes after the constructor of a class that is complete."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(costs, mass=2.0)
        self.colour = "black"


class Counting(trajopt.ActionModelAbstract):
    """A black box with a memory."""

    calls = 0

    def __init__(self, state: trajopt.StateVector) -> None:
        super().__init__(state, 1)
        self.last = np.zeros(2)

    def calc(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        self.calls += 1
        self.last, self._cache = x, u
        data.xnext, data.cost = x, 0.0


STATE = trajopt.StateVector(2)


def costs() -> trajopt.CostStack:
    return trajopt.CostStack(STATE).add("goal", trajopt.ResidualModelState(STATE), 1.0)


def problem() -> trajopt.ShootingProblem:
    node = trajopt.IntegratedActionModelEuler(Pendulum(costs()), 0.1)
    return trajopt.ShootingProblem([0.0, 0.0], [node] * 2, costs())


@pytest.mark.parametrize(
    ("thing", "name", "cure"),
    [
        (lambda: trajopt.ResidualModelState(STATE), "reference", r"problem.set_parameter\('goal.reference', value\)"),
        (lambda: trajopt.ActivationModelWeightedQuad([1.0]), "weights", r"set_parameter\('goal.weights', value\)"),
        (lambda: trajopt.IntegratedActionModelEuler(Pendulum(costs())), "dt", r"set_parameter\('dt', value\)"),
        (lambda: trajopt.IntegratedActionModelEuler(Pendulum(costs())), "mass", r"set_parameter\('mass', value\)"),
        (lambda: Pendulum(costs()), "mass", r"set_parameter\('mass', value\)"),
        (lambda: Pendulum(costs()), "length", "construct another"),
        (lambda: trajopt.ResidualModelState(STATE), "nr", "construct another"),
        (lambda: trajopt.ResidualModelState(STATE), "referenc", "did you mean reference"),
        (lambda: problem(), "x_0", "did you mean x0"),
        (lambda: problem(), "T", "construct another"),
        (lambda: problem(), "anything", "no such attribute"),
        (costs, "terms", "construct another"),
        (lambda: trajopt.load_robot("planar-2r"), "nme", "did you mean name"),
        (lambda: STATE, "nx", ""),
        (lambda: SolverFDDP(problem()), "th_stop", "tolerance"),
        (lambda: SolverFDDP(problem()), "max_iterations", "no such attribute"),
        (lambda: trajopt.ActionData(2, 2, 1), "Lxxx", "its fields are"),
    ],
)
def test_assignments_without_effect_are_refused(thing: Callable[[], Any], name: str, cure: str) -> None:
    with pytest.raises(ImmutableError, match=rf"{name}.*{cure}") as caught:
        setattr(thing(), name, 1.0)
    assert isinstance(caught.value, TrajoptError)
    assert isinstance(caught.value, AttributeError)


def test_frames_and_terms_of_a_residual_stay() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    goal = trajopt.ResidualModelFrameTranslation(state, "tool")
    with pytest.raises(ImmutableError, match="frame: can't be set after construction"):
        goal.frame = "link_1"  # type: ignore[misc]
    with pytest.raises(ImmutableError, match="frame"):
        del goal.frame


def test_x0_is_set_as_a_whole() -> None:
    p = problem()
    with pytest.raises(ValueError, match="read-only"):
        p.x0[0] = 1.0
    value = np.array([0.1, 0.2])
    p.x0 = value  # type: ignore[assignment]
    value[0] = 9.0
    np.testing.assert_array_equal(p.x0, [0.1, 0.2])


def test_own_classes_set_attributes_in_their_constructors() -> None:
    model = Heavier(costs())
    assert (model.gravity, model.length, model.colour) == (9.81, 0.5, "black")
    assert float(model.parameters()["mass"].default) == 2.0
    with pytest.raises(ImmutableError):
        model.colour = "white"
    for same in (model.clone(), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(same) is Heavier
        assert same.colour == "black"
        with pytest.raises(ImmutableError):
            same.colour = "white"


def test_a_constructor_that_fails_leaves_nothing_open() -> None:
    class Failing(Immutable):
        def __init__(self, fails: bool) -> None:
            self.value = 1
            if fails:
                raise ValueError

    thing = Failing(False)
    with pytest.raises(ValueError):
        thing.__init__(True)  # type: ignore[misc]
    with pytest.raises(ImmutableError):
        thing.value = 2


def test_parameters_are_declared_in_the_constructor() -> None:
    with pytest.raises(ImmutableError, match="expected a call in __init__"):
        Pendulum(costs()).parameter("later", 1.0)


def test_a_black_box_keeps_its_own_memory() -> None:
    model = Counting(STATE)
    model.calc(model.create_data(), np.ones(2), np.zeros(1))
    assert model.calls == 1
    np.testing.assert_array_equal(model.last, np.ones(2))
    for name in ("lst", "state", "nu"):
        with pytest.raises(ImmutableError):
            setattr(model, name, 1)


def test_an_expression_keeps_private_memory_only() -> None:
    model = Pendulum(costs())
    model._seen = 3
    assert model._seen == 3


@pytest.mark.parametrize("local", [True, False], ids=["lambda", "local function"])
def test_pickling_says_to_name_the_function(local: bool) -> None:
    def angle(x: ca.SX) -> ca.SX:
        return x[0]

    function = angle if local else (lambda x: x[0])
    residual = trajopt.ResidualModelSymbolic(STATE, function)
    stack = trajopt.CostStack(STATE).add("goal", residual, 1.0)
    for thing in (residual, stack):
        with pytest.raises(UnsupportedOperationError, match=r"cannot be pickled .*define it with def at the top level"):
            pickle.dumps(thing)
    assert repr(copy.deepcopy(residual)) == repr(residual)


def test_gait_models_are_fixed() -> None:
    robot = trajopt.load_robot("small-quadruped")
    feet = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
    models = gaits.GaitModels(robot, gaits.Stance.of(robot, feet))
    with pytest.raises(ImmutableError, match="options"):
        models.options = gaits.GaitOptions()


def test_a_model_without_arguments_takes_none() -> None:
    with pytest.raises(TypeError, match="argument"):
        trajopt.ActivationModelQuad(3.0)  # type: ignore[call-arg]
