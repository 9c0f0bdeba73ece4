"""Models and problems of forward dynamics as those of inverse dynamics: the same costs, constraints and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import trajopt
from trajopt.shooting import ShootingProblem, contact_forces

Reals = npt.NDArray[np.float64]


def inverse_model(forward: Any) -> Any:
    """The inverse dynamics of a model of forward dynamics."""
    given = {"constraints": forward.constraints, "friction": forward.friction}
    if isinstance(forward, trajopt.DifferentialActionModelFreeFwdDynamics):
        return trajopt.DifferentialActionModelFreeInvDynamics(forward.state, forward.actuation, forward.costs, **given)
    given["damping"] = float(forward.parameters()["damping"].default)
    parts = forward.state, forward.actuation, forward.contacts, forward.costs
    return trajopt.DifferentialActionModelContactInvDynamics(*parts, **given)


def inverse_problem(forward: ShootingProblem) -> ShootingProblem:
    """The same problem with inverse dynamics at all knots but impulses."""
    models: dict[Any, Any] = {}
    for model in forward.running:
        models.setdefault(model, model)
        if models[model] is model and isinstance(model, trajopt.IntegratedActionModelEuler):
            step = float(model.parameters()["dt"].default)
            models[model] = trajopt.IntegratedActionModelEuler(inverse_model(model.differential), step)
    problem = ShootingProblem(forward.x0, [models[model] for model in forward.running], forward.terminal)
    known = forward.parameters
    for name, values in forward.parameter_values().items():
        where = list(known[name].knots)
        problem.set_parameter(name, [value.reshape(known[name].shape or ()) for value in values], where)
    return problem


def inverse_controls(forward: ShootingProblem, inverse: ShootingProblem, xs: Reals, us: Reals) -> Reals:
    """Accelerations and forces (T, nv + nc) that forward dynamics give along states and torques."""
    values, forces = forward.calc(xs, us), contact_forces(forward, xs, us)
    found, nv = np.zeros((forward.T, inverse.nu)), forward.state.ndx // 2
    for t, model in enumerate(inverse.running):
        if model.nu:  # an impulse has no controls
            found[t, :nv] = (values.xnext[t][-nv:] - xs[t][-nv:]) / float(forward.get_parameter("dt", [t]))
            found[t, nv : model.nu] = np.concatenate([np.zeros(0), *(force[t] for force in forces.values())])
    return found
