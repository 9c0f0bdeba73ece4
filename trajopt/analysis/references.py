"""References of cost terms for points of the robot, knot by knot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def terms_of(model: Any) -> Iterable[Any]:
    """Cost terms of an action model, running or terminal."""
    stack = getattr(model, "costs", None) or getattr(getattr(model, "differential", None), "costs", None)
    return getattr(stack, "terms", ())


def all_terms(problem: Any) -> Iterator[Any]:
    """Cost terms of a problem, one for each name."""
    seen: set[str] = set()
    for model in {id(model): model for model in (*problem.running, problem.terminal)}.values():
        for term in terms_of(model):
            if term.name not in seen:
                seen.add(term.name)
                yield term


def knot_values(solution: Solution) -> Mapping[str, Reals]:
    """Run-time parameters of the solve by name, one row per knot 0..T; NaN at knots without the parameter."""
    problem = solution.problem
    assert problem is not None
    found = {}
    for name, rows in {**problem.parameter_values(), **solution.parameters}.items():
        if name in problem.parameters:
            values = np.asarray(rows, dtype=np.float64)
            found[name] = np.full((problem.T + 1, *values.shape[1:]), np.nan)
            found[name][list(problem.parameters[name].knots)] = values
    return found


def frame_references(solution: Solution, frame: str, values: Mapping[str, Reals]) -> Reals:
    """Reference positions of a frame, shape (T + 1, 3) [m]; NaN at knots where no term with a weight > 0 has one.

    Args:
        solution: The solution.
        frame: Name of the frame.
        values: Parameters of the solution, from `knot_values`.
    """
    from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameTranslation

    kinds = (ResidualModelFramePlacement, ResidualModelFrameTranslation)
    terms = [t for t in all_terms(solution.problem) if isinstance(t.residual, kinds) and t.residual.frame == frame]
    return _asked(len(solution.xs), terms, values)


def com_references(solution: Solution, values: Mapping[str, Reals]) -> Reals:
    """Reference positions of the centre of mass, shape (T + 1, 3) [m]; NaN as in `frame_references`."""
    from trajopt.residuals import ResidualModelCoMPosition

    terms = [t for t in all_terms(solution.problem) if isinstance(t.residual, ResidualModelCoMPosition)]
    return _asked(len(solution.xs), terms, values)


def _asked(knots: int, terms: list[Any], values: Mapping[str, Reals]) -> Reals:
    asked = np.full((knots, 3), np.nan)
    for term in terms:
        reference, weight = values[f"{term.name}.reference"], values[f"{term.name}.weight"]
        points = reference[:, :, 3] if reference.ndim == 3 else reference
        here = (weight > 0) & np.isnan(asked[:, 0])
        asked[here] = points[here]
    return asked
