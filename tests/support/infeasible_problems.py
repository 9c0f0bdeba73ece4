"""Problems without a solution, each with a number that makes it infeasible, and neighbours that are just feasible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from tests.support.constraints_that_hold import pendulum_problem
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems import parking
from trajopt.problems.car import ActionModelCar
from trajopt.problems.runge_kutta import ActionModelRungeKutta, ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector
from trajopt.types import Reals

INF = np.inf
Guess = tuple[Reals, Reals] | tuple[()]


@dataclass(frozen=True, kw_only=True)
class Infeasible:
    """A kind of problem that has no solution for some values of a number.

    Attributes:
        build: Problem and guess for a value of the number.
        infeasible: Values without a solution.
        feasible: Neighbouring values with one, which is found from the guess.
        rows: Constraints that contradict one another.
        iterations: Within which INFEASIBLE is said.
        proved: Values for which it is proved: by linear rows and dynamics, the equations of a knot, or boxes of states.
        hard: Further values: a solution is not found, attempts end differently, or too few of them end in time.
    """

    build: Callable[[float], tuple[ShootingProblem, Guess]]
    infeasible: tuple[float, ...]
    feasible: tuple[float, ...]
    rows: tuple[str, ...]
    iterations: int
    proved: tuple[float, ...] = ()
    hard: tuple[float, ...] = ()


KINDS: dict[str, Infeasible] = {}


def kind(*numbers: Any, **others: Any) -> Callable[..., None]:
    """Adds a kind: values without and with a solution, rows, iterations, and the other fields of `Infeasible`."""
    fields = dict(zip(("infeasible", "feasible", "rows", "iterations"), numbers))

    def add(build: Callable[[float], tuple[ShootingProblem, Guess]]) -> None:
        KINDS[build.__name__] = Infeasible(build=build, **fields, **others)

    return add


def line(start: Reals, goal: Reals, T: int, us: Reals) -> Guess:
    """States on a line, and the same control at each knot."""
    return np.linspace(start, goal, T + 1), np.tile(us, (T, 1))


class Bicycle(ActionModelRungeKutta):
    """A car, 2.5 m between its axles: x = (position of the rear axle, heading), u = (speed, steering)."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[0] * ca.tan(u[1]) / 2.5))


@kind((3.6, 4.2), (5.0, 6.0, 7.0), ("cars", "goal"), 20, proved=(3.6, 4.2), hard=(4.6,))
def bay(gap: float) -> tuple[ShootingProblem, Guess]:
    """Parallel parking of a car of 4.4 m, three circles of 0.95 m, between two others; `gap` metres between these."""
    state, T = StateVector(3, names=["x", "y", "heading"], units=["m", "m", "rad"]), 50
    posts = [(side * (gap / 2 + 0.95 + 1.25 * i), 0.0) for side in (-1, 1) for i in range(3)]

    def clearance(x: SX) -> SX:
        own = [x[:2] + d * ca.vertcat(ca.cos(x[2]), ca.sin(x[2])) for d in (0.0, 1.25, 2.5)]
        return ca.vertcat(*[ca.sumsqr(p - ca.DM(post)) - 1.9**2 for p in own for post in posts])

    rows = ConstraintStack(state).add("wheels", ResidualModelControl(state), lower=[-2.0, -0.6], upper=[2.0, 0.6])
    rows.add("cars", ResidualModelSymbolic(state, clearance), lower=0.0)
    rows.add("kerb", ResidualModelState(state), lower=[-INF, -0.2, -INF])
    start, goal = np.array([gap / 2 + 1.5, 2.4, 0.0]), np.array([-1.25, 0.0, 0.0])
    last = ConstraintStack(state).add("goal", ResidualModelState(state, goal), equals=0.0)
    last.add("cars", ResidualModelSymbolic(state, clearance), lower=0.0)
    model = Bicycle(2, rows, dt=0.2, goal=goal, weight=0.0, effort=1.0)
    problem = ShootingProblem(start, [model] * T, ActionModelTerminal(CostStack(state), constraints=last))
    return problem, line(start, goal, T, np.array([-0.3, 0.0]))


@kind((0.05,), (0.15, 0.2), ("goal",), 60, proved=(0.05,), hard=(0.08,))
def lane(dt: float) -> tuple[ShootingProblem, Guess]:
    """The ready problem `parking` with 20 knots of `dt`: it turns by pi/2, drives 1.5 m, and turns back."""
    case = parking.build(T=20, dt=dt)
    assert case.xs is not None
    assert case.us is not None
    return case.problem, (case.xs, case.us)


