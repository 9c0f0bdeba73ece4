"""Tests of mobile robots."""
