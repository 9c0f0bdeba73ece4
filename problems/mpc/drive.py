"""A robot with two driven wheels follows a path among fixed and moving obstacles."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionModelTerminal
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.planar import DifferentialActionModelDiffDrive, limit_wheels, state_of_wheels, wheel_rates
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.residuals import ResidualModelControl, ResidualModelObstacleDistance, ResidualModelState
from trajopt.robots.round_bodies import check_round
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals

LOOP, LAP = (2.0, 1.0), 16.0  # half the length and width of the path [m], duration of a lap [s]
CIRCLES = ((1.35, 0.75, 0.2), (-1.6, -1.1, 0.25), (1.6, -0.7, 0.2))  # [m]
CROSSING = (0.0, 0.5, 0.2)  # centre and radius of a circle that moves to and fro along x [m]
CROSSES, SHOWN = 6.0, 7  # its period [s], and number of its positions in pictures during half of it [-]
BODY_RADIUS, TRACK, RADIUS = 0.2, 0.4, 0.1  # of the body, between the wheels, of a wheel [m]
WEIGHTS = (10.0, 10.0, 0.0, RADIUS**2, RADIUS**2)  # the weight of wheel speeds along the ground is 1


def path(times: npt.ArrayLike) -> Reals:
    """Points of a figure of eight (n, 2) at times (n,) [m]."""
    phase = 2 * np.pi * np.asarray(times, dtype=np.float64) / LAP
    return np.column_stack([LOOP[0] * np.sin(phase), LOOP[1] * np.sin(2 * phase)])


def wheels_along(times: npt.ArrayLike, track: float = TRACK) -> Reals:
    """Rates of the right and the left wheel along the path (n, 2) at times (n,) [rad/s]."""
    rate = 2 * np.pi / LAP
    phase = rate * np.asarray(times, dtype=np.float64)
    dx, dy = LOOP[0] * rate * np.cos(phase), 2 * LOOP[1] * rate * np.cos(2 * phase)
    ddx, ddy = -LOOP[0] * rate**2 * np.sin(phase), -4 * LOOP[1] * rate**2 * np.sin(2 * phase)
    turn = (dx * ddy - dy * ddx) / (dx**2 + dy**2)
    return wheel_rates(np.hypot(dx, dy), turn, radius=RADIUS, half_track=track / 2)


class Surroundings:
    """Path and obstacles as functions of time.

    Args:
        circles: Rows (x, y, radius) of fixed obstacles (n, 3) [m].
        far: Distance that the centre of the body keeps from their edges [m].
    """

    def __init__(self, circles: Reals, far: float) -> None:
        self.circles, self.far = circles, far

    def at(self, times: Reals) -> Reals:
        """All circles at times (n,), including the moving one (n, circles, 3) [m]."""
        rows = np.tile(np.vstack([self.circles, CROSSING]), (len(times), 1, 1))
        rows[:, -1, 0] += 1.2 * np.cos(2 * np.pi * times / CROSSES)
        return rows

    def __call__(self, times: Reals) -> Mapping[str, Reals]:
        """Parameters of knots at times (n,) [s]."""
        goals = np.zeros((len(times), 5))
        goals[:, :2], goals[:, 3:] = path(times), wheels_along(times)
        return {"state.reference": goals, "obstacles.circles": self.at(times)}


def horizon(
    count: int,
    *,
    radius: float = BODY_RADIUS,
    N: int = 40,
    dt: float = 0.1,
    acceleration: float = 2.0,
    speed: float = 1.2,
) -> ShootingProblem:
    """Problem of `build` with N knots, for a body of a radius [m] and `count` circles; `Surroundings` moves them."""
    state = state_of_wheels()

    def limits() -> ConstraintStack:
        stack = limit_wheels(ConstraintStack(state), speed / RADIUS)
        away = np.tile([99.0, 99.0, 1.0], (count, 1))
        return stack.add("obstacles", ResidualModelObstacleDistance(state, away, radius))

    def costs(factor: float) -> CostStack:
        goal = ResidualModelState(state, np.zeros(5))
        return CostStack(state).add("state", goal, factor, ActivationModelWeightedQuad(WEIGHTS))

    running = costs(1.0).add("acceleration", ResidualModelControl(state), weight=0.05 * RADIUS**2)
    most = acceleration / RADIUS  # [rad/s²]
    rows = limits().add("motors", ResidualModelControl(state), lower=-most, upper=most)
    model = DifferentialActionModelDiffDrive(running, constraints=rows, radius=RADIUS, half_track=TRACK / 2)
    knot = IntegratedActionModelRK4(model, dt)
    x0 = np.array([0.0, 0.0, np.arctan2(2 * LOOP[1], LOOP[0]), 0.0, 0.0])
    return ShootingProblem(x0, [knot] * N, ActionModelTerminal(costs(1.0), constraints=limits()))


def build(
    *,
    N: int = 40,
    dt: float = 0.1,
    period: float = 0.05,
    acceleration: float = 2.0,
    speed: float = 1.2,
    circles: npt.ArrayLike = CIRCLES,
    margin: float = 0.05,
    track: float = 0.42,
) -> MPCCase:
    """minimise ∫ ½ (10 |p - p_ref|² + |(v_l, v_r) - v_ref|² + 0.05 |(a_l, a_r)|²) dt, |a| <= `acceleration` hard.

    v and a are speeds and accelerations of the wheels along the ground, r φ̇ and r φ̈ with r = 10 cm; the state
    contains φ̇, the control is φ̈. p_ref moves along a figure of eight, 4 m x 2 m, in 16 s, and v_ref are the wheel
    speeds for it; without v_ref the robot sometimes drives backwards.

    The body has radius 0.2 m. It keeps `margin` from circles on its way and from one that crosses it to and fro, whose
    motion the controller knows. Wheels turn at most at `speed`. These are soft limits. The plant takes Runge-Kutta
    steps of 10 ms, and its track differs from the controller's 0.4 m.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        acceleration: Largest acceleration of a wheel, > 0 [m/s²].
        speed: Largest speed of a wheel, > 0 [m/s].
        circles: Rows (x, y, radius) of fixed obstacles [m].
        margin: Distance of the body from circles, >= 0 [m].
        track: Distance between the wheels of the plant, > 0 [m].
    """
    rows = check_round("circles", circles, dim=2)
    around = Surroundings(rows, BODY_RADIUS + check_non_negative("margin", margin, unit="m"))
    problem = horizon(
        len(rows) + 1,
        radius=around.far,
        N=check_count("N", N, least=1),
        dt=check_positive("dt", dt, unit="s"),
        acceleration=check_positive("acceleration", acceleration, unit="m/s²"),
        speed=check_positive("speed", speed, unit="m/s"),
    )
    half = check_positive("track", track, unit="m") / 2
    plant = DifferentialActionModelDiffDrive(CostStack(problem.state), radius=RADIUS, half_track=half)
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        schedule=around,
        plant=IntegratedActionModelRK4(plant, 1e-2),
        duration=LAP,
        dt_plant=1e-2,
        report=functools.partial(report, around, speed),
        obstacles=rows,
        lines=tuple(outline(circle[-1]) for circle in around.at(np.linspace(0.0, CROSSES / 2, SHOWN))),
    )


def outline(circle: Reals) -> Reals:
    """Points (n, 2) of the edge of a circle (x, y, radius) [m]."""
    angle = np.linspace(0.0, 2 * np.pi, 49)
    return np.asarray(circle[:2] + circle[2] * np.column_stack([np.cos(angle), np.sin(angle)]))


def clearance(around: Surroundings, log: Any) -> Reals:
    """Distance of the body from each circle at each time (n, circles) [m]."""
    circles = around.at(log.times)
    away: Reals = np.linalg.norm(log.xs[:, None, :2] - circles[:, :, :2], axis=2) - circles[:, :, 2] - BODY_RADIUS
    return away


def report(around: Surroundings, speed: float, log: Any) -> dict[str, str]:
    """Distances from obstacles and from the path, and wheel speeds."""
    near = clearance(around, log).min(axis=0)
    away = np.linalg.norm(log.xs[:, :2] - path(log.times), axis=1)
    return {
        "clearance": f"{1e3 * near[:-1].min(initial=np.inf):.3g} mm from fixed obstacles, {1e3 * near[-1]:.3g} mm "
        f"from the moving one (margin {1e3 * (around.far - BODY_RADIUS):g} mm)",
        "distance": f"{1e3 * np.median(away):.3g} mm from the path in the median, {1e3 * away.max():.3g} mm at most",
        "wheels": f"{RADIUS * np.abs(log.xs[:, 3:]).max():.4g} m/s at most, the limit is {speed:g} m/s",
        "motors": f"{RADIUS * np.abs(log.us).max():.6g} m/s² at most",
    }


FAMILY = Family(
    name="drive-obstacles",
    description="A robot with two driven wheels follows a path among fixed and moving obstacles.",
    build=build,
)
