"""Oblique projection of a legged robot, seen from its right."""

OBLIQUE = 0.3
"""Shift of a point to the right per distance to the far side, so that left and right legs are both visible [-]."""
