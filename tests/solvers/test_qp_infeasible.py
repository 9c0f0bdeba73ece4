"""Stage-wise quadratic programs that nothing solves end with INFEASIBLE, others never do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.solvers.test_qp import OURS
from tests.support.stage_programs import random_program
from trajopt.solvers.qp import QPStatus, StageQP


def integrators() -> StageQP:
    """Two double integrators, ten steps of 0.1 s, from rest at 0; rows: the two controls, and the state at the end."""
    lq = random_program(10, 4, 2)
    lq.F[:] = 0.0
    lq.F[:, :, :4] = np.eye(4)
    lq.F[:, [0, 1], [2, 3]] = 0.1
    lq.F[:, [2, 3], [4, 5]] = 0.1
    lq.f[:] = 0.0
    qp = StageQP.zeros(lq, 4)
    qp.C[:, [0, 1], [4, 5]] = 1.0
    qp.terminal_C[:] = np.eye(4)
    qp.lower[:-1, :2], qp.upper[:-1, :2] = -1.0, 1.0
    return qp


def too_far(qp: StageQP) -> None:
    """A position at the end that controls within their limits don't reach: at most 0.45."""
    qp.lower[-1, 0] = qp.upper[-1, 0] = 0.6


def too_far_on_one_side(qp: StageQP) -> None:
    qp.lower[-1, 1] = 0.6


def contradiction(qp: StageQP) -> None:
    """Rows of one knot that exclude each other."""
    qp.C[4, 2, 4], qp.lower[4, 2] = 1.0, 2.0


def without_controls(qp: StageQP) -> None:
    """An equation of the first state, which is given."""
    qp.C[0, 3, 0], qp.lower[0, 3], qp.upper[0, 3] = 1.0, 0.5, 0.5


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("spoil", [too_far, too_far_on_one_side, contradiction, without_controls])
def test_infeasible(name: str, spoil: Callable[[StageQP], None]) -> None:
    qp = integrators()
    spoil(qp)
    found = OURS[name](qp).solve()
    assert found.status is QPStatus.INFEASIBLE
    qp.soft_linear[:] = 10.0
    assert OURS[name](qp).solve().status is QPStatus.SOLVED


@pytest.mark.parametrize("name", OURS)
def test_just_feasible(name: str) -> None:
    qp = integrators()
    qp.lower[-1, 0] = qp.upper[-1, 0] = 0.4499
    found = OURS[name](qp).solve()
    assert found.status is QPStatus.SOLVED
    assert found.dx[-1, 0] == pytest.approx(0.4499, abs=1e-6)
