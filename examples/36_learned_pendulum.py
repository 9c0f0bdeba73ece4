"""A neural network has learned a pendulum: it plans the swing-up, and the true pendulum follows.

    dv/dt = N(sin q, cos q, v, u), a network of 3 x 64, trained on 6000 measurements with noise
    minimise  Σ dt (½ 1e-2 u²)  +  ½ 1e2 ((q - π)² + v²),  symplectic Euler, dt = 20 ms, 100 knots

tests/data/make_pendulum_network.py trains the network with scikit-learn; `trajopt.Network.from_sklearn` reads it.

Look at: the torques alone leave the true pendulum 0.02 rad from the top, and with the gains of the solver 0.0001 rad.
Expected cost: 0.03323251. The true dynamics cost 0.03321004, see example 2.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np

import trajopt
from trajopt.solvers import SolverDDP

DT, UPRIGHT = 2e-2, np.array([np.pi, 0.0])  # [s], [rad, rad/s]


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """The true dynamics, which the solver does not know: 1 kg at 0.5 m."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """dv/dt [rad/s²] of a torque u [N m]."""
        return u / 0.5**2 - 9.81 / 0.5 * ca.sin(x[0])


def features(x: ca.SX, u: ca.SX) -> list[ca.SX]:
    """Input of the network: the same for q and q + 2π."""
    return [ca.sin(x[0]), ca.cos(x[0]), x[1], u]


def learned() -> trajopt.Network:
    """The trained network, from its weights W0, b0, W1, ..."""
    with np.load(Path(learned.__code__.co_filename).with_suffix(".npz")) as arrays:
        layers = range(len(arrays) // 2)
        return trajopt.Network([arrays[f"W{i}"] for i in layers], [arrays[f"b{i}"] for i in layers], activation="tanh")


def main(plot: bool = False) -> trajopt.Solution:
    """Plans with the network and replays on the pendulum; `plot` writes learned_pendulum.png."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    terminal = trajopt.CostStack(state).add("upright", trajopt.ResidualModelState(state, UPRIGHT), weight=1e2)
    model = trajopt.DifferentialActionModelNetwork(state, 1, running, learned(), features=features)
    knot = trajopt.IntegratedActionModelEuler(model, DT)
    solution = SolverDDP(trajopt.ShootingProblem([0.0, 0.0], [knot] * 100, terminal)).solve()
    print(solution)

    pendulum = trajopt.IntegratedActionModelEuler(Pendulum(state, 1, running), DT)
    for feedback in ("open", "gains"):
        motion = trajopt.analysis.replay(solution, 1, plant=pendulum, feedback=feedback)
        print(f"{feedback}: {abs(motion.xs[-1] - UPRIGHT)[0]:.4f} rad from the top")
    if plot:
        trajopt.plotting.plot_summary(solution, "learned_pendulum.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
