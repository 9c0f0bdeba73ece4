"""Runs the blocks of code in pages that are no cells: `python docs/check_blocks.py docs/*.md docs/*/*.md`.

Blocks marked `python` and `bash` run, in an empty folder for each page, after the cells of the page where it has some:
commands may name files that Python has written. Blocks that install run in .ci/run; blocks for a cluster do not run,
nor those of other packages, which are marked `py`. JOBS (2) pages run at a time; servers, whose ports are fixed, run
one at a time and are stopped after a while.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

BLOCK = re.compile(r"^```(?:(python|bash)|\{code-cell\} ipython3)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
ELSEWHERE = re.compile(r"\bpip install\b|-m venv\b|^#SBATCH|^dask scheduler", flags=re.MULTILINE)
SERVES = re.compile(r"^trajopt (serve|show)\b(?!.*--html)")

_serving = threading.Lock()


def run(command: list[str], folder: str, seconds: float | None = None) -> None:
    """Runs a command; one that serves has to be still there after some seconds."""
    environment = os.environ | {"MPLBACKEND": "agg"}
    if "cache clear" in command[-1]:
        environment["TRAJOPT_CACHE_DIR"] = folder  # not the cache of everything else
    try:
        subprocess.run(command, cwd=folder, env=environment, check=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        if seconds is None:
            raise


def check(page: Path) -> int:
    """Runs the blocks of a page; returns how many there were beside cells."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    blocks = [(kind, text) for kind, text in found if kind and not ELSEWHERE.search(text)]
    if not blocks:
        return 0
    cells = "\n".join(text for kind, text in found if not kind)
    with tempfile.TemporaryDirectory() as folder:
        if cells:
            run([sys.executable, "-c", re.sub(r"(?m)^%.*$", "", cells)], folder)
        program = "\n".join(
            text for kind, text in blocks if kind == "python"
        )  # a block may use what one before it made
        if program:
            print(f"+ {page}: {program.splitlines()[0]} ...", flush=True)
            run([sys.executable, "-c", program], folder)
        for text in (text for kind, text in blocks if kind == "bash"):
            print(f"+ {page}: {text.splitlines()[0]} ...", flush=True)
            lines = text.replace("\\\n", " ").splitlines()
            serves = any(SERVES.match(line) for line in lines)
            for part in filter(None, lines if serves else [text]):
                one = bool(SERVES.match(part))  # `exec`, so that the server itself is stopped
                with _serving if one else nullcontext():
                    run(["bash", "-euo", "pipefail", "-c", "exec " * one + part], folder, 20.0 if one else None)
    return len(blocks)


if __name__ == "__main__":
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pages:
        print(sum(pages.map(check, map(Path, sys.argv[1:]))), "blocks ran")
