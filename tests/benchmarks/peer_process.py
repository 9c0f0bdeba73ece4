"""Crocoddyl in an environment and a process of its own, asked for one measurement at a time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.benchmarks.ours import Row

SCRIPTS = Path(__file__).with_name("peers")
FIELDS = {"calc_diff": "calc_diff_us", "backward": "backward_us", "rollout": "forward_us"}


class PeerProcess:
    """`peers/crocoddyl_times.py --serve`, or another such script; use it in a `with` statement, or close it.

    Args:
        environment: Folder that `peers/make_env.sh` made.
        seconds: Time for the solves of one measurement [s].
        script: The script in `peers/`.

    Raises:
        SystemExit: There is no such environment; says how to make one.
    """

    def __init__(self, environment: Path, seconds: float, script: str = "crocoddyl_times.py") -> None:
        python = environment / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"--peers: no {python}; make it: {SCRIPTS / 'make_env.sh'} {environment}")
        command = [
            str(python),
            str(SCRIPTS / script),
            "--serve",
            "--repeat",
            "1",
            "--seconds",
            f"{seconds}",
        ]
        one = {**os.environ, "OMP_NUM_THREADS": "1"}  # Eigen multiplies large matrices on all threads else
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=one)
        self.version = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.communicate()

    def measure(self, name: str) -> Row:
        """One measurement of the problem that Crocoddyl's side calls `name`.

        Raises:
            RuntimeError: The process ended, does not know the problem, or evaluates its model in Python.
        """
        answer = self.ask(name)
        if "error" in answer or answer["python_model"]:
            raise RuntimeError(f"{name}: {answer.get('error', 'part of the model is Python code: no fair time')}")
        self.version = answer["crocoddyl"]
        knots, iterations = answer["T"], answer["iterations"]
        micros = {part: answer[field] for part, field in FIELDS.items()}
        micros["iteration"] = 1e6 * answer["solve_s"] / iterations / knots
        return Row(micros=micros, knots=knots, iterations=iterations, cost=answer["cost"])

    def ask(self, name: str) -> dict[str, Any]:
        """The answer to a name.

        Raises:
            RuntimeError: The process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{name}: the peer's process ended with status {self._process.wait()}; see above")
        return dict(json.loads(line))
