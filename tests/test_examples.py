"""Every example runs, is short, and ends where its docstring says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from trajopt.ik import IKPath
from trajopt.mpc import ClosedLoop
from trajopt.retiming import RetimedPath
from trajopt.simulator import Rollout
from trajopt.solution import Solution, SolverStatus

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


def load(path: Path) -> object:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_examples_are_numbered_from_one() -> None:
    assert [int(p.name[:2]) for p in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    module = load(path)
    solution = module.main(plot=False)  # type: ignore[attr-defined]
    height = re.search(r"Expected height: ([0-9.]+) m[ .;]", module.__doc__ or "")
    if height:
        assert isinstance(solution, Rollout)
        printed = re.search(r"is ([0-9.]+) m above the floor", capsys.readouterr().out)
        assert printed is not None
        assert float(printed.group(1)) == pytest.approx(float(height.group(1)), abs=2e-3)
        return
    bound = re.search(r"Expected (\w+) in ([\w/]+): (below|above) ([0-9.]+)[.]", module.__doc__ or "")
    if bound:
        if isinstance(solution, IKPath):
            assert solution.followed
        else:
            assert isinstance(solution, ClosedLoop)
            assert np.mean(solution.statuses == "failed") < 0.005  # after a push that topples a pole
        found = re.search(rf"{bound[1]} in {bound[2]}: ([0-9.]+) ", capsys.readouterr().out)
        assert found is not None
        value, limit = float(found[1]), float(bound[4].rstrip("."))
        assert value < limit if bound[3] == "below" else value > limit
        return
    duration = re.search(r"Expected duration: ([0-9.]+) s[ .;]", module.__doc__ or "")
    if duration:
        assert isinstance(solution, RetimedPath)
        assert solution.converged
        assert solution.duration == pytest.approx(float(duration.group(1)), rel=1e-4)
        return
    assert isinstance(solution, Solution)
    expected = re.search(r"Expected cost: ([0-9.]+)[ .;]", module.__doc__ or "")
    assert expected is not None
    rollout = solution.solver.startswith("rollout")
    assert solution.status is (SolverStatus.UNSOLVED if rollout else SolverStatus.CONVERGED)
    assert solution.cost == pytest.approx(float(expected.group(1).rstrip(".")), rel=1e-6)
