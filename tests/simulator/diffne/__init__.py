"""Tests of trajopt.simulator.diffne."""