class Arm(ActionModelRungeKutta):
    """Two links of 1 m with a unit inertia at each joint: x = (angles, velocities), u = torques."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[2], x[3], u[0] - 0.3 * ca.sin(x[1]) * x[3] ** 2, u[1] + 0.3 * ca.sin(x[1]) * x[2] ** 2))


def tool(x: SX) -> SX:
    """Position of the end of the second link (2,) [m]."""
    return ca.vertcat(ca.cos(x[0]) + ca.cos(x[0] + x[1]), ca.sin(x[0]) + ca.sin(x[0] + x[1]))


@kind((2.05, 3.0), (1.99, 1.5), ("tool",), 210)
def reach(distance: float) -> tuple[ShootingProblem, Guess]:
    """The tool of an arm of two links, 2 m together, has to be at a distance from the base at the end."""
    state, T = StateVector(4), 30
    rows = ConstraintStack(state).add("motors", ResidualModelControl(state), lower=-20.0, upper=20.0)
    goal = ResidualModelSymbolic(state, lambda x: tool(x) - ca.DM([0.6 * distance, 0.8 * distance]), unit="m")
    last = ConstraintStack(state).add("tool", goal, equals=0.0)
    model = Arm(2, rows, dt=0.05, goal=np.zeros(4), weight=0.0, effort=1.0)
    return ShootingProblem(
        [0.3, 1.0, 0.0, 0.0], [model] * T, ActionModelTerminal(CostStack(state), constraints=last)
    ), ()


class Mass(ActionModelRungeKutta):
    """ẍ = u."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u))


def mass(x0: Reals, T: int, dt: float, most: float, end: dict[str, Reals], **bounds: Reals) -> ShootingProblem:
    """A mass whose acceleration is at most `most`, with bounds of its state, and at the end."""
    state = StateVector(2, names=["x", "v"], units=["m", "m/s"])
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-most, upper=most)
    if bounds:
        rows.add("path", ResidualModelState(state), **bounds)
    last = ConstraintStack(state).add("end", ResidualModelState(state), **end)
    model = Mass(1, rows, dt=dt, goal=np.zeros(2), weight=0.0, effort=1.0)
    return ShootingProblem(x0, [model] * T, ActionModelTerminal(CostStack(state), constraints=last))


@kind((20.0, 24.5), (25.5, 30.0), ("motor", "path", "x0"), 12, proved=(20.0, 24.5))
def brakes(wall: float) -> tuple[ShootingProblem, Guess]:
    """A car at 20 m/s stops before a wall, with at most 8 m/s²: within 25 m."""
    stop = {"lower": np.array([-INF, 0.0]), "upper": np.array([wall, 0.0])}
    return mass(np.array([0.0, 20.0]), 40, 0.1, 8.0, stop, upper=np.array([wall, INF])), ()


