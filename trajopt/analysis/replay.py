"""Replay of a solution in the simulator, with feedback gains and a smaller time step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.analysis.references import knot_values
from trajopt.checks import check_count, check_flag
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator import ActionModelSimulator, Rollout
    from trajopt.solution import Solution


def replay(solution: Solution, substeps: int = 10, *, x0: Reals | None = None, clip: bool = False) -> Rollout:
    """Simulates the solution in smaller steps, with the feedback u = us_t - K_t (x ⊖ x_ref).

    x_ref moves from xs_t to xs_(t+1) along the step between them. The simulator has the parameters of the solve. Its
    barrier weight is per time, so that the barriers of smaller steps shrink with the step.

    Args:
        solution: Solution of a problem with the same ActionModelSimulator at all knots.
        substeps: Number of steps per knot, >= 1 [-].
        x0: Initial state (nx,); by default the first state of the solution.
        clip: Whether to clip controls to the motors' limits.

    Raises:
        InvalidArgumentError: The problem has other models, or the solver has no gains.
    """
    model, count = _model_of(solution), check_count("substeps", substeps, least=1)
    state, K, clip = model.state, solution.K, check_flag("clip", clip)
    if K is None:
        raise InvalidArgumentError(
            f"solution: expected one with gains K, got none from {solution.solver}; use SolverFDDP"
        )
    values, simulator = knot_values(solution), model.make_simulator()
    for name in simulator.model.parameters():
        if name != "dt":
            simulator.set_parameter(name, values[name][0])
    dt = float(values["dt"][0])

    def torque(time: float, x: Reals) -> Reals:
        knot, part = divmod(round(time / dt * count), count)
        step = state.difference(solution.xs[knot], solution.xs[knot + 1])
        reference = state.integrate(solution.xs[knot], part / count * step)
        u = solution.us[knot] - K[knot] @ state.difference(reference, x)
        u = np.clip(u, model.lower, model.upper) if clip else u
        return np.asarray(model.actuation.matrix @ u)

    start = solution.xs[0] if x0 is None else x0
    return simulator.rollout(start, torque, count * len(solution.us), dt / count)


def _model_of(solution: Solution) -> ActionModelSimulator:
    """Returns the model that all knots share."""
    from trajopt.simulator import ActionModelSimulator

    running = check_solution(solution).description.models[:-1]
    if not running or any(model is not running[0] for model in running):
        raise InvalidArgumentError("solution: expected a problem with one model at all knots, such as [model] * T")
    if not isinstance(running[0], ActionModelSimulator):
        raise InvalidArgumentError(
            f"solution: expected a problem with an ActionModelSimulator, got {type(running[0]).__name__}"
        )
    return running[0]
