"""Estimates late in a log: names, the mean of a noisy one, and what noise must not move."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.mpc import slider
from tests.support.noisy_pole import own_pole
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


@pytest.mark.parametrize("filtered", [True, False])
def test_noise_does_not_move_estimates_of_a_pole_that_is_balanced(filtered: bool) -> None:
    """A length that the swing-up told stays: 0.55 m, of 0.5 ± 0.05 m at first; nor does its deviation grow further."""
    window = own_pole()
    controller = mpc.MPCController(window, options=mpc.MPCOptions(dt=0.02, estimate={"mass": 0.03, "length": 0.05}))
    noise = np.array([0.005, 0.01, 0.05, 0.05])
    knot = trajopt.IntegratedActionModelRK4(window.running[0].differential, dt=0.02)
    kalman = mpc.KalmanFilter(knot, noise=noise, process=[1e-3, 1e-3, 0.02, 0.05], first=1e-3) if filtered else None
    log = mpc.simulate(
        controller, None, np.zeros(4), 20.0, noise=noise, estimator=kalman, model_error={"length": 0.55}, seed=0
    )
    length, mass = log.estimated["length"][100:], log.estimated["mass"][100:]
    np.testing.assert_allclose(length[:, 0], 0.55, rtol=0, atol=0.02)
    assert length[:, 1].max() <= 0.05
    assert mass[:, 1].max() <= 0.03