class Dragged(Mass):
    """ẍ = u - 0.01 v², air drag with a sign."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u - 0.01 * x[1] * ca.sqrt(x[1] ** 2 + 0.01)))


@kind((15.0, 19.5), (21.5, 25.0), ("path",), 115, proved=(15.0,))
def brakes_with_drag(wall: float) -> tuple[ShootingProblem, Guess]:
    """A car at 20 m/s stops before a wall, with at most 8 m/s² and air drag: within 20.3 m."""
    state = StateVector(2, names=["x", "v"], units=["m", "m/s"])
    rows = ConstraintStack(state).add("brakes", ResidualModelControl(state), lower=-8.0, upper=3.0)
    rows.add("path", ResidualModelState(state), upper=[wall, INF])
    last = ConstraintStack(state).add("end", ResidualModelState(state), lower=[-INF, 0.0], upper=[wall, 0.0])
    model = Dragged(1, rows, dt=0.1, goal=np.zeros(2), weight=0.0, effort=1.0)
    end = ActionModelTerminal(CostStack(state), constraints=last)
    return ShootingProblem([0.0, 20.0], [model] * 40, end), ()


@kind((1.5, 1.05), (0.95, 0.5), ("motor", "path", "x0"), 12, proved=(1.5, 1.05))
def start_outside(x: float) -> tuple[ShootingProblem, Guess]:
    """A mass that starts at x, at rest, must be left of 1 m at each knot; 0.1 s bring it at most 0.01 m away."""
    nothing = {"lower": np.array([0.0, 0.0]), "upper": np.array([0.0, 0.0])}
    return mass(np.array([x, 0.0]), 40, 0.1, 2.0, nothing, upper=np.array([1.0, INF])), ()


@kind((1.3,), (0.6, 0.8, 0.95), ("walls", "rock"), 290, hard=(1.05,))
def corridor(radius: float) -> tuple[ShootingProblem, Guess]:
    """A car in a corridor, 1 m to each side, passes a round rock in its middle."""
    state, T = StateVector(3, names=["x", "y", "heading"], units=["m", "m", "rad"]), 40
    rows = ConstraintStack(state).add("speed", ResidualModelControl(state), lower=-2.0, upper=2.0)
    rows.add("walls", ResidualModelState(state), lower=[-INF, -1.0, -INF], upper=[INF, 1.0, INF])
    rows.add("rock", ResidualModelSymbolic(state, lambda x: (x[0] - 3.0) ** 2 + x[1] ** 2), lower=radius**2)
    goal = np.array([6.0, 0.0, 0.0])
    model = ActionModelCar(rows, dt=0.15, goal=goal, weight=1e-2, effort=1e-1)
    start = np.array([0.0, 0.1, 0.0])
    return ShootingProblem(start, [model] * T, ends_at(state, goal)), line(start, goal, T, np.array([1.0, 0.0]))


@kind((1.2, 2.0), (0.9, 0.3), ("disk",), 60, proved=(1.2, 2.0))
def two_rows(east: float) -> tuple[ShootingProblem, Guess]:
    """From a knot on a car must stay within a disk of 1 m, and in the east."""
    state, T = StateVector(3, names=["x", "y", "heading"], units=["m", "m", "rad"]), 20
    rows = ConstraintStack(state).add("speed", ResidualModelControl(state), lower=-2.0, upper=2.0)
    rows.add("disk", ResidualModelSymbolic(state, lambda x: ca.sumsqr(x[:2])), upper=1.0)
    rows.add("east", ResidualModelState(state), lower=[-10.0, -INF, -INF])
    model = ActionModelCar(rows, dt=0.15, goal=np.zeros(3), weight=1e-2, effort=1e-1)
    problem = ShootingProblem(np.zeros(3), [model] * T, CostStack(state))
    problem.set_parameter("east.lower", [east, -INF, -INF], knots=[15, 16])
    return problem, ()


@kind((2.0, 1.0), (0.15, 0.05), ("path",), 12, proved=(2.0, 1.0))
def two_knots(jump: float) -> tuple[ShootingProblem, Guess]:
    """A mass must be within 0 at a knot, and beyond a jump at the next one; its speed is at most 2 m/s."""
    nothing = {"lower": np.array([-INF, -INF]), "upper": np.array([INF, 2.0])}
    problem = mass(np.zeros(2), 20, 0.1, 8.0, nothing, lower=np.array([-9.0, -2.0]), upper=np.array([9.0, 2.0]))
    problem.set_parameter("path.upper", [0.0, 2.0], knots=[10])
    problem.set_parameter("path.lower", [jump, -2.0], knots=[11])
    return problem, ()


@kind((0.5, 0.9), (1.0, 1.5), ("path", "end"), 12, proved=(0.5, 0.9))
def end_beyond(wall: float) -> tuple[ShootingProblem, Guess]:
    """A mass ends at rest at 1 m, left of a wall."""
    rest = {"lower": np.array([1.0, 0.0]), "upper": np.array([1.0, 0.0])}
    return mass(np.zeros(2), 40, 0.1, 2.0, rest, upper=np.array([wall, INF])), ()


@kind((0.3, 0.6, 0.9), (1.42, 1.5, 1.8), ("upright", "motor"), 100)
def swing_up(torque: float) -> tuple[ShootingProblem, Guess]:
    """The pendulum of the documentation with a weaker motor."""
    problem = pendulum_problem()
    problem.set_parameter("motor.lower", -torque)
    problem.set_parameter("motor.upper", torque)
    return problem, ()


class Plane(DifferentialActionModelSymbolic):
    """ẍ = u in the plane."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def in_plane(**rows: tuple[Callable[[SX], SX], Reals | float, Reals | float]) -> ShootingProblem:
    """A mass at rest at 0 moves for 2 s with least effort; at the end it keeps these functions within bounds."""
    state = StateVector(4, names=["x", "y", "vx", "vy"], units=["m", "m", "m/s", "m/s"])
    costs = CostStack(state).add("effort", ResidualModelControl(state), weight=1.0)
    last = ConstraintStack(state)
    for name, (function, lower, upper) in rows.items():
        last.add(name, ResidualModelSymbolic(state, function), lower=lower, upper=upper)
    model = IntegratedActionModelRK4(Plane(state, 2, costs), dt=0.05)
    return ShootingProblem(np.zeros(4), [model] * 40, ActionModelTerminal(CostStack(state), constraints=last))


