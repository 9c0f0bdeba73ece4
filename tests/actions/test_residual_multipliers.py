"""Multipliers δ of residuals at all stages of a Runge-Kutta step, and where these lead."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import VanDerPol
from trajopt.actions.differential import DifferentialActionModelAbstract
from trajopt.instant import Instant
from trajopt.model.programs import outputs_at
from trajopt.shooting import programs
from trajopt.types import Reals

DT, STEP = 0.05, 1e-3


def arm() -> DifferentialActionModelAbstract:
    """Its Hessian goes back over the stages."""
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    tool = trajopt.ResidualModelFrameVelocity(state, robot.frame_names[-1])  # of velocities, which a stage bends
    costs = trajopt.CostStack(state).add("tool", tool, weight=3.0)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=0.1)
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)


def oscillator() -> DifferentialActionModelAbstract:
    """Its step is one expression."""
    state = trajopt.StateVector(2)
    bent = trajopt.ResidualModelSymbolic(state, lambda x: ca.vertcat(x[0] ** 2, ca.sin(x[0] * x[1])))
    return VanDerPol(trajopt.CostStack(state).add("bent", bent, weight=2.0))


@pytest.mark.parametrize("differential", [arm, oscillator])
def test_curvature_and_change_are_those_of_the_residuals_at_both_stages(
    differential: Callable[[], DifferentialActionModelAbstract],
) -> None:
    """Heun's stages are the knot and the end of an Euler step, each with the weight dt / 2."""
    d, rng = differential(), np.random.default_rng(3)
    model = trajopt.IntegratedActionModelRK(d, DT, tableau=trajopt.Tableau.HEUN)
    euler = trajopt.IntegratedActionModelRK(d, DT, tableau=trajopt.Tableau.EULER)
    state, nu, p = model.state, model.nu, model.layout.column()
    x, u = rng.normal(size=state.nx), rng.normal(size=nu)
    nr, size = programs.running_residuals(model), programs.kept_size(model)
    i, costs = Instant(state, 0), model.running_costs
    assert costs is not None
    r_of = ca.Function("r", [i.x, model.layout.symbols], [costs.bent_residuals(i)[0]])

    def residuals(z: Reals) -> Reals:
        """Residuals (nr,) at both stages."""
        first, control = state.integrate(x, z[: state.ndx]), u + z[state.ndx :]
        second = outputs_at(euler, euler.program("calc"), first, control)[0].ravel()
        return np.concatenate([np.array(r_of(y, p)).ravel() for y in (first, second)])

    assert residuals(np.zeros(state.ndx + nu)).size == nr
    reached = outputs_at(model, model.program("calc"), x, u)[0].ravel()
    expansion = programs.expansion(model, nu, model.nc, kept=size)
    results = expansion.evaluate(x, u, p, reached)[: -1 if expansion.status else None]
    kept = results[-1:] if size else []
    delta, lam, y = rng.normal(size=nr), rng.normal(size=state.ndx), np.zeros(model.nc)
    of = programs.lagrangian(model, nu, model.nc, size, nr)
    H = np.subtract(*(of.evaluate(x, u, p, lam, y, *kept, each)[0] for each in (delta, np.zeros(nr))))
    for _ in range(4):
        z = rng.normal(size=state.ndx + nu)
        ahead, here, behind = (residuals(part * STEP * z) for part in (1.0, 0.0, -1.0))
        curvature = 0.5 * DT * delta @ (ahead - 2.0 * here + behind) / STEP**2
        assert z @ H @ z == pytest.approx(curvature, rel=1e-4, abs=1e-5)
        look = programs.running_gradient_ahead(model, nu, size, nr)
        gradient, change = (np.ravel(each) for each in look.evaluate(x, u, p, z[: state.ndx], z[state.ndx :], *kept))
        weight = costs.terms[0].weight.default  # quadratic activations: w r, and w R dz
        np.testing.assert_allclose(gradient, weight * here, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(change, weight * (ahead - behind) / (2.0 * STEP), rtol=1e-4, atol=1e-5)
