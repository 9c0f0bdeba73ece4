"""Position rows of F from its velocity rows, where q⁺ = q ⊕ dt v⁺."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.kernel_runner import kernel_at, run_kernel
from tests.support.model_list import ACTIONS, points
from tests.support.slow_twin import assert_close
from trajopt.actions import ActionModelExpression
from trajopt.errors import UnsupportedOperationError
from trajopt.kernels.codegen import QUICK
from trajopt.shooting import programs

Reals = npt.NDArray[np.float64]

SIZES = {
    "euler-planar-3r": 0,
    "euler-cart-pole": 0,
    "euler-pendulum": 0,
    "euler-ball": 3,
    "euler-drone": 6,
    "euler-world-drone": 6,
    "euler-world-planar-2r": 0,
    "euler-world-contact-hopper": 6,
    "euler-contact-hopper": 6,
    "euler-contact-four-bar": 0,
    "impulse-hopper": 0,
    "impulse-arm": 0,
    "euler-contact-slider": 3,
    "euler-contact-arm": 3,
}


@cache
def action(name: str) -> Any:
    return ACTIONS[name]()


def inputs(model: ActionModelExpression, seed: int) -> list[Reals]:
    """x, u, parameters with a time step of its own, x of the next knot."""
    rng, states = np.random.default_rng(seed), points(model.state)
    values = {"dt": 0.07} if "dt" in model.parameters() else {}
    return [states[seed], rng.normal(size=model.nu), model.layout.column(values), states[1 - seed]]


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_blocks(name: str) -> None:
    assert action(name).lift_size == SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_position_rows_follow_from_velocity_rows(name: str) -> None:
    """With blocks as small as they can be, and with larger ones; with controls that the knot does not have."""
    model = action(name)
    half, nu = model.state.ndx // 2, model.nu + 2
    for size in {SIZES[name], min(SIZES[name] + 2, half), half}:
        for seed in (0, 1):
            given = inputs(model, seed)
            xnext, cost, gap, F, g, H = programs.expansion(model, nu).evaluate(*given)
            lifted = programs.expansion(model, nu, lift=size).evaluate(*given)
            Fv, dt, J0, J1 = lifted[3:7]
            for a, b in zip((xnext, cost, gap, g, H), (*lifted[:3], *lifted[7:])):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(Fv, F[half:])
            expected = (0.07 if "dt" in model.parameters() else 0.0) * Fv
            expected[:, :half] += np.eye(half)
            expected[:size] = J1 @ Fv[:size]
            expected[:size, :size] += J0
            assert_close(expected, F[:half], 1e-14)
            assert dt.shape == (1, 1)


@pytest.mark.parametrize("name", ["euler-drone", "euler-pendulum", "impulse-hopper"])
def test_compiled_lifts(name: str) -> None:
    """Also with blocks of size 0."""
    model = action(name)
    program = programs.expansion(model, model.nu, lift=SIZES[name])
    given = inputs(model, 0)
    found = run_kernel(kernel_at(program, 1, QUICK), [value[None] for value in given])
    for a, b in zip(found, program.evaluate(*given), strict=True):
        assert_close(a[0], b.ravel(), 1e-12)


@pytest.mark.parametrize("name", ["euler-drone", "euler-planar-3r"])
def test_position_rows_are_not_computed(name: str) -> None:
    model = action(name)
    whole, lifted = (programs.expansion(model, model.nu, lift=size) for size in (None, SIZES[name]))
    half, width = model.state.ndx // 2, model.state.ndx + model.nu
    saved = half * width if SIZES[name] == 0 else half * half
    assert whole.instructions - lifted.instructions >= saved


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("rk4-pendulum", 1, "IntegratedActionModelRK4 has none, got lift=1"),
        ("euler-van-der-pol", 0, "IntegratedActionModelEuler has none, got lift=0"),
        ("euler-attitude", 3, "IntegratedActionModelEuler has none"),
        ("unicycle", 0, "ActionModelUnicycle has none"),
        ("euler-drone", 5, "IntegratedActionModelEuler has blocks of 6 to 7, got lift=5"),
        ("euler-drone", 8, "IntegratedActionModelEuler has blocks of 6 to 7, got lift=8"),
    ],
)
def test_lifts_that_there_are_not(name: str, size: int, message: str) -> None:
    model = action(name)
    assert "none" not in message or model.lift_size is None
    with pytest.raises(UnsupportedOperationError, match=message):
        programs.expansion(model, model.nu, lift=size)
