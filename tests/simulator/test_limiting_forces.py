"""The limiting level: a force of the velocity alone, a smoothed penalty."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulator.cases import EXACT_CASES, point
from tests.simulator.twin_mechanisms import GRAVITY

MASS, RAYS = 1.0, 6
WEIGHT = MASS * GRAVITY
MU = 1e-3  # [W]
DT = 1e-3  # not used by the mode


def resting(strength: float = 1e5) -> np.ndarray:
    """A state at rest: k n/(n+1) = m g."""
    return np.array([0, 0, -(((RAYS + 1) / RAYS * WEIGHT / strength) ** (1 / 3)), 0, 0, 0])


def test_slope_of_the_force_at_rest() -> None:
    """∂f_n/∂v_n = -(m g)²/(μ n (n+1)): each w_i = 1/(n+1) loses c_i/μ (n+1)⁻³, with c_i = k v_n and k = m g (n+1)/n."""
    simulator = point(strength=1e5).simulator("FORWARD_LF", barrier_weight=MU)
    after, Dqdq, _ = simulator.simulate(DT, resting(), Dqdq=True)
    np.testing.assert_allclose(after, 0, atol=1e-9)  # [q̇, q̈]
    slope = WEIGHT**2 / (MU * RAYS * (RAYS + 1))
    assert -MASS * Dqdq[5, 5] == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize(("dt", "stable"), [(0.8e-3, True), (0.95e-3, False)])
def test_explicit_steps_are_stable_up_to_their_limit(dt: float, stable: bool) -> None:
    """dt < 2 m/b = 0.873 ms with the slope b: a disturbance of 1e-9 m/s shrinks or grows as |1 - dt b/m| per step."""
    simulator = point(strength=1e5).simulator("FORWARD_LF", barrier_weight=MU)
    x = resting()
    x[5] = start = 1e-9
    for _ in range(20):
        rate = simulator.simulate(dt, x)[0]
        x[3:] += dt * rate[3:]
        x[:3] += dt * x[3:]
    factor = abs(1 - dt * WEIGHT**2 / (MU * RAYS * (RAYS + 1)) / MASS)
    assert (factor < 1) == stable
    assert abs(x[5]) == pytest.approx(start * factor**20, rel=0.2)  # the depth's change adds K dt² = 6e-4 per step


def test_sliding_forces() -> None:
    """f_n → k and f_t → μ_F k against the slip. Sliding at s = 1 m/s the ray opposite gets all but μ-sized parts.

    With c_i = k μ_F s cos θ_i the ray at 180 degrees has w = μ/(c + ν), and the others μ/(k μ_F s (1 + cos θ_i)) each,
    at most μ/(k μ_F s)·(2 + 2·2/3 + 1/2) = 4 μ/(k μ_F s), the part that is left over μ/(k μ_F s).
    """
    friction, speed, strength = 0.5, 1.0, 1e5
    x = resting(strength)
    x[3] = speed
    k = strength * x[2].__abs__() ** 3
    after, _, _ = point(strength=strength, friction=friction).simulator("FORWARD_LF", barrier_weight=MU).simulate(DT, x)
    force = MASS * (after[3:] + np.array([0, 0, GRAVITY]))
    lost = 5 * MU / (k * friction * speed)
    assert force[2] == pytest.approx(k, rel=lost)
    assert force[0] == pytest.approx(-friction * k, rel=2 * lost)
    assert abs(force[1]) < 1e-9


def test_no_more_power_could_be_dissipated() -> None:
    """As μ → 0 the force is the one of {0, k b_j} with the least power; the barrier leaves a gap of μ (n + 1)."""
    case = point(strength=1e7)
    rng = np.random.default_rng(1)
    for mu in (1e-2, 1e-5):
        simulator = case.simulator("FORWARD_LF", barrier_weight=mu)
        for _ in range(20):
            v = rng.normal(size=3)
            rate, _, _ = simulator.simulate(DT, np.concatenate([case.q, v]))
            power = MASS * (rate[3:] + np.array([0, 0, GRAVITY])) @ v
            angles = 2 * np.pi * np.arange(RAYS) / RAYS
            rays = np.array([0.7 * np.cos(angles), 0.7 * np.sin(angles), np.ones(RAYS)])
            least = min(0.0, float((1e7 * abs(case.q[2]) ** 3 * rays.T @ v).min()))
            assert least - 1e-9 <= power <= least + mu * (RAYS + 1) + 1e-9


@pytest.mark.parametrize("level", ["I", "LF"])
@pytest.mark.parametrize("name", list(EXACT_CASES))
def test_forward_and_inverse_are_each_other(name: str, level: str, rng: np.random.Generator) -> None:
    """τ → q̈ → τ, to rounding: that of q̈, times the largest mass, and the program's tolerance cancels."""
    case = EXACT_CASES[name]()
    tau = rng.normal(size=case.mechanism.nv)
    forward, _, _ = case.simulator(f"FORWARD_{level}").simulate(DT, case.x, tau)
    rate = forward[-case.mechanism.nv :]
    back, _, _ = case.simulator(f"INVERSE_{level}").simulate(DT, np.concatenate([case.x, rate]))
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-10 * max(1.0, np.abs(rate).max()))
    np.testing.assert_array_equal(forward[: case.mechanism.nv], case.v)
