"""Models with unknown parameters: values as with the parameters, derivatives against differences, all integrators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.actions.test_hessians import SAME, Knot, assert_derivative
from tests.actions.test_models import evaluated, values
from tests.support.model_list import ACTIONS, DIFFERENTIALS, TERMINALS, points
from tests.support.slow_twin import assert_close, central_differences, directions
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.freed import ActionModelFreed
from trajopt.model.programs import outputs_at
from trajopt.problems.hopper import ground_contacts, planar_hopper
from trajopt.simulator import ActionModelSimulator, Simulator

Reals = npt.NDArray[np.float64]
FIXED = ("weight", "weights", "lower", "upper", "linear", "quadratic", "active")
LARGE = ("solo12", "talos_arm")
PHASES = 3


def freed(model: trajopt.ActionModelAbstract, phases: int = 0) -> ActionModelFreed | None:
    """The model with all its parameters free that are numbers of the motion; None if there is nothing to free.

    With phases, the first parameter has a value for each, of which the knot has the last, and so has a missing one.
    """
    if not isinstance(model, ActionModelExpression):
        return None
    numbers = [name for name, p in model.parameters().items() if p.convert is None or not p.shape]
    names = [name for name in numbers if name.rpartition(".")[2] not in FIXED and name != "dt"]
    own = [name for name in names if name.startswith("robot.")]
    names = own + [name for name in names if name not in own]
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


ROBOTS = {
    f"implicit-{method}-{name}": lambda method=method, name=name: trajopt.IntegratedActionModelImplicit(
        DIFFERENTIALS[name](), dt=0.02, method=method
    )
    for method, name in (("midpoint", "variable"), ("euler", "contact-variable"))
}
"""Implicit steps of robots with parameters."""
MODELS = ACTIONS | ROBOTS
RK4 = (
    "ball",
    "variable",
    "contact-hopper",
    "inverse-cart-pole",
    "constrained-pendulum",
    "attitude",
    "network",
    "centroidal",
)
"""Dynamics that are integrated by RK4, too, of those that are there by Euler: it sees nothing of what they are."""
RUNNING = [
    name
    for name in ACTIONS
    if name not in SAME
    and not any(large in name for large in LARGE)
    and (f"euler-{name[4:]}" not in ACTIONS or not name.startswith("rk4-") or name[4:] in RK4)
]
PHASED = [name for name in RUNNING if name.startswith(("euler-pendulum", "impulse", "rk-kutta-p", "euler-contact-c"))]
CASES = [*((name, 0) for name in (*RUNNING, *ROBOTS, "rk4-talos_arm")), *((name, PHASES) for name in PHASED)]
LONG = ("euler-contact-variable", "impulse-variable", "rk4-stages-contact", "rk4-stages-linear-contact")
MARKED = [pytest.param(*case, marks=pytest.mark.slow) if case[0].startswith(LONG) else case for case in CASES]


@pytest.mark.parametrize(("name", "phases"), MARKED)
def test_values_and_derivatives(name: str, phases: int) -> None:
    model, rng = freed(MODELS[name](), phases), np.random.default_rng(5)
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


@pytest.mark.parametrize(("name", "phases"), [case for case, (name, _) in zip(MARKED, CASES) if "talos" not in name])
def test_hessian_of_the_lagrangian(name: str, phases: int) -> None:
    model, rng = freed(MODELS[name](), phases), np.random.default_rng(7)
    if model is None:
        return
    assert model.has_lagrangian_hessian == model.model.has_lagrangian_hessian
    if not model.has_lagrangian_hessian:
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


@pytest.mark.parametrize("motors", [False, True])
def test_unknowns_of_a_simulator(motors: bool) -> None:
    """Time step, a mass, and the friction of a foot that slides; behind motors, whose model has differences."""
    robot = trajopt.Robot(planar_hopper()).with_parameters("knee_link.mass")
    state = trajopt.StateMultibody(robot)
    action: ActionModelExpression = ActionModelSimulator(
        Simulator(robot, ground_contacts(), barrier_weight=0.35),
        trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1.0),
        dt=0.01,
    )
    if motors:
        action = trajopt.ActionModelMotors(action, 0.03)
    names = ("dt", "robot.knee_link.mass", "contacts.foot.friction")
    model = ActionModelFreed(action, {name: [name] for name in names})
    start = state.at_rest(robot.configuration("standing"))
    start[0] -= 0.002
    start[-3:] = [-0.5, 5.0, 0.0]
    start = np.append(start, [0.5, 1.0, -1.0] if motors else [])
    x, u = np.append(start, [0.011, 0.3, 0.6]), np.array([1.0, 3.0, -2.0])
    data, n = evaluated(model, x, u), action.state.ndx

    def moved(theta: Reals) -> Reals:
        after, cost = values(model, x + np.append(np.zeros(len(start)), theta), u)
        return np.append(model.state.difference(data.xnext, after), cost)

    expected = central_differences(moved, 3)
    assert np.all(np.abs(expected[:n]).max(axis=0) > 0.1)
    assert_close(data.Fx[:, n:], expected[:-1], what="F")
    assert_close(data.Lx[n:], expected[-1], what="gradient")
