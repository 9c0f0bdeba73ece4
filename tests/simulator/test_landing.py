"""A ball that falls on a soft floor: how deep it lands, how fast it comes out, and what energy that takes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from trajopt.articulations import ArticulationBuilder
from trajopt.robots import Robot
from trajopt.simulator import MDPContact, Rollout, Simulator
from trajopt.simulator.contact import resting_strength
from trajopt.types import Reals

GRAVITY, RADIUS, DT, REST_DEPTH = 9.81, 0.1, 1e-3, 1e-3


@cache
def ball() -> Robot:
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("ball"), RADIUS, density=500.0)
    builder.add_free("world", "ball")
    return builder.build("ball")


@cache
def landing(height: float, steps: int = 1500, v_tol: float = 1e-4, **options: Any) -> Rollout:
    """It falls by a height onto the floor z = 0."""
    contact = MDPContact("ball", radius=RADIUS, **options)
    x0 = np.r_[0, 0, RADIUS + height, 0, 0, 0, 1, np.zeros(6)]
    return Simulator(ball(), [contact], v_tol=v_tol).rollout(x0, None, steps, DT)


def depths(rollout: Rollout) -> Reals:
    return RADIUS - rollout.xs[:, 2]


@pytest.mark.parametrize("height", [0.01, 0.2, 0.9])
def test_it_lands_as_deep_as_the_budget_takes_its_energy(height: float) -> None:
    """The budget k d³ = 7/6 m g (d / 1 mm)³ does the work m g (h + d) on the way down; the ball does not bounce."""
    deep = depths(landing(height))
    largest = float(deep.max())
    assert largest == pytest.approx((4 * 6 / 7 * (height + largest) * REST_DEPTH**3) ** 0.25, rel=0.05)
    after = deep[int(np.argmax(deep)) :]
    assert np.diff(after).max() < 1e-12


@pytest.mark.parametrize(("friction", "rays"), [(0.7, 6), (0.5, 6), (0.7, 5)])
def test_it_comes_out_at_a_fraction_of_v_tol(friction: float, rays: int) -> None:
    """At v_tol friction cos(π/n) where it is deep; the work of that is all that its energy ever gains."""
    v_tol = 1e-4
    rollout = landing(0.2, v_tol=v_tol, friction=friction, rays=rays)
    deep, weight = depths(rollout), ball().mass * GRAVITY
    expected = v_tol * friction * np.cos(np.pi / rays)
    assert (deep[-501] - deep[-1]) / (500 * DT) == pytest.approx(expected, rel=0.01)
    energy = weight * rollout.xs[:, 2] + 0.5 * ball().mass * (rollout.xs[:, 7:10] ** 2).sum(axis=1)
    assert np.diff(energy).max() < 1.01 * weight * expected * DT


def test_a_stronger_floor_or_a_larger_v_tol_lets_it_be_higher() -> None:
    soft = float(depths(landing(0.2)).max())
    strong = landing(0.2, strength=10 * resting_strength(ball(), 6, 3.0))
    assert float(depths(strong).max()) == pytest.approx(soft / 10**0.25, rel=0.05)
    assert depths(landing(0.2, v_tol=1e-2))[-1] == pytest.approx(REST_DEPTH, rel=0.01)
