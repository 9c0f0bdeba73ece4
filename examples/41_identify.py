"""Masses, centre of mass and friction of an arm from a log with noise, and a motion that relies on them.

    minimise  Σ |(x̂_t - x_t) / σ_x|² + Σ |(û_t - u_t) / σ_u|²   over x, u and 24 parameters,  x_{t+1} = f(x_t, u_t; θ)

`identify` returns what the log tells: ten combinations with standard deviations, since some parameters act together and
others not at all. A reach that is planned with the identified arm uses its torques.

Look at: the list of combinations, chi²/dof near 1, and identify.png with torques as measured, before and after.
Expected cost: 0.36252561.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.dynamics import SmoothFriction
from trajopt.solvers import SolverFDDP

FRICTION = SmoothFriction(0.1)  # [rad/s]
NOISE = {"q": 1e-3, "v": 1e-2, "u": 0.05}  # standard deviations [rad], [rad/s], [N m]
DT = 0.01  # [s]
UNKNOWN = [f"link_{i}.{quantity}" for i in (1, 2) for quantity in ("mass", "com", "inertia")]
UNKNOWN += [f"joint_{i}.{quantity}" for i in (1, 2) for quantity in ("damping", "friction")]


def step_of(costs: trajopt.CostStack) -> trajopt.IntegratedActionModelRK4:
    """A step of the arm with a motor and friction at each joint."""
    motors = trajopt.ActuationModelFull(costs.state)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(costs.state, motors, costs, friction=FRICTION)
    return trajopt.IntegratedActionModelRK4(arm, DT)


def measured(robot: trajopt.Robot) -> trajopt.identification.Log:
    """Noisy states and torques of a motion of 3 s."""
    state = trajopt.StateMultibody(robot)
    t, costs, rng = DT * np.arange(300), trajopt.CostStack(state), np.random.default_rng(0)
    us = np.stack([6 * np.sin(3 * t) + 8 * np.cos(5 * t), 3 * np.sin(4 * t + 1) + 2 * np.sin(9 * t)], axis=1)
    xs = trajopt.ShootingProblem(state.zero(), [step_of(costs)] * len(us), costs).rollout(us)
    spread = np.repeat([NOISE["q"], NOISE["v"]], 2)
    noisy = xs + spread * rng.normal(size=xs.shape), us + NOISE["u"] * rng.normal(size=us.shape)
    return trajopt.identification.Log(*noisy, DT)


def main(plot: bool = False) -> trajopt.Solution:
    """Identifies the arm and plans a reach; `plot` writes identify.png."""
    believed = trajopt.load_robot("planar-2r")
    friction = {f"joint_{i}.{name}": 0.1 * i for i in (1, 2) for name in ("damping", "friction")}
    real = believed.with_values({"link_2.mass": 1.6, "link_2.com": [0.2, 0.01, 0.0]} | friction)  # [kg], [m]
    result = trajopt.identify(believed, measured(real), UNKNOWN, noise=NOISE, friction=FRICTION)
    print(result)
    print(result.explain())
    assert result.robot is not None

    state = trajopt.StateMultibody(result.robot)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    there = trajopt.ResidualModelState(state, [0.8, -1.2, 0.0, 0.0])  # [rad], [rad/s]
    goal = trajopt.CostStack(state).add("goal", there, weight=1e3)
    solution = SolverFDDP(trajopt.ShootingProblem(state.zero(), [step_of(effort)] * 100, goal)).solve()
    if plot:
        result.plot().savefig("identify.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
