"""Tests of trajopt.contacts."""
