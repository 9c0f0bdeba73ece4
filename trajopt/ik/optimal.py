"""Inverse kinematics along a path as an optimal-control problem: all times at once, with smooth motions."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential.symbolic import DifferentialActionModelSymbolic
from trajopt.actions.integrated.euler import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.ik.tracker import Following
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateMultibody
from trajopt.types import Reals

PRICE = 1e7
"""Price of a deviation s from the path for one second, ½ PRICE s², relative to 1 + the sum of the costs' weights.
Deviations are about 1e-6 even without limits. Linear prices are exact, but took five times the iterations with
limits."""
APART = 1e4  # price of a distance below the margin, relative to that of a deviation from the path
PRICES = ("linear", "quadratic")  # parameters of rows that the user made soft
LIMITS, ACCELERATIONS, SMOOTHNESS = "joint_limits", "joint_accelerations", "smoothness"


class DifferentialActionModelKinematics(DifferentialActionModelSymbolic):
    """Kinematic robot with accelerations as controls: dq/dt = v, dv/dt = u.

    Args:
        state: State of the robot.
        costs: Running costs [cost/s].
        constraints: Constraints of the knot.
        acceleration: Largest accelerations (nv,), inf for no limit [rad/s², m/s²].
    """

    def __init__(
        self, state: StateMultibody, costs: CostStack, constraints: ConstraintStack, acceleration: Reals
    ) -> None:
        units = [f"{unit}²" for unit in state.tangent_units[-state.nv :]]
        names = [f"a{name[1:]}" for name in state.tangent_names[: state.nv]]
        super().__init__(
            state,
            state.nv,
            costs,
            constraints=constraints,
            lower=-acceleration,
            upper=acceleration,
            control_names=names,
            control_units=units,
        )

    def acceleration(self, x: SX, u: SX) -> SX:
        """The control itself (nv,) [rad/s², m/s²]."""
        return SX(ca.densify(u))


def optimal(following: Following, p: Reals, qs: Reals, vs: Reals, max_iterations: int) -> Solution:
    """Solves for the smoothest motion that follows the path.

    Args:
        following: Tasks and limits.
        p: Parameters of the tasks at each time (T + 1, np).
        qs: Initial guess of the configurations (T + 1, nq); position limits are widened for those beyond.
        vs: Initial guess of the velocities (T + 1, nv).
        max_iterations: Largest number of iterations of SolverSQP [-].
    """
    problem = path_problem(following, p, qs, vs)
    xs, us = np.hstack([qs, vs]), np.diff(vs, axis=0) / following.dt
    return SolverSQP(problem, SQPOptions(max_iterations=max_iterations)).solve(xs, us)


def path_problem(following: Following, p: Reals, qs: Reals, vs: Reals) -> ShootingProblem:
    """Problem with the targets of all knots, see `optimal`."""
    model, state = following.model, following.model.state
    smoothness = max(following.settling, following.dt) ** 4
    rows, ends = (_rows(following) for _ in range(2))
    most = following.bounds[4]
    if np.isfinite(most).any():
        rows.add(ACCELERATIONS, ResidualModelControl(state), lower=-most, upper=most)
    costs, end = (_costs(following) for _ in range(2))
    quadratic = ActivationModelWeightedQuad(following.weights)
    costs.add(SMOOTHNESS, ResidualModelControl(state), smoothness, quadratic)
    dynamics = DifferentialActionModelKinematics(state, costs, rows, following.bounds[4])
    knot = IntegratedActionModelEuler(dynamics, dt=following.dt)
    terminal = ActionModelTerminal(end, constraints=ends)
    problem = ShootingProblem(np.concatenate([qs[0], vs[0]]), [knot] * (len(qs) - 1), terminal)
    layout = model.layout
    soft = [c.name for c in model.constraints.constraints if c.soft is not None]
    prices = {f"{name}.{key}" for name in soft for key in PRICES}
    for name, parameter in layout.parameters.items():
        values = p[:, layout.slices[name]].copy()
        if name.endswith(".weight"):
            values[-1] *= following.dt  # because running costs are multiplied by dt
        elif name in prices:
            values *= following.dt  # because rows are not
        problem.set_parameter(name, [parameter.shaped(value) for value in values], knots="all")
    if LIMITS in rows.names:
        dx = np.array([state.difference(state.zero(), np.concatenate(x)) for x in zip(qs, vs, strict=True)])
        lower, upper = _bounds(following)
        problem.set_parameter(f"{LIMITS}.lower", list(np.minimum(lower, dx)), knots="all")
        problem.set_parameter(f"{LIMITS}.upper", list(np.maximum(upper, dx)), knots="all")
    return problem


def _bounds(following: Following) -> tuple[Reals, Reals]:
    """Lower and upper bounds of x ⊖ zero(), (2 nv,) each."""
    low, high, slowest, fastest, _ = following.bounds
    return np.concatenate([low, slowest]), np.concatenate([high, fastest])


def _rows(following: Following) -> ConstraintStack:
    """Constraints of the tasks, which may be violated at a price, and limits of positions and velocities."""
    stack = ConstraintStack(following.model.state)
    own = following.model.constraints.parameters(0)
    weight = 1.0 + sum(float(term.weight.default) for term in following.model.costs.terms)
    price = PRICE * weight * following.dt
    apart = {slots.name for slots in following.model.collisions}
    for c in following.model.constraints.constraints:
        lower, upper = (own[f"{c.name}.{key}"].default for key in ("lower", "upper"))
        soft: tuple[Any, Any] = 0.0, (APART if c.name in apart else 1.0) * price
        if c.soft is not None:
            linear, quadratic = (following.dt * own[f"{c.name}.{key}"].default for key in PRICES)
            soft = linear, quadratic
        stack.add(c.name, c.residual, lower=lower, upper=upper, soft=soft)
    bounds = _bounds(following)
    if any(np.isfinite(bound).any() for bound in bounds):
        state = following.model.state
        stack.add(LIMITS, ResidualModelState(state, state.zero()), lower=bounds[0], upper=bounds[1])
    return stack


def _costs(following: Following) -> CostStack:
    """Costs of the tasks."""
    stack = CostStack(following.model.state)
    for term in following.model.costs.terms:
        stack.add(term.name, term.residual.clone(), float(term.weight.default), term.activation.clone())
    return stack
