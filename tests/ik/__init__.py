"""Tests of trajopt.ik."""
