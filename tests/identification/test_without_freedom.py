"""A log with no more numbers than unknowns."""

from __future__ import annotations

import numpy as np

from tests.identification.test_identify import NOISE, arm, with_noise
from trajopt import identify


def test_it_says_that_it_has_no_more_numbers_than_unknowns() -> None:
    """It said that noise explains a chi² of 0 with -6 degrees of freedom."""
    robot, xs, us = arm()
    result = identify(robot, with_noise(xs, us, 0), ["link_2.mass"], noise=NOISE | {"q": np.inf, "v": np.inf})
    assert result.dof <= 0
    assert "degrees of freedom: the log has no more numbers than unknowns" in result.explain()
