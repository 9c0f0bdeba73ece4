"""Oblique view of a robot on feet from its right."""

OBLIQUE = 0.3
"""Shift of the far side to the right, in its distance, so that left and right do not hide each other [-]."""
