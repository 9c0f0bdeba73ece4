"""Wrong calls of everything public name the function, the argument and what is meant."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

import trajopt
from tests.fuzz.surface import Door, doors
from trajopt import gaits, problems
from trajopt.errors import ImmutableError, InvalidArgumentError, WrongCallError
from trajopt.gaits.steps import StepOptions
from trajopt.objects.calls import explained
from trajopt.solvers import DDPOptions, FDDPOptions, SolverFDDP, SQPOptions

STATE = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
BELOW = {"get_num_threads"}  # of the compiler's room, which stands below
MODELS = (trajopt.model.base.Model, trajopt.StateAbstract)  # type: ignore[attr-defined]


class Swing(trajopt.DifferentialActionModelSymbolic):
    """A user's model."""

    def __init__(self, costs: trajopt.CostStack, mass: float = 1.0) -> None:
        super().__init__(costs.state, nu=1, costs=costs)
        self.mass = self.parameter("mass", mass)

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.vertcat(u, u) / self.mass


class Broken(Swing):
    """A user's model that calls its base with a wrong name."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(cost=costs)  # type: ignore[call-arg]


def costs() -> trajopt.CostStack:
    return trajopt.CostStack(STATE).add("goal", trajopt.ResidualModelState(STATE), 1.0)


def explaining() -> list[Door]:
    """Doors that take arguments by name and explain wrong ones; methods of models and states are called in loops."""
    found = []
    for door in doors():
        method_of_model = door.kind == "method" and issubclass(typing.cast("type", door.owner), MODELS)
        named = [p for p in door.parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        any_name = any(p.kind is p.VAR_KEYWORD and "Unpack" not in str(p.annotation) for p in door.parameters)
        inherited = door.target is None or not str(inspect.unwrap(door.target).__module__).startswith("trajopt")
        if named and not (method_of_model or any_name or inherited or door.name in BELOW):
            found.append(door)
    return found


@pytest.mark.parametrize("door", explaining(), ids=lambda door: door.label)
def test_a_misspelled_argument_is_named_with_the_near_one(door: Door) -> None:
    meant = max((p.name for p in door.parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)), key=len)
    wrong = f"{meant}_x"
    thing: Any = door.target if door.kind != "method" else getattr(door.owner, door.name)
    instance: list[Any] = [object.__new__(typing.cast("type", door.owner))] if door.kind == "method" else []
    with pytest.raises(WrongCallError, match=rf"'{wrong}' \(did you mean .*\b{meant}\b") as caught:
        thing(*instance, **{wrong: 1})
    name = door.name if door.name != "__init__" else typing.cast("type", door.owner).__name__
    assert name in str(caught.value).partition(":")[0]


def problem() -> trajopt.ShootingProblem:
    return problems.load("lqr").problem


WRONG: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: SolverFDDP(problem(), max_iterations=3),  # type: ignore[call-arg]
        r"SolverFDDP: unexpected argument 'max_iterations'; it is an option: "
        r"SolverFDDP\(problem, options=FDDPOptions\(max_iterations=...\)\)$",
    ),
    (lambda: FDDPOptions.crocoddyl(max_iter=3), r"^FDDPOptions.crocoddyl: .*did you mean max_iterations"),  # type: ignore[call-arg]
    (lambda: SolverFDDP(problem(), maxiter=3), r"options=FDDPOptions\(max_iterations=...\)"),  # type: ignore[call-arg]
    (lambda: SolverFDDP(problem(), th_stop=3), r"FDDPOptions\(tolerance=...\)"),  # type: ignore[call-arg]
    (
        lambda: gaits.gait_problem(STATE.robot, None, mu=0.3),  # type: ignore[call-arg, arg-type]
        r"gait_problem: unexpected argument 'mu'; it is an option: gait_problem\(..., options=GaitOptions\(mu=...\)\)$",
    ),
    (lambda: gaits.GaitModels(STATE.robot, None, mu=0.3), r"GaitModels: .*options=GaitOptions\(mu=...\)"),  # type: ignore[call-arg, arg-type]
    (lambda: SolverFDDP(), r"SolverFDDP: argument 'problem' is missing"),  # type: ignore[call-arg]
    (lambda: FDDPOptions(max_iter=3), r"'max_iter' \(did you mean max_iterations\?\); it takes \(\*, max_iterations, "),  # type: ignore[call-arg]
    (lambda: FDDPOptions(3), r"FDDPOptions: expected keyword arguments only, got 1 positional; .*max_iterations"),  # type: ignore[misc]
    (
        lambda: trajopt.DifferentialActionModelFreeFwdDynamics(STATE, costs()),  # type: ignore[call-arg, arg-type]
        r"argument 'costs' is missing, got state = StateMultibody, actuation = CostStack; "
        r"it takes \(state, actuation, costs, \*, constraints, friction, torque\)$",
    ),
    (lambda: costs().add("a", trajopt.ResidualModelState(STATE), name="b"), r"'name' was passed twice"),  # type: ignore[misc, call-arg]
    (lambda: trajopt.ActivationModelQuad(3.0), r"ActivationModelQuad: expected no argument"),  # type: ignore[call-arg]
    (lambda: problem().set_parameter("dt", 0.1, knot=3), r"ShootingProblem.set_parameter: .*did you mean knots\?"),  # type: ignore[call-arg]
    (lambda: Swing(costs(), mas=2.0), r"Swing: .*'mas' \(did you mean mass\?\); it takes \(costs, mass\)"),  # type: ignore[call-arg]
    (lambda: Broken(costs()), r"^Swing: unexpected argument 'cost' \(did you mean costs\?\)"),
]


@pytest.mark.parametrize(("call", "says"), WRONG)
def test_wrong_calls_say_what_to_write(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(WrongCallError, match=says) as caught:
        call()
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "gait", [gaits.quadruped_walk, gaits.quadruped_trot, gaits.quadruped_pace, gaits.quadruped_bound]
)
def test_a_gait_names_itself_and_the_options_that_gaits_share(gait: Any) -> None:
    feet = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
    stance = gaits.Stance.of(trajopt.load_robot("small-quadruped"), feet)
    for wrong, meant in (("step_lenght", "step_length"), ("cycle", "cycles"), ("final_knot", "final_knots")):
        with pytest.raises(WrongCallError, match=rf"^{gait.__name__}: .*'{wrong}' \(did you mean {meant}") as caught:
            gait(stance, **{wrong: 1})
        assert all(name in str(caught.value) for name in StepOptions.__annotations__)


@pytest.mark.parametrize(
    ("thing", "name", "says"),
    [
        (lambda: costs()["goal"], "weight", r"problem.set_parameter\('goal.weight', value\)"),
        (lambda: costs()["goal"], "wieght", r"did you mean weight\?"),
        (
            lambda: trajopt.ConstraintStack(STATE).add("end", trajopt.ResidualModelState(STATE), equals=0.0)["end"],
            "upper",
            r"problem.set_parameter\('end.upper', value\)",
        ),
        (DDPOptions, "max_iterations", r"dataclasses.replace\(..., max_iterations=...\)"),
        (SQPOptions, "max_iteration", r"did you mean max_iterations"),
        (gaits.GaitOptions, "mu", r"dataclasses.replace\(..., mu=...\)"),
    ],
)
def test_frozen_data_says_how_to_change_it(thing: Callable[[], Any], name: str, says: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match=says) as caught:
        setattr(thing(), name, 3.0)
    assert isinstance(caught.value, ImmutableError)


def test_a_call_that_fits_keeps_its_errors() -> None:
    def inner() -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        explained(inner)()
    with pytest.raises(InvalidArgumentError, match="options: SolverFDDP takes FDDPOptions, got 100; write SolverFDDP"):
        SolverFDDP(problem(), 100)  # type: ignore[arg-type]


def test_functions_pickle_by_their_names() -> None:
    for function in (gaits.quadruped_trot, trajopt.load_robot, problems.load):
        assert pickle.loads(pickle.dumps(function)) is function
        assert inspect.signature(function).parameters
