"""The twin of the simulator, held against closed forms, Pinocchio and the definitions of its programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator import twin_barrier
from tests.simulator.cases import EXACT_CASES
from tests.simulator.twin import MODES, Twin
from tests.simulator.twin_mechanisms import Robot
from tests.simulator.twin_numbers import doubles, exact, in_60_digits, power_of_ten, solve

ROUNDING = 1e-12  # relative, for a hundred operations on numbers of order 1
GROUPS = [slice(0, 6), slice(6, 10)]


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with in_60_digits():
        yield


@pytest.fixture(params=list(EXACT_CASES))
def case(request: pytest.FixtureRequest):
    """Each mechanism that has numbers of 60 digits."""
    return EXACT_CASES[request.param]()


def test_mechanisms_agree_with_pinocchio(case, rng: np.random.Generator) -> None:
    ours, theirs = case.mechanism, Robot(case.mechanism.model())
    for _ in range(5):
        v, step = rng.normal(size=(2, ours.nv))
        q = pin.integrate(theirs.model(), case.q, rng.normal(size=ours.nv))
        other = theirs.integrate(q, step)
        pairs = [
            (ours.mass_matrix(exact(q)), theirs.mass_matrix(q)),
            (ours.bias(exact(q), exact(v)), theirs.bias(q, v)),
            (ours.integrate(exact(q), exact(step)), other),
            (ours.difference(exact(q), exact(other)), step),
            (ours.seen_from(exact(q), exact(other), exact(v)), theirs.seen_from(q, other, v)),
        ]
        for sphere in case.spheres:
            point = rng.normal(size=3)
            pairs += list(zip(ours.place(exact(q), sphere.frame), theirs.place(q, sphere.frame)))
            pairs.append((ours.jacobian(exact(q), sphere.frame, exact(point)), theirs.jacobian(q, sphere.frame, point)))
        for found, wanted in pairs:
            np.testing.assert_allclose(doubles(found), wanted, rtol=0, atol=ROUNDING * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("mode", list(MODES))
def test_doubles_agree_with_60_digits(case, mode: str, rng: np.random.Generator) -> None:
    """Two mechanisms by different formulas, two solutions of the program."""
    tau, more = rng.normal(size=(2, case.mechanism.nv))
    x = np.concatenate([case.x, more]) if mode.startswith(("INVERSE", "BACKWARD")) else case.x
    found = doubles(case.twin().step(mode, 1e-3, exact(x), exact(tau)))
    wanted = Twin(Robot(case.mechanism.model()), case.spheres).step(mode, 1e-3, x, tau)
    assert np.abs(found - wanted).max() <= 1e-9 * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("weight", [1e-2, 1e-8])
def test_the_quadratic_program_is_solved(weight: float, rng: np.random.Generator) -> None:
    """By its gradient with 60 digits, and in doubles to rounding: a slack s = O(μ) is wrong by ε, and μ/s by μ ε/s²."""
    root, c = rng.normal(size=(10, 4)), rng.normal(size=10)
    for convert, bound in ((exact, power_of_ten(-50)), (np.asarray, 1e-14 / weight)):
        G, linear = convert(root @ root.T), convert(c)
        mu = convert(np.array(weight))[()]
        w = twin_barrier.minimise(linear, G, GROUPS, mu)
        gradient, _ = twin_barrier.derivatives(w, linear, G, GROUPS, mu)
        assert min(w) > 0
        assert all(sum(w[g]) < 1 for g in GROUPS)
        assert max(abs(gradient * w)) <= bound


def test_the_limiting_program_is_the_quadratic_one_without_curvature(rng: np.random.Generator) -> None:
    c, mu = exact(rng.normal(size=10)), power_of_ten(-3)
    closed = twin_barrier.limiting(c, GROUPS, mu)
    newton = twin_barrier.minimise(c, exact(np.zeros((10, 10))), GROUPS, mu)
    assert max(abs(closed - newton)) <= power_of_ten(-50)


def test_limiting_forces_dissipate_most(rng: np.random.Generator) -> None:
    """As μ → 0 a contact's ray with the least cᵢ gets all, if that is negative; the gap is μ per constraint at most."""
    for _ in range(20):
        c = rng.normal(size=10)
        for mu in (1e-2, 1e-6):
            w = twin_barrier.limiting(c, GROUPS, mu)
            least = sum(min(0.0, c[g].min()) for g in GROUPS)
            assert least <= c @ w <= least + mu * (10 + 2) * (1 + 1e-9)


def test_derivatives_agree_with_the_implicit_function_theorem() -> None:
    """∂v̂/∂v = I - H⁻¹D Σ⁻¹ Dᵀ, to what central differences with a step of 1e-20 leave."""
    case = EXACT_CASES["chain"]()
    twin, q, v = case.twin(), exact(case.q), exact(case.v)
    _, w = twin.maximal_dissipation(q, v, "impulse")
    D, H = twin.basis(q), twin.mechanism.mass_matrix(q)
    HD = solve(H, D)
    _, hessian = twin_barrier.derivatives(w, D.T @ v, D.T @ HD, twin.groups, twin.weight("impulse", None, q))
    wanted = exact(np.eye(3)) - HD @ solve(hessian, D.T)
    h = power_of_ten(-20)
    columns = [
        (twin.maximal_dissipation(q, v + h * e, "impulse")[0] - twin.maximal_dissipation(q, v - h * e, "impulse")[0])
        / (2 * h)
        for e in exact(np.eye(3))
    ]
    assert abs(np.array(columns).T - wanted).max() <= power_of_ten(-25)
