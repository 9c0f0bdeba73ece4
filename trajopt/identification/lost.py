"""Text about an identification whose estimate leaves what the model can follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.identification.trajectory import LogProblem

OTHER_UNIT = 30.0
"""Ratio of controls from which their unit is in doubt [-]."""


def lost(problems: Sequence[LogProblem], iteration: int) -> str:
    """Returns the text of an error that names the log, and its controls if their size is another than the model's.

    Args:
        problems: The logs with the states and controls of the measurements.
        iteration: Number of the iteration that failed.
    """
    text = f"log: iteration {iteration} has no finite estimate"
    try:
        pairs = [(each.us, each.controls_for(each.theta, us=np.zeros_like(each.us))) for each in problems]
    except (TrajoptError, np.linalg.LinAlgError):  # the model fails at the measurements
        pairs = []
    logged, needed = (float(np.sqrt(sum(np.sum(pair[i] ** 2) for pair in pairs))) for i in (0, 1))
    ratio = logged / needed if needed > 0.0 and logged > 0.0 else 1.0
    if np.isfinite(ratio) and not 1.0 / OTHER_UNIT < ratio < OTHER_UNIT:
        times = f"{float(f'{ratio:.2g}'):g} times"
        text += f", and its controls are {times} those with which the model moves like its states"
    return (
        f"{text}; expected torques in N m, forces in N, angles in rad and times in s, got other units? Otherwise check "
        "signs and noise"
    )
