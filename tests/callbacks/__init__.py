"""Tests of trajopt.callbacks."""
