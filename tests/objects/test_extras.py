"""Messages about missing packages, the list of extras and the page on installing name the same packages."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from trajopt.errors import MissingDependencyError
from trajopt.objects.extras import Extra

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OWN = [
    ("trajopt.display.extra", "DISPLAY"),
    ("trajopt.mpc.server.extra", "SERVER"),
    ("trajopt.networks.onnx", "_ONNX"),
    ("trajopt.plants.mujoco.plant", "MUJOCO"),
    ("trajopt.plotting.frames", "FILM"),
]


def packages(extra: str) -> set[str]:
    return {re.split(r"[<>=~]", each)[0] for each in EXTRAS[extra]}


@pytest.mark.parametrize(("module", "name"), OWN)
def test_a_message_installs_the_packages_of_its_extra(module: str, name: str) -> None:
    extra: Extra = getattr(importlib.import_module(module), name)
    assert set(extra.install.split()) == packages(extra.extra)
    with pytest.raises(MissingDependencyError, match=f"pip install {extra.install} .extra '{extra.extra}'"):
        extra.check("no_such_module")


def test_the_page_on_installing_lists_the_packages_of_each_extra() -> None:
    section = (ROOT / "docs" / "install.md").read_text().partition("## Extras")[2].partition("## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, flags=re.MULTILINE)
    listed = {name: set(words.split(", ")) for name, words in rows}
    assert listed == {name: packages(name) for name in EXTRAS if name not in ("test", "dev", "docs")}
