"""Tests of plants."""
