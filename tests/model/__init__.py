"""Tests of trajopt.model."""
