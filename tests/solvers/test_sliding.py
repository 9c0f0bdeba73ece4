"""A box that slides: explicit contacts make derivatives grow, and advice and warnings say so; implicit ones do not."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging

import numpy as np
import pytest

import trajopt
from trajopt.analysis.growth import LARGE, growth
from trajopt.articulations import ArticulationBuilder
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolutionDerivatives, SolverSQP, SQPOptions

DT, T, FRICTION, SPEED = 5e-3, 120, 0.5, 2.8  # [s], [-], [-], [m/s]
HALF = np.array([0.1, 0.1, 0.05])  # [m]


@functools.cache
def slid(mode: str) -> Solution:
    """A motion of the box on the floor from SPEED, 0.8 mm deep."""
    builder = ArticulationBuilder()
    builder.add_link("box")
    builder.add_box("box", tuple(2.0 * HALF), density=500.0)
    builder.add_free("world", "box")
    corners = itertools.product((-1.0, 1.0), repeat=3)
    contacts = [
        MDPContact("box", offset=corner * HALF, radius=0.0, friction=FRICTION, name=f"c{i}")
        for i, corner in enumerate(corners)
    ]
    simulator = Simulator(builder.build("box"), contacts, mode)
    state = simulator.state
    x0 = state.zero()
    x0[2], x0[7] = 0.0492, SPEED
    knot = ActionModelSimulator(simulator, trajopt.CostStack(state), dt=DT)
    place = trajopt.ResidualModelFrameTranslation(state, "box", [2.0, 0.0, 0.0])
    problem = trajopt.ShootingProblem(x0, [knot] * T, trajopt.CostStack(state).add("place", place, weight=1.0))
    xs = simulator.rollout(x0, steps=T, dt=DT).xs
    return SolverSQP(problem, SQPOptions(steps="linear")).solve(xs, np.zeros((T, 0)))


def test_growth_is_the_largest_product_of_closed_loop_steps() -> None:
    F, K = np.array([[[2.0, 1.0]]] * 3), np.array([[[0.5]], [[0.5]], [[1.9]]])
    assert growth(F, K) == pytest.approx(2.25)
    assert growth(F, 0.0 * K) == pytest.approx(8.0)


@pytest.mark.slow
def test_derivatives_of_explicit_sliding_warn(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert SolutionDerivatives(slid("FORWARD_RK1F")).growth > LARGE
    assert "derivatives grow by" in caplog.text
    assert "use Simulator(..., 'BACKWARD_RK1F'), or a shorter dt" in caplog.text


@pytest.mark.slow
def test_derivatives_of_implicit_sliding_are_those_of_a_sliding_point(caplog: pytest.LogCaptureFixture) -> None:
    solution = slid("BACKWARD_RK1F")
    with caplog.at_level(logging.WARNING):
        d = SolutionDerivatives(solution)
    assert d.growth < LARGE
    assert caplog.text == ""
    x, v = solution.xs[:, 0], SPEED
    assert x[-1] == pytest.approx(v**2 / (2.0 * FRICTION * 9.81), rel=0.02)
    assert d.by("x0").dxs[-1, 0, 6] == pytest.approx(v / (FRICTION * 9.81), rel=0.02)
    assert np.ptp(solution.xs[:, 2]) < 5e-4  # it does not hop


@pytest.mark.slow
@pytest.mark.parametrize("status", ["LINE_SEARCH_FAILED", "STALLED"])
def test_a_solve_of_explicit_sliding_that_fails_names_the_mode(status: str) -> None:

    texts = {}
    for mode in ("FORWARD_RK1F", "BACKWARD_RK1F"):
        failed = dataclasses.replace(slid(mode), status=SolverStatus[status])
        texts[mode] = failed.explain()
    assert "contacts of FORWARD_RK1F bounce where bodies slide" in texts["FORWARD_RK1F"]
    assert "not smooth where" not in texts["FORWARD_RK1F"]
    assert "bounce" not in texts["BACKWARD_RK1F"]
