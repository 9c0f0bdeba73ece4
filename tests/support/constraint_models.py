"""Constraint stacks for the battery over all models: rows of states, controls, mixtures, forces."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

import trajopt
from trajopt.states import StateAbstract

TURNED = pin.exp3(np.array([0.4, -0.3, 0.7]))


def mixture(x: SX, u: SX) -> SX:
    """Rows with a control, and one without."""
    return ca.vertcat(u[0] * ca.cos(x[0]), x[1] + 0.3 * u[0], x[0] * x[1])


def constraints_of(state: StateAbstract, *, controlled: bool = True) -> trajopt.ConstraintStack:
    """Rows of the state, of two things at once where there are controls, and of the control."""
    stack = trajopt.ConstraintStack(state).add("near", trajopt.ResidualModelState(state), lower=-1.0, upper=1.0)
    if controlled:
        mixed = trajopt.ResidualModelSymbolic(state, mixture)
        stack.add("mixed", mixed, upper=[0.5, np.inf, 1.0])
        stack.add("torque", trajopt.ResidualModelControl(state), lower=-3.0, upper=3.0)
    if isinstance(state, trajopt.StateMultibody) and "tip" in [frame.name for frame in state.model.frames]:
        stack.add("tip", trajopt.ResidualModelFrameTranslation(state, "tip"), upper=[0.3, 0.2, np.inf])
    return stack


def force_constraints(contacts: trajopt.ContactStack | trajopt.ImpulseStack, cone: str) -> trajopt.ConstraintStack:
    """Rows of the state, of one force in its cone and of all forces."""
    state, stack = contacts.state, trajopt.ConstraintStack(contacts.state)
    stack.add("near", trajopt.ResidualModelState(state), lower=-1.0, upper=1.0)
    pyramid = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)
    inside = trajopt.ResidualModelContactFrictionCone(state, cone, pyramid)
    stack.add("inside", inside, lower=pyramid.lower, upper=pyramid.upper)
    for name in contacts.names:
        size = contacts[name].nc
        stack.add(f"push_{name}", trajopt.ResidualModelContactForce(state, name, np.ones(size)), equals=0.0)
    return stack
