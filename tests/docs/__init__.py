"""Tests of the documentation site's parts."""
