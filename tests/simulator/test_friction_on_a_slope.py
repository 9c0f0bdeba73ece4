"""Boxes that slide on a slope, at an angle to the fall line or spinning: rays of friction against the cone."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from trajopt.articulations import ArticulationBuilder
from trajopt.simulator import MDPContact, Simulator
from trajopt.types import Reals

SLOPE, FRICTION, G = np.radians(20.0), 0.8, 9.81
NORMAL = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
CORNERS = np.array([(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
DOWN, ACROSS = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)]), np.array([0.0, 1.0, 0.0])


def of_a_point(v: Reals, rays: int) -> Reals:
    """Way (2,) down and across of a point from v (2,) with 0 for the cone, else rays, by Euler's method [m]."""
    way, v, step = np.zeros(2), v.copy(), 1e-4
    angles = 2.0 * np.pi * np.arange(rays) / max(rays, 1)
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(20_000):
        if np.linalg.norm(v) < 2e-3:
            break
        along = corners[(corners @ v).argmax()] if rays else v / np.linalg.norm(v)
        v = v + step * G * (np.array([np.sin(SLOPE), 0.0]) - FRICTION * np.cos(SLOPE) * along)
        way = way + step * v
    return way


def boxes(rays: int, friction: float) -> tuple[Simulator, Reals]:
    """A box of 20 x 20 x 10 cm with contacts at its lower corners, and its place and attitude on the slope (7,)."""
    builder = ArticulationBuilder()
    builder.add_link("box")
    builder.add_box("box", (0.2, 0.2, 0.1), density=500.0)
    builder.add_free("world", "box")
    contacts = [
        MDPContact("box", (*corner, -0.05), surface=(*NORMAL, 0.0), friction=friction, rays=rays, name=f"c{i}")
        for i, corner in enumerate(CORNERS)
    ]
    turn = pin.Quaternion(pin.utils.rotate("y", SLOPE)).coeffs()
    return Simulator(builder.build("box"), contacts, "BACKWARD_RK1F"), np.concatenate([0.05 * NORMAL, turn])


@pytest.mark.slow
@pytest.mark.parametrize(("rays", "too_far"), [(6, 0.235), (24, 0.006)])
def test_a_box_pushed_at_30_degrees_to_the_fall_line(rays: int, too_far: float) -> None:
    simulator, place = boxes(rays, FRICTION)
    v = 2.0 * np.array([np.cos(np.radians(30.0)), np.sin(np.radians(30.0))])
    x0 = np.concatenate([place, v, np.zeros(4)])  # velocities are those in the box's frame
    rollout = simulator.rollout(x0, steps=1000, dt=1e-3)
    way = (rollout.xs[-1, :3] - x0[:3]) @ np.stack([DOWN, ACROSS], axis=1)
    length = np.linalg.norm(of_a_point(v, 0))
    assert np.linalg.norm(way) / length - 1.0 == pytest.approx(too_far, abs=0.01)
    if rays == 6:
        assert np.linalg.norm(way) == pytest.approx(float(np.linalg.norm(of_a_point(v, rays))), rel=0.02)


def of_four_points(v: Reals, turning: float, friction: float, height: float = 0.05) -> Reals:
    """Way down and across [m] and turn [rad] of a box in 1.2 s, by Coulomb's law at its corners and Euler's method.

    The corners' normal forces, linear in their places, balance weight and moments of friction about the centre.
    """
    s, step, inertia = np.concatenate([np.zeros(3), v, [turning]]), 1e-4, (0.2**2 + 0.2**2) / 12.0  # per mass
    pull = np.array([G * np.sin(SLOPE), 0.0])
    for _ in range(12_000):
        r = CORNERS @ np.array([[np.cos(s[2]), np.sin(s[2])], [-np.sin(s[2]), np.cos(s[2])]])
        slip = s[3:5] + s[5] * np.stack([-r[:, 1], r[:, 0]], axis=1)
        along = slip / np.sqrt((slip**2).sum(axis=1) + 1e-6)[:, None]
        places = np.column_stack([np.ones(4), r])
        moments = np.vstack([np.ones(4), (r - height * friction * along).T]) @ places
        normal = np.maximum(places @ np.linalg.solve(moments, [G * np.cos(SLOPE), 0.0, 0.0]), 0.0)
        force = -friction * normal[:, None] * along
        turned = (r[:, 0] * force[:, 1] - r[:, 1] * force[:, 0]).sum() / inertia
        s[3:] += step * np.array([*(force.sum(axis=0) + pull), turned])
        s[:3] += step * s[3:]
    return s[:3]


@pytest.mark.slow
def test_a_box_that_slides_and_spins_needs_more_rays() -> None:
    """The figures of `MDPContact` and of the limitations; the error falls with the number of rays."""
    v, errors = np.array([1.0, 0.5]), []
    down, across, turned = of_four_points(v, 6.0, 0.5)
    assert np.degrees(turned) == pytest.approx(46.2, abs=0.3)
    assert across == pytest.approx(0.089, abs=1e-3)
    for rays, degrees, way in ((6, 77.0, 0.173), (12, 52.0, 0.123), (24, 48.0, 0.104)):
        simulator, place = boxes(rays, 0.5)
        x0 = np.concatenate([place, v, [0.0, 0.0, 0.0, 6.0]])
        x0[:3] -= 8e-4 * NORMAL
        x = simulator.rollout(x0, steps=1200, dt=1e-3).xs[-1]
        axis = pin.Quaternion(x[3:7]).matrix()[:, 0]
        assert np.degrees(np.arctan2(axis @ ACROSS, axis @ DOWN)) == pytest.approx(degrees, abs=1.0)
        assert (x[:3] - x0[:3]) @ ACROSS == pytest.approx(way, abs=2e-3)
        errors.append(np.hypot((x[:3] - x0[:3]) @ DOWN - down, (x[:3] - x0[:3]) @ ACROSS - across))
    assert errors[0] > 2.0 * errors[1] > 3.0 * errors[2]