@kind((3.0, 1.5), (1.4, 0.5), ("disk", "line"), 130)
def disk_and_line(far: float) -> tuple[ShootingProblem, Guess]:
    """It ends within 1 m, where x + y is at least `far`; x + y is 1.414 m at most there."""
    return in_plane(disk=(lambda x: ca.sumsqr(x[:2]), -INF, 1.0), line=(lambda x: x[0] + x[1], far, INF)), ()


@kind((), (3.9, 2.0), ("left", "right"), 300, hard=(4.1, 5.0, 7.0, 50.0))
def two_circles(apart: float) -> tuple[ShootingProblem, Guess]:
    """It ends on two circles of 2 m; attempts that begin far away, where rows change by 1e9 m², are no solution."""
    circles = (lambda x: ca.sumsqr(x[:2])), (lambda x: ca.sumsqr(x[:2] - ca.DM([apart, 0.0])))
    return in_plane(left=(circles[0], 4.0, 4.0), right=(circles[1], 4.0, 4.0)), ()


class Cart(DifferentialActionModelSymbolic):
    """ẍ = u, whose time step may be free."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


@kind((1.0, 1.9), (2.05, 3.0), ("end",), 115, proved=(1.0,))
def little_time(longest: float) -> tuple[ShootingProblem, Guess]:
    """A mass with 1 m/s² moves by 1 m, from rest to rest, in a time to be chosen: at least 2 s."""
    state, T = StateVector(2, names=["x", "v"], units=["m", "m/s"]), 20
    costs = CostStack(state).add("time", ResidualModelSymbolic(state, lambda x: SX(np.sqrt(2.0))), weight=1.0)
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-1.0, upper=1.0)
    last = ConstraintStack(state).add("end", ResidualModelState(state, [1.0, 0.0]), equals=0.0)
    model = IntegratedActionModelRK4(Cart(state, 1, costs, constraints=rows), dt=0.5 * longest / T)
    problem = ShootingProblem(np.zeros(2), [model] * T, ActionModelTerminal(CostStack(state), constraints=last))
    problem.free("dt", 0.05 * longest / T, longest / T)
    return problem, ()


class Rocket(ActionModelRungeKutta):
    """A rocket above the Moon: x = (height, speed, mass), u = thrust, in units of 100 m, 1 s and 1 t."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u / x[2] - 0.0162, -u / 25.0))


@kind((1.97, 1.93), (1.9, 1.7), ("tank", "landed"), 130)
def fuel(dry: float) -> tuple[ShootingProblem, Guess]:
    """A rocket of 2 t, 10 units high, that falls at 0.5, lands at rest; its mass without fuel is `dry`."""
    state, T = StateVector(3, names=["height", "speed", "mass"]), 40
    rows = ConstraintStack(state).add("thrust", ResidualModelControl(state), lower=0.0, upper=0.15)
    rows.add("tank", ResidualModelState(state), lower=[0.0, -INF, dry])
    last = ConstraintStack(state)
    last.add("landed", ResidualModelState(state), lower=[0.0, 0.0, -INF], upper=[0.0, 0.0, INF])
    last.add("tank", ResidualModelState(state), lower=[-INF, -INF, dry])
    model = Rocket(1, rows, dt=1.0, goal=np.zeros(3), weight=0.0, effort=1.0)
    problem = ShootingProblem([10.0, -0.5, 2.0], [model] * T, ActionModelTerminal(CostStack(state), constraints=last))
    return problem, ()


@kind((1.0, 0.6), (-0.1, -0.5), ("motor", "end", "start"), 12, proved=(1.0, 0.6))
def start_too_late(least: float) -> tuple[ShootingProblem, Guess]:
    """A mass with 1 m/s² chooses where it starts, at least at `least`, and is at 0, at rest, after 1 s."""
    state, T = StateVector(2, names=["x", "v"]), 20
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-1.0, upper=1.0)
    last = ConstraintStack(state).add("end", ResidualModelState(state), equals=0.0)
    model = Mass(1, rows, dt=0.05, goal=np.zeros(2), weight=0.0, effort=1.0)
    start = np.array([least, 0.0]), np.array([least + 0.5, 0.0])
    end = ActionModelTerminal(CostStack(state), constraints=last)
    return ShootingProblem([least + 0.2, 0.0], [model] * T, end, start=start), ()
