"""A mass on a rail: small enough that what a closed loop has to do can be written down."""

from __future__ import annotations

import numpy as np

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector

FORCE, SPEED = 2.0, 0.8  # limits [N], [m/s]
STATE = StateVector(2, names=["q", "v"], units=["m", "m/s"])


class Slider(DifferentialActionModelSymbolic):
    """dv/dt = (u - damping v) / mass."""

    def __init__(self, costs, constraints=None, mass=1.0):
        super().__init__(STATE, nu=1, costs=costs, constraints=constraints, control_names=["f"], control_units=["N"])
        self.mass = self.parameter("mass", mass, unit="kg")
        self.damping = self.parameter("damping", 0.0, unit="N s/m")

    def acceleration(self, x, u):
        return (u - self.damping * x[1]) / self.mass


def knot(dt=0.1, mass=1.0):
    """A knot whose force is hard, and whose speed is soft."""
    costs = CostStack(STATE).add("goal", ResidualModelState(STATE, [1.0, 0.0]), weight=1.0)
    costs.add("effort", ResidualModelControl(STATE), weight=0.1)
    rows = ConstraintStack(STATE).add("force", ResidualModelControl(STATE), lower=-FORCE, upper=FORCE)
    rows.add("speed", ResidualModelState(STATE), lower=[-np.inf, -SPEED], upper=[np.inf, SPEED], soft=(10.0, 10.0))
    return IntegratedActionModelEuler(Slider(costs, rows, mass), dt)


def problem(N=15):
    end = CostStack(STATE).add("goal", ResidualModelState(STATE, [1.0, 0.0]), weight=5.0)
    return ShootingProblem([0.0, 0.0], [knot()] * N, ActionModelTerminal(end))


def controller(dt=None, **options):
    return mpc.MPCController(problem(), "SolverSQP", mpc.MPCOptions(dt=dt, **options))


def moved(x, u, dt, mass=1.0):
    """Symplectic Euler by hand: v⁺ = v + dt u / m, q⁺ = q + dt v⁺."""
    v = x[1] + dt * u[0] / mass
    return np.array([x[0] + dt * v, v])


class Spy:
    """A controller that tells what it was asked and what it answered."""

    def __init__(self, inner):
        self.inner, self.seen, self.steps = inner, [], []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def feedback(self, x, t=None):
        step = self.inner.feedback(x, t)
        self.seen.append((t, np.array(x)))
        self.steps.append(step)
        return step
