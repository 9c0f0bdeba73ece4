"""Problems in free time from collections: each returns the problem, a guess and the most iterations of SolverSQP.

COPS: Dolan, Moré, Munson, Benchmarking optimization software with COPS 3.0, Argonne, 2004. All knots share one time
step, and integrate by RK4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from casadi import SX

import trajopt
from trajopt.actions import ActionModelTerminal
from trajopt.retiming import RetimedPath
from trajopt.types import Reals

Case = tuple[trajopt.ShootingProblem, tuple[Reals, Reals], float]
Rates = Callable[[SX, SX], SX]
TORQUES = (-3.0, 3.0)  # of both joints of the double pendulum [N m]


class System(trajopt.DifferentialActionModelSymbolic):
    """System dx/dt = rates(x, u)."""

    def __init__(self, rates: Rates, nu: int, costs: trajopt.CostStack, rows: trajopt.ConstraintStack) -> None:
        super().__init__(costs.state, nu, costs, constraints=rows)
        self.rates = rates

    def xdot(self, x: SX, u: SX) -> SX:
        return self.rates(x, u)


def posed(
    rates: Rates,
    x0: Sequence[float],
    goal: dict[int, float],
    limits: Reals,
    time: float,
    N: int,
    *,
    ahead: tuple[int, float, float] | None = None,
    more: dict[str, tuple[Rates, float, float]] | None = None,
) -> trajopt.ShootingProblem:
    """Problem with a free time step, whose guess is time / N.

    Args:
        rates: dx/dt.
        x0: First state.
        goal: Last value of some coordinates.
        limits: Lower and upper limits of the controls (nu, 2).
        time: First duration [s].
        N: Number of knots.
        ahead: Coordinate that is to end high, a value that it can't reach, and the weight of the distance; else the
            time itself is the cost.
        more: Further rows of running knots by name: function of (x, u), lower and upper bound.
    """
    state = trajopt.StateVector(len(x0))
    costs, end, rows = trajopt.CostStack(state), trajopt.CostStack(state), trajopt.ConstraintStack(state)
    if ahead is None:
        costs.add("time", trajopt.ResidualModelTime(state), 1.0)
    else:
        i, beyond, weight = ahead
        end.add("ahead", trajopt.ResidualModelSymbolic(state, lambda x: x[i] - beyond), weight)
    rows.add("limits", trajopt.ResidualModelControl(state), lower=limits[:, 0], upper=limits[:, 1])
    for name, (function, lower, upper) in (more or {}).items():
        residual = trajopt.ResidualModelSymbolic(state, function)
        rows.add(name, residual, lower=lower, upper=upper)
    at = list(goal)
    there = trajopt.ResidualModelSymbolic(state, lambda x: x[at])
    last = trajopt.ConstraintStack(state).add("goal", there, equals=list(goal.values()))
    knot = trajopt.IntegratedActionModelRK4(System(rates, len(limits), costs, rows), dt=time / N)
    problem = trajopt.ShootingProblem(list(x0), [knot] * N, ActionModelTerminal(end, constraints=last))
    problem.free("dt", 0.01 * time / N, 10.0 * time / N)
    return problem


def straight(problem: trajopt.ShootingProblem, end: Sequence[float], u: Sequence[float]) -> tuple[Reals, Reals]:
    """States on a line from x0 to `end`, and constant controls."""
    return np.linspace(problem.x0, end, problem.T + 1), np.tile(np.asarray(u, dtype=float), (problem.T, 1))


def particle(N: int = 60) -> Case:
    """COPS 3.0, particle steering: thrust of 100 in a direction within ±π/2, to a height of 5 at speed 45 along it."""

    def rates(x: SX, u: SX) -> SX:
        return ca.vertcat(x[2], x[3], 100.0 * ca.cos(u), 100.0 * ca.sin(u))

    limits = np.array([[-0.5 * np.pi, 0.5 * np.pi]])
    problem = posed(rates, [0.0] * 4, {1: 5.0, 2: 45.0, 3: 0.0}, limits, 1.0, N)
    return problem, straight(problem, [5.0, 5.0, 45.0, 0.0], [0.0]), np.inf


def arm(N: int = 60) -> Case:
    """COPS 3.0, robot arm: length ρ, and angles θ and φ of an arm of length 5, from rest to rest."""

    def rates(x: SX, u: SX) -> SX:
        inertia = ((5.0 - x[0]) ** 3 + x[0] ** 3) / 3.0
        return ca.vertcat(x[3:], u[0] / 5.0, u[1] / (inertia * ca.sin(x[2]) ** 2), u[2] / inertia)

    end = [4.5, 2.0 * np.pi / 3.0, 0.25 * np.pi, 0.0, 0.0, 0.0]
    first = [4.5, 0.0, 0.25 * np.pi, 0.0, 0.0, 0.0]
    problem = posed(rates, first, dict(enumerate(end)), np.array([[-1.0, 1.0]] * 3), 9.0, N)
    return problem, straight(problem, end, [0.0] * 3), np.inf


def lander(N: int = 60) -> Case:
    """Soft landing on the moon from 10 m at 2 m/s with the least thrust, of 3 m/s² at most: it falls, then brakes."""

    def rates(x: SX, u: SX) -> SX:
        return ca.vertcat(x[1], u - 1.5, -u)

    problem = posed(rates, [10.0, -2.0, 0.0], {0: 0.0, 1: 0.0}, np.array([[0.0, 3.0]]), 4.0, N, ahead=(2, 1.0, 1.0))
    return problem, straight(problem, [0.0, 0.0, -8.0], [1.5]), np.inf


def glider(N: int = 100) -> Case:
    """COPS 3.0, hang glider: as far as a fall of 100 m leads through a thermal; 1247.98 m with N = 400."""

    def rates(x: SX, u: SX) -> SX:
        r = (x[0] / 100.0 - 2.5) ** 2
        up = x[3] - 2.5 * (1.0 - r) * ca.exp(-r)
        v = ca.sqrt(x[2] ** 2 + up**2)
        drag, lift = (0.5 * c * 1.13 * 14.0 * v for c in (0.034 + 0.069662 * u**2, u))  # over v
        return ca.vertcat(x[2:], (-lift * up - drag * x[2]) / 100.0, (lift * x[2] - drag * up) / 100.0 - 9.80665)

    first, end = [0.0, 1000.0, 13.2275675, -1.28750052], {1: 900.0, 2: 13.2275675, 3: -1.28750052}
    problem = posed(rates, first, end, np.array([[0.0, 1.4]]), 105.0, N, ahead=(0, 2000.0, 1e-2))
    return problem, straight(problem, [1250.0, 900.0, 13.2275675, -1.28750052], [1.0]), np.inf


def rocket(N: int = 40) -> Case:
    """Landing with the least fuel from 2 km up and 1 km aside: thrust of 0.3 to 0.8, glide slope of 30°, free time.

    Units of 1 km, 10 s and the initial mass: gravity 0.371, thrust 0.8 of 1.0; Açıkmeşe and Ploen, Convex programming
    approach to powered descent guidance for Mars landing, J. Guidance 30, 2007.
    """

    def rates(x: SX, u: SX) -> SX:
        return ca.vertcat(x[3:6], u / x[6] + ca.DM([0.0, 0.0, -0.371]), -0.05 * ca.sqrt(ca.sumsqr(u) + 1e-12))

    def slope(x: SX, u: SX) -> SX:
        return x[2] - np.tan(np.pi / 6.0) * ca.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-12)

    more = {"ring": (lambda x, u: ca.sumsqr(u), 0.24**2, 0.8**2), "slope": (slope, -1e-6, np.inf)}
    first, end = [1.0, 0.5, 2.0, -0.4, 0.3, -0.5, 1.0], dict.fromkeys(range(6), 0.0)
    problem = posed(rates, first, end, np.array([[-0.8, 0.8]] * 3), 6.0, N, ahead=(6, 2.0, 10.0), more=more)
    return problem, straight(problem, [0.0] * 6 + [0.9], [0.0, 0.0, 0.4]), 60


def double_pendulum(N: int = 80) -> Case:
    """Swing-up of two rods of 0.5 m with 0.5 kg at their ends, by torques that can't lift them at once.

    Angles are from hanging, in the world's axes; the torque of the second joint acts on the first rod, too.
    """

    def rates(x: SX, u: SX) -> SX:
        difference, inertia = x[0] - x[1], 0.125
        mass = ca.vertcat(
            ca.horzcat(2.0 * inertia, inertia * ca.cos(difference)), ca.horzcat(inertia * ca.cos(difference), inertia)
        )
        turning = inertia * ca.sin(difference) * ca.vertcat(x[3] ** 2, -(x[2] ** 2))
        weight = 9.81 * 0.25 * ca.vertcat(2.0 * ca.sin(x[0]), ca.sin(x[1]))
        return ca.vertcat(x[2:], ca.solve(mass, ca.vertcat(u[0] - u[1], u[1]) - turning - weight))

    end = [np.pi, np.pi, 0.0, 0.0]
    problem = posed(rates, [0.0] * 4, dict(enumerate(end)), np.array([TORQUES] * 2), 2.0, N)
    return problem, straight(problem, end, [0.0, 0.0]), np.inf


def between(
    robot: trajopt.Robot, path: RetimedPath, N: int = 40
) -> tuple[trajopt.ShootingProblem, tuple[Reals, Reals]]:
    """Fastest motion between the ends of a path, within velocities and torques; the motion along it is the guess."""
    state, model = trajopt.StateMultibody(robot), robot.model
    costs = trajopt.CostStack(state).add("time", trajopt.ResidualModelTime(state), 1.0)
    rows, n = trajopt.ConstraintStack(state), robot.nv
    rows.add("torque", trajopt.ResidualModelControl(state), lower=-model.effortLimit, upper=model.effortLimit)
    speed = trajopt.ResidualModelSymbolic(state, lambda x: x[n:])
    rows.add("velocity", speed, lower=-model.velocityLimit, upper=model.velocityLimit)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), costs, constraints=rows
    )
    times = np.linspace(0.0, path.duration, N + 1)
    qs, vs, _ = path.at(times)
    xs, us = np.hstack([qs, vs]), path.torques(times[:-1])
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, xs[-1]), equals=0.0)
    knot = trajopt.IntegratedActionModelEuler(arm, dt=path.duration / N)
    end = ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = trajopt.ShootingProblem(xs[0], [knot] * N, end)
    problem.free("dt", 0.1 * path.duration / N, 2.0 * path.duration / N)
    return problem, (xs, us)
