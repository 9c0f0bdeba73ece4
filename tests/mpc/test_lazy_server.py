"""`trajopt.mpc.server` is an attribute that is imported on first use."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from trajopt import mpc
assert "trajopt.mpc.server" not in sys.modules, "loaded before its first use"
assert "server" in dir(mpc)
print(mpc.server.MPCServer.__name__)
"""


def test_the_server_needs_no_import_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "MPCServer", done.stderr
