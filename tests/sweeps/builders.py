"""Functions that workers import: problems that end their process, or that are no problems."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from trajopt import problems
from trajopt.problems import ProblemCase
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverAbstract

ARM: dict[str, Any] = {"robot": "planar-2r", "T": 20}


def arm(velocity: float = 1e-2) -> ProblemCase:
    return problems.load("arm-reach", velocity=velocity, **ARM)


def bare_problem() -> ShootingProblem:
    return arm().problem


def solver() -> SolverAbstract[Any]:
    case = arm()
    return case.solver(case.problem, case.options)


def nothing() -> None:
    return None


def killed(owner: int, flag: str, times: int) -> ProblemCase:
    """Ends workers by SIGKILL; each writes a letter to a file before."""
    if os.getpid() != owner:
        with Path(flag).open("a") as file:
            file.write("x")
        if len(Path(flag).read_text()) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
    return arm()
