"""A second gait of a robot compiles nothing: its phases are data."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

COUNT = """
import json, sys
import trajopt
from trajopt.shooting.evaluator import Evaluator

def prepared(name, **options):
    problem = trajopt.problems.load(name, robot="small-quadruped", **options).problem
    Evaluator(problem).prepare()
    return {"knots": len(problem.running), "compiled": len(sys.modules["trajopt.kernels.functions"]._loaded)}

print(json.dumps([prepared("quadruped-trot"), prepared("quadruped-walk", cycles=2)]))
"""


@pytest.mark.slow
def test_a_second_gait_compiles_nothing() -> None:
    """In a process of its own: what other tests have compiled does not count."""
    run = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    trot, walk = json.loads(run.stdout)
    assert trot["compiled"] > 0
    assert walk["knots"] > trot["knots"]
    assert walk["compiled"] == trot["compiled"]
