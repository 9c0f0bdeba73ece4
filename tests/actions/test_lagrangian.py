"""Hessians of the Lagrangian along a trajectory, against central differences of the gradient."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics, DifferentialActionModelSymbolic
from trajopt.actions.integrated import (
    IntegratedActionModelAbstract,
    IntegratedActionModelEuler,
    IntegratedActionModelRK4,
)
from trajopt.actuation import ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import UnsupportedOperationError
from trajopt.problems import load
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelFrameTranslation,
    ResidualModelState,
    ResidualModelSymbolic,
)
from trajopt.robots import load_robot
from trajopt.shooting import ShootingProblem, programs
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.states import StateMultibody, StateVector
from trajopt.types import Reals


class Pendulum(DifferentialActionModelSymbolic):
    def acceleration(self, x: SX, u: SX) -> SX:
        return SX(u - 9.81 * ca.sin(x[0]) - 0.1 * x[1] ** 3)


class Car(DifferentialActionModelSymbolic):
    def xdot(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(u * ca.cos(x[1]), ca.sin(u * x[0])))


def curved(x: SX, u: SX) -> SX:
    return SX(ca.vertcat(ca.sin(x[0]) * u[0] ** 2, ca.exp(0.3 * x[1]) * x[0]))


def problem(
    model: type[DifferentialActionModelSymbolic], integrator: type[IntegratedActionModelAbstract]
) -> ShootingProblem:
    state = StateVector(2)
    costs = CostStack(state).add("bend", ResidualModelSymbolic(state, curved), weight=3.0)
    costs.add("effort", ResidualModelControl(state), weight=0.1)
    rows = ConstraintStack(state).add("curve", ResidualModelSymbolic(state, curved), upper=1.0)
    node = integrator(model(state, 1, costs, constraints=rows), 0.1)
    end = CostStack(state).add("end", ResidualModelSymbolic(state, lambda x: ca.sin(x[0]) * x[1]), weight=2.0)
    last = ConstraintStack(state).add("end_row", ResidualModelSymbolic(state, lambda x: ca.cos(x[0] * x[1])), upper=0.0)
    last.add("box", ResidualModelState(state, np.zeros(2)), upper=1.0)
    return ShootingProblem(np.zeros(2), [node] * 9, ActionModelTerminal(end, constraints=last))


def gradients(e: Evaluator, lam: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Of l + λᵀ f + yᵀ c along (dx, du), for all knots, and at the end."""
    e.expand(None)
    F, g, _ = e.full()
    running = g[:-1] + (lam[1:, None, :] @ F)[:, 0] + (y[:-1, None, :] @ e.C)[:, 0]
    return running, e.terminal_g + y[-1] @ e.terminal_C


@pytest.mark.parametrize("integrator", [IntegratedActionModelEuler, IntegratedActionModelRK4])
@pytest.mark.parametrize("model", [Pendulum, Car])
def test_hessian_is_the_derivative_of_the_gradient(
    model: type[DifferentialActionModelSymbolic],
    integrator: type[IntegratedActionModelAbstract],
    rng: np.random.Generator,
) -> None:
    e = Evaluator(problem(model, integrator))
    hessian = LagrangianHessian(e)
    e.xs[:], e.us[:] = rng.standard_normal(e.xs.shape), rng.standard_normal(e.us.shape)
    hessian.lam[:], hessian.y[:] = rng.standard_normal(hessian.lam.shape), rng.standard_normal(hessian.y.shape)
    hessian()
    point, step = np.concatenate([e.xs[:-1], e.us], axis=1), 1e-5
    for i in range(3):
        sides = []
        for sign in (1.0, -1.0):
            moved = point.copy()
            moved[:, i] += sign * step
            e.xs[:-1], e.us[:] = moved[:, :2], moved[:, 2:]
            sides.append(gradients(e, hessian.lam, hessian.y)[0])
        np.testing.assert_allclose(hessian.H[:, :, i], (sides[0] - sides[1]) / (2 * step), atol=1e-7)
    last = e.xs[-1].copy()
    for i in range(2):
        sides = []
        for sign in (1.0, -1.0):
            e.xs[-1] = last + sign * step * np.eye(2)[i]
            sides.append(gradients(e, hessian.lam, hessian.y)[1])
        np.testing.assert_allclose(hessian.terminal_H[:, i], (sides[0] - sides[1]) / (2 * step), atol=1e-7)


