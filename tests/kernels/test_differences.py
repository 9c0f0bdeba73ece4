"""Central differences in 60 digits against closed forms: of matrices, of rotations, and through an iteration."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from tests.support.high_precision import HIGH, derivatives, distance, on_manifold
from trajopt.kernels import Program
from trajopt.states import StateSO3


def test_inputs_and_outputs_that_are_matrices(rng: np.random.Generator) -> None:
    """Row by row: of A b sin(s) it is (I ⊗ bᵀ) sin(s), A sin(s), and A b cos(s)."""
    A, b, s = SX.sym("A", 2, 3), SX.sym("b", 3), SX.sym("s")
    result = ca.mtimes(A, b) * ca.sin(s)
    closed = [
        ca.kron(SX.eye(2), b.T) * ca.sin(s),
        A * ca.sin(s),
        ca.mtimes(A, b) * ca.cos(s),
    ]
    values = (rng.normal(size=(2, 3)), rng.normal(size=3), 0.7)
    exact = Program.of("closed", ca.Function("closed", [A, b, s], closed)).evaluate(*values, numbers=HIGH)
    program = Program.of("f", ca.Function("f", [A, b, s], [result, A.T]))
    for by in range(3):
        first, second = derivatives(program, values, by)
        assert distance(first, exact[by]) < 1e-35
        assert second.shape == (6, exact[by].shape[1])
    transposed = np.eye(6)[[0, 3, 1, 4, 2, 5]]  # what A.T holds, row by row
    assert distance(derivatives(program, values, 0)[1], transposed) < 1e-35


def test_tangent_spaces_of_rotations(rng: np.random.Generator) -> None:
    """Of R ↦ R exp(w) it is exp(w)ᵀ in tangent space, and of R ↦ R p it is -R [p]x."""
    state, (x, w, p) = StateSO3(), (SX.sym("x", 4), SX.sym("w", 3), SX.sym("p", 3))
    turn = _rotation(state.sx_integrate(SX(state.zero()), w))
    results = [state.sx_integrate(x, w), ca.mtimes(_rotation(x), p)]
    closed = [turn.T, -ca.mtimes(_rotation(x), ca.skew(p))]
    values = (on_manifold(state, [0.4, 1.1, -0.7]), [0.5, -0.8, 0.3], rng.normal(size=3))
    exact = Program.of("closed", ca.Function("closed", [x, w, p], closed)).evaluate(*values, numbers=HIGH)
    program = Program.of("f", ca.Function("f", [x, w, p], results))
    found = derivatives(program, values, 0, inputs={0: state}, outputs={0: state})
    assert [distance(a, b) < 1e-35 for a, b in zip(found, exact, strict=True)] == [True, True]


def _rotation(a: SX) -> SX:
    """Matrix (3, 3) of a unit quaternion (x, y, z, w)."""
    v, w = a[:3], a[3]
    return (2 * w**2 - 1) * SX.eye(3) + 2 * ca.mtimes(v, v.T) + 2 * w * ca.skew(v)


def test_through_an_iteration_that_goes_on_to_the_last_digit() -> None:
    """z³ + a z = b has dz/db = 1 / (3 z² + a), if the iteration leaves less than the difference shows."""
    a, b, z, tolerance = (SX.sym(name) for name in ("a", "b", "z", "tolerance"))
    better = z - (z**3 + a * z - b) / (3 * z**2 + a)
    error = ca.fabs(better**3 + a * better - b)
    body = Program.of(
        "newton", ca.Function("f", [z, a, b, tolerance], [better, ca.if_else(error > tolerance, error, 0)])
    )
    program = Program("cubic")
    inputs = [program.input(1) for _ in range(3)]
    (state,) = program.call(ca.Function("start", [b], [b]), inputs[1])
    left = program.iterate(body, [state], inputs, limit=50)
    (slope,) = program.call(ca.Function("slope", [z, a], [1 / (3 * z**2 + a)]), state, inputs[0])
    program.output(state, slope, left)
    values = (1.5, 0.8, "1e-58")
    _, exact, rest = program.evaluate(*values, numbers=HIGH)
    assert rest[0, 0] == 0
    assert distance(derivatives(program, values, 1)[0], exact) < 1e-35
    assert distance(derivatives(program, (1.5, 0.8, "1e-3"), 1)[0], exact) > 1e-10
