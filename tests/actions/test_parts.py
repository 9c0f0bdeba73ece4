"""Dynamics, costs and rows are functions of their own: an edit of one changes no other, and bits stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.kernel_runner import LEVELS, Reals, assert_same_bits, kernel_at, run_kernel
from tests.support.model_list import ACTIONS, small_costs, state_of
from trajopt.kernels import Program
from trajopt.kernels.joined import joined
from trajopt.model.parts import Part


def free(*, edited: bool = False, **more: Any) -> trajopt.DifferentialActionModelFreeFwdDynamics:
    state = state_of("planar-3r")
    costs = trajopt.CostStack(state)
    if edited:
        costs.add("before", trajopt.ResidualModelState(state, np.full(6, 0.1)), 0.3)
    costs.add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", np.zeros(3)), 1.0)
    costs.add("u", trajopt.ResidualModelControl(state), 0.1)
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs, **more)


def in_contact(*, edited: bool = False) -> trajopt.DifferentialActionModelContactFwdDynamics:
    state = state_of("drone")
    contacts = trajopt.ContactStack(state)
    contacts.add("tip", trajopt.ContactModel3D(state, "tip", reference=np.zeros(3), gains=(3.0, 20.0)))
    costs = trajopt.CostStack(state)
    if edited:
        costs.add("force", trajopt.ResidualModelContactForce(state, "tip", np.ones(3)), 0.2)
        costs.add("acceleration", trajopt.ResidualModelJointAcceleration(state), 0.2)
    costs.add("u", trajopt.ResidualModelControl(state), 0.1)
    actuation = trajopt.ActuationModelFloatingBase(state)
    return trajopt.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, damping=0.1)


def functions_of(model: Any, part: str = "calc_diff") -> dict[str, str]:
    """Digest of each function of a program, by its label."""
    return {code.label: code.digest for code in model.program(part).functions}


@pytest.mark.parametrize("part", ["calc", "calc_diff"])
@pytest.mark.parametrize("make", [free, in_contact])
@pytest.mark.parametrize("integrator", [trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4])
def test_another_cost_term_changes_costs_alone(integrator: Any, make: Callable[..., Any], part: str) -> None:
    """Also if it moves all other parameters to other places."""
    before, after = (functions_of(integrator(make(edited=edited), 0.01), part) for edited in (False, True))
    changed = {label for label in before if before[label] != after.get(label)}
    assert changed
    assert all("costs" in label for label in changed)
    assert any("dynamics" in label for label in before)


def test_another_constraint_changes_rows_alone() -> None:
    found = []
    for bound in (1, 2):
        state = state_of("planar-3r")
        rows = trajopt.ConstraintStack(state).add("a", trajopt.ResidualModelState(state), lower=-1.0)
        if bound == 2:
            rows.add("b", trajopt.ResidualModelControl(state), upper=1.0)
        found.append(functions_of(trajopt.IntegratedActionModelEuler(free(constraints=rows), 0.01)))
    before, after = found
    assert {label for label in before if before[label] != after.get(label)} == {
        "derivatives of constraints of planar-3r"
    }


def test_functions_read_the_parameters_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    model = trajopt.IntegratedActionModelEuler(in_contact(edited=True), 0.01)
    model.program("calc")
    parts = {part.expression.label: part for part in model.differential.built.values() if isinstance(part, Part)}
    contact = [f"contacts.tip.{name}" for name in ("active", "reference", "kp", "kd")]
    assert set(parts["dynamics of drone with 1 contact"].parameters) == {"damping", *contact}
    terms = [f"{term}.{name}" for term in ("force", "u", "acceleration") for name in ("weight", "reference")]
    assert set(parts["costs of drone"].parameters) == set(terms)


class Bouncy(trajopt.DifferentialActionModelSymbolic):
    """A pendulum with what selections and roots can do: branches that are not taken are infinite or NaN."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(costs.state, 1, costs)

    def acceleration(self, x: SX, u: SX) -> SX:
        return (
            u
            + ca.if_else(x[0] > 0, ca.sqrt(x[0]), 0)
            - ca.sqrt(ca.fmax(x[1], 0))
            - ca.if_else(x[1] > 1, ca.log(x[1]), 0)
        )


