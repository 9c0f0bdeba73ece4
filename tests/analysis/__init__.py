"""Tests of trajopt.analysis."""
