"""A formula gives the expressions that its operations give one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.dynamics import spatial
from trajopt.kernels.program import Program
from trajopt.lie.formula import formula

A, V, W = SX.sym("a", 3, 3), SX.sym("v", 3), SX.sym("w", 3)
ALL = ca.vertcat(ca.vec(A), V, W)
TURN = ca.blockcat([[ca.cos(V[0]), -ca.sin(V[0]), 0], [ca.sin(V[0]), ca.cos(V[0]), 0], [0, 0, 1]])
VECTORS = {
    "symbols": V,
    "sums": V + W,
    "constant": SX([1.0, 0.0, -2.0]),
    "zeros": SX(3, 1),
    "sparse": ca.sparsify(W * ca.DM([0, 0, 1])),
}
MATRICES = {"symbols": A, "turn": TURN, "sparse": ca.sparsify(TURN), "diagonal": ca.diag(W), "identity": SX.eye(3)}


def digest(results: Any) -> str:
    """Digest of the code, which depends on the order and the operands of all operations and on structural zeros."""
    listed = [results] if isinstance(results, SX) else list(results)
    return Program.of("f", ca.Function("f", [ALL], listed)).digest()


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("vector", VECTORS)
def test_operations_and_zeros_are_the_same(matrix: str, vector: str) -> None:
    a, v = MATRICES[matrix], VECTORS[vector]
    cases: list[tuple[Callable[..., Any], tuple[SX, ...]]] = [
        (spatial._cross_motion, (v, W, V, v)),
        (spatial._cross_force, (v, W, V, v)),
        (spatial._motion_to_child, (a, v, V, W)),
        (spatial._motion_to_parent, (a, V, v, W)),
        (spatial._force_to_parent, (a, v, W, v)),
        (spatial._compose, (a, v, A, W)),
        (spatial._momentum, (V[0], v, a, W, v)),
        (spatial.symmetric_sum, (a, A)),
        (spatial.rotate_symmetric, (a, A)),
        (spatial.shift_symmetric, (v, W)),
    ]
    for compute, arguments in cases:
        assert digest(compute(*arguments)) == digest(compute.__wrapped__(*arguments)), compute.__name__  # type: ignore[attr-defined]


def test_a_formula_is_written_once_for_each_pattern_of_zeros() -> None:
    written = []

    @formula
    def product(a: SX, b: SX) -> SX:
        written.append((a.nnz(), b.nnz()))
        return ca.mtimes(a, b)

    for a in (A, A + 1, SX.eye(3), ca.diag(V), A * 2):
        result = product(a, W)
        np.testing.assert_array_equal(
            ca.Function("f", [ALL], [result - ca.mtimes(a, W)])(np.linspace(0.1, 1.5, 15)).full(), np.zeros((3, 1))
        )
    assert written == [(9, 3), (3, 3)]
