"""Wheels that turn at ω1 = 1.25 + cos t and ω2 = 1 + sin t: Euler steps compared with the exact drive.

    x⁺ = x + dt v cos θ,  y⁺ = y + dt v sin θ,  θ⁺ = θ + dt r (ω1 - ω2) / (2 L),  v = r (ω1 + ω2) / 2

with r = 1 m, L = 2 m, 5 s, and constant rates within each step. The cost is of the wheels' rates, ∫ ½ |ω|² dt.

Look at: Euler's distance from the exact end, which halves with dt; for a Runge-Kutta step with the rates at the middle
of each step the error falls with dt². Expected cost: 8.470391622.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import trajopt
from trajopt import planar, plotting

RADIUS, HALF_TRACK, DURATION = 1.0, 2.0, 5.0  # [m, m, s]


def rates(times: np.ndarray) -> np.ndarray:
    """Rates of the right and the left wheel (n, 2) [rad/s]."""
    return np.column_stack([1.25 + np.cos(times), 1.0 + np.sin(times)])


def exact(times: np.ndarray) -> np.ndarray:
    """Poses (n, 3) by scipy, to twelve digits [m, m, rad]."""

    def rate(t: float, x: np.ndarray) -> list[float]:
        right, left = rates(np.array([t]))[0]
        v, w = RADIUS * (right + left) / 2, RADIUS * (right - left) / (2 * HALF_TRACK)
        return [v * np.cos(x[2]), v * np.sin(x[2]), w]

    return np.array(solve_ivp(rate, (0.0, DURATION), np.zeros(3), t_eval=times, rtol=1e-12, atol=1e-12).y.T)


def main(plot: bool = False) -> trajopt.Solution:
    """Drives with 100 Euler steps and returns the motion; `plot` writes drive_euler.png."""
    state = planar.state_of_pose()
    costs = trajopt.CostStack(state).add("turning", trajopt.ResidualModelControl(state), 1.0)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=RADIUS, half_track=HALF_TRACK)
    end = exact(np.array([DURATION]))[-1]
    for integrator, held in (("euler", 0.0), ("rk4", 0.5)):
        for count in (25, 50, 100, 200):
            dt = DURATION / count
            us = rates(dt * (np.arange(count) + held))
            off = planar.rollout(model, np.zeros(3), us, dt, integrator=integrator).xs[-1] - end
            print(f"{integrator}, {count} steps: end off by {1e3 * np.hypot(*off[:2]):.3g} mm")

    times = np.linspace(0.0, DURATION, 101)
    motion = planar.rollout(model, np.zeros(3), rates(times[:-1]), times[1], integrator="euler")
    if plot:
        coarse = planar.rollout(model, np.zeros(3), rates(times[:-1:5]), times[5], integrator="euler")
        paths = {"exact": exact(times), "Euler, 100 steps": motion.xs, "Euler, 20 steps": coarse.xs}
        wheels = {"exact": (times, rates(times)), "Euler, 20 steps": (times[::5], coarse.us)}
        plotting.plot_drives(paths, wheels=wheels).savefig("drive_euler.png")
    return motion


if __name__ == "__main__":
    main(plot=True)
