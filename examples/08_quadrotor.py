"""A state of rigid bodies: a quadrotor flies a somersault on the way to its goal.

    x = (pose in SE(3), twist (v, ω) in the body's frame),    q⁺ = q ⊕ dt (v, ω)⁺
    m (dv/dt + ω x v) = (0, 0, Σ u) - m g Rᵀ e_z,    J dω/dt + ω x J ω = τ(u),    u: thrusts of four rotors [N]
    minimise  Σ dt ½ (1e-2 |u - m g / 4|² + 1e-2 |(v, ω)|² + 1e2 d²) + dt ½ 1e3 |q_40 ⊖ waypoint|² + ½ 1e3 |x ⊖ goal|²

where d is the distance of u from 0 ... 8 N; 80 knots of 20 ms; at the waypoint the body is upside down. Look at: there
are no Euler angles, so nothing is singular. The guess turns by 2π on the spot, and FDDP closes its gaps; from a
hovering guess the quadrotor turns back after the waypoint. Expected cost: 0.33277392.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt
from trajopt.solvers import SolverFDDP

BODY = trajopt.StateSE3()
TWIST = trajopt.StateVector(6, names=["vx", "vy", "vz", "wx", "wy", "wz"], units=["m/s"] * 3 + ["rad/s"] * 3)
GRAVITY, MOST = 9.81, 8.0  # [m/s²], [N]


class Quadrotor(trajopt.DifferentialActionModelSymbolic):
    """A rigid body with four thrusts u along its z axis; neighbouring rotors spin in opposite directions."""

    def __init__(self, costs: trajopt.CostStack, mass: float = 1.0, arm: float = 0.2, drag: float = 0.02) -> None:
        rotors = {"control_names": ["front", "left", "rear", "right"], "control_units": ["N"] * 4}
        super().__init__(costs.state, 4, costs, lower=[0.0] * 4, upper=[MOST] * 4, **rotors)
        self.mass = self.parameter("mass", mass, unit="kg")
        self.inertia = self.parameter("inertia", [0.01, 0.01, 0.02], unit="kg m²")
        self.arm = self.parameter("arm", arm, unit="m")
        self.drag = self.parameter("drag", drag, unit="m")  # torque of a rotor per thrust [N m / N]

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """dν/dt (6,) [m/s², rad/s²] in the body's frame, of x (13,) and u (4,) [N]."""
        pose, twist = self.state.split(x)
        v, w = twist[:3], twist[3:]
        up = BODY.sx_rotation(pose).T[:, 2]
        thrust = ca.vertcat(0, 0, ca.sum1(u)) / self.mass
        pitch, roll, yaw = self.arm * (u[2] - u[0]), self.arm * (u[1] - u[3]), self.drag * (u[0] - u[1] + u[2] - u[3])
        turn = (ca.vertcat(roll, pitch, yaw) - ca.cross(w, self.inertia * w)) / self.inertia
        return ca.vertcat(thrust - GRAVITY * up - ca.cross(w, v), turn)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes quadrotor.png."""
    state = trajopt.StateProduct(BODY, TWIST)
    hover = state.zero()
    pose = trajopt.ActivationModelWeightedQuad([1.0] * 6 + [0.0] * 6)
    twist = trajopt.ActivationModelWeightedQuad([0.0] * 6 + [1.0] * 6)
    limits = trajopt.ActivationModelQuadraticBarrier([0.0] * 4, [MOST] * 4)
    running = trajopt.CostStack(state)
    running.add("thrust", trajopt.ResidualModelControl(state, [GRAVITY / 4] * 4), weight=1e-2)
    running.add("limits", trajopt.ResidualModelControl(state), activation=limits, weight=1e2)
    running.add("twist", trajopt.ResidualModelState(state), activation=twist, weight=1e-2)
    running.add("waypoint", trajopt.ResidualModelState(state), activation=pose, weight=0.0)
    terminal = trajopt.CostStack(state)
    terminal.add("goal", trajopt.ResidualModelState(state, state.integrate(hover, [2.0] + [0.0] * 11)), weight=1e3)
    knot = trajopt.IntegratedActionModelEuler(Quadrotor(running), dt=2e-2)  # [s]
    problem = trajopt.ShootingProblem(hover, [knot] * 80, terminal)
    problem.set_parameter("waypoint.reference", np.concatenate([[1, 0, 1], [0, 1, 0, 0], np.zeros(6)]), 40)
    problem.set_parameter("waypoint.weight", 1e3, 40)

    turn = 2 * np.pi * np.clip((np.arange(81) - 28) / 24, 0.0, 1.0)  # [rad]
    rate = np.diff(turn, prepend=0.0) / 2e-2  # [rad/s]
    guess = [state.integrate(hover, [0.0] * 4 + [q] + [0.0] * 5 + [v, 0.0]) for q, v in zip(turn, rate)]
    solution = SolverFDDP(problem).solve(guess)
    print(solution.explain())
    if plot:
        trajopt.plotting.plot_summary(solution, "quadrotor.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
