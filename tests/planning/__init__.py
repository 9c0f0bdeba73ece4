"""Tests of planning around obstacles."""