class Push(trajopt.ResidualModelAbstract):
    """Roots of forces and accelerations where they are positive."""

    uses_solution = True

    def __init__(self, state: Any) -> None:
        super().__init__(state, 4)

    def evaluate(self, instant: Any) -> SX:
        force, a = instant.force("tip"), instant.acceleration
        return ca.vertcat(ca.sqrt(ca.fmax(force, 0)), ca.if_else(a[0] > 0, ca.sqrt(a[0]), 0))


def bouncy() -> Bouncy:
    return Bouncy(small_costs(trajopt.StateVector(2)))


def pushed() -> trajopt.DifferentialActionModelContactFwdDynamics:
    model = in_contact()
    costs = trajopt.CostStack(model.state).add("push", Push(model.state), 1.0)
    costs.add("u", trajopt.ResidualModelControl(model.state), 0.1)
    return type(model)(model.state, model.actuation, model.contacts, costs, damping=0.1)


EULER, RK4 = trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4
MODELS: dict[str, Callable[[], Any]] = {
    "selections, Euler": lambda: EULER(bouncy(), 0.02),
    "selections, RK4": lambda: RK4(bouncy(), 0.02),
    "roots of forces, Euler": lambda: EULER(pushed(), 0.02),
    "roots of forces, RK4": lambda: RK4(pushed(), 0.02),
    "forces and accelerations": lambda: EULER(in_contact(edited=True), 0.02),
    **{name: ACTIONS[name] for name in ("euler-constrained-drone", "rk4-ball", "euler-inverse-cart-pole")},
}
"""Whose selections must leak nothing, whichever function they are in."""


def points(program: Program, count: int = 11) -> list[Reals]:
    rng = np.random.default_rng(5)
    found = [rng.uniform(-1.5, 1.5, (count, a.size)) for a in program.inputs]
    found[-1] = np.abs(found[-1]) + 0.1  # parameters: steps, weights and dampings are positive
    return found


@pytest.mark.parametrize("part", ["calc", "calc_diff"])
@pytest.mark.parametrize("name", MODELS)
def test_quick_and_optimised_code_of_any_width_have_the_same_bits(name: str, part: str) -> None:
    program = MODELS[name]().program(part)
    given = points(program)
    first, *others = (
        run_kernel(kernel_at(program, width, level), given) for width in (1, 4, 8) for level in LEVELS.values()
    )
    for other in others:
        assert_same_bits(other, first)
    if name.startswith(("selections", "roots")):
        assert all(np.isfinite(array).all() for array in first)
    assert len(joined(program).steps) < len(program.steps)


@pytest.mark.parametrize("name", ["selections, Euler", "roots of forces, Euler"])
def test_derivatives_beside_kinks_are_those_of_differences(name: str) -> None:
    model = MODELS[name]()
    values, derivatives = (kernel_at(model.program(part), 8, LEVELS["optimised"]) for part in ("calc", "calc_diff"))
    x, u, p = points(model.program("calc"))
    gradient, step = run_kernel(derivatives, [x, u, p])[3], 6e-6
    for i in range(model.nu):
        change = step * np.eye(model.nu)[i]
        ahead, behind = (run_kernel(values, [x, u + sign * change, p])[1].ravel() for sign in (1, -1))
        found = gradient[:, model.state.ndx + i]
        np.testing.assert_allclose(
            found, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-6 * (1 + np.abs(found).max())
        )


def test_an_impulse_is_a_running_knot_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its costs see forces at one, and none at the other, both without controls."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    state = state_of("drone")
    impulses = trajopt.ImpulseStack(state).add("tip", trajopt.ImpulseModel3D(state, "tip"))
    costs = trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), 1.0)
    for first, second in (("calc_diff", "terminal"), ("terminal", "calc_diff")):
        model = trajopt.ActionModelImpulseFwdDynamics(state, impulses, costs)
        assert [len(model.program(part).inputs) for part in (first, second)] == [
            2 + (p != "terminal") for p in (first, second)
        ]
