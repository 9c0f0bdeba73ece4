"""Goals of a motion: references of terminal cost terms on frames of the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.references import terms_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def goals_of(solution: Solution) -> list[tuple[str, Reals]]:
    """Frame and reference point in the world, shape (3,) [m], of each terminal cost term on a frame's position.

    References are those of the solve. Terms with weight zero are left out.
    """
    from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameTranslation

    terminal = getattr(solution.problem, "terminal", None)
    goals = []
    for term in terms_of(terminal):
        frame = getattr(term.residual, "frame", None)
        if frame is None or not isinstance(term.residual, ResidualModelFramePlacement | ResidualModelFrameTranslation):
            continue
        # one row for each knot that has the parameter; the terminal knot is the last
        reference = np.asarray(solution.parameters[f"{term.name}.reference"])[-1]
        if np.asarray(solution.parameters[f"{term.name}.weight"])[-1] > 0:
            goals.append((frame, reference[:, 3] if reference.ndim == 2 else reference))
    return goals
