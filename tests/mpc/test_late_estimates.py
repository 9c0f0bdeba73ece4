"""Estimates of a log: an error that lists their names, and the mean of a noisy one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.mpc import slider
from trajopt import mpc
from trajopt.errors import UnknownNameError
from trajopt.mpc.estimates import Estimates, late_estimate


def test_a_name_without_its_index_lists_those_that_exist() -> None:
    values = np.zeros((4, 2))
    estimated = Estimates({"wind[0]": values, "wind[1]": values})
    with pytest.raises(UnknownNameError, match=r"estimate 'wind' not found; did you mean .* Known: wind.0., wind.1."):
        estimated["wind"]
    assert "wind" not in estimated
    assert estimated.get("wind") is None
    log = mpc.simulate(slider.controller(), None, [0.0, 0.0], 0.1)
    with pytest.raises(UnknownNameError, match="estimate 'mass' not found. Known: none"):
        log.estimated["mass"]


def test_the_mean_of_noise_is_closer_than_its_last_sample() -> None:
    """White noise of 0.2 around 0.6 from an estimator that says 0.3: both are in the deviation."""
    rng = np.random.default_rng(0)
    values = np.column_stack([0.6 + 0.2 * rng.normal(size=4000), np.full(4000, 0.3)])
    values[:3000, 0] = 5.0  # the way there does not count
    mean, deviation = late_estimate(values)
    assert mean == pytest.approx(0.6, abs=0.02)
    assert deviation == pytest.approx(np.hypot(0.2, 0.3), rel=0.03)
    assert late_estimate(values[:1]) == pytest.approx((5.0, 0.3))
