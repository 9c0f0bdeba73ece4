"""Many solves that failed say why, and which of them."""

import re
from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.solution.reasons import first_reason
from trajopt.solvers import SolverDDP

UNREACHED = ["MAX_ITERATIONS"] * 3


@pytest.mark.parametrize(
    ("status", "error", "index", "expected"),
    [
        (["CONVERGED"], [""], None, ""),
        ([], [], None, ""),
        (["CONVERGED", "STALLED", "MAX_ITERATIONS"], [""] * 3, None, "row 1: STALLED, no attempt meets all"),
        (UNREACHED, [""] * 3, None, "rows 0 to 2: MAX_ITERATIONS, stopped at max_iterations"),
        (UNREACHED, [""] * 3, np.array([2, 3, 8]), "rows 2 to 3, 8: MAX_ITERATIONS"),
        (["ERROR"] * 3, ["A: x\nmore", "B: y", "A: x"], None, "rows 0, 2: A: x"),
        (["DIVERGED", "CONVERGED"] * 7, [""] * 14, None, "rows 0, 2, 4, 6, 8 and 2 more: DIVERGED"),
    ],
)
def test_the_first_reason_names_its_rows(status: Any, error: Any, index: Any, expected: str) -> None:
    text = first_reason(status, error, index)
    assert text.startswith(expected) if expected else text == ""


def test_a_batch_without_converged_rows_says_why() -> None:
    """In its text and in the errors of what needs a converged row."""
    solver = SolverDDP(problems.load("pendulum", T=30).problem)
    solutions = solver.solve_batch(parameters={"mass": [0.0, 0.0, 0.0]}, progress=False)
    why = "rows 0 to 2: ModelEvaluationError: knot 0: IntegratedActionModelEuler gives a next state that is not finite"
    assert f"reason      {why}" in repr(solutions)
    for method, words in ((solutions.best, "none of 3 rows converged"), (solutions.library, "expected converged")):
        with pytest.raises(InvalidArgumentError, match=rf"^solutions: {words}.*; {re.escape(why)}"):
            method()
    with pytest.raises(InvalidArgumentError, match="none of 0 rows converged$"):
        solutions[[]].best()
