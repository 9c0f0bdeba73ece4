"""Tests of trajopt.gaits."""
