"""Motions of mobile robots under given controls, and states and controls along a path."""

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
    """Drives with given controls, each held for a step, and returns the motion with its cost.

    It is a Solution without gains, which has pictures, tables, and `covariance(noise, feedback=False)`.

    Args:
        model: A differential drive or a unicycle.
        x0: First state (nx,).
        us: Controls (T, nu).
        dt: Duration of a step, > 0 [s].
        integrator: "euler", x⁺ = x + f(x, u) dt, or "rk4", which is off by dt⁵ a step.

    Raises:
        InvalidArgumentError: A size is another, or the model is no mobile robot.
    """
    check_model(model)
    step = INTEGRATORS[check_known("integrator", integrator, INTEGRATORS)](model, check_positive("dt", dt, unit="s"))
    given = as_numbers("us", us)
    controls = check_array("us", given, (max(1, len(given) if given.ndim else 0), model.nu), cure="one row a step")
    first = check_array("x0", x0, (model.state.nx,))
    problem = ShootingProblem(first, [step] * len(controls), CostStack(model.state))
    xs = problem.rollout(controls)
    cost = float(problem.calc(xs, controls).costs.sum())
    return motion_solution(problem, xs, controls, solver=f"rollout ({integrator})", cost=cost)


def along(path: PlanarPath, model: MobileModel) -> tuple[Reals, Reals]:
    """States (n, nx) and controls (n - 1, nu) that drive along a path: a guess for solvers, from its curvature.

    Controls are the rates halfway between two times, or, of models with rates as states, their differences divided by
    the time between them: motions with them leave the path by an error of order dt². The guess knows no limits.

    Args:
        path: The path at the times of the knots.
        model: A differential drive, whose `radius` and `half_track` are the first ones, or a unicycle.
    """
    check_instance("path", path, PlanarPath, "PlanarPath.of_curve and of_points make one")
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
    """Raises InvalidArgumentError unless a model is that of a mobile robot."""
    if not isinstance(model, (DifferentialActionModelDiffDrive, DifferentialActionModelUnicycle)):
        raise InvalidArgumentError(
            f"model: expected a DifferentialActionModelDiffDrive or a DifferentialActionModelUnicycle, got "
            f"{shown(model)}; solvers and integrators take any model, see IntegratedActionModelRK4"
        )
