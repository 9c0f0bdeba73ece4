"""Tests of trajopt.residuals."""
