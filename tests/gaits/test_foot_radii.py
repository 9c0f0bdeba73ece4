"""Radii of round feet, which the page on gaits lists, are those of the robots' collision geometry."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pytest

import trajopt
from trajopt.robots.geometry import load_geometry
from trajopt.robots.legged import LEGGED_ROBOTS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "quadruped-trot.md"


@pytest.mark.parametrize(
    ("name", "radius", "above"),
    [("a1", 20, 20), ("go1", 20, 20), ("b1", 40, 40), ("hyq", 21.7, 21.7), ("anymal", 31, 7.8), ("anymal_c", 30, 7.5)],
)
def test_radii_of_feet(name: str, radius: float, above: float) -> None:
    """The frame is `above` [mm] the ground, below the middle of the lowest sphere of the foot."""
    robot = trajopt.load_robot(name)
    assert robot.source is not None
    shapes = load_geometry(robot.source, robot.model, "collision").geometryObjects
    for foot in LEGGED_ROBOTS[name].feet:
        frame = robot.model.frames[robot.frame_id(foot)]
        spheres = [s for s in shapes if s.parentJoint == frame.parentJoint and isinstance(s.geometry, coal.Sphere)]
        lowest = min(spheres, key=lambda sphere: float(sphere.placement.translation[2]))
        offset = np.linalg.norm(frame.placement.translation - lowest.placement.translation)
        assert 1e3 * lowest.geometry.radius == pytest.approx(radius, abs=0.1)
        assert 1e3 * (lowest.geometry.radius - offset) == pytest.approx(above, abs=0.1)
    assert f"{radius:g} mm" in PAGE.read_text()
    assert f"{above:g} mm" in PAGE.read_text()
