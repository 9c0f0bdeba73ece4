"""Reads tests/data/crocoddyl/contacts.npz, which make_crocoddyl_contacts.py writes, and builds the same models."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trajopt
from trajopt.actions.expression import ActionModelExpression

Reals = npt.NDArray[np.float64]
FILE = Path(__file__).parents[1] / "data" / "crocoddyl" / "contacts.npz"


@dataclass(frozen=True)
class Golden:
    """One case: what was built, and Crocoddyl's arrays.

    Attributes:
        facts: Name, kind, robot, contacts and so on.
        arrays: x, u, values and derivatives by field.
    """

    facts: dict[str, Any]
    arrays: dict[str, Reals]

    def tolerance(self, field: str) -> float:
        """How well a field is known, relative to its largest entry: where Crocoddyl's derivative is wrong, the arrays
        hold differences."""
        return 1e-6 if self.facts["wrong"] and field not in ("xdot", "xnext", "r", "cost") else 1e-9


@functools.cache
def contents() -> tuple[dict[str, Golden], tuple[Reals, Reals]]:
    """All cases by name, and the directions (ndx, 6) and (nu, 2)."""
    with np.load(FILE) as file:
        cases, values = json.loads(str(file["cases"])), file["values"]
        directions = file["directions_x"], file["directions_u"]
    golden, start = {}, 0
    for case in cases:
        arrays = {}
        for field, shape in case["fields"].items():
            end = start + int(np.prod(shape))
            arrays[field] = values[start:end].reshape(shape)
            start = end
        golden[case["name"]] = Golden(case, arrays)
    assert start == len(values)
    return golden, directions


def names(kind: str) -> list[str]:
    """Names of the cases of a kind."""
    return [name for name, golden in contents()[0].items() if golden.facts["kind"] == kind]


@functools.cache
def state_of(robot: str) -> trajopt.StateMultibody:
    return trajopt.StateMultibody(trajopt.load_robot(robot))


def contact_stack(case: dict[str, Any]) -> trajopt.ContactStack:
    """The contacts of a case."""
    state = state_of(case["robot"])
    stack = trajopt.ContactStack(state)
    for c in case["contacts"]:
        frame: dict[str, Any] = {"reference_frame": c["reference_frame"], "gains": c["gains"]}
        if c["kind"] == "1D":
            contact: Any = trajopt.ContactModel1D(state, c["frame"], reference=c["reference"], axis=c["axis"], **frame)
        elif c["kind"] == "2D":
            contact = trajopt.ContactModel2D(state, c["frame"], reference=c["reference"], gains=c["gains"])
        else:
            kind = {"3D": trajopt.ContactModel3D, "6D": trajopt.ContactModel6D}[c["kind"]]
            contact = kind(state, c["frame"], reference=c["reference"], **frame)
        stack.add(c["name"], contact)
    return stack


def impulse_stack(case: dict[str, Any]) -> trajopt.ImpulseStack:
    """The impulses of a case."""
    state = state_of(case["robot"])
    stack = trajopt.ImpulseStack(state)
    for c in case["contacts"]:
        kind = {"3D": trajopt.ImpulseModel3D, "6D": trajopt.ImpulseModel6D}[c["kind"]]
        stack.add(c["name"], kind(state, c["frame"], reference_frame=c["reference_frame"]))
    return stack


def action_of(
    case: dict[str, Any], costs: trajopt.CostStack, contacts: trajopt.ContactStack | None = None
) -> ActionModelExpression:
    """The impulse of a case, or one step of 1 s of its contact dynamics, so that v⁺ - v is the acceleration."""
    state = state_of(case["robot"])
    if "restitution" in case:
        return trajopt.ActionModelImpulseFwdDynamics(state, impulse_stack(case), costs, restitution=case["restitution"])
    actuation = trajopt.ActuationModelFloatingBase(state)
    dynamics = trajopt.DifferentialActionModelContactFwdDynamics(
        state, actuation, contacts or contact_stack(case), costs, damping=case.get("damping", 0.0)
    )
    return trajopt.IntegratedActionModelEuler(dynamics, dt=1.0)


class Evaluated:
    """An action model at a state and a control, evaluated by CasADi: nothing is compiled.

    Args:
        model: The model.
        x: State (nx,).
        u: Control (nu,).
        parameters: Values other than the first ones, by name.
    """

    def __init__(self, model: ActionModelExpression, x: Reals, u: Reals, **parameters: Any) -> None:
        names = {name.replace(".", "_"): name for name in model.parameters()}
        column = model.layout.column({names[name]: value for name, value in parameters.items()})
        values = model.program("calc_diff").evaluate(x, u, column)
        xnext, cost, jacobian, gradient, self.hessian = values
        self.xnext, self.cost, n = xnext.ravel(), float(cost.item()), model.state.ndx
        self.Fx, self.Fu = jacobian[:, :n], jacobian[:, n:]
        self.Lx, self.Lu = gradient.ravel()[:n], gradient.ravel()[n:]
        self.Lxx, self.Lxu, self.Luu = self.hessian[:n, :n], self.hessian[:n, n:], self.hessian[n:, n:]
