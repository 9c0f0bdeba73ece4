"""Normal contact of a mass against closed forms: rest depth, plastic impacts, creep."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.simulator.cases import box, point
from tests.simulator.stepping import trajectory
from tests.simulator.twin_mechanisms import GRAVITY
from trajopt.simulator import MDPContact, Simulator

MASS, RAYS, DT = 1.0, 6, 1e-3
WEIGHT = MASS * GRAVITY  # [N]


@pytest.mark.parametrize("exponent", [2, 3])
@pytest.mark.parametrize("start", [0.0, 1.5], ids=["from the surface", "too deep"])
def test_rest_depth(exponent: int, start: float) -> None:
    """At rest w = 1/(n+1) for each ray, so k n/(n+1) = m g: d = ((n+1)/n m g/strength)^(1/p), whatever μ is.

    Near it m d²x/dt² + b dx/dt + K x = 0, as w follows a normal velocity with b = (m g)²/(β n (n+1)), and the
    depth with K = p m g/d. β is such that b = 2.2 √(K m), whose slower rate is r = 0.64 √(K/m); after
    40/r 1e-17 is left.
    """
    strength = 1e5
    depth = ((RAYS + 1) / RAYS * WEIGHT / strength) ** (1 / exponent)
    if exponent == 2:
        assert depth == pytest.approx(0.0106981307, abs=5e-11)  # a golden number of the formulation
    rate = np.sqrt(exponent * GRAVITY / depth)
    part, time = GRAVITY / (RAYS * (RAYS + 1)) / (2.2 * rate), 40 / (0.64 * rate)
    simulator = point(strength=strength, exponent=exponent).simulator(barrier_weight=WEIGHT * part)
    xs = trajectory(simulator, DT, np.array([0, 0, -start * depth, 0, 0, 0]), int((0.3 + time) / DT))
    assert xs[-1, 2] == pytest.approx(-depth, rel=1e-9)
    assert np.abs(xs[-1, 3:]).max() < 1e-9
    assert np.abs(xs[:, :2]).max() < 1e-9  # rays lie evenly around, so nothing moves sideways


@pytest.mark.parametrize("v_tol", [1e-2, 1e-4])
def test_the_rest_depth_does_not_depend_on_the_barrier(v_tol: float) -> None:
    """At rest depth one step changes nothing: the solution is the analytic centre. Rounding of a few operations."""
    case = point(strength=1e5, exponent=3)
    depth = ((RAYS + 1) / RAYS * WEIGHT / 1e5) ** (1 / 3)
    x = np.array([0, 0, -depth, 0, 0, 0])
    after, _, _ = case.simulator(v_tol=v_tol).simulate(DT, x)
    assert np.abs(after - x).max() < 1e-12


@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_impacts_are_perfectly_plastic(speed: float) -> None:
    """With ρ = f/k the part of the budget in use, a vertical velocity is v = μ (n/ρ - 1/(1-ρ)) / (k dt) in every step.

    That is the optimality condition of w = ρ/n each. ρ comes from the change of momentum, and is known to ε v m/(k dt)
    relative to 1; its error counts n/ρ² and 1/(1-ρ)² times. So nothing bounces: v is never more than creep.
    """
    mu, strength = 1e-7, 1e7
    simulator = point(strength=strength).simulator(barrier_weight=mu / DT)
    xs = trajectory(simulator, DT, np.array([0, 0, 5e-4, 0, 0, -speed]), 400)
    touched = 0
    for x, y in itertools.pairwise(xs):
        k = strength * max(-x[2], 0.0) ** 3
        rho = (y[5] - x[5] + GRAVITY * DT) * MASS / (k * DT) if k else 0.0
        if not 1e-3 < rho < 1 - 1e-3:
            continue
        touched += 1
        creep = mu * (RAYS / rho - 1 / (1 - rho)) / (k * DT)
        doubt = 1e-14 * max(1.0, speed * MASS / (k * DT)) * mu * (RAYS / rho**2 + 1 / (1 - rho) ** 2) / (k * DT)
        assert y[5] == pytest.approx(creep, rel=1e-8, abs=1e-12 + doubt)
    assert touched > 300
    assert xs[:, 5].max() <= mu * RAYS / (WEIGHT * DT) * 1.001  # creep at ρ -> 0 with ρ k = m g: n μ/(m g dt)
    deepest = xs[:, 2].min()
    assert xs[-1, 2] - deepest < 400 * DT * mu * RAYS / (WEIGHT * DT)  # it is not pushed out


def test_the_budget_limits_the_force() -> None:
    """Far too fast for its depth a mass gets all of k but 1 - ρ = 1/(n/ρ - k dt v/μ) of it, 2e-3 here."""
    mu, strength, depth = 1e-7, 1e7, 1e-3
    k = strength * depth**3
    x = np.array([0, 0, -depth, 0, 0, -5.0])
    after, _, _ = point(strength=strength).simulator(barrier_weight=mu / DT).simulate(DT, x)
    used = MASS * (after[5] - x[5] + GRAVITY * DT) / (k * DT)
    left = 1 / (RAYS / used - k * DT * after[5] / mu)
    assert 1 - used == pytest.approx(left, rel=1e-8)


def test_a_box_falls_flat_as_a_point() -> None:
    """A free box with corners in the same height behind each other: 3 forces of 1/3 each, so the depth of a third."""
    case = box()
    spheres = tuple(
        type(s)(frame="body", offset=(x, y, -0.05), radius=0.0, strength=1e5, rays=6)
        for s, (x, y) in zip(case.spheres, ((0.2, 0.0), (-0.1, 0.1), (-0.1, -0.1)))
    )
    level = type(case)(mechanism=case.mechanism, spheres=spheres, q=case.q, v=case.v)
    depth = (7 / 6 * case.mechanism.mass * GRAVITY / 3 / 1e5) ** (1 / 3)
    x = np.array([0, 0, 0.05 - depth, 0, 0, 0, 1, *np.zeros(6)])
    after, _, _ = level.simulator().simulate(DT, x)
    assert np.abs(after - x).max() < 1e-12  # the corners' centre is the centre of mass: nothing turns


def test_normal_forces_of_a_sliding_cube_bob_about_its_weight() -> None:
    """A sliding contact has no damping along its normal: its force is all of k, a spring. The mean is m g, within 1 %.

    The mean is over whole periods, between upward passages of the vertical velocity through zero. The cube begins at
    its depth at rest, below that at which k = m g.
    """
    case = box()
    corners = [(x, y, -0.05) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    contacts = [MDPContact("body", c, friction=0.3, name=f"c{i}") for i, c in enumerate(corners)]
    cube, weight = Simulator(case.mechanism.model(), contacts), case.mechanism.mass * GRAVITY
    start = np.zeros(13)
    start[2], start[6], start[7] = 0.05 - 1e-3 / 4 ** (1 / 3), 1.0, 3.0
    rollout = cube.rollout(start, None, 600, 1e-3)
    assert rollout.xs[-1, 7] > 1.0  # it still slides
    normal = np.sum([force[:, 2] for force in rollout.forces.values()], axis=0)
    rising = rollout.xs[1:, 9] > 0
    passages = np.flatnonzero(rising[1:] & ~rising[:-1]) + 1
    assert len(passages) > 10
    assert normal[passages[0] : passages[-1]].mean() == pytest.approx(weight, rel=0.01)
    assert np.ptp(normal) > 0.1 * weight
