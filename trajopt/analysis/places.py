"""Places in the world where hard constraints want frames to be, and those that no posture reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.reach import farthest
from trajopt.analysis.references import PLACED, frame_points, knot_values
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def hard_places(solution: Solution) -> dict[str, dict[int, tuple[Reals, float]]]:
    """Returns by frame and knot the place (3,) [m] that a hard constraint wants, and how far off it may be [m].

    Args:
        solution: The solution, with its problem.
    """
    description, places = solution.description, dict[str, dict[int, tuple[Reals, float]]]()
    rows = {each.name: each for each in description.constraints if not each.soft}
    items = [item for item in description.items if isinstance(item.residual, PLACED) and item.name in rows]
    values = knot_values(solution) if items else {}
    for item in items:
        points, own = frame_points(item, values), rows[item.name]
        with np.errstate(invalid="ignore"):
            off = np.linalg.norm(own.upper[:, :3] - own.lower[:, :3], axis=1) / 2.0
        found = places.setdefault(str(item.residual.frame), {})
        for t in np.flatnonzero(np.isfinite(points).all(axis=1) & np.isfinite(off)).tolist():
            found[t] = points[t], float(off[t])
    return places


def out_of_reach_for_sure(solution: Solution) -> bool:
    """Whether a hard constraint wants a frame where no posture brings it, so that no motion exists.

    Args:
        solution: The solution, with its problem.
    """
    if solution.robot is None:
        return False
    for frame, places in hard_places(solution).items():
        reach = farthest(solution.robot.model, frame)
        if reach is not None and any(np.linalg.norm(at - reach[0]) - off > reach[1] for at, off in places.values()):
            return True
    return False
