"""Energy and momentum of single steps, on fixed and free bases."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.cases import EXACT_CASES, Case, two_legs
from tests.simulator.twin import Twin
from tests.simulator.twin_mechanisms import Robot

DT = 2e-3
CASES = {**EXACT_CASES, "two-legs": two_legs}


def velocities(case: Case, simulator: object, x: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v_free by Pinocchio, and v̂ of the result, both in the axes of q."""
    model = case.mechanism.model()
    twin, q = Twin(Robot(model), []), x[: model.nq]
    after = simulator.simulate(DT, x, tau)[0]  # type: ignore[attr-defined]
    free = twin.free_velocity(q, x[model.nq :], tau, DT)
    return free, twin.turned(after[model.nq :], after[: model.nq], q)


@pytest.mark.parametrize("mu", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("name", list(CASES))
def test_energy_bound(name: str, mu: float, rng: np.random.Generator) -> None:
    """½ v̂ᵀHv̂ ≤ ½ v_freeᵀHv_free + μ Σ (n_f + 1): a minimiser of f + μ barrier is within μ · terms of min f ≤ f(0)."""
    case = CASES[name]()
    robot = Robot(case.mechanism.model())
    simulator = case.simulator(barrier_weight=mu / DT)
    bound = mu * sum(s.rays + 1 for s in case.spheres)
    H = robot.mass_matrix(case.q)
    for scale in (0.01, 1.0, 10.0):
        v, tau = scale * rng.normal(size=(2, robot.nv))
        free, after = velocities(case, simulator, np.concatenate([case.q, v]), tau)
        before = free @ H @ free / 2
        assert after @ H @ after / 2 <= before + bound + 1e-12 * max(1.0, before)


@pytest.mark.parametrize("mode", ["FORWARD_I", "BACKWARD_RK1F", "BACKWARD_RK1I"])
@pytest.mark.parametrize("name", list(CASES))
def test_energy_bound_of_other_programs(name: str, mode: str, rng: np.random.Generator) -> None:
    """The same from v to v̂ of impulses, with μ = 1 ms β, and from v_free at (q₊, v₊) to C_F + v₊ of backward modes."""
    case, weight = CASES[name](), 0.5  # [W]
    robot = Robot(case.mechanism.model())
    n, H = robot.nv, robot.mass_matrix(case.q)
    simulator = case.simulator(mode, barrier_weight=weight)
    time = DT if mode.endswith("F") else 1e-3
    bound = weight * time * sum(s.rays + 1 for s in case.spheres)
    for scale in (0.01, 1.0, 10.0):
        v, old, tau = scale * rng.normal(size=(3, n))
        if mode == "FORWARD_I":
            free, after = v, simulator.velocity_after(DT, np.concatenate([case.q, v]), tau)
        else:
            twin = Twin(robot, [])
            free = twin.free_velocity(case.q, v, tau, DT, start=twin.earlier(case.q, v, old, DT))
            after = simulator.simulate(DT, np.concatenate([case.q, v, old]), tau)[0] + v
        before = free @ H @ free / 2
        assert after @ H @ after / 2 <= before + bound + 1e-12 * max(1.0, before)
        assert np.abs(after - free).max() > 1e-6


@pytest.mark.parametrize("name", list(CASES))
def test_momentum_changes_by_the_contact_forces(name: str, rng: np.random.Generator) -> None:
    """H (v̂ - v_free) = dt Σ Jᵀ f, f in the world's axes, to rounding of H v and of the forces."""
    case = CASES[name]()
    twin = type(case)(mechanism=Robot(case.mechanism.model()), spheres=case.spheres, q=case.q, v=case.v).twin()
    simulator = case.simulator(v_tol=1e-2)  # for pushes where contacts separate
    v, tau = rng.normal(size=(2, twin.mechanism.nv))
    x = np.concatenate([case.q, v])
    free, after = velocities(case, simulator, x, tau)
    forces = simulator.contact_forces(DT, x, tau)
    assert list(forces) == [f"sphere_{i}" for i in range(len(case.spheres))]
    pushed = sum(twin.contact(case.q, s)[0].T @ f for s, f in zip(case.spheres, forces.values()))
    change = twin.mechanism.mass_matrix(case.q) @ (after - free) / DT
    np.testing.assert_allclose(change, pushed, rtol=0, atol=1e-9 * max(1.0, np.abs(change).max()))
    assert np.abs(pushed).max() > 1e-3


@pytest.mark.parametrize("name", list(CASES))
def test_forces_lie_in_their_pyramids(name: str, rng: np.random.Generator) -> None:
    """0 < f_n < k, and f inside the inscribed pyramid: f = k B w with w > 0, Σ w < 1."""
    case = CASES[name]()
    twin = type(case)(mechanism=Robot(case.mechanism.model()), spheres=case.spheres, q=case.q, v=case.v).twin()
    simulator = case.simulator()
    for scale in (0.1, 5.0):
        x = np.concatenate([case.q, scale * rng.normal(size=twin.mechanism.nv)])
        for sphere, force in zip(case.spheres, simulator.contact_forces(DT, x).values()):
            _, B, k = twin.contact(case.q, sphere)
            # the two rays around the tangential force: coefficients of force in a basis of facets are positive
            facets = [np.cross(B[:, i], B[:, (i + 1) % sphere.rays]) for i in range(sphere.rays)]
            assert all(facet @ force >= -1e-12 * k for facet in facets)
            centre = B.mean(axis=1)
            assert force @ centre <= k * (1 + 1e-12)


@pytest.mark.parametrize("name", list(CASES))
def test_position_rows_follow_the_velocity(name: str) -> None:
    """q₊ is q moved by dt v₊, along the axes of q₊ for free joints, and ∂q₊ follows, to rounding and differences."""
    case = CASES[name]()
    twin = Twin(Robot(case.mechanism.model()), [])
    model, n = case.mechanism.model(), case.mechanism.nv
    after, Dqdq, Dtau = case.simulator().simulate(DT, case.x, np.ones(n), Dqdq=True, Dtau=True)
    v = after[model.nq :]

    def moved(q: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """q₊ with the velocity in the axes of q₊, whose rotation does not depend on the linear part."""
        turned, _ = twin.moved(q, velocity, DT)
        return twin.moved(q, twin.turned(velocity, turned, q), DT)[0]

    np.testing.assert_allclose(after[: model.nq], moved(case.q, v), rtol=0, atol=1e-14)
    h, by_q, by_v = 6e-6, [], []
    for step in h * np.eye(n):
        ends = [moved(pin.integrate(model, case.q, s * step), v) for s in (-1, 1)]
        by_q.append(pin.difference(model, *ends) / (2 * h))
        ends = [moved(case.q, v + s * step) for s in (-1, 1)]
        by_v.append(pin.difference(model, *ends) / (2 * h))
    start = np.hstack([np.array(by_q).T, np.zeros((n, n))])
    np.testing.assert_allclose(Dqdq[:n], start + np.array(by_v).T @ Dqdq[n:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(Dtau[:n], np.array(by_v).T @ Dtau[n:], rtol=0, atol=1e-8)
