"""Motions of mobile robots: simulated from controls, or guessed along a path."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.checks import as_numbers, check_array, check_instance, check_known, check_positive
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown
from trajopt.planar.diff_drive import DifferentialActionModelDiffDrive
from trajopt.planar.path import PlanarPath
from trajopt.planar.unicycle import DifferentialActionModelUnicycle
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import Solution, motion_solution
from trajopt.types import Reals

INTEGRATORS = {"euler": IntegratedActionModelEuler, "rk4": IntegratedActionModelRK4}
MobileModel = DifferentialActionModelDiffDrive | DifferentialActionModelUnicycle


def rollout(
    model: MobileModel, x0: npt.ArrayLike, us: npt.ArrayLike, dt: float, *, integrator: str = "rk4"
) -> Solution:
    """Simulates a mobile robot with piecewise constant controls, and returns the motion with its cost.

    The result is a Solution without gains. It has plots, tables, and `covariance(noise, feedback=False)`.

    Args:
        model: Differential drive or unicycle.
        x0: Initial state (nx,).
        us: Controls (T, nu), each constant for one step.
        dt: Duration of a step, > 0 [s].
        integrator: "euler", x⁺ = x + f(x, u) dt, or "rk4", with an error of order dt⁵ in each step.

    Raises:
        InvalidArgumentError: A size is wrong, or the model is not a mobile robot.
    """
    check_model(model)
    step = INTEGRATORS[check_known("integrator", integrator, INTEGRATORS)](model, check_positive("dt", dt, unit="s"))
    numbers = as_numbers("us", us)
    controls = check_array(
        "us", numbers, (max(1, len(numbers) if numbers.ndim else 0), model.nu), cure="one row for each step"
    )
    first = check_array("x0", x0, (model.state.nx,))
    problem = ShootingProblem(first, [step] * len(controls), CostStack(model.state))
    xs = problem.rollout(controls)
    cost = float(problem.calc(xs, controls).costs.sum())
    return motion_solution(problem, xs, controls, solver=f"rollout ({integrator})", cost=cost)


def along(path: PlanarPath, model: MobileModel) -> tuple[Reals, Reals]:
    """States (n, nx) and controls (n - 1, nu) along a path, computed from its curvature: an initial guess for solvers.

    Controls are the rates halfway between two times. If rates are states, controls are their differences divided by
    the time between them. A rollout with these controls leaves the path by an error of order dt². Limits are ignored.

    Args:
        path: Path at the times of the knots.
        model: Differential drive, with the initial values of `radius` and `half_track`, or unicycle.
    """
    check_instance("path", path, PlanarPath, "use PlanarPath.of_curve or PlanarPath.of_points")
    check_model(model)
    if isinstance(model, DifferentialActionModelDiffDrive):
        values = {name: float(p.default) for name, p in model.parameters().items() if name in ("radius", "half_track")}
        rates = path.wheel_rates(**values)
    else:
        rates = np.column_stack([path.speeds, path.turn_rates])
    if model.state.nx == 3:
        return path.poses.copy(), 0.5 * (rates[:-1] + rates[1:])
    return np.column_stack([path.poses, rates]), np.diff(rates, axis=0) / np.diff(path.times)[:, None]


def check_model(model: object) -> None:
    """Raises InvalidArgumentError unless a model is a mobile robot."""
    if not isinstance(model, (DifferentialActionModelDiffDrive, DifferentialActionModelUnicycle)):
        raise InvalidArgumentError(
            f"model: expected a DifferentialActionModelDiffDrive or a DifferentialActionModelUnicycle, got "
            f"{shown(model)}; for other models use a solver, or an integrator such as IntegratedActionModelRK4"
        )
