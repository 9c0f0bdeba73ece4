"""Solutions to show, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from trajopt import problems
from trajopt.solution import Solution

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox")


@pytest.fixture(scope="session")
def reach() -> Solution:
    """A UR5 on its way to a point."""
    pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
    pytest.importorskip("trimesh", reason="no trimesh: pip install viser trimesh pycollada")
    case = problems.load("arm-reach")
    return case.solve()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, which renders in software."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no browser: install chromium (apt install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(SOFTWARE))
        yield chromium
        chromium.close()
