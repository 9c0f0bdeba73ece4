"""A hexarotor with an arm, Borinot, flies as in Crocoddyl: thrusters, integrators, controls within a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.flying_arm import KNOTS, flight
from trajopt.solvers import FDDPOptions, SolverFDDP

pytest.importorskip("example_robot_data")

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
