"""Tests of trajopt.problems."""
