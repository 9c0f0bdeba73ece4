"""Valid arguments and objects of `trajopt.planar` and its pictures."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import trajopt
from tests.fuzz.worlds import World
from trajopt import planar
from trajopt.solvers import SolverSQP

BODY = {"radius": 0.1, "half_track": 0.2}  # [m]
COUNT = 5


def _costs() -> trajopt.CostStack:
    return trajopt.CostStack(planar.state_of_pose())


def _model(w: World, rng: Random) -> Any:
    makers = (
        lambda: planar.DifferentialActionModelDiffDrive(_costs(), **BODY),
        lambda: planar.DifferentialActionModelUnicycle(_costs()),
    )
    return rng.choice(makers)()


def _spline() -> CubicHermiteSpline:
    return CubicHermiteSpline([0, 1], [(1, -1), (3, 4)], [(1, -3), (0, 2)])


def _path(w: World, rng: Random) -> planar.PlanarPath:
    return planar.PlanarPath.of_curve(_spline(), np.linspace(0.0, 1.0, COUNT))


def _points(w: World, rng: Random) -> Any:
    return np.array([(i + rng.random(), rng.random()) for i in range(COUNT)])


def _drive(w: World, rng: Random) -> trajopt.Solution:
    return planar.rollout(_model(w, rng), np.zeros(3), np.ones((COUNT, 2)), 0.1)


DRIVING: dict[str, Callable[[World, Random], Any]] = {
    **{
        f"{model}.{argument}": value
        for model in ("DifferentialActionModelDiffDrive", "DifferentialActionModelUnicycle")
        for argument, value in {
            "costs": lambda w, rng: _costs(),
            "options": lambda w, rng: {},
            "x": lambda w, rng: np.zeros(3),
            "u": lambda w, rng: np.ones(2),
        }.items()
    },
    "PlanarPath.times": lambda w, rng: np.arange(float(COUNT)),
    "PlanarPath.poses": lambda w, rng: np.ones((COUNT, 3)),
    "PlanarPath.speeds": lambda w, rng: np.ones(COUNT),
    "PlanarPath.turn_rates": lambda w, rng: np.zeros(COUNT),
    "PlanarPath.of_curve.curve": lambda w, rng: _spline(),
    "PlanarPath.of_curve.times": lambda w, rng: np.linspace(0.0, 1.0, COUNT),
    "PlanarPath.of_derivatives.times": lambda w, rng: np.linspace(0.0, 1.0, COUNT),
    **{f"PlanarPath.of_derivatives.{name}": _points for name in ("points", "velocities", "accelerations")},
    "PlanarPath.of_points.points": _points,
    "PlanarPath.of_points.differences": lambda w, rng: rng.choice(["backward", "central"]),
    "plot_ellipses.ellipses": lambda w, rng: _drive(w, rng).covariance(0.1, feedback=False).ellipses("x", "y"),
    "plot_ellipses.samples": _points,
    "plot_ellipses.paths": lambda w, rng: np.ones((2, COUNT + 1, 2)),
    "PlanarPath.at.times": lambda w, rng: [0.0, 0.3],
    "along.path": _path,
    "along.model": _model,
    "rollout.model": _model,
    "rollout.x0": lambda w, rng: np.zeros(3),
    "rollout.us": lambda w, rng: np.ones((COUNT, 2)),
    "replan.solution": _drive,
    "replan.knot": lambda w, rng: rng.choice([0, 2]),
    "replan.state": lambda w, rng: np.zeros(3),
    "replan.solver": lambda w, rng: SolverSQP,
    "limit_wheels.constraints": lambda w, rng: trajopt.ConstraintStack(planar.state_of_pose()),
    "limit_wheels.acceleration": lambda w, rng: None,
    "wheel_rates.speeds": lambda w, rng: [1.0, 2.0],
    "wheel_rates.turn_rates": lambda w, rng: [0.5, -0.5],
    "plot_drives.paths": lambda w, rng: {"one": _path(w, rng).poses},
    "plot_drives.points": lambda w, rng: [(0.0, 1.0)],
    "plot_drives.wheels": lambda w, rng: {"one": (_path(w, rng).times, _path(w, rng).wheel_rates(**BODY))},
}
"""By door and argument."""

FIXED_DRIVING: dict[str, Callable[[World, Random], Any]] = {
    "DifferentialActionModelDiffDrive": lambda w, rng: planar.DifferentialActionModelDiffDrive(_costs(), **BODY),
    "DifferentialActionModelUnicycle": lambda w, rng: planar.DifferentialActionModelUnicycle(_costs()),
    "PlanarPath": _path,
}
"""Objects to call methods on."""
