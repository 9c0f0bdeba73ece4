"""Tests of trajopt.solvers."""
