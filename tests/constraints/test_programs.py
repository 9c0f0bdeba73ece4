"""Constraint rows in the programs that solvers run: padded, compiled, and left out where there are none."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.kernel_runner import LEVELS, kernel_at, run_kernel
from tests.support.model_list import ACTIONS, TERMINALS, points, state_of
from tests.support.slow_twin import assert_close
from trajopt.errors import UnsupportedOperationError
from trajopt.model import content
from trajopt.shooting import programs

Reals = npt.NDArray[np.float64]
SMALL = ["euler-constrained-pendulum", "rk4-constrained-pendulum", "constrained-attitude", "impulse-constrained"]
KNOTS = 9


@cache
def action(name: str) -> Any:
    return ACTIONS[name]()


def inputs(model: Any) -> list[Reals]:
    """x, u, parameters and x of the next knot, at several knots; at every second one the foot is not active."""
    rng, states = np.random.default_rng(0), points(model.state)
    xs = np.array([states[t % 5] for t in range(KNOTS)])
    active = [name for name in model.parameters() if name.endswith("foot.active")]
    ps = [model.layout.column(dict.fromkeys(active, float(t % 2))) for t in range(KNOTS)]
    return [xs, rng.normal(size=(KNOTS, model.nu)), np.array(ps), np.roll(xs, 1, axis=0)]


@pytest.mark.parametrize("name", SMALL)
def test_rows_are_padded_with_zeros(name: str) -> None:
    model = action(name)
    n, nu, nc = model.state.ndx, model.nu + 2, model.nc + 3
    given = [value[0] for value in inputs(model)]
    *rest, rows, C = programs.expansion(model, nu, nc).evaluate(*given)
    *_, own_rows, own_C = model.program("calc_diff").evaluate(*given[:3])
    np.testing.assert_array_equal(rows.ravel(), [*own_rows.ravel(), 0, 0, 0])
    np.testing.assert_array_equal(C[: model.nc, : n + model.nu], own_C)
    assert C.shape == (nc, n + nu)
    assert not C[model.nc :].any()
    assert not C[:, n + model.nu :].any()
    assert len(rest) == 6
    exact = programs.expansion(model, model.nu, model.nc).evaluate(*given)
    np.testing.assert_array_equal(exact[-1], own_C)


def test_a_model_without_rows_beside_others_has_zeros() -> None:
    model = action("euler-pendulum")
    given = inputs(model)
    for found in (
        programs.expansion(model, 1, 2).evaluate(*(value[0] for value in given)),
        [a[0] for a in run_kernel(kernel_at(programs.expansion(model, 1, 2), 8, 1), given)],
    ):
        np.testing.assert_array_equal(found[-2].ravel(), np.zeros(2))
        np.testing.assert_array_equal(found[-1].ravel(), np.zeros(6))
    assert len(programs.expansion(model, 1).outputs) == 6
    assert len(programs.step(model, 2).outputs) == 5


@pytest.mark.parametrize("name", SMALL)
def test_a_step_of_a_rollout_gives_rows(name: str) -> None:
    model = action(name)
    x, u, p, _ = (value[0] for value in inputs(model))
    m, n = model.nu, model.state.ndx
    law = [x, u, np.zeros(m), np.zeros((m, n)), np.zeros(n), 1.0, p]
    rows = programs.step(model, model.nc + 1).evaluate(x, *law)[-1]
    np.testing.assert_array_equal(rows.ravel(), [*model.program("calc").evaluate(x, u, p)[-1].ravel(), 0.0])


def test_rows_at_the_end() -> None:
    model: Any = TERMINALS["constrained-stack"]()
    x, p = points(model.state)[0], model.layout.column()
    *_, rows, C = model.program("terminal").evaluate(x, p)
    for nc in (model.nc, model.nc + 2):
        *_, padded, padded_C = programs.terminal_expansion(model, nc).evaluate(x, p)
        np.testing.assert_array_equal(padded.ravel(), [*rows.ravel(), *np.zeros(nc - model.nc)])
        np.testing.assert_array_equal(padded_C, np.vstack([C, np.zeros((nc - model.nc, C.shape[1]))]))
        np.testing.assert_array_equal(programs.terminal_step(model, nc).evaluate(x, x, p)[-1], padded)


@pytest.mark.parametrize("name", [*SMALL, "euler-contact-constrained", "rk4-contact-constrained-forces"])
def test_compiled_rows_agree_with_casadi(name: str) -> None:
    """A block of eight knots and one that is not full, both tiers; some with an inactive contact."""
    model = action(name)
    given = inputs(model)
    program = programs.expansion(model, model.nu, model.nc)
    expected = [program.evaluate(*(value[t] for value in given)) for t in range(KNOTS)]
    bits = []
    for level in LEVELS.values():
        found = run_kernel(kernel_at(program, 8, level), given)
        bits.append(np.concatenate([value.ravel() for value in found]))
        for i, output in enumerate(found):
            for t in range(KNOTS):
                assert_close(output[t], expected[t][i].ravel(), 1e-11, f"output {i}, knot {t}")
    assert np.array_equal(*bits)


def test_rows_without_room_are_refused() -> None:
    model, end = action("euler-constrained-pendulum"), TERMINALS["constrained-stack"]()
    for build in (
        lambda: programs.expansion(model, 1),
        lambda: programs.expansion(model, 1, 5),
        lambda: programs.step(model),
        lambda: programs.terminal_expansion(end, 2),  # type: ignore[arg-type]
        lambda: programs.terminal_step(end),  # type: ignore[arg-type]
    ):
        with pytest.raises(UnsupportedOperationError, match=r"has \d+ rows, but this solver provides \d"):
            build()


def test_values_of_bounds_are_no_content() -> None:
    """Another bound finds the same programs on disk."""

    def model(name: str = "near", **bounds: Any) -> Any:
        state: Any = state_of("planar-2r")
        limits = trajopt.ConstraintStack(state).add(name, trajopt.ResidualModelState(state), **bounds)
        limits.add("torque", trajopt.ResidualModelControl(state), **bounds)
        costs = trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), 1.0)
        actuation = trajopt.ActuationModelFull(state)
        return trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)

    one = content.model_hash(model(upper=1.0))
    assert one == content.model_hash(model(upper=2.0)) == content.model_hash(model(lower=-1.0, upper=np.inf))
    assert one == content.model_hash(model(equals=0.0))
    assert one != content.model_hash(model("far", upper=1.0))
