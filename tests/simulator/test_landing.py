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


@cache
def slider() -> Robot:
    """A ball that moves along x and z without turning."""
    builder = ArticulationBuilder()
    builder.add_box(builder.add_link("cart"), (0.1, 0.1, 0.1), density=1e-6)
    builder.add_sphere(builder.add_link("ball"), 0.05, density=1000.0)
    builder.add_prismatic("world", "cart", axis="x")
    builder.add_prismatic("cart", "ball", axis="z")
    return builder.build("slider")


@cache
def rebound(speed: float, friction: float, mode: str = "FORWARD_RK1F", dt: float = 2e-4) -> float:
    """Largest height after a fall by 2 cm with a speed along the floor [m]; negative in the floor."""
    contacts = [MDPContact("ball", friction=friction, rays=24)]
    x0 = np.array([0.0, 0.02, speed, 0.0])
    z = Simulator(slider(), contacts, mode).rollout(x0, None, round(0.3 / dt), dt).xs[:, 1]
    return float(z[np.argmin(z[: round(0.1 / dt)]) :].max())


@pytest.mark.parametrize(("speed", "friction"), [(4.0, 0.3), (2.0, 0.8), (4.0, 0.8)])
def test_a_landing_that_slides_fast_rebounds_to_its_height(speed: float, friction: float) -> None:
    """Friction at the full budget dissipates most as long as the ball slides faster than 1/μ of its rise."""
    fall = np.sqrt(2 * GRAVITY * 0.02)
    assert speed - 2.0 * friction * fall > fall / friction  # the impulses of both ways reduce the speed
    assert rebound(speed, friction) == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.3), (4.0, 0.1), (1.5, 0.8)])
def test_a_slower_one_leaves_at_friction_times_its_sliding_speed(speed: float, friction: float) -> None:
    """It rises at w = μ (v - μ w_fall) / (1 + μ²), from a place that is up to 3 mm deep."""
    fall = np.sqrt(2 * GRAVITY * 0.02)
    rise = friction * (speed - friction * fall) / (1.0 + friction**2)
    assert rise < fall
    assert rise**2 / (2 * GRAVITY) - 3e-3 < rebound(speed, friction) < rise**2 / (2 * GRAVITY)


def test_one_that_sticks_does_not_rebound_and_backward_steps_damp() -> None:
    assert rebound(0.4, 0.8) < -0.9 * REST_DEPTH  # v < μ w
    assert 4e-3 < rebound(2.0, 0.8, "BACKWARD_RK1F", 1e-3) < rebound(2.0, 0.8, "BACKWARD_RK1F", 2e-4) < 0.02


def test_a_stronger_floor_or_a_larger_v_tol_lets_it_be_higher() -> None:
    soft = float(depths(landing(0.2)).max())
    strong = landing(0.2, strength=10 * resting_strength(ball(), 6, 3.0))
    assert float(depths(strong).max()) == pytest.approx(soft / 10**0.25, rel=0.05)
    assert depths(landing(0.2, v_tol=1e-2))[-1] == pytest.approx(REST_DEPTH, rel=0.01)
