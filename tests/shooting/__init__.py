"""Tests of trajopt.shooting."""
