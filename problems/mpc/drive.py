"""A robot with two driven wheels follows a path among obstacles, one of which moves."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.circles import check_circles, outside_circles
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.mpc.checks import check_period
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector
from trajopt.types import Reals

LOOP, LAP = (2.0, 1.0), 16.0  # half of the length and width of the path [m], time of a round [s]
CIRCLES = ((1.35, 0.75, 0.2), (-1.6, -1.1, 0.25), (1.6, -0.7, 0.2))  # [m]
CROSSING = (0.0, 0.5, 0.2)  # a circle that moves to and fro along x: its middle and radius [m]
BODY_RADIUS, TRACK = 0.2, 0.4  # [m]
WEIGHTS = (10.0, 10.0, 0.0, 1.0, 1.0)


class DifferentialActionModelWheels(DifferentialActionModelSymbolic):
    """Two driven wheels: ẋ = v cos θ, ẏ = v sin θ, θ̇ = (v_r - v_l) / b, v = (v_l + v_r) / 2, v̇_l = a_l, v̇_r = a_r.

    The state is (x, y, θ, v_l, v_r) with the speeds of the wheels, the control (a_l, a_r) [m/s²].

    Args:
        costs: Costs of an instant.
        constraints: What holds at a knot.
        track: b, distance between the wheels, > 0 [m]. Run-time parameter.
    """

    def __init__(self, costs: CostStack, *, constraints: ConstraintStack | None = None, track: float = TRACK) -> None:
        names = {"control_names": ["left", "right"], "control_units": ["m/s²"] * 2}
        super().__init__(costs.state, 2, costs, constraints=constraints, **names)
        self.track = self.parameter("track", check_positive("track", track), unit="m")

    def xdot(self, x: SX, u: SX) -> SX:
        speed = (x[3] + x[4]) / 2
        return SX(ca.vertcat(speed * ca.cos(x[2]), speed * ca.sin(x[2]), (x[4] - x[3]) / self.track, u))


def state_of_wheels() -> StateVector:
    """Its state, with names and units."""
    return StateVector(5, names=["x", "y", "theta", "left", "right"], units=["m", "m", "rad", "m/s", "m/s"])


def path(times: npt.ArrayLike) -> Reals:
    """Points of a figure of eight (n, 2) at times (n,) [m]."""
    phase = 2 * np.pi * np.asarray(times, dtype=np.float64) / LAP
    return np.column_stack([LOOP[0] * np.sin(phase), LOOP[1] * np.sin(2 * phase)])


def wheel_speeds(times: npt.ArrayLike, track: float = TRACK) -> Reals:
    """Speeds of the left and the right wheel along the path (n, 2) at times (n,) [m/s]."""
    rate = 2 * np.pi / LAP
    phase = rate * np.asarray(times, dtype=np.float64)
    dx, dy = LOOP[0] * rate * np.cos(phase), 2 * LOOP[1] * rate * np.cos(2 * phase)
    ddx, ddy = -LOOP[0] * rate**2 * np.sin(phase), -4 * LOOP[1] * rate**2 * np.sin(2 * phase)
    speed, turn = np.hypot(dx, dy), (dx * ddy - dy * ddx) / (dx**2 + dy**2)
    return np.column_stack([speed - turn * track / 2, speed + turn * track / 2])


class Surroundings:
    """Path and obstacles at any time.

    Args:
        circles: Rows (x, y, radius) of what stands (n, 3) [m].
        far: Distance that the centre of the body keeps from their edges [m].
    """

    def __init__(self, circles: Reals, far: float) -> None:
        self.circles, self.far = circles, far

    def at(self, times: Reals) -> Reals:
        """Circles at times (n,), that which moves included (n, circles, 3) [m]."""
        rows = np.tile(np.vstack([self.circles, CROSSING]), (len(times), 1, 1))
        rows[:, -1, 0] += 1.2 * np.cos(2 * np.pi * times / 6.0)
        return rows

    def __call__(self, times: Reals) -> Mapping[str, Reals]:
        """Parameters of knots at times (n,) [s]."""
        goals = np.zeros((len(times), 5))
        goals[:, :2], goals[:, 3:] = path(times), wheel_speeds(times)
        return {"state.reference": goals, "obstacles.circles": self.at(times) + np.array([0.0, 0.0, self.far])}


def horizon(
    count: int, *, N: int = 40, dt: float = 0.1, acceleration: float = 2.0, speed: float = 1.2
) -> ShootingProblem:
    """The problem of `build` for N knots and `count` circles; what moves is the parameters of `Surroundings`."""
    state = state_of_wheels()

    def limits() -> ConstraintStack:
        wheels = ResidualModelState(state, elements=["left", "right"])
        stack = ConstraintStack(state).add("wheels", wheels, lower=-speed, upper=speed)
        return stack.add("obstacles", outside_circles(state, np.tile([99.0, 99.0, 1.0], (count, 1))), lower=0.0)

    def costs(factor: float) -> CostStack:
        goal = ResidualModelState(state, np.zeros(5))
        return CostStack(state).add("state", goal, factor, ActivationModelWeightedQuad(WEIGHTS))

    running = costs(1.0).add("acceleration", ResidualModelControl(state), weight=0.05)
    rows = limits().add("motors", ResidualModelControl(state), lower=-acceleration, upper=acceleration)
    node = IntegratedActionModelRK4(DifferentialActionModelWheels(running, constraints=rows), dt)
    x0 = np.array([0.0, 0.0, np.arctan2(2 * LOOP[1], LOOP[0]), 0.0, 0.0])
    return ShootingProblem(x0, [node] * N, ActionModelTerminal(costs(1.0), constraints=limits()))


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

    p_ref runs along a figure of eight, 4 m x 2 m, in 16 s, for which wheels turn as v_ref; without that the robot
    drives backwards at times. The body, of radius 0.2 m, keeps `margin` from circles that lie on its way, and from one
    that crosses it to and fro, whose motion the controller knows; wheels turn at `speed` at most: soft limits. The
    plant takes Runge-Kutta steps of 10 ms, with another track than the controller's 0.4 m.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        acceleration: Largest acceleration of a wheel, > 0 [m/s²].
        speed: Largest speed of a wheel, > 0 [m/s].
        circles: Rows (x, y, radius) of what stands in the way [m].
        margin: Distance of the body from circles, >= 0 [m].
        track: Distance between the wheels of the plant, > 0 [m].
    """
    rows = check_circles(circles)
    around = Surroundings(rows, BODY_RADIUS + check_non_negative("margin", margin, unit="m"))
    problem = horizon(
        len(rows) + 1,
        N=check_count("N", N, least=1),
        dt=check_positive("dt", dt, unit="s"),
        acceleration=check_positive("acceleration", acceleration, unit="m/s²"),
        speed=check_positive("speed", speed, unit="m/s"),
    )
    controller = mpc.MPCController(problem, options=mpc.MPCOptions(dt=check_period(period, problem)))
    controller.schedule(around)
    plant = DifferentialActionModelWheels(CostStack(problem.state), track=track)
    return MPCCase(
        name=FAMILY.name,
        description=FAMILY.description,
        controller=controller,
        plant=IntegratedActionModelRK4(plant, 1e-2),
        x0=problem.x0.copy(),
        duration=LAP,
        dt_plant=1e-2,
        follows=around,
        report=functools.partial(report, around, speed),
        obstacles=rows,
    )


