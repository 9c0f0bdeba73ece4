"""Contacts, impulses and residuals of forces against Crocoddyl at random states, and against differences of its values
where its derivatives are wrong (which: tests/data/make_crocoddyl_contacts.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.contact_data import Evaluated, Golden, Reals, action_of, contact_stack, contents, names, state_of


def compare(golden: Golden, field: str, ours: Any) -> None:
    """Whether ours agrees with a field of the file."""
    theirs = golden.arrays[field]
    np.testing.assert_allclose(
        np.reshape(ours, theirs.shape),
        theirs,
        rtol=0,
        atol=golden.tolerance(field) * max(1.0, np.abs(theirs).max(initial=0.0)),
        err_msg=f"{golden.facts['name']} {field}",
    )


def with_forces(golden: Golden) -> trajopt.CostStack:
    """A term for the force of each contact, whose weight is 0 at first."""
    state = state_of(golden.facts["robot"])
    costs = trajopt.CostStack(state)
    for c in golden.facts["contacts"]:
        force = golden.arrays[f"{c['name']}.f"]
        each = trajopt.ActivationModelWeightedQuad(np.ones(len(force)))
        costs.add(c["name"], trajopt.ResidualModelContactForce(state, c["name"], force), 0.0, each)
    return costs


def force_row(golden: Golden, model: Any, contact: str, row: int) -> Evaluated:
    """½ (f_i - f_i* + 1)² as the cost, with f* Crocoddyl's force: its gradient is that of f_i, if f = f*."""
    force = golden.arrays[f"{contact}.f"]
    unit = np.eye(len(force))[row]
    chosen = {f"{contact}_weight": 1.0, f"{contact}_weights": unit, f"{contact}_reference": force - unit}
    return Evaluated(model, golden.arrays["x"], golden.arrays.get("u", np.zeros(0)), **chosen)


BETWEEN = ("hyq-{}-2", "talos_legs-{}-1")
"""One foot, and all feet, of HyQ, both soles of TALOS: what lies between is no other code."""

KINDS = [
    f"{kind}-{gains}" for kind in ("1D-local", "1D-aligned", "3D-local", "3D-aligned") for gains in ("free", "held")
]
SKIPPED = {each.format(kind) for each in BETWEEN for kind in (*KINDS, "2D-local-free", "2D-local-damped")}


@pytest.mark.parametrize("name", [name for name in names("contacts") if name not in SKIPPED])
def test_contact_dynamics(name: str) -> None:
    golden, (along_x, along_u) = contents()[0][name], contents()[1]
    model = action_of(golden.facts, with_forces(golden))
    nq, nv = model.state.nx - model.state.ndx // 2, model.state.ndx // 2
    x, u = golden.arrays["x"], golden.arrays["u"]
    now = Evaluated(model, x, u)
    compare(golden, "xdot", now.xnext[nq:] - x[nq:])
    compare(golden, "Fx", (now.Fx[nv:] - np.eye(2 * nv)[nv:]) @ along_x)
    compare(golden, "Fu", now.Fu[nv:] @ along_u)
    for c in golden.facts["contacts"]:
        force = golden.arrays[f"{c['name']}.f"]
        rows = [force_row(golden, model, c["name"], i) for i in range(len(force))]
        compare(golden, f"{c['name']}.f", force + [np.sqrt(2 * row.cost) - 1 for row in rows])
        compare(golden, f"{c['name']}.fx", [row.Lx @ along_x for row in rows])
        compare(golden, f"{c['name']}.fu", [row.Lu @ along_u for row in rows])


@pytest.mark.parametrize("name", names("impulses"))
def test_impulse_dynamics(name: str) -> None:
    golden, (along_x, _) = contents()[0][name], contents()[1]
    model = action_of(golden.facts, with_forces(golden))
    now = Evaluated(model, golden.arrays["x"], np.zeros(0))
    compare(golden, "xnext", now.xnext)
    compare(golden, "Fx", now.Fx @ along_x)
    for c in golden.facts["contacts"]:
        force = golden.arrays[f"{c['name']}.f"]
        rows = [force_row(golden, model, c["name"], i) for i in range(len(force))]
        compare(golden, f"{c['name']}.f", force + [np.sqrt(2 * row.cost) - 1 for row in rows])


def residual_of(golden: Golden, contacts: trajopt.ContactStack | None) -> tuple[Any, tuple[Reals, Reals]]:
    """Our residual, and the bounds within which it costs nothing if the case has a barrier."""
    state, kind, told = state_of(golden.facts["robot"]), golden.facts["residual"], dict(golden.facts["arguments"])
    if kind == "ContactControlGrav":
        actuation = trajopt.ActuationModelFloatingBase(state)
        return trajopt.ResidualModelContactControlGrav(state, actuation, contacts), (np.zeros(0), np.zeros(0))
    if kind in ("ContactFrictionCone", "ContactWrenchCone"):
        contact = told.pop("contact")
        cone = getattr(trajopt, kind.removeprefix("Contact"))(**told)
        return getattr(trajopt, f"ResidualModel{kind}")(state, contact, cone), (cone.lower, cone.upper)
    residual = getattr(trajopt, f"ResidualModel{kind}")(state, **told)
    return residual, (np.full(golden.facts["nr"], -np.inf), np.zeros(golden.facts["nr"]))


@pytest.mark.parametrize("name", names("residuals"))
def test_residuals(name: str) -> None:
    golden, (along_x, along_u) = contents()[0][name], contents()[1]
    contacts = None if "restitution" in golden.facts else contact_stack(golden.facts)
    residual, bounds = residual_of(golden, contacts)
    activation = trajopt.ActivationModelQuadraticBarrier(*bounds) if golden.facts["activation"] == "barrier" else None
    costs = trajopt.CostStack(state_of(golden.facts["robot"])).add("term", residual, 1.0, activation)
    now = Evaluated(action_of(golden.facts, costs, contacts), golden.arrays["x"], golden.arrays["u"])
    along_u = along_u[: len(golden.arrays["u"])]
    compare(golden, "cost", now.cost)
    compare(golden, "Lx", now.Lx)
    compare(golden, "Lu", now.Lu)
    compare(golden, "Lxx", along_x.T @ now.Lxx @ along_x)
    compare(golden, "Lxu", along_x.T @ now.Lxu @ along_u)
    compare(golden, "Luu", along_u.T @ now.Luu @ along_u)


@pytest.mark.parametrize("name", ["hyq-FrameVelocity-local", "hyq-CentroidalMomentum-3D"])
def test_residuals_at_the_end(name: str) -> None:
    golden = contents()[0][name]
    state = state_of(golden.facts["robot"])
    costs = trajopt.CostStack(state).add("term", residual_of(golden, None)[0], 1.0)
    model = trajopt.actions.ActionModelTerminal(costs)
    data = model.create_data()
    model.calc(data, golden.arrays["x"])
    model.calc_diff(data, golden.arrays["x"])
    compare(golden, "terminal_cost", data.cost)
    if "CentroidalMomentum" not in name:  # Crocoddyl never computes its derivative there
        compare(golden, "terminal_Lx", data.Lx)
