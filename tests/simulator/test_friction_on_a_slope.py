"""A box that slides on a slope at an angle to the fall line: rays of friction against the cone."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from trajopt.articulations import ArticulationBuilder
from trajopt.simulator import MDPContact, Simulator
from trajopt.types import Reals

SLOPE, FRICTION, G = np.radians(20.0), 0.8, 9.81
NORMAL = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
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


@pytest.mark.parametrize(("rays", "too_far"), [(6, 0.235), (24, 0.006)])
def test_a_box_pushed_at_30_degrees_to_the_fall_line(rays: int, too_far: float) -> None:
    builder = ArticulationBuilder()
    builder.add_link("box")
    builder.add_box("box", (0.2, 0.2, 0.1), density=500.0)
    builder.add_free("world", "box")
    corners = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    contacts = [
        MDPContact("box", corner, surface=(*NORMAL, 0.0), friction=FRICTION, rays=rays, name=f"c{i}")
        for i, corner in enumerate(corners)
    ]
    turn = pin.Quaternion(pin.utils.rotate("y", SLOPE)).coeffs()
    v = 2.0 * np.array([np.cos(np.radians(30.0)), np.sin(np.radians(30.0))])
    x0 = np.concatenate([0.05 * NORMAL, turn, v, np.zeros(4)])  # velocities are those in the box's frame
    rollout = Simulator(builder.build("box"), contacts, "BACKWARD_RK1F").rollout(x0, steps=1000, dt=1e-3)
    way = (rollout.xs[-1, :3] - x0[:3]) @ np.stack([DOWN, ACROSS], axis=1)
    length = np.linalg.norm(of_a_point(v, 0))
    assert np.linalg.norm(way) / length - 1.0 == pytest.approx(too_far, abs=0.01)
    if rays == 6:
        assert np.linalg.norm(way) == pytest.approx(float(np.linalg.norm(of_a_point(v, rays))), rel=0.02)
