"""Tests of trajopt.costs."""
