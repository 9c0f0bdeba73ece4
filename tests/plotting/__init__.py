"""Tests of trajopt.plotting."""
