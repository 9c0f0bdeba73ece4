"""Public view of the parts of action models."""

from __future__ import annotations

import dataclasses

import trajopt
from trajopt import problems
from trajopt.actions.parts import ModelParts


def test_an_integrated_model_shows_the_parts_of_its_dynamics() -> None:
    model = problems.load("quadruped-trot").problem.running[0]
    assert isinstance(model, trajopt.IntegratedActionModelEuler)
    d, parts = model.differential, model.model_parts
    assert isinstance(d, trajopt.DifferentialActionModelContactFwdDynamics)
    expected = ModelParts(differential=d, costs=d.costs, contacts=d.contacts, actuation=d.actuation)
    for field in dataclasses.fields(ModelParts):
        assert getattr(parts, field.name) is getattr(expected, field.name), field.name
    assert parts.contacts is not None
    assert parts.actuation is not None
    assert parts.terms == d.costs.terms
    assert model.constraints is d.constraints


def test_ends_and_impulses_have_costs_of_their_own() -> None:
    problem = problems.load("crocoddyl-quadruped-jump").problem
    impulse = next(m for m in problem.running if isinstance(m, trajopt.ActionModelImpulseFwdDynamics))
    assert impulse.model_parts.impulses is impulse.impulses
    assert impulse.model_parts.costs is impulse.costs
    assert impulse.model_parts.differential is None
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), weight=1.0)
    end = trajopt.ShootingProblem([0.0, 0.0], [], costs).terminal
    assert [term.name for term in end.model_parts.terms] == ["x"]


def test_black_boxes_and_formulas_of_users_have_none() -> None:
    unicycle = trajopt.ActionModelUnicycle()
    for model in (unicycle, trajopt.ActionModelNumDiff(unicycle)):
        assert model.model_parts == ModelParts()
        assert model.model_parts.terms == ()
