"""Names of costs that have a kink at a solution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from trajopt.activations import ActivationModelHuber, ActivationModelQuadraticBarrier
from trajopt.shooting import ShootingProblem

KINKED = ActivationModelQuadraticBarrier, ActivationModelHuber


def kinks(problem: ShootingProblem, where: npt.NDArray[np.bool_]) -> Iterator[str]:
    """Names "term at knot t" of the costs with kinks at knots of a mask (T + 1,); "knot t" where they are not known."""
    for t in np.flatnonzero(where):
        kind = next(kind for kind in problem.kinds if t in kind.knots)
        row = problem.table.values[t]
        terms = [
            term.name
            for term in kind.model.model_parts.terms
            if isinstance(term.activation, KINKED) and np.any(row[kind.layout.slices[f"{term.name}.weight"]] > 0.0)
        ]
        yield f"{' or '.join(terms)} at knot {t}" if terms else f"knot {t}"
