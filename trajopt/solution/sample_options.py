"""Options of sampled rollouts, which solutions pass on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import numpy.typing as npt


class SampleOptions(TypedDict, total=False):
    """Options of `trajopt.analysis.monte_carlo`; see there for their meaning."""

    initial: npt.ArrayLike
    feedback: bool
    clip: bool
    parameters: Mapping[str, npt.ArrayLike] | None
    measurement: npt.ArrayLike
