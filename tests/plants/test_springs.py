"""Springs of a replay at joints whose motors are strong for what they move."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt.analysis import replay
from trajopt.articulations import ArticulationBuilder

pytest.importorskip("mujoco")


def test_springs_hold_a_joint_that_moves_little_inertia() -> None:
    """A strong motor at 0.3 g m² without armature: its damper alone would turn the velocity over in each 1 ms."""
    builder = ArticulationBuilder()
    for name, before, moment in (("arm", "world", 0.1), ("hand", "arm", 3e-4)):
        builder.add_link(name, mass=0.1, inertia=[moment] * 3)
        builder.add_revolute(before, name, effort=60.0)
    state = trajopt.StateMultibody(builder.build("light"))
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), trajopt.CostStack(state)
    )
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(dynamics, 0.02)] * 25, trajopt.CostStack(state)
    )
    still = solution_of(problem, np.zeros((26, 4)), np.zeros((25, 2)))
    motion = replay(still, plant="mujoco", feedback="springs", x0=np.array([0.1, -0.1, 0.0, 0.0]))
    np.testing.assert_allclose(motion.xs[-1], 0.0, atol=2e-3)
    stiff = still.feedback("springs", stiffness=120.0).K[0]
    np.testing.assert_allclose(stiff[:, :2], np.diag([120.0, 120.0]))
    soft = still.feedback("springs").K[0]
    assert soft[0, 0] == 120.0
    np.testing.assert_allclose(soft[1, 1:4:2], 3e-4 * 1.5e3 / np.array([0.03, 1.0]), rtol=5e-3)