def test_models_without_an_exact_hessian_refuse_it() -> None:
    e = Evaluator(load("hopper").problem)
    assert not LagrangianHessian.available(e, asked=True)
    with pytest.raises(UnsupportedOperationError, match="has no Hessian of the Lagrangian"):
        LagrangianHessian(e)


def test_contact_models_use_exact_hessians_only_on_request() -> None:
    """Compiling takes long: hessian="auto" is Gauss-Newton's there, as before."""
    e = Evaluator(load("humanoid-reach", T=3).problem)
    assert not LagrangianHessian.available(e)
    assert LagrangianHessian.available(e, asked=True)


def test_of_an_arm_s_runge_kutta_step_with_rows(rng: np.random.Generator) -> None:
    """The Hessian goes back over the stages; rows count at the knot."""
    state = StateMultibody(load_robot("planar-2r"))
    tool = ResidualModelFrameTranslation(state, "tool", np.array([0.4, 0.2, 0.1]))
    costs = CostStack(state).add("tool", tool, weight=2.0).add("effort", ResidualModelControl(state), weight=0.1)
    rows = ConstraintStack(state).add("reach", ResidualModelFrameTranslation(state, "tool", np.zeros(3)), upper=1.0)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), costs, constraints=rows)
    end = ActionModelTerminal(CostStack(state).add("tool", tool, weight=10.0))
    e = Evaluator(ShootingProblem(np.zeros(4), [IntegratedActionModelRK4(dynamics, 0.1)] * 9, end))
    hessian = LagrangianHessian(e)
    for array in (e.xs, e.us, hessian.lam, hessian.y):
        array[:] = rng.standard_normal(array.shape)
    hessian.y[-1] = 0.0
    hessian()
    for i, (array, column) in enumerate([(e.xs[:-1], i) for i in range(4)] + [(e.us, i) for i in range(2)]):
        kept, sides = array[:, column].copy(), []
        for sign in (1.0, -1.0):
            array[:, column] = kept + sign * 1e-5
            sides.append(gradients(e, hessian.lam, hessian.y)[0])
        array[:, column] = kept
        difference = (sides[0] - sides[1]) / 2e-5
        np.testing.assert_allclose(hessian.H[:, :, i], difference, atol=1e-6 * max(1.0, np.abs(difference).max()))


def arm_hessian(nodes: list[IntegratedActionModelAbstract], *, moved: bool) -> Reals:
    """Hessians (T, 6, 6) of knots of a planar arm at a random motion; `moved`: after those of another motion."""
    rng, state = np.random.default_rng(5), nodes[0].state
    e = Evaluator(ShootingProblem(np.zeros(4), nodes, ActionModelTerminal(CostStack(state))))
    hessian = LagrangianHessian(e)
    if moved:
        hessian()
    for array in (e.xs, e.us, hessian.lam):
        array[:] = rng.standard_normal(array.shape)
    e.expand(None)
    hessian()
    return hessian.H.copy()


def test_knots_of_several_models_use_the_expansion_of_their_own_model() -> None:
    """An Euler step keeps less than a Runge-Kutta step; a later call reads the later expansion."""
    state = StateMultibody(load_robot("planar-2r"))
    tool = ResidualModelFrameTranslation(state, "tool", np.array([0.4, 0.2, 0.1]))
    costs = CostStack(state).add("tool", tool, weight=2.0).add("effort", ResidualModelControl(state), weight=0.1)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), costs)
    euler, rk4 = IntegratedActionModelEuler(dynamics, 0.1), IntegratedActionModelRK4(dynamics, 0.1)
    both = arm_hessian([euler] * 4 + [rk4] * 5, moved=True)
    np.testing.assert_allclose(both[:4], arm_hessian([euler] * 9, moved=False)[:4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(both[4:], arm_hessian([rk4] * 9, moved=False)[4:], rtol=0, atol=1e-12)


def test_a_runge_kutta_step_of_an_arm_takes_one_and_a_half_expansions_operations_at_most() -> None:
    """It reads accelerations and their derivatives of the expansion; solved for anew, it was 2.5 of them for a UR5."""
    knot = load("arm-reach").problem.running[0]
    assert isinstance(knot, IntegratedActionModelEuler)
    model = IntegratedActionModelRK4(knot.differential, 0.01)
    hessian = programs.lagrangian(model, model.nu, kept=programs.kept_size(model))
    assert hessian.work < 1.5 * programs.expansion(model, model.nu).work
