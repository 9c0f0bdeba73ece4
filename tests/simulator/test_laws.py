"""Rays of contacts: F Fᵀ is C M⁻¹ Cᵀ, L the rest of C M⁻¹, without loss for extreme weights."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trajopt.simulator.joint_stops import StopLaw
from trajopt.simulator.laws import ColumnsLaw, LawAbstract, PyramidLaw, Weights


def numbers(expression: ca.SX) -> np.ndarray:
    return np.array(ca.DM(ca.evalf(ca.SX(expression))))


@pytest.mark.parametrize(
    "law",
    [PyramidLaw(3), PyramidLaw(6), ColumnsLaw(6, 4), ColumnsLaw(3, 8), StopLaw((1.0, -1.0)), StopLaw((-1.0,))],
    ids=lambda law: f"{type(law).__name__}-{law.rays}",
)
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_factors_of_a_law(law: LawAbstract, spread: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(0.2, 1.0, law.constants)
    w, z = 10 ** rng.uniform(-spread, 0, law.rays), 10 ** rng.uniform(0, spread, law.rays)
    s, y = 0.3, 10 ** rng.uniform(0, spread)
    weights = Weights.of(ca.SX(w / z), ca.SX(s / y))
    C, follower = numbers(law.columns(ca.SX(values))), law.follow(ca.SX(values), weights)
    M = np.diag(z / w) + y / s
    expected = C @ np.linalg.solve(M, C.T)
    F, left = numbers(follower.F), numbers(follower.left)
    assert np.abs(F @ F.T - expected).max() <= 1e-12 * np.abs(expected).max()
    assert np.abs(F @ left - C @ np.linalg.inv(M)).max() <= 1e-11 * np.abs(expected).max()
    r = rng.standard_normal(law.rays)
    solved, total = weights.parts(ca.SX(r))
    assert np.allclose(numbers(solved).ravel(), np.linalg.solve(M, r), rtol=1e-9)
    assert np.allclose(numbers(total), np.linalg.solve(M, r).sum(), rtol=1e-9)


def test_rays_without_friction_push_along_the_normal() -> None:
    C = numbers(PyramidLaw(4).columns(ca.SX([2.0, 0.0])))
    assert np.array_equal(C, [[0, 0, 0, 0], [0, 0, 0, 0], [2, 2, 2, 2]])


def test_rays_of_half_a_turn_are_exact() -> None:
    """A point mass that slides along a ray stays in its plane."""
    C = numbers(PyramidLaw(4).columns(ca.SX([1.0, 1.0])))
    assert np.array_equal(C, [[1, 0, -1, 0], [0, 1, 0, -1], [1, 1, 1, 1]])
