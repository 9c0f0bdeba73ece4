"""An interior point that goes on from its last iterate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.test_qp import random_qp
from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPSolution, QPStatus, StageQP, interior_point
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.sqp.program import StepProgram
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

OPTIONS = InteriorPointOptions()


def program() -> tuple[StepProgram, Reals]:
    """The program of a mass before two walls, and its first gap."""
    problem = problems.load("lqr-bounds").problem
    e = Evaluator(problem)
    e.xs[:], e.us[:] = problem.x0, problem.quasi_static(np.tile(problem.x0, (problem.T, 1)))
    e.expand(problem.x0)
    found = StepProgram(e, None, moved=None, bounded=False)
    found.take(1.0, RowBounds(e, problem))
    found.set_hessian(0.0, 0.0)
    found.hessian.write()
    return found, e.f[0]


def test_a_small_gap_takes_fewer_iterations_than_from_zero() -> None:
    step, gap = program()
    interior, other = InteriorPoint(step.qp), InteriorPoint(step.qp)
    interior.begin(replace(OPTIONS, tolerance=1e-6))
    gap[:] = [1e-3, -1e-3, 2e-3, 1e-3]
    found, cold = interior.go_on(OPTIONS), other.solve()
    assert found.status is cold.status is QPStatus.SOLVED
    assert found.iterations < cold.iterations
    np.testing.assert_allclose(found.du, cold.du, atol=1e-6)


@pytest.mark.parametrize("size", [0.05, 0.08, 0.1, 0.12, 0.15, 0.2])
def test_a_step_that_is_almost_whole_is_not_the_last_one(size: float) -> None:
    """After 0.9 of a step from a solution products are small, and a tenth of the change of the gap is left."""
    step, gap = program()
    interior, other = InteriorPoint(step.qp), InteriorPoint(step.qp)
    interior.begin(OPTIONS)
    gap[:] = size * np.array([1.0, 2.0, -3.0, 2.0])
    found, cold = interior.go_on(OPTIONS), other.solve()
    assert found.status is QPStatus.SOLVED
    assert infeasibility(step.qp, found) < 1e-9
    np.testing.assert_allclose(found.du, cold.du, atol=1e-6)


def test_the_interior_point_begins_anew_if_the_warm_start_takes_too_long() -> None:
    step, gap = program()
    interior, other = InteriorPoint(step.qp), InteriorPoint(step.qp)
    interior.begin(OPTIONS)
    gap[:] = [1.0, 2.0, -3.0, 2.0]
    found, anew = interior.go_on(replace(OPTIONS, max_iterations=1)), other.begin(OPTIONS)
    assert found.iterations == anew.iterations
    np.testing.assert_allclose(found.du, anew.du, atol=1e-8)
    np.testing.assert_allclose(found.y, anew.y, atol=1e-6)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("equations", [False, True])
def test_inequalities_without_effect_cost_one_iteration(soft: bool, equations: bool) -> None:
    """Bounds are far, except after a large gap; proximal equations take another iteration."""
    qp, gap = random_qp(4), np.random.default_rng(4).normal(size=4)
    equal = (qp.lower == qp.upper) & equations
    qp.lower[~equal], qp.upper[~equal] = -20.0, 20.0
    if soft:
        qp.soft_linear[:, :2], qp.soft_quadratic[:, :2] = 0.3, 2.0
    interior = InteriorPoint(qp)
    for size, few in ((0.0, True), (1e-3, True), (7.0, False), (0.0, True)):
        qp.lq.f[0] = size * gap
        found = interior.go_on(OPTIONS) if size else interior.begin(OPTIONS)
        expected = InteriorPoint(qp).solve()
        assert found.status is expected.status is QPStatus.SOLVED
        assert (found.iterations <= 1 + equations) == few
        assert (np.abs(found.y[~equal]).max() > 1e-3) != few
        for name in ("dx", "du", "y"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_a_start_without_inequalities_leads_to_the_same_solution(seed: int, delta: float) -> None:
    """Of random programs, proximal rows with references included, whatever bounds it is beyond."""
    qp = random_qp(seed)
    qp.delta[:, :2], qp.y_ref[:, :2] = delta, 0.3 if delta else 0.0
    found, expected = InteriorPoint(qp).begin(OPTIONS), InteriorPoint(qp).solve()
    assert found.status is expected.status is QPStatus.SOLVED
    for name in ("dx", "du", "y"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-6, rtol=1e-6)


def test_the_interior_point_stops_at_a_time_limit() -> None:
    step, gap = program()
    interior = InteriorPoint(step.qp)
    interior.begin(OPTIONS)
    gap[:] = [1.0, 2.0, -3.0, 2.0]
    found = interior.go_on(OPTIONS, 0.0)
    assert found.status is QPStatus.MAX_ITERATIONS
    assert found.iterations == 1


class Clock:
    """Time by the number of looks at it."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        """One more [s]."""
        self.looks += 1
        return float(self.looks)


def infeasibility(program: StageQP, found: QPSolution) -> float:
    """Largest gap, or violation of a row."""
    lq, beyond = program.lq, program.rows(found.dx, found.du)
    z = np.concatenate([found.dx[:-1], found.du], axis=1)
    gaps = lq.f - found.dx
    gaps[1:] += np.einsum("tij,tj->ti", lq.F, z)
    missed = np.maximum(program.lower - beyond, beyond - program.upper)
    return max(float(np.abs(gaps).max()), float(np.fmax.reduce(missed, axis=None, initial=0.0)))


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0, 3.0])
def test_the_better_iterate_is_kept_where_time_ends_after_a_new_beginning(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, gap = program()
    first = InteriorPoint(step.qp)
    change, near, kept = size * np.array([1.0, 2.0, -3.0, 2.0]), replace(OPTIONS, max_iterations=1), []
    for looks in range(30):
        monkeypatch.setattr(interior_point, "time", Clock())
        gap[:] = 0.0
        first.begin(OPTIONS)
        gap[:] = change
        found = first.go_on(near, float(looks))
        kept.append((found.iterations, infeasibility(step.qp, found)))
        if found.status is QPStatus.SOLVED:
            break
    assert found.status is QPStatus.SOLVED
    sizes = [each for _, each in kept]
    assert len(sizes) > 4
    assert np.diff(sizes).max() < 1e-9


def test_going_on_needs_a_beginning() -> None:
    program = StageQP.zeros(LinearQuadratic.zeros(1, 1, 1), 1)
    with pytest.raises(InvalidArgumentError, match="begun"):
        InteriorPoint(program).go_on(InteriorPointOptions())
    with pytest.raises(InvalidArgumentError, match="options: expected "):
        InteriorPoint(program).begin({})
    with pytest.raises(InvalidArgumentError, match="qp: expected a StageQP, got"):
        QPSolution.failed({}, QPStatus.INDEFINITE)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="until: expected a number, got"):
        InteriorPoint(program).go_on(InteriorPointOptions(), until={})  # type: ignore[arg-type]
