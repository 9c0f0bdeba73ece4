"""Scripts in processes of their own, without cached code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_to_the_end(script: str) -> None:
    """Runs an indented script, which must print "done" and nothing else, and end without an error."""
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
