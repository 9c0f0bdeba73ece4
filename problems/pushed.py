"""Common part of problems in which the first joint of a mechanism is pushed, through the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelMatrix
from trajopt.checks import check_count, check_positive
from trajopt.costs import CostStack
from trajopt.problems.case import ProblemCase, Report
from trajopt.problems.family import Family
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.simulator import ActionModelSimulator, Simulator
from trajopt.types import Reals

GRAVITY, STRENGTH = 9.81, 1e7  # [m/s²]; of all contacts [N/m³]


def resting_depth(load: float, rays: int = 6) -> float:
    """Depth d at which a resting contact carries a load [N], from STRENGTH d³ = load (n + 1) / n with n rays [m]."""
    return float(np.cbrt((rays + 1) / rays * load / STRENGTH))


def pushed_case(
    family: Family,
    simulator: Simulator,
    costs: CostStack,
    x0: Reals,
    goal: Reals,
    weights: Sequence[float],
    *,
    T: int,
    dt: float,
    report: Report,
) -> ProblemCase:
    """minimise ∫ costs + ½ 1e-3 u² dt + ½ Σ weights (x ⊖ goal)² at the end, u the force on the first joint, for FDDP.

    The initial guess stays at x₀ without force.

    Args:
        family: Family of the case.
        simulator: The mechanism with its contacts.
        costs: Running costs [cost/s], to which the effort is added.
        x0: Initial state (nx,).
        goal: Final state to reach (nx,).
        weights: Weights of the final deviation (ndx,).
        T: Number of knots, at least 2 [-].
        dt: Time step [s].
        report: Function that describes a solution.
    """
    state, count, step = costs.state, check_count("T", T, least=2), check_positive("dt", dt, unit="s")
    costs.add("effort", ResidualModelControl(state), weight=1e-3)
    motor = ActuationModelMatrix(state, np.eye(state.ndx // 2)[:, :1])
    model = ActionModelSimulator(simulator, costs, dt=step, actuation=motor)
    activation = ActivationModelWeightedQuad(np.array(weights))
    end = CostStack(state).add("goal", ResidualModelState(state, goal), weight=1.0, activation=activation)
    return family.case(
        problem=ShootingProblem(x0, [model] * count, end),
        xs=np.tile(x0, (count + 1, 1)),
        us=np.zeros((count, 1)),
        report=report,
    )
