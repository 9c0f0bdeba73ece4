"""Problems with a free time step or parameter, most of them with known optima; they return (problem, us, optimum)."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

import trajopt
from trajopt.actions import ActionModelTerminal
from trajopt.actions.integrated.base import IntegratedActionModelAbstract

Reals = npt.NDArray[np.float64]
Case = tuple[trajopt.ShootingProblem, Reals | None, float]
G = 9.81  # [m/s²]


def time_cost(state: trajopt.StateAbstract) -> trajopt.CostStack:
    return trajopt.CostStack(state).add("time", trajopt.ResidualModelTime(state), 1.0)


class System(trajopt.DifferentialActionModelSymbolic):
    """System of one control within limits, at the cost of time or none; the second coordinate may have limits too."""

    def __init__(
        self, nx: int, limits: tuple[float, float] | None, *, timed: bool = True, speed: float | None = None
    ) -> None:
        state = trajopt.StateVector(nx)
        costs = time_cost(state) if timed else trajopt.CostStack(state)
        rows = trajopt.ConstraintStack(state)
        if limits is not None:
            rows.add("limit", trajopt.ResidualModelControl(state), lower=limits[0], upper=limits[1])
        if speed is not None:
            second = trajopt.ResidualModelSymbolic(state, lambda x: x[1])
            rows.add("speed", second, lower=-speed, upper=speed)
        super().__init__(state, nu=1, costs=costs, constraints=rows)


class Mass(System):
    """Unit mass under a force."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


class Jerk(System):
    """Position, velocity and acceleration under a jerk."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[1], x[2], u)


class Bead(System):
    """Bead on a wire whose slope is the control: across, down and speed."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[2] * ca.sin(u), x[2] * ca.cos(u), G * ca.cos(u))


class Boat(System):
    """Zermelo's boat of speed 1 with a heading as control, on a river that flows fastest in its middle."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(ca.cos(u) + 0.6 * x[1] * (1.0 - x[1]), ca.sin(u))


class Rocket(System):
    """Goddard's rocket in units of its initial height, mass and gravity: height, speed and mass under a thrust."""

    def xdot(self, x: SX, u: SX) -> SX:
        drag = 310.0 * x[1] ** 2 * ca.exp(-500.0 * (x[0] - 1.0))
        return ca.vertcat(x[1], (u - drag) / x[2] - 1.0 / x[0] ** 2, -2.0 * u)


class Shuttle(trajopt.DifferentialActionModelSymbolic):
    """Re-entry of a shuttle: height [1e5 ft], latitude, speed [1e4 ft/s], path angle, azimuth; attack and bank [rad].

    Source: Betts, Practical Methods for Optimal Control and Estimation Using Nonlinear Programming, 2010, section 6.1.
    """

    def __init__(self) -> None:
        state = trajopt.StateVector(5)
        controls = trajopt.ResidualModelControl(state)
        rows = trajopt.ConstraintStack(state).add("controls", controls, lower=-np.pi / 2.0, upper=[np.pi / 2.0, 0.017])
        rows.add("height", trajopt.ResidualModelSymbolic(state, lambda x: x[0]), lower=0.0)
        rows.add("angle", trajopt.ResidualModelSymbolic(state, lambda x: x[3]), lower=-1.5, upper=1.5)
        super().__init__(state, nu=2, costs=trajopt.CostStack(state), constraints=rows)

    def xdot(self, x: SX, u: SX) -> SX:
        height, speed, attack, mass = 1e5 * x[0], 1e4 * x[2], u[0] * 180.0 / np.pi, 203000.0 / 32.174
        radius = 20902900.0 + height
        gravity, pressure = 0.14076539e17 / radius**2, 0.5 * 0.002378 * ca.exp(-height / 23800.0) * speed**2 * 2690.0
        lift = pressure * (-0.20704 + 0.029244 * attack) / mass
        drag = pressure * (0.07854 - 0.61592e-2 * attack + 0.621408e-3 * attack**2) / mass
        s, c, along = ca.sin(x[3]), ca.cos(x[3]), speed / radius
        turn = lift * ca.sin(u[1]) / (speed * c) + along / c * ca.sin(x[4]) * ca.sin(x[1])
        pitch = lift / speed * ca.cos(u[1]) + c * (along - gravity / speed)
        return ca.vertcat(speed * s / 1e5, along * c * ca.cos(x[4]), -(drag + gravity * s) / 1e4, pitch, turn)


