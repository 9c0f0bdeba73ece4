"""Tests of trajopt.robots."""
