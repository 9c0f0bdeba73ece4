"""Tests of trajopt.kinematics."""
