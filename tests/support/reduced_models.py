"""Reduced models of legged robots for the battery: a point and a sole, costs and rows of their forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.support.constraint_models import TURNED

SOLE = pin.SE3(TURNED, np.array([-0.2, -0.1, 0.02]))


def supports() -> trajopt.SupportStack:
    """A point and a sole."""
    return trajopt.SupportStack().add("point", (0.2, 0.1, 0.0)).add("sole", SOLE)


def body_state() -> trajopt.StateMultibody:
    """A quadruped as a single body."""
    return trajopt.StateMultibody(trajopt.single_rigid_body(trajopt.load_robot("small-quadruped")))


def reduced(state: trajopt.StateAbstract, build: Callable[..., Any]) -> Any:
    """A model with costs of the state, the control and the forces, and a wrench cone as rows."""
    cone = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)
    barrier = trajopt.ActivationModelQuadraticBarrier(cone.lower, cone.upper)
    costs = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.5)
    costs.add("u_reg", trajopt.ResidualModelControl(state), 0.1)
    costs.add("force", trajopt.ResidualModelContactForce(state, "sole", np.arange(6.0)), 0.2)
    costs.add("cone", trajopt.ResidualModelContactFrictionCone(state, "point", cone), 0.3, barrier)
    rows = trajopt.ConstraintStack(state)
    rows.add("wrench", trajopt.ResidualModelContactWrenchCone(state, "sole", trajopt.WrenchCone(0.7)))
    return build(costs, rows)


def single_rigid_body() -> trajopt.DifferentialActionModelSingleRigidBody:
    state = body_state()
    kind = trajopt.DifferentialActionModelSingleRigidBody
    return reduced(state, lambda costs, rows: kind(state, supports(), costs, constraints=rows))


def centroidal() -> trajopt.DifferentialActionModelCentroidal:
    kind = trajopt.DifferentialActionModelCentroidal
    return reduced(trajopt.centroidal_state(), lambda costs, rows: kind(2.5, supports(), costs, constraints=rows))


REDUCED = {"single-rigid-body": single_rigid_body, "centroidal": centroidal}
