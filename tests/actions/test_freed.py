"""Models with unknown parameters: values as with the parameters, derivatives against differences, all integrators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.actions.test_hessians import SAME, Knot, assert_derivative
from tests.actions.test_models import evaluated, values
from tests.support.model_list import ACTIONS, TERMINALS, points
from tests.support.slow_twin import assert_close, central_differences, directions
from trajopt import problems
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.freed import ActionModelFreed
from trajopt.model.programs import outputs_at

Reals = npt.NDArray[np.float64]
FIXED = ("weight", "weights", "lower", "upper", "linear", "quadratic")
LARGE = ("solo12", "talos_arm")
PHASES = 3


def freed(model: trajopt.ActionModelAbstract, phases: int = 0) -> ActionModelFreed | None:
    """The model with its time step, its robot's and up to two other parameters free; None if there is nothing to free.

    With phases, the first parameter has a value for each, of which the knot has the last, and so has a missing one.
    """
    if not isinstance(model, ActionModelExpression):
        return None
    numbers = [name for name, p in model.parameters().items() if p.convert is None or not p.shape]
    names = [name for name in numbers if name.rpartition(".")[2] not in FIXED and name != "dt"]
    own = [name for name in names if name.startswith("robot.")]
    names = own + [name for name in names if name not in own][:2]
    names += ["dt"] if "dt" in model.parameters() else []
    sizes = {name: model.parameters()[name].size for name in names}
    if not names:
        return None
    counts = {names[0]: phases, "missing": phases} if phases else {}
    labels = {name: [f"{name}[{i}]" for i in range(size * counts.get(name, 1))] for name, size in sizes.items()}
    whole = ActionModelFreed(model, labels | {"missing": [f"missing[{i}]" for i in range(max(phases, 1))]}, counts)
    if whole.selection is not None:
        whole.selection.parameters[f"{names[0]}.phase"].default[-1] = 1.0
    return whole


def point(model: ActionModelFreed, rng: np.random.Generator) -> tuple[Reals, Reals]:
    """A state of the model with values of the unknowns near its parameters, and a control."""
    x, own = points(model.model.state)[1], model.layout.column()
    first = [
        np.repeat(own[model.layout.slices[name]] if name in model.layout.slices else np.zeros(size), count(model, name))
        for name, size in model.sizes.items()
    ]
    theta = np.concatenate(first)
    theta *= rng.uniform(0.9, 1.1, size=len(theta))
    return np.concatenate([x, theta]), rng.normal(size=model.nu)


def count(model: ActionModelFreed, name: str) -> int:
    """Number of values of an unknown: of its phases, or 1."""
    own = {} if model.selection is None else model.selection.parameters
    return own[f"{name}.phase"].size if f"{name}.phase" in own else 1 if not own or name != "missing" else PHASES


def inner_column(model: ActionModelFreed, x: Reals) -> Reals:
    """Parameters of the inner model with the unknowns of a state, of the last phase."""
    column, end = model.model.layout.column(), model.model.state.nx
    for name, size in model.sizes.items():
        each = count(model, name)
        if name in model.model.layout.slices:
            column[model.model.layout.slices[name]] = x[end : end + size * each].reshape(size, each)[:, -1]
        end += size * each
    return column


RK4 = ("ball", "contact-hopper", "inverse-cart-pole", "constrained-pendulum", "attitude", "network", "centroidal")
"""Dynamics that are integrated by RK4, too, of those that are there by Euler: it sees nothing of what they are."""
RUNNING = [
    name
    for name in ACTIONS
    if name not in SAME
    and not any(large in name for large in LARGE)
    and (f"euler-{name[4:]}" not in ACTIONS or not name.startswith("rk4-") or name[4:] in RK4)
]
PHASED = [name for name in RUNNING if name.startswith(("euler-pendulum", "impulse", "rk-kutta-p", "euler-contact-c"))]
CASES = [*((name, 0) for name in (*RUNNING, "rk4-talos_arm")), *((name, PHASES) for name in PHASED)]


@pytest.mark.parametrize(("name", "phases"), CASES)
def test_values_and_derivatives(name: str, phases: int) -> None:
    model, rng = freed(ACTIONS[name](), phases), np.random.default_rng(5)
    if model is None:
        return
    x, u = point(model, rng)
    nx, state, data = model.model.state.nx, model.state, evaluated(model, x, u)
    xnext, cost, *_ = model.model.program("calc").evaluate(x[:nx], u, inner_column(model, x))
    np.testing.assert_array_equal(data.xnext, np.concatenate([xnext.ravel(), x[nx:]]))
    assert data.cost == cost

    def moved(z: Reals) -> Reals:
        after, cost = values(model, state.integrate(x, z[: state.ndx]), u + z[state.ndx :])
        return np.append(state.difference(data.xnext, after), cost)

    along = directions(state.ndx + model.nu)
    J = central_differences(moved, state.ndx + model.nu, along)
    assert_close(np.hstack([data.Fx, data.Fu]) @ along, J[:-1], what="F")
    assert_close(np.concatenate([data.Lx, data.Lu]) @ along, J[-1], what="gradient")
    if model.nc:
        C = outputs_at(model, model.program("calc_diff"), x, u)[6]

        def row(z: Reals) -> Reals:
            return outputs_at(model, model.program("calc"), state.integrate(x, z[: state.ndx]), u + z[state.ndx :])[
                2
            ].ravel()

        assert_close(C @ along, central_differences(row, state.ndx + model.nu, along), what="rows")
    eigenvalues = np.linalg.eigvalsh(np.block([[data.Lxx, data.Lxu], [data.Lxu.T, data.Luu]]))
    if not isinstance(model.model, trajopt.ActionModelDiscrete) and "inverse" not in name:
        assert eigenvalues[0] > -1e-9 * max(1.0, eigenvalues[-1])  # Gauss-Newton


@pytest.mark.parametrize(("name", "phases"), [case for case in CASES if "talos" not in case[0]])
def test_hessian_of_the_lagrangian(name: str, phases: int) -> None:
    model, rng = freed(ACTIONS[name](), phases), np.random.default_rng(7)
    if model is None or not model.has_lagrangian_hessian:
        return
    knot = Knot(model, *point(model, rng), rng)
    assert_derivative(knot.hessian(), knot.gradient, rng)


@pytest.mark.parametrize("phases", [0, PHASES])
@pytest.mark.parametrize("name", [name for name in TERMINALS if not any(large in name for large in LARGE)])
def test_terminal_models(name: str, phases: int) -> None:
    model, rng = freed(TERMINALS[name](), phases), np.random.default_rng(8)
    if model is None:
        return
    x, _ = point(model, rng)
    data = evaluated(model, x, None)
    slope = central_differences(lambda z: np.array([values(model, model.state.integrate(x, z), None)[1]]), len(data.Lx))
    assert_close(data.Lx, slope[0], what="gradient")
    if model.has_lagrangian_hessian:
        knot = Knot(model, x, None, rng)
        assert_derivative(knot.hessian(), knot.gradient, rng)


def test_time_step_of_a_contact_model_by_its_formula() -> None:
    """The derivative of symplectic Euler by dt is (v⁺ + dt a, a), at the neutral state."""
    model = freed(ACTIONS["euler-contact-hopper"]())
    assert model is not None
    x, u = point(model, np.random.default_rng(2))
    nx, n, at = model.model.state.nx, model.model.state.ndx // 2, list(model.sizes).index("dt")
    dt = nx + sum(list(model.sizes.values())[:at])
    x[:nx] = model.model.state.zero()
    data = evaluated(model, x, u)
    v = data.xnext[nx - n : nx]
    a = (v - x[nx - n : nx]) / x[dt]
    np.testing.assert_allclose(
        data.Fx[: 2 * n, dt - nx + 2 * n], np.concatenate([v + x[dt] * a, a]), rtol=1e-9, atol=1e-9
    )


def test_time_step_of_a_simulator_by_differences() -> None:
    """The dynamics iterate, so that they are no single expression."""
    case = problems.load("hopper")
    model = ActionModelFreed(case.problem.running[0], {"dt": ["dt"]})  # type: ignore[arg-type]
    x, u = np.append(case.problem.x0, 0.011), np.array([3.0, -2.0])
    data, n = evaluated(model, x, u), model.state.ndx

    def moved(dt: Reals) -> Reals:
        after, cost = values(model, x + np.append(np.zeros(len(x) - 1), dt), u)
        return np.append(model.state.difference(data.xnext, after), cost)

    expected = central_differences(moved, 1)[:, 0]
    assert np.abs(expected[: n - 1]).max() > 1.0
    assert_close(data.Fx[:, -1], expected[:-1], what="F")
    assert_close(data.Lx[-1], expected[-1], what="gradient")
