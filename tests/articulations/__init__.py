"""Tests of articulations."""
