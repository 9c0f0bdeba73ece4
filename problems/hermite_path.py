"""A robot with two driven wheels follows a cubic Hermite spline that requires more than its wheels can do."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import as_numbers, check_array, check_count, check_flag, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.planar import DifferentialActionModelDiffDrive, PlanarPath, along, limit_wheels, state_of_pose
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution

if TYPE_CHECKING:  # because the import takes 0.2 s
    from scipy.interpolate import CubicHermiteSpline

POINTS = ((1.0, -1.0, 1.0, -3.0), (3.0, 4.0, 0.0, 2.0))  # points and velocities there [m, m, m/s, m/s]
WEIGHTS = (100.0, 100.0, 10.0)  # of x, y and the heading [cost/s per m², m² and rad²]
FINE = 4001  # number of times for the integral of the least time [-]
# Fraction of the limit that the fastest path uses: rates are constant between knots, and the end is hard.
RESERVE = 0.95


def spline(points: npt.ArrayLike = POINTS, duration: float = 1.0) -> CubicHermiteSpline:
    """Cubic Hermite spline through rows (x, y, ẋ, ẏ) at even times from 0 to `duration`."""
    from scipy.interpolate import CubicHermiteSpline

    numbers = as_numbers("points", points)
    if numbers.ndim != 2 or len(numbers) < 2:
        raise InvalidArgumentError(f"points: expected two or more rows (x, y, ẋ, ẏ), got shape {numbers.shape}")
    rows = check_array("points", numbers, (len(numbers), 4), cure="pass rows (x, y, ẋ, ẏ) [m, m, m/s, m/s]")
    times = np.linspace(0.0, check_positive("duration", duration, unit="s"), len(rows))
    return CubicHermiteSpline(times, rows[:, :2], rows[:, 2:])


def build(
    *,
    T: int = 100,
    duration: float = 1.0,
    points: npt.ArrayLike = POINTS,
    limit: float = 30.0,
    fastest: bool = False,
    radius: float = 1.0,
    half_track: float = 4.0,
    effort: float = 1e-4,
) -> ProblemCase:
    """minimise ∫ ½ (100 |p - p_ref|² + 10 (θ - θ_ref)² + w |φ̇|²) dt, |φ̇| <= `limit` hard, to the path's last pose.

    The controls are the rates φ̇ of both wheels. The path's curvature requires up to 86.5 rad/s of the right wheel and
    -83.3 rad/s of the left one. Within the limit, the robot leaves the path in the bend and is back at its end. With
    `fastest` the path is slower in the bend and faster elsewhere, so that the faster wheel always turns at 95 % of the
    limit. The integrator is Runge-Kutta.

    Args:
        T: Number of knots, >= 2 [-].
        duration: Duration of the spline, > 0 [s].
        points: Rows (x, y, ẋ, ẏ) through which the spline passes at even times, shape (n, 4) [m, m, m/s, m/s].
        limit: Largest rate of a wheel, > 0 [rad/s].
        fastest: Whether to follow the path in the shortest time at 95 % of the limit, 0.596 s, instead of `duration`.
        radius: Radius of the wheels, > 0 [m].
        half_track: Half of the distance between the wheels, > 0 [m].
        effort: Weight w of the rates, > 0 [cost/s per (rad/s)²].

    Source: spline and robot of the robotics notebook that `trajopt.planar` follows.
    """
    count, body = check_count("T", T, least=2), {"radius": radius, "half_track": half_track}
    curve, most = spline(points, duration), check_positive("limit", limit, unit="rad/s")
    fine = PlanarPath.of_curve(curve, np.linspace(0.0, duration, FINE))
    if check_flag("fastest", fastest):
        fine = fine.fastest(RESERVE * most, **body)
    times = np.linspace(0.0, fine.times[-1], 2 * count + 1)
    path, middles = fine.at(times[::2]), fine.at(times[1::2])
    state = state_of_pose()
    costs = CostStack(state).add("path", ResidualModelState(state), 1.0, ActivationModelWeightedQuad(WEIGHTS))
    costs.add("effort", ResidualModelControl(state), weight=check_positive("effort", effort))
    rows = limit_wheels(ConstraintStack(state), most)
    model = DifferentialActionModelDiffDrive(costs, constraints=rows, **body)
    knot = IntegratedActionModelRK4(model, path.times[-1] / count)
    problem = ShootingProblem(path.poses[0], [knot] * count, ends_at(state, path.poses[-1]))
    problem.set_parameter("path.reference", middles.poses, "running")  # the cost counts for the whole step
    xs, us = along(path, model)
    return FAMILY.case(problem=problem, xs=xs, us=us, report=functools.partial(report, path))


def report(path: PlanarPath, solution: Solution) -> dict[str, str]:
    """Returns texts with the distance of the robot from its path, and the wheel rates."""
    away = np.linalg.norm(solution.xs[:, :2] - path.poses[:, :2], axis=1)
    return {
        "distance": f"{1e3 * away.max():.3g} mm from the path at most, {1e3 * away[-1]:.2g} mm at the end",
        "time": f"{path.times[-1]:.4g} s",
        "wheels": f"{np.abs(solution.us).max():.4g} rad/s at most",
    }


FAMILY = Family(
    name="hermite-path",
    description="A robot with two driven wheels follows a spline that requires more than its wheels can do.",
    build=build,
    reference_cost=1.38488247,
    reference_source="IPOPT",
)
