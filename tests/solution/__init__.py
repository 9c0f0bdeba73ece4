"""Tests of trajopt.solution."""
