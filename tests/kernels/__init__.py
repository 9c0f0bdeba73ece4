"""Tests of trajopt.kernels."""
