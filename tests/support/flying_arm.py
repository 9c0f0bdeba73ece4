"""A hexarotor with an arm, Borinot, that flies to a place, as in `tests/benchmarks/peers/crocoddyl_flying_arm.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt

KNOTS, STEP, RADIUS, DRAG = 30, 0.03, 0.2, 0.01
GOAL = [0.4, 0.2, 0.3]  # of the arm's end [m]
HEUN3 = trajopt.Tableau(((), (1 / 3,), (0.0, 2 / 3)), (0.25, 0.0, 0.75))


def flight(control: Any, integrator: str) -> trajopt.ShootingProblem:
    """The flight from rest; `integrator` is "EULER", "HEUN3" or the name of a `Tableau`.

    Args:
        control: Class of a control parametrization; None for constant controls.
        integrator: The integrator.
    """
    state = trajopt.StateMultibody(trajopt.load_robot("borinot"))
    turns = np.arange(6) * np.pi / 3
    rotors = [
        trajopt.Thruster((RADIUS * np.cos(turn), RADIUS * np.sin(turn), 0.0), DRAG, "ccw" if i % 2 == 0 else "cw")
        for i, turn in enumerate(turns)
    ]
    motors = trajopt.ActuationModelFloatingBaseThrusters(state, rotors)
    place = trajopt.ResidualModelFrameTranslation(state, "flying_arm_2__ee", GOAL)
    posture = trajopt.ResidualModelState(state)
    running = trajopt.CostStack(state).add("goal", place, 1.0).add("posture", posture, 1e-2)
    running.add("effort", trajopt.ResidualModelControl(state), 1e-2)
    end = trajopt.CostStack(state).add("goal", place, 1e2).add("posture", posture, 1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, running)
    if integrator == "EULER":
        knot: Any = trajopt.IntegratedActionModelEuler(model, STEP)
    else:
        tableau = HEUN3 if integrator == "HEUN3" else getattr(trajopt.Tableau, integrator)
        own = None if control is None else control(motors.nu)
        knot = trajopt.IntegratedActionModelRK(model, STEP, tableau=tableau, transport=False, control=own)
    return trajopt.ShootingProblem(state.zero(), [knot] * KNOTS, end)
