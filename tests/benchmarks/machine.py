"""Where a benchmark ran: a time without that means nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARIES = ("numpy", "casadi", "pin", "llvmlite")


def machine() -> dict[str, str]:
    """Processor, load, versions and commit."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "processor": f"{_processor()}, {os.cpu_count()} logical cores, load {load}",
        "versions": f"Python {platform.python_version()}, {libraries}, trajopt {version('trajopt')} ({_commit()})",
    }


def _processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """Commit of the checkout, and whether it was edited since."""
    try:
        command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
