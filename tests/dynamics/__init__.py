"""Tests of trajopt.dynamics."""
