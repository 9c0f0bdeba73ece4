"""Tests of trajopt.sensing."""
