"""A hexarotor with an arm, Borinot, flies as in Crocoddyl: thrusters, integrators, controls within a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt.solvers import FDDPOptions, SolverFDDP

KNOTS, STEP, RADIUS, DRAG = 30, 0.03, 0.2, 0.01
GOAL = [0.4, 0.2, 0.3]  # of the arm's end [m]
One, Parabola = trajopt.ControlParametrizationPolyOne, trajopt.ControlParametrizationPolyTwoRK
SOLVES = [
    (None, "EULER", 11, 1.0537711219561365),
    (None, "CLASSICAL", 13, 1.0535769196218912),
    (One, "CLASSICAL", 13, 1.0531885110243353),
    (Parabola, "CLASSICAL", 13, 1.0531465774734436),
]
"""Control, integrator, iterations and final cost, printed by tests/data/make_crocoddyl_flying_arm.py."""
ROLLOUTS = {
    "EULER": 185.8166238885025,
    "MIDPOINT": 150.9115290224119,
    "HEUN3": 150.74414772979412,
    "CLASSICAL": 150.78504903392806,
}
"""Costs of rollouts, printed by the same program."""
HEUN3 = trajopt.Tableau(((), (1 / 3,), (0.0, 2 / 3)), (0.25, 0.0, 0.75))


def flight(control: Any, integrator: str) -> trajopt.ShootingProblem:
    pytest.importorskip("example_robot_data")
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


@pytest.mark.parametrize(("control", "integrator", "iterations", "cost"), SOLVES)
def test_flights_take_the_iterations_of_crocoddyl(control: Any, integrator: str, iterations: int, cost: float) -> None:
    problem = flight(control, integrator)
    guess = np.tile(problem.x0, (KNOTS + 1, 1)), np.zeros((KNOTS, problem.nu))
    found = SolverFDDP(problem, FDDPOptions.crocoddyl(max_iterations=200)).solve(*guess)
    assert found.iterations == iterations
    assert found.cost == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize("integrator", ROLLOUTS)
def test_rollouts_cost_what_they_cost_in_crocoddyl(integrator: str) -> None:
    """Of third order too, whose derivatives are wrong there."""
    problem, us = flight(None, integrator), np.tile([6.0] * 6 + [0.0] * 2, (KNOTS, 1))
    assert problem.calc(problem.rollout(us), us).cost == pytest.approx(ROLLOUTS[integrator], rel=1e-12)