class CartPole(System):
    """Cart of 1 kg with a pole of 0.3 kg at 0.5 m: positions, then velocities, under a force (Kelly 2017)."""

    def acceleration(self, x: SX, u: SX) -> SX:
        s, c, w = ca.sin(x[1]), ca.cos(x[1]), x[3]
        cart = (0.15 * s * w**2 + u + 0.3 * G * c * s) / (1.0 + 0.3 * s**2)
        pole = -(0.15 * c * s * w**2 + u * c + 1.3 * G * s) / (0.5 + 0.15 * s**2)
        return ca.vertcat(cart, pole)


def posed(
    knot: IntegratedActionModelAbstract, x0: list[float], N: int, goal: list[float], count: int | None = None
) -> trajopt.ShootingProblem:
    """Problem that ends at a goal, of the first `count` coordinates or all."""
    state = knot.state
    size = len(goal) if count is None else count
    residual = trajopt.ResidualModelSymbolic(state, lambda x: x[:size])
    rows = trajopt.ConstraintStack(state).add("goal", residual, equals=goal)
    return trajopt.ShootingProblem(x0, [knot] * N, ActionModelTerminal(trajopt.CostStack(state), constraints=rows))


def double_integrator(N: int = 40, d: float = 1.0, a: float = 1.0, factor: float = 1.5) -> Case:
    """Rest to rest over a distance d, force within ±a: 2 sqrt(d / a), which N even makes exact for symplectic Euler."""
    time = 2.0 * np.sqrt(d / a)
    knot = trajopt.IntegratedActionModelEuler(Mass(2, (-a, a)), dt=factor * time / N)
    problem = posed(knot, [0.0, 0.0], N, [d, 0.0])
    problem.free("dt", 0.01 * time / N, 10.0 * time / N)
    return problem, None, time


def jerk(N: int = 40, d: float = 1.0, j: float = 1.0, factor: float = 1.5) -> Case:
    """Rest to rest over a distance d, jerk within ±j: (32 d / j)^(1/3), exact for RK4 if N is a multiple of 4."""
    time = (32.0 * d / j) ** (1.0 / 3.0)
    knot = trajopt.IntegratedActionModelRK4(Jerk(3, (-j, j)), dt=factor * time / N)
    problem = posed(knot, [0.0, 0.0, 0.0], N, [d, 0.0, 0.0])
    problem.free("dt", 0.01 * time / N, 10.0 * time / N)
    return problem, None, time


def brachistochrone(N: int = 40) -> Case:
    """From rest to a point 1 m across and 1 m down."""
    problem = posed(trajopt.IntegratedActionModelRK4(Bead(3, None), dt=0.7 / N), [0.0, 0.0, 0.0], N, [1.0, 1.0], 2)
    problem.free("dt", 0.01 / N, 2.0 / N)
    return problem, np.full((N, 1), 0.7), 0.5829175458


def zermelo(N: int = 40) -> Case:
    """Across a river of width 1, straight to the other side."""
    problem = posed(trajopt.IntegratedActionModelRK4(Boat(2, None), dt=1.5 / N), [0.0, 0.0], N, [0.0, 1.0])
    problem.free("dt", 0.01 / N, 10.0 / N)
    return problem, np.full((N, 1), 1.5), 1.005037713


def goddard(N: int = 100) -> Case:
    """As high as 0.4 of the mass as fuel leads; the cost falls with the height, which COPS has as 1.012837 (N 400)."""
    model = Rocket(3, (0.0, 3.5), timed=False)
    state, knot = model.state, trajopt.IntegratedActionModelRK4(model, dt=0.2 / N)
    below = trajopt.ResidualModelSymbolic(state, lambda x: x[0] - 2.0)
    rows = trajopt.ConstraintStack(state).add("fuel", trajopt.ResidualModelSymbolic(state, lambda x: x[2]), equals=0.6)
    end = ActionModelTerminal(trajopt.CostStack(state).add("height", below, 100.0), constraints=rows)
    problem = trajopt.ShootingProblem([1.0, 0.0, 1.0], [knot] * N, end)
    problem.free("dt", 0.01 / N, 1.0 / N)
    return problem, np.full((N, 1), 1.0), 48.72455312


