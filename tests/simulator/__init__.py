"""Tests of trajopt.simulator."""
