"""Tests of trajopt.actions."""
