"""Lines over time of states that are no robot's."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

import trajopt
from trajopt.analysis.lines import panels_of
from trajopt.solvers import SolverFDDP


class Body(trajopt.ActionModelDiscrete):
    """A pose and a distance that move by their controls."""

    def next_state(self, x: SX, u: SX) -> SX:
        """x ⊕ u."""
        return self.state.sx_integrate(x, u)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Effort."""
        return ca.sumsqr(u)

    def terminal_cost(self, x: SX) -> SX:
        """Distance to a position."""
        return ca.sumsqr(x[:3] - 1.0)


def test_panels_of_a_product_have_quantities_and_units() -> None:
    distance = trajopt.StateVector(1, names=["tether"], units=["m"])
    state = trajopt.StateProduct(trajopt.StateSE3(), distance, trajopt.StateVector(1, names=["rate"], units=["rad/s"]))
    units = ["m"] * 3 + ["rad"] * 3 + ["m", "rad/s"]
    model = Body(state, 8, control_names=[f"step {i}" for i in range(8)], control_units=units)
    solution = SolverFDDP(trajopt.ShootingProblem(state.zero(), [model] * 3, model)).solve()
    panels = {(p[0].group, p[0].quantity, p[0].unit): [line.name for line in p] for p in panels_of(solution)}
    assert panels == {
        ("state", "position", "m"): ["x", "y", "z", "tether"],
        ("state", "quaternion", ""): ["qx", "qy", "qz", "qw"],
        ("state", "velocity", "rad/s"): ["rate"],
        ("control", "control", "m"): ["step 0", "step 1", "step 2", "step 6"],
        ("control", "control", "rad"): ["step 3", "step 4", "step 5"],
        ("control", "control", "rad/s"): ["step 7"],
    }
    poses = state.body_poses(solution.xs)
    assert poses is not None
    np.testing.assert_array_equal(poses[:, :3, 3], solution.xs[:, :3])