def goddard_phases() -> Case:
    """The same in phases of 20, 40 and 20 knots: full thrust, singular arc, no thrust; each has a time step."""
    problem, _, _ = goddard(80)
    phases = [range(20), range(20, 60), range(60, 80)]
    problem.set_parameter("limit.lower", 3.5, knots=phases[0])
    problem.set_parameter("limit.upper", 0.0, knots=phases[2])
    problem.free("dt", 1e-5, 0.02, [1e-3, 1.5e-3, 6e-3], knots=phases)
    return problem, np.repeat([3.5, 1.0, 0.0], [20, 40, 20])[:, None], 48.724554


def shuttle(attack: float, bank: float, N: int = 100) -> tuple[trajopt.ShootingProblem, Reals, Reals, float]:
    """As far across the orbit as a re-entry leads, 34.2 degrees, at a linear cost; states of a guess come along.

    Args:
        attack: Its angle of attack in the guess of the controls [rad].
        bank: Its bank angle there [rad].
        N: Number of time steps.
    """
    model = Shuttle()
    state, knot = model.state, trajopt.IntegratedActionModelRK4(model, dt=2000.0 / N)
    latitude = trajopt.ResidualModelSymbolic(state, lambda x: x[1])
    linear = trajopt.ActivationModelSymbolic(lambda r: -r[0])
    cost = trajopt.CostStack(state).add("cross", latitude, 1.0, activation=linear)
    end = trajopt.ResidualModelSymbolic(state, lambda x: ca.vertcat(x[0], x[2], x[3]))
    rows = trajopt.ConstraintStack(state).add("end", end, equals=[0.8, 0.25, np.deg2rad(-5.0)])
    xs = np.linspace([2.6, 0.0, 2.56, np.deg2rad(-1.0), np.pi / 2.0], [0.8, 0.3, 0.25, np.deg2rad(-5.0), 0.3], N + 1)
    problem = trajopt.ShootingProblem(xs[0], [knot] * N, ActionModelTerminal(cost, constraints=rows))
    problem.free("dt", 1500.0 / N, 2500.0 / N)
    return problem, xs, np.tile([attack, bank], (N, 1)), -0.59699146


def cart_pole(N: int = 60) -> Case:
    """Swing-up with a force of 20 N at most, 1 m aside."""
    knot = trajopt.IntegratedActionModelRK4(CartPole(4, (-20.0, 20.0)), dt=2.0 / N)
    problem = posed(knot, [0.0] * 4, N, [1.0, np.pi, 0.0, 0.0])
    problem.free("dt", 0.1 / N, 5.0 / N)
    return problem, None, 1.167587232


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """Pendulum under a torque, with mass and length as parameters; linear for small angles if asked for."""

    def __init__(self, costs: trajopt.CostStack, *, linear: bool = False) -> None:
        super().__init__(costs.state, nu=1, costs=costs)
        self.linear = linear
        self.mass, self.length = self.parameter("mass", 1.0, unit="kg"), self.parameter("length", 0.5, unit="m")

    def acceleration(self, x: SX, u: SX) -> SX:
        return u / (self.mass * self.length**2) - G / self.length * (x[0] if self.linear else ca.sin(x[0]))


def swing(N: int = 50, *, linear: bool = False) -> trajopt.ShootingProblem:
    """From rest at 0.5 rad to rest at -0.5 rad in 1 s; the right length needs no torque."""
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), 1.0)
    knot = trajopt.IntegratedActionModelRK4(Pendulum(costs, linear=linear), dt=1.0 / N)
    return posed(knot, [0.5, 0.0], N, [-0.5, 0.0])


def swing_up() -> trajopt.ShootingProblem:
    """Swing-up in free time, which costs as much as a torque of 4.5 N m."""
    state = trajopt.StateVector(2)
    costs = time_cost(state).add("torque", trajopt.ResidualModelControl(state), weight=0.1)
    end = trajopt.CostStack(state).add("upright", trajopt.ResidualModelState(state, [np.pi, 0.0]), weight=1e3)
    model = Pendulum(costs)
    problem = trajopt.ShootingProblem([0.0, 0.0], [trajopt.IntegratedActionModelEuler(model, dt=0.02)] * 60, end)
    problem.free("dt", 1e-3, 0.2)
    return problem
