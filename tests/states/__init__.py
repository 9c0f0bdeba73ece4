"""Tests of trajopt.states."""
