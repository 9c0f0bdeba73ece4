"""The iteration for the impulses: its residual, and the number of passes from a cold start."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trajopt.simulator.interior_point import TOLERANCE, iteration, start_function
from trajopt.simulator.laws import ColumnsLaw, PyramidLaw

LAWS = [PyramidLaw(6), PyramidLaw(6), PyramidLaw(3), ColumnsLaw(2, 3)]
SIZE = sum(law.size for law in LAWS)
FINGERS = [  # lower triangle of Λ, row by row
    33.798185,
    -33.033722,
    33.552924,
    0.22916295,
    0.11487598,
    0.20773878,
    0.45872794,
    0.2892543,
    0.22960587,
    33.815052,
    0.29276263,
    0.20851157,
    0.12366609,
    -33.020374,
    33.562758,
    0.18397384,
    0.099097305,
    0.18155661,
    0.19190179,
    0.098671981,
    0.16057988,
]


def problem(rng: np.random.Generator, strength: float, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Λ, velocities over √μ, and scaled values of the laws."""
    J = rng.standard_normal((SIZE, 9))
    values = [strength * 10 ** rng.uniform(-1, 1), 0.7] * 3
    columns = min(strength, 1e6) * rng.standard_normal(6)  # rays that cancel each other leave fewer digits
    return J @ J.T / 10, speed * rng.standard_normal(SIZE), np.array([*values, *columns])


def residual(point: list[np.ndarray], inertia: np.ndarray, free: np.ndarray, law: np.ndarray) -> float:
    """Largest w (Cᵀ u - 1/w + 1/s), relative to the sum of the absolute values of all its terms."""
    w, s = point[0].ravel(), point[1].ravel()
    parts = zip(LAWS, np.split(law, [2, 4, 6]))
    blocks = [np.array(ca.DM(ca.evalf(each.columns(ca.SX(values))))) for each, values in parts]
    ends = np.cumsum([0, *(each.rays for each in LAWS)])
    impulse = np.concatenate([C @ w[i:j] for C, i, j in zip(blocks, ends, ends[1:])])
    u, size = free + inertia @ impulse, np.abs(free) + np.abs(inertia) @ np.abs(impulse)
    rows = np.cumsum([0, *(each.size for each in LAWS)])
    worst = 0.0
    for f, C in enumerate(blocks):
        part, place = w[ends[f] : ends[f + 1]], slice(rows[f], rows[f + 1])
        left = part * (C.T @ u[place] + 1 / s[f]) - 1
        worst = max(worst, np.abs(left / (1 + part * (np.abs(C).T @ size[place] + 1 / s[f]))).max())
        assert abs(1 - part.sum() - s[f]) < 1e-14
    return worst


@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("speed", [0.0, 1.0, 1e3])
def test_it_converges_from_a_cold_start(strength: float, speed: float) -> None:
    rng, body, start = np.random.default_rng(3), iteration(LAWS), start_function(LAWS)
    for _ in range(10):
        given = problem(rng, strength, speed)
        point = [p.full() for p in start(*given)]
        passes, left = 0, np.inf
        while left > 0:
            *point, left = body.evaluate(*point, *given, TOLERANCE)
            passes += 1
        assert left == 0.0
        assert passes <= 30
        assert all(np.all(p > 0) for p in point)
        assert residual(point, *given) < 1e-11


def test_a_hard_state_of_two_light_fingers_converges() -> None:
    """Two spheres on the fingers of an arm that falls on them: second-order terms were a thousand times the mean."""
    laws = [PyramidLaw(6), PyramidLaw(6)]
    lower = np.zeros((6, 6))
    lower[np.tril_indices(6)] = FINGERS
    free = np.array([0.63093643, -0.93856221, -338.96108, 0.77584743, -0.80074498, -339.28845])
    given = lower + np.tril(lower, -1).T, free, np.array([331.11175, 0.7, 331.85309, 0.7])
    body, point = iteration(laws), [p.full() for p in start_function(laws)(*given)]
    for _ in range(20):
        *point, left = body.evaluate(*point, *given, TOLERANCE)
    assert left == 0.0
    assert all(np.all(p > 0) for p in point)


def test_without_strength_a_pass_gives_the_centre() -> None:
    given = (np.eye(SIZE), np.ones(SIZE), np.zeros(12))
    point = [p.full() for p in start_function(LAWS)(*given)]
    *point, left = iteration(LAWS).evaluate(*point, *given, TOLERANCE)
    assert left.item() == 0.0
    assert np.allclose(point[0].ravel(), np.repeat([1 / 7, 1 / 4], [12, 6]), rtol=1e-15)


def test_nan_in_the_data_makes_the_iteration_fail() -> None:
    given = (np.eye(SIZE), np.full(SIZE, np.nan), np.ones(12))
    point = [p.full() for p in start_function(LAWS)(*given)]
    assert np.isnan(iteration(LAWS).evaluate(*point, *given, TOLERANCE)[-1].item())
