"""The pendulum of "Constraints that hold": a swing-up with a weak motor, on which solvers are measured."""

from __future__ import annotations

import casadi
import numpy as np

import trajopt


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = 4 u - 19.62 sin(q), x = (q, v): 1 kg on a rod of 0.5 m."""

    def acceleration(self, x: casadi.SX, u: casadi.SX) -> casadi.SX:
        """Acceleration, shape (1,) [rad/s²], of a state (2,) and a torque (1,) [N m]."""
        return 4.0 * u - 19.62 * casadi.sin(x[0])


def pendulum_problem() -> trajopt.ShootingProblem:
    """Swing-up within 3 s to rest at the top, with the constraints "motor" and, at the end, "upright"."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    effort, motion = trajopt.ResidualModelControl(state), trajopt.ResidualModelState(state, [np.pi, 0.0])
    costs = trajopt.CostStack(state).add("effort", effort, weight=1.0)
    motor = trajopt.ConstraintStack(state).add("motor", effort, lower=-1.5, upper=1.5)  # [N m]; 4.9 lifts it at once
    upright = trajopt.ConstraintStack(state).add("upright", motion, equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=upright)

    knot = trajopt.IntegratedActionModelEuler(Pendulum(state, 1, costs, constraints=motor), dt=0.03)  # [s]
    return trajopt.ShootingProblem([0.0, 0.0], [knot] * 100, end)
