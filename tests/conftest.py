"""Tests of one run share a cache of compiled code of their own, cold at the start, unless TRAJOPT_CACHE_DIR is set."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

VARIABLE = "TRAJOPT_CACHE_DIR"
_made = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # before any worker of pytest-xdist starts: workers inherit the variable, so that they share the cache
    if VARIABLE not in os.environ:
        config.stash[_made] = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="trajopt-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_made, None)
    if folder is not None:
        del os.environ[VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)
