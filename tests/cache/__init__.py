"""Tests of trajopt.cache."""
