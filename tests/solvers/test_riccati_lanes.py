"""The recursion with one problem a lane gives the gains and sums of the recursion of one problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.ddp.lanes.memory import LaneMemory
from trajopt.solvers.riccati import LinearQuadratic, Riccati, lanes


def problem_of(name: str) -> Any:
    return problems.load("arm-reach", "planar-2r", T=12).problem if name == "arm" else problems.load(name, T=12).problem


@pytest.mark.parametrize("name", ["pendulum", "unicycle", "cart-pole", "arm"])
@pytest.mark.parametrize("gaps", [True, False])
def test_gains_and_sums(name: str, gaps: bool) -> None:
    problem = problem_of(name)
    state, T, rng = problem.state, problem.T, np.random.default_rng(0)
    memory = LaneMemory(problem, 1, gaps=True, varied=False)
    W, lane = memory.W, np.arange(memory.W)
    xs = np.array([[state.integrate(problem.x0, rng.normal(0.0, 0.2, state.ndx)) for _ in range(T + 1)] for _ in lane])
    us, x0 = rng.normal(0.0, 0.2, (W, T + 1, problem.nu)), np.tile(problem.x0, (W, 1, 1))
    for array, values in (("xs", xs), ("us", us), ("x0", x0), ("p", np.tile(problem.table.values, (W, 1, 1)))):
        memory.load(array, values, lane)
    rho = np.geomspace(1e-6, 10.0, W)
    memory.regularize(lane, rho, on_value=True)
    memory.set("with_gaps", lane, np.full(W, float(gaps)))
    memory.backward(np.array([0]))
    sums = dict(zip(lanes.SUMS, memory.totals()))
    K, k = memory.read("K", lane, T).reshape(W, T, problem.nu, state.ndx), memory.read("k", lane, T)
    e = Evaluator(problem)
    riccati = Riccati(LinearQuadratic.of(e), K=e.K, k=e.k)
    for i in range(W):
        e.xs[:], e.us[:] = xs[i], us[i, :T]
        e.expand(problem.x0)
        if not gaps:
            e.f.fill(0.0)
        outcome = riccati.factor(rho[i], feasible=not gaps)
        np.testing.assert_allclose(K[i], riccati.K, rtol=1e-9, atol=1e-9 * np.abs(riccati.K).max())
        np.testing.assert_allclose(k[i], riccati.k, rtol=1e-9, atol=1e-9 * np.abs(riccati.k).max())
        assert sums["decrease"][i] == pytest.approx(outcome.decrease, rel=1e-9)
        assert sums["cost"][i] == pytest.approx(e.cost, rel=1e-12)
        assert sums["scale"][i] == pytest.approx(np.abs(e.costs).sum(), rel=1e-12)
        assert sums["gap"][i] == pytest.approx(e.largest_gap if gaps else 0.0, rel=1e-12)
        assert sums["slope"][i] == pytest.approx(np.vdot(riccati.Vx, e.f), rel=1e-9, abs=1e-12)
        assert sums["bend"][i] == pytest.approx(np.vdot(riccati.Vf, e.f) if gaps else 0.0, rel=1e-9)


def test_a_lane_without_a_direction_is_nan() -> None:
    problem = problem_of("pendulum")
    memory = LaneMemory(problem, 1, gaps=False, varied=False)
    lane = np.arange(memory.W)
    memory.load("p", np.tile(problem.table.values, (memory.W, 1, 1)), lane)
    memory.regularize(lane, np.where(lane == 1, -1e6, 1.0), on_value=False)
    memory.backward(np.array([0]))
    decrease = memory.totals()[lanes.SUMS.index("decrease")]
    np.testing.assert_array_equal(np.isnan(decrease), lane == 1)
