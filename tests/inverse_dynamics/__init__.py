"""Tests of inverse dynamics with contact."""
