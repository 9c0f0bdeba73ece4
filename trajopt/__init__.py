"""Trajectory optimization for robots from Python."""
