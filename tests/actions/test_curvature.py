"""Second derivatives of x ⊕ s, and of rates seen from x, against automatic differentiation of their definitions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.own_states import StateStretched, StateTwistedPlane
from trajopt.actions.integrated import curvature


@pytest.mark.parametrize("state", [trajopt.StateSO3(), trajopt.StateSE3(), StateStretched(), StateTwistedPlane()])
def test_of_a_move_and_of_a_rate(state: trajopt.StateAbstract, rng: np.random.Generator) -> None:
    n = state.ndx
    x, y = SX.sym("x", state.nx), SX.sym("y", state.nx)
    s, g, p, k, dx, ds = (SX.sym(name, n) for name in ("s", "g", "p", "k", "dx", "ds"))
    start, steps = state.sx_integrate(x, dx), ca.vertcat(dx, ds)
    move = ca.dot(g, state.sx_difference(y, state.sx_integrate(start, s + ds)))
    inverse = state.sx_jintegrate_inverse(start, s + ds)
    expected = [
        ca.gradient(move, ds), ca.hessian(move, steps)[0], ca.jacobian(inverse @ k, steps),
        ca.hessian(ca.dot(p, inverse @ k), steps)[0], ca.jacobian(inverse.T @ p, steps),
    ]  # fmt: skip
    here = ca.vertcat(SX.zeros(2 * n), state.sx_integrate(x, s))
    expected = ca.substitute(expected, [ca.vertcat(steps, y)], [here])
    rate = curvature.of_rate(state, x, s, p, k)
    actual = [*curvature.of_move(state, x, s, g), rate.K, rate.hessian, rate.Q]
    at = [state.rand(rng), *(0.5 * rng.normal(size=n) for _ in range(4))]
    both = zip(*(ca.Function("both", [x, s, g, p, k], list(map(SX, each))).call(at) for each in (expected, actual)))
    for wanted, found in both:
        np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=0, atol=1e-13)
