"""Tests of trajopt.constraints."""
