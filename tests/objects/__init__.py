"""Tests of the manners of objects."""
