"""Typer's runner of command lines, for which each application is built once: that takes 30 ms, most of a short run."""

from __future__ import annotations

import functools

import typer.testing
from typer.testing import CliRunner

__all__ = ["CliRunner", "built"]

built = functools.cache(typer.main.get_command)
typer.testing._get_command = built  # type: ignore[attr-defined]
