"""Solvers of stage-wise quadratic programs on robots' first steps, beside published numbers of iterations."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from tests.support.first_programs import PUBLISHED, first_program
from tests.support.qp_twin import Residual, symmetric
from trajopt.solvers.qp import (
    InteriorPoint,
    InteriorPointOptions,
    Osqp,
    QPSolution,
    QPStatus,
    StageQP,
)

DRAWS = {"kuka": 9, "solo12": 3, "talos": 1}
ACCURACY = 1e-4


def cost(qp: StageQP, found: QPSolution) -> float:
    z, end = np.concatenate([found.dx[:-1], found.du], axis=1), found.dx[-1]
    running = np.vdot(z, 0.5 * symmetric(qp.lq.H, z) + qp.lq.g)
    return float(running + end @ (0.5 * symmetric(qp.lq.terminal_H, end) + qp.lq.terminal_g))


def missed(qp: StageQP, found: QPSolution) -> float:
    """Largest gradient of the Lagrangian, gap of the dynamics, or violation of a row."""
    residual, rows = Residual(qp, found.dx, found.du, found.lam, found.y), qp.rows(found.dx, found.du)
    beyond = np.maximum(qp.lower - rows, rows - qp.upper).max(initial=0.0)
    return max(residual.stationarity, float(np.abs(residual.dynamics).max()), float(beyond))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_first_programs_of_robots(name: str) -> None:
    """To 1e-4 in no more iterations than published, by the median; the objective is osqp's."""
    family, rng = PUBLISHED[name], np.random.default_rng(10)
    iterations: list[int] = []
    for draw in range(DRAWS[name]):
        qp = first_program(family.build(rng))
        found = InteriorPoint(qp, InteriorPointOptions(tolerance=ACCURACY)).solve()
        assert found.status is QPStatus.SOLVED
        assert missed(qp, found) < ACCURACY
        iterations.append(found.iterations)
        if draw == 0:
            osqp = Osqp(qp).solve()
            assert osqp.status is QPStatus.SOLVED
            ours = InteriorPoint(qp).solve()
            assert cost(qp, ours) == pytest.approx(cost(qp, osqp), rel=1e-8)
            np.testing.assert_allclose(ours.du, osqp.du, rtol=0, atol=1e-5 * np.abs(osqp.du).max())
    assert median(iterations) <= family.interior_point
