"""Action models: one battery over all; their parts in test_models_parts.py, one by one in test_actions.py."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import ACTIONS, DIFFERENTIALS, TERMINALS, free_dynamics, points
from tests.support.slow_twin import (
    ImpulseTwin,
    Integrated,
    Twin,
    assert_close,
    central_differences,
    directions,
    numeric_terms,
)
from trajopt.actions import ActionModelTerminal

Reals = npt.NDArray[np.float64]
FIELDS = ("xnext", "cost", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")

every_action = pytest.mark.parametrize("name", ACTIONS)
every_terminal = pytest.mark.parametrize("name", TERMINALS)
every_differential = pytest.mark.parametrize("name", DIFFERENTIALS)


@cache
def action(name: str) -> trajopt.ActionModelAbstract:
    return ACTIONS[name]()


@cache
def terminal(name: str) -> trajopt.ActionModelAbstract:
    return TERMINALS[name]()


def samples(model: trajopt.ActionModelAbstract) -> list[tuple[Reals, Reals]]:
    """States and controls; two of them for large robots, where an evaluation takes long."""
    rng, states = np.random.default_rng(1), points(model.state)
    chosen = states if model.state.ndx <= 14 else [states[0], states[3]]
    return [(x, np.zeros(model.nu) if i == 2 else rng.normal(size=model.nu)) for i, x in enumerate(chosen)]


def evaluated(model: trajopt.ActionModelAbstract, x: Reals, u: Reals | None) -> trajopt.ActionData:
    data = model.create_data()
    model.calc(data, x, u)
    model.calc_diff(data, x, u)
    return data


def values(model: trajopt.ActionModelAbstract, x: Reals, u: Reals | None) -> tuple[Reals, float]:
    data = model.create_data()
    model.calc(data, x, u)
    return data.xnext, data.cost


def expected_hessian(model: trajopt.ActionModelAbstract, x: Reals, u: Reals | None, along: Reals) -> Reals | None:
    """Dᵀ H D for directions D (n, k): Gauss-Newton of the slow twin; of an exact H, differences of the gradient."""
    if isinstance(model, Integrated) and u is not None:
        return Twin(model).gauss_newton(x, u, along)
    if isinstance(model, trajopt.ActionModelImpulseFwdDynamics) and u is not None:
        return ImpulseTwin(model).gauss_newton(x, along)
    if isinstance(model, Integrated | ActionModelTerminal):
        costs = model.differential.costs if isinstance(model, Integrated) else model.costs
        return sum((_term_hessian(model, term, x, along) for term in numeric_terms(costs, 0)), np.zeros(1))
    if isinstance(model, trajopt.ActionModelNumDiff):
        return None
    if isinstance(model, trajopt.ActionModelMotors):
        return _hessian_of_motors(model, x, u, along)
    n, m = model.state.ndx, 0 if u is None else model.nu
    control = np.zeros(0) if u is None else u

    def gradient(z: Reals) -> Reals:
        moved = model.state.integrate(x, z[:n])
        data = evaluated(model, moved, None if u is None else control + z[n:])
        at_x = model.state.jintegrate(x, z[:n], "second").T @ data.Lx
        return at_x if u is None else np.concatenate([at_x, data.Lu])

    return along.T @ central_differences(gradient, n + m, along)


def _hessian_of_motors(model: trajopt.ActionModelMotors, x: Reals, u: Reals | None, along: Reals) -> Reals | None:
    """Gauss-Newton of the model inside, at the mean torques, by (x, m, u)."""
    inner, n, k = model.model, model.model.state.ndx, model.motors
    if u is None:
        return expected_hessian(inner, x[: inner.state.nx], None, along[:n])
    ratio = inner.time_step() / model.parameters()["time_constant"].default
    share = (1.0 - np.exp(-ratio)) / ratio
    m = x[inner.state.nx :]
    Z = np.block([[np.eye(n), np.zeros((n, 2 * k))], [np.zeros((k, n)), np.diag(share), np.diag(1.0 - share)]])
    return expected_hessian(inner, x[: inner.state.nx], share * m + (1.0 - share) * u, Z @ along)


def _term_hessian(
    model: trajopt.ActionModelAbstract, term: Callable[..., tuple[Reals, float, Reals]], x: Reals, along: Reals
) -> Reals:
    none = np.zeros(0)
    R = central_differences(lambda dx: term(model.state.integrate(x, dx), none)[0], model.state.ndx, along)
    return R.T @ (term(x, none)[2][:, None] * R)


# The battery


@every_action
def test_sizes_repeatability_and_inputs(name: str) -> None:
    model = action(name)
    n, m, nx = model.state.ndx, model.nu, model.state.nx
    shapes = {"xnext": (nx,), "cost": (), "Fx": (n, n), "Fu": (n, m), "Lx": (n,), "Lu": (m,)}
    shapes |= {"Lxx": (n, n), "Lxu": (n, m), "Luu": (m, m)}
    data = model.create_data()
    for x, u in samples(model)[:2]:
        given = x.copy(), u.copy()
        first = evaluated(model, x, u)
        np.testing.assert_array_equal(x, given[0])
        np.testing.assert_array_equal(u, given[1])
        model.calc(data, x, u)  # the second time, on arrays that were used before
        model.calc_diff(data, x, u)
        for field in FIELDS:
            assert np.shape(getattr(first, field)) == shapes[field], field
            np.testing.assert_array_equal(getattr(first, field), getattr(data, field), err_msg=field)
        model.state.check(first.xnext)
        assert_close(first.Lxx, first.Lxx.T, 1e-13, "Lxx is symmetric")
        assert_close(first.Luu, first.Luu.T, 1e-13, "Luu is symmetric")


@every_action
def test_derivatives_by_central_differences(name: str) -> None:
    model = action(name)
    state, n, m = model.state, model.state.ndx, model.nu
    for x, u in samples(model):
        data = evaluated(model, x, u)

        def moved(z: Reals, x: Reals = x, u: Reals = u, origin: Reals = data.xnext) -> Reals:
            xnext, cost = values(model, state.integrate(x, z[:n]), u + z[n:])
            return np.append(state.difference(origin, xnext), cost)

        along = directions(n + m)
        J = central_differences(moved, n + m, along)
        assert_close(np.hstack([data.Fx, data.Fu]) @ along, J[:-1], what="F")
        assert_close(np.concatenate([data.Lx, data.Lu]) @ along, J[-1], what="gradient")


@every_action
def test_hessian(name: str) -> None:
    model = action(name)
    for x, u in samples(model)[1:3] if model.state.ndx <= 14 else samples(model)[:1]:
        data, along = evaluated(model, x, u), directions(model.state.ndx + model.nu)
        expected = expected_hessian(model, x, u, along)
        if expected is not None:
            assert_close(along.T @ np.block([[data.Lxx, data.Lxu], [data.Lxu.T, data.Luu]]) @ along, expected)


@every_action
def test_pickle_clone_and_repr(name: str) -> None:
    model = action(name)
    x, u = samples(model)[0]
    expected = evaluated(model, x, u)
    for again in (pickle.loads(pickle.dumps(model)), model.clone()):
        data = evaluated(again, x, u)
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(data, field), getattr(expected, field), err_msg=field)
        assert repr(again) == repr(model)
        assert again.control_names == model.control_names
    assert repr(model).startswith(f"{type(model).__name__}(")


@every_terminal
def test_terminal(name: str) -> None:
    """Without a control: the cost, its gradient and its Hessian; nothing else is asked or changed."""
    model = terminal(name)
    for x, _ in samples(model):
        before, data = x.copy(), evaluated(model, x, None)
        gradient = central_differences(
            lambda dx, x=x: [values(model, model.state.integrate(x, dx), None)[1]], model.state.ndx
        )
        assert_close(data.Lx, gradient[0])
        along = directions(model.state.ndx)
        expected = expected_hessian(model, x, None, along)
        if expected is not None:
            assert_close(along.T @ data.Lxx @ along, expected)
        np.testing.assert_array_equal(x, before)
        assert not data.Lu.any()
        assert not data.Fx.any()


@every_differential
def test_derivatives_of_differential_models_match_central_differences(name: str) -> None:
    model = DIFFERENTIALS[name]()
    data, state, n, m = model.create_data(), model.state, model.state.ndx, model.nu
    x, u = points(state)[0], np.random.default_rng(2).normal(size=m)
    model.calc(data, x, u)
    model.calc_diff(data, x, u)
    probe = model.create_data()

    def moved(z: Reals) -> Reals:
        model.calc(probe, state.integrate(x, z[:n]), u + z[n:])
        return np.append(probe.xnext, probe.cost)

    along = directions(n + m)
    J = central_differences(moved, n + m, along)
    assert_close(np.hstack([data.Fx, data.Fu]) @ along, J[:-1])
    assert_close(np.concatenate([data.Lx, data.Lu]) @ along, J[-1])
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)


@pytest.mark.parametrize("name", ["planar-3r", "cart-pole", "ball", "drone", "talos_arm", "solo12"])
def test_free_dynamics_agree_with_pinocchio(name: str) -> None:
    model = free_dynamics(name)
    state, data = model.state, model.create_data()
    for x in points(state)[:3]:
        u = np.random.default_rng(3).normal(size=model.nu)
        q, v = x[: state.nq], x[state.nq :]
        model.calc(data, x, u)
        expected = pin.aba(state.model, state.model.createData(), q, v, model.actuation.matrix @ u)
        assert_close(data.xnext, np.concatenate([v, expected]), 1e-10)


COMPILED = [
    *("euler-planar-2r", "rk4-planar-2r", "rk4-cart-pole", "euler-ball", "rk4-ball", "euler-drone", "rk4-pendulum"),
    *("euler-van-der-pol", "rk4-van-der-pol", "rk4-attitude", "lqr", "unicycle", "discrete-attitude", "black-box"),
]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_of_a_problem_agrees_with_the_model(name: str) -> None:
    """One block of eight knots and one that is not full; the terminal is the model itself where it can be."""
    model = action(name)
    state, rng, T = model.state, np.random.default_rng(6), 9
    end = trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), 2.0) if "-" in name else model
    problem = trajopt.ShootingProblem(points(state)[0], [model] * T, end)
    xs, us = [points(state)[i % 7] for i in range(T + 1)], rng.normal(size=(T, model.nu))
    compiled = problem.calc_diff(xs, us)
    for t in range(T):
        alone = evaluated(model, xs[t], us[t])
        for field in FIELDS:
            array = getattr(compiled, "costs" if field == "cost" else field)[t]
            assert_close(array, getattr(alone, field), 1e-12, f"{field} of knot {t}")
    alone = evaluated(problem.terminal, xs[T], None)
    for field in ("Lx", "Lxx"):
        assert_close(getattr(compiled, field)[T], getattr(alone, field), 1e-12, field)
    assert compiled.cost == pytest.approx(sum(compiled.costs), rel=1e-14)
