"""What an edit compiles: costs where costs change, constraints where constraints change, and calls of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import trajopt
from tests.benchmarks import edits_child
from trajopt import kernels
from trajopt.shooting import ShootingProblem
from trajopt.solvers import FDDPOptions, SolverFDDP, SolverSQP, SQPOptions

CALLS = {"entry"}


@pytest.fixture(scope="module")
def trot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Go2's trot was solved, with a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        kernels.forget()
        compiled = compiled_by(*edits_child.go2(""))
        assert {"dynamics of go2 with 4 contacts", "costs of go2", "matmul", "entry"} <= set(compiled)
        yield


def compiled_by(problem: ShootingProblem, guess: tuple[Any, Any], *, rows: bool = False) -> list[str]:
    """Names of what the first iterations of a solve compile."""
    solver, options = (SolverSQP, SQPOptions) if rows else (SolverFDDP, FDDPOptions)
    before = kernels.compilations()
    solver(problem, options(max_iterations=2)).solve(*guess)
    return kernels.compiled()[before:]


@pytest.mark.slow
@pytest.mark.usefixtures("trot")
@pytest.mark.parametrize("edit", ["built-in term", "own term"])
def test_one_more_term_compiles_costs_and_calls(edit: str) -> None:
    """No dynamics, products, factorisations, recursions or drivers."""
    assert set(compiled_by(*edits_child.go2(edit))) == {"costs of go2", "derivatives of costs of go2"} | CALLS


@pytest.mark.slow
@pytest.mark.usefixtures("trot")
def test_another_constraint_compiles_constraints_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_by(*edits_child.go2("constraint"), rows=True)

    def of_a_foot(state: trajopt.StateMultibody, frame: str) -> trajopt.ResidualModelAbstract:
        return trajopt.ResidualModelFrameVelocity(state, "FL_foot")

    monkeypatch.setattr(edits_child, "calm", of_a_foot)
    compiled = set(compiled_by(*edits_child.go2("constraint"), rows=True))
    assert compiled == {"constraints of go2", "derivatives of constraints of go2"} | CALLS
