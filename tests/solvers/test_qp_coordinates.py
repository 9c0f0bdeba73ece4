"""Coordinates in which a program's cost to go is half a square."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.test_qp import random_qp
from trajopt.solvers.qp import InteriorPoint, Osqp, QPStatus
from trajopt.solvers.qp.coordinates import Coordinates


@pytest.mark.parametrize("nb", [None, 1])
def test_the_cost_to_go_is_half_a_square(nb: int | None) -> None:
    """So further coordinates of the program in them are rotations, at each knot."""
    qp = random_qp(3, nb=nb)
    again = Coordinates.of(Coordinates.of(qp.lq).program(qp).lq)
    identity = np.broadcast_to(np.eye(qp.lq.n), again.X.shape)
    np.testing.assert_allclose(np.swapaxes(again.X, 1, 2) @ again.X, identity, rtol=0, atol=1e-6)


@pytest.mark.parametrize("soft", [False, True])
def test_a_solution_in_them_is_one_of_the_program(soft: bool) -> None:
    qp = random_qp(4, nb=1, soft=soft)
    coordinates = Coordinates.of(qp.lq)
    found = coordinates.solution(InteriorPoint(coordinates.program(qp)).solve())
    expected = InteriorPoint(qp).solve()
    for key in ("dx", "du", "lam", "y"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), rtol=0, atol=1e-8)


def test_directions_that_cost_nothing() -> None:
    """No cost of states at all: nothing is to go."""
    qp = random_qp(5)
    n = qp.lq.n
    qp.lq.H[:, :n], qp.lq.H[:, :, :n], qp.lq.g[:, :n] = 0.0, 0.0, 0.0
    qp.lq.terminal_H[:], qp.lq.terminal_g[:] = 0.0, 0.0
    np.testing.assert_array_equal(np.abs(Coordinates.of(qp.lq).X).sum(axis=2), 1.0)
    found, expected = Osqp(qp).solve(), InteriorPoint(qp).solve()
    assert found.status is QPStatus.SOLVED
    np.testing.assert_allclose(found.du, expected.du, rtol=0, atol=1e-6)