def clearance(around: Surroundings, log: Any) -> Reals:
    """Distance of the body from each circle at each time (n, circles) [m]."""
    circles = around.at(log.times)
    away: Reals = np.linalg.norm(log.xs[:, None, :2] - circles[:, :, :2], axis=2) - circles[:, :, 2] - BODY_RADIUS
    return away


def report(around: Surroundings, speed: float, log: Any) -> dict[str, str]:
    """Distance from obstacles and from the path, and how fast the wheels turn."""
    near = clearance(around, log).min(axis=0)
    away = np.linalg.norm(log.xs[:, :2] - path(log.times), axis=1)
    return {
        "clearance": f"{1e3 * near[:-1].min(initial=np.inf):.3g} mm from what stands, {1e3 * near[-1]:.3g} mm from "
        f"what moves, asked for {1e3 * (around.far - BODY_RADIUS):g} mm",
        "distance": f"{1e3 * np.median(away):.3g} mm from the path in the median, {1e3 * away.max():.3g} mm at most",
        "wheels": f"{np.abs(log.xs[:, 3:]).max():.4g} m/s at most, the limit is {speed:g} m/s",
        "motors": f"{np.abs(log.us).max():.6g} m/s² at most",
    }


FAMILY = Family(
    name="drive-obstacles",
    description="A robot with two driven wheels follows a path among obstacles, one of which moves.",
    build=build,
    reference_holds=True,
)
