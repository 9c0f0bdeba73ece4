"""Tests of trajopt.lie."""
