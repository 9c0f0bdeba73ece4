"""States: against Pinocchio for every joint type, group identities, Jacobians by central differences, messages.

Longer than a file should be, because one battery runs over all states.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

from tests.support.own_states import StateCircle, StateOwnRotation, StateTwistedPlane
from tests.support.slow_twin import directions
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnsupportedOperationError
from trajopt.robots import Robot, load_robot
from trajopt.states import StateAbstract, StateMultibody, StateProduct, StateSE3, StateSO3, StateVector

Array = npt.NDArray[np.float64]

UNALIGNED = ("JointModelRevoluteUnaligned", "JointModelPrismaticUnaligned")
NOT_ALONE = ("JointModel", "JointModelComposite", "JointModelMimic")
PLANAR_OR_CIRCLE = ("Planar", "RUB", "Unbounded")  # Pinocchio is not accurate there: see states/accurate.py
SCALES = (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.03, 0.25, 1.0, "near pi")


def joint_kinds() -> list[str]:
    return [name for name in dir(pin) if name.startswith("JointModel") and name not in NOT_ALONE]


def make_joint(kind: str, rng: np.random.Generator) -> pin.JointModel:
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    if kind in UNALIGNED:
        return getattr(pin, kind)(axis)
    if kind == "JointModelHelicalUnaligned":
        return pin.JointModelHelicalUnaligned(axis, 0.3)
    if kind == "JointModelUniversal":
        return pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1])
    return getattr(pin, kind)()


def random_tree(seed: int, *, leave_out: tuple[str, ...] = ()) -> pin.Model:
    """A tree with one joint of every type in random order, a composite joint and a mimic joint."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    model.name = f"tree-{seed}"
    kinds = [kind for kind in joint_kinds() if not any(word in kind for word in leave_out)]
    rng.shuffle(kinds)
    for kind in kinds:
        model.addJoint(int(rng.integers(model.njoints)), make_joint(kind, rng), pin.SE3.Identity(), kind[10:])
    composite = pin.JointModelComposite()
    parts = [pin.JointModelRX(), pin.JointModelSpherical(), pin.JointModelPZ()]
    for part in parts if leave_out else [*parts, pin.JointModelRUBY(), pin.JointModelPlanar()]:
        composite.addJoint(part, pin.SE3.Identity())
    model.addJoint(int(rng.integers(model.njoints)), composite, pin.SE3.Identity(), "Composite")
    mimicked = model.joints[model.getJointId("RX")]
    model.addJoint(0, pin.JointModelMimic(mimicked, 2.0, 0.1), pin.SE3.Identity(), "Mimic")
    return model


@cache
def state_of_tree(seed: int, accurate_in_pinocchio: bool = False) -> StateMultibody:
    return StateMultibody(Robot(random_tree(seed, leave_out=PLANAR_OR_CIRCLE if accurate_in_pinocchio else ())))


@cache
def bounded_talos_arm() -> StateMultibody:
    return StateMultibody(load_robot("talos_arm"))


STATES: dict[str, Callable[[], StateAbstract]] = {
    "vector": lambda: StateVector(5),
    "talos_arm": bounded_talos_arm,
    "tree-0": lambda: state_of_tree(0),
    "tree-1": lambda: state_of_tree(1),
    "so3": StateSO3,
    "se3": StateSE3,
    "product": lambda: StateProduct(StateProduct(StateSE3(), StateCircle()), StateSO3(), StateVector(10)),
    "circle": lambda: StateCircle(-1.0, 2.0),
    "twisted-plane": lambda: StateTwistedPlane(2.0),
    "own-rotation": StateOwnRotation,
}
every_state = pytest.mark.parametrize("state", [make() for make in STATES.values()], ids=list(STATES))


@cache
def compiled(state: StateAbstract) -> ca.Function:
    """All expressions of a state as one function of (x, y, dx)."""
    x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
    outputs = [state.sx_integrate(x, dx), state.sx_difference(x, y)]
    outputs += [*state.sx_jintegrate(x, dx), *state.sx_jdifference(x, y)]
    outputs += [state.sx_jintegrate_inverse(x, dx), state.sx_tangent_basis(x), state.sx_tangent_projection(x)]
    return ca.Function("state", [x, y, dx], outputs)


def random_step(state: StateAbstract, rng: np.random.Generator, scale: float | str) -> Array:
    """A tangent vector; "near pi" turns every rotation by π - 1e-7."""
    dx = rng.uniform(-1.0, 1.0, state.ndx)
    if scale != "near pi":
        return dx * float(scale)
    groups: dict[str, list[int]] = {}
    for i, (name, unit) in enumerate(zip(state.tangent_names, state.tangent_units)):
        if unit == "rad":
            groups.setdefault(name.removesuffix(name[-2:] if name[-2:-1] == "r" else ""), []).append(i)
    for indices in groups.values():
        dx[indices] *= (np.pi - 1e-7) / np.linalg.norm(dx[indices])
    return dx


def central_differences(f: Callable[[Array], Array], n: int, along: Array | None = None) -> Array:
    """df/de at e = 0, or its product with columns (n, k), column by column, f mapping (n,) to a tangent vector."""
    step = np.finfo(float).eps ** (1 / 3)
    columns = np.eye(n) if along is None else along.T
    return np.column_stack([(f(step * e) - f(-step * e)) / (2 * step) for e in columns])


def assert_jacobian(actual: Array, expected: Array) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


# --- against Pinocchio -----------------------------------------------------------------------------------------------


def test_every_joint_type_of_pinocchio_is_in_the_trees() -> None:
    names = set(state_of_tree(0).robot.joint_names)
    assert {kind[10:] for kind in joint_kinds()} | {"Composite", "Mimic"} == names
    assert len(names) >= 24


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_equal_pinocchio(seed: int, scale: float | str) -> None:
    state = state_of_tree(seed, True)
    rng = np.random.default_rng(seed)
    x, dx = state.rand(rng), random_step(state, rng, scale)
    nq, nv, model = state.nq, state.nv, state.model
    y = state.integrate(x, dx)
    np.testing.assert_allclose(y[:nq], pin.integrate(model, x[:nq], dx[:nv]), atol=1e-12)
    np.testing.assert_array_equal(y[nq:], x[nq:] + dx[nv:])
    np.testing.assert_allclose(state.difference(x, y)[:nv], pin.difference(model, x[:nq], y[:nq]), atol=1e-12)
    atol = 1e-12 if scale in (0.25, 1.0, "near pi") else 1e-8  # Pinocchio's own error at small angles: 4e-9
    for mine, theirs in zip(state.jintegrate(x, dx), pin.dIntegrate(model, x[:nq], dx[:nv])):
        np.testing.assert_allclose(mine[:nv, :nv], theirs, rtol=0, atol=atol)
    for mine, theirs in zip(state.jdifference(x, y), pin.dDifference(model, x[:nq], y[:nq])):
        np.testing.assert_allclose(mine[:nv, :nv], theirs, rtol=0, atol=atol)


@pytest.mark.parametrize("kind", ["JointModelPlanar", "JointModelRUBX"])
def test_planar_numbers_equal_pinocchio_where_it_is_accurate(kind: str) -> None:
    model = pin.Model()
    model.addJoint(0, getattr(pin, kind)(), pin.SE3.Identity(), "joint")
    state = StateMultibody(Robot(model))
    rng = np.random.default_rng(3)
    for scale in (0.3, 1.0, 2.9):
        x, dx = state.rand(rng), scale * np.sign(rng.standard_normal(state.ndx))
        y = state.integrate(x, dx)
        q0, q1, v = x[: state.nq], y[: state.nq], dx[: state.nv]
        np.testing.assert_allclose(q1, pin.integrate(model, q0, v), atol=1e-14)
        np.testing.assert_allclose(state.difference(x, y)[: state.nv], pin.difference(model, q0, q1), atol=1e-12)
        for mine, theirs in zip(state.jintegrate(x, dx), pin.dIntegrate(model, q0, v)):
            np.testing.assert_allclose(mine[: state.nv, : state.nv], theirs, atol=1e-12)
        for mine, theirs in zip(state.jdifference(x, y), pin.dDifference(model, q0, q1)):
            np.testing.assert_allclose(mine[: state.nv, : state.nv], theirs, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 2e-4, 0.003, 0.0199, 0.0201, 0.199, 0.201, 1.0, 3.1])
@pytest.mark.parametrize(
    ("joint", "rows"), [("FreeFlyer", [0, 1, 2, 3, 4, 5]), ("Spherical", [3, 4, 5]), ("Planar", [0, 1, 5])]
)
def test_jacobians_equal_their_series(joint: str, rows: list[int], angle: float) -> None:
    """J = Σ (-ad)ᵏ/(k+1)! for the exponential, its inverse for the logarithm, exp(-ad) for the start point."""
    model = pin.Model()
    model.addJoint(0, make_joint(f"JointModel{joint}", np.random.default_rng(0)), pin.SE3.Identity(), "joint")
    state = StateMultibody(Robot(model))
    twist = np.zeros(6)
    twist[rows] = np.array([0.8, -0.5, 0.3, 0.6, -0.4, 0.7])[rows]
    twist[3:] *= angle / np.linalg.norm(twist[3:])
    ad = np.kron(np.eye(2), pin.skew(twist[3:])) + np.kron([[0, 1], [0, 0]], pin.skew(twist[:3]))
    term, series, exponential = np.eye(6), np.zeros((6, 6)), np.zeros((6, 6))
    for k in range(40):
        series, exponential = series + term / (k + 1), exponential + term
        term = -term @ ad / (k + 1)
    series, exponential = (m[np.ix_(rows, rows)] for m in (series, exponential))
    x, dx, nv = state.zero(), np.concatenate([twist[rows], np.zeros(state.nv)]), state.nv
    first, second = state.jintegrate(x, dx)
    np.testing.assert_allclose(first[:nv, :nv], exponential, rtol=0, atol=1e-14)
    np.testing.assert_allclose(second[:nv, :nv], series, rtol=0, atol=1e-14)
    end = np.array(compiled(state)(x, x, dx)[0])[:, 0]  # Pinocchio's exponential of a pose is 5e-14 off at 2e-4 rad
    first, second = state.jdifference(x, end)
    np.testing.assert_allclose(second[:nv, :nv] @ series, np.eye(nv), rtol=0, atol=1e-14)
    np.testing.assert_allclose(first[:nv, :nv], -second[:nv, :nv] @ exponential, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [*SCALES, 5.0])
@every_state
def test_expressions_equal_numbers(state: StateAbstract, scale: float | str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x, dx = state.rand(rng), random_step(state, rng, scale)
        y = state.integrate(x, dx)
        actual = [np.array(value) for value in compiled(state)(x, y, dx)]
        expected = [y[:, None], state.difference(x, y)[:, None], *state.jintegrate(x, dx), *state.jdifference(x, y)]
        for a, e in zip(actual, expected):
            np.testing.assert_allclose(a, e, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [*SCALES, 5.0])
@every_state
def test_inverse_of_the_derivative_by_the_step(state: StateAbstract, scale: float | str) -> None:
    if scale == 5.0 and isinstance(state, StateOwnRotation):
        return  # its inverse is the derivative of ⊖, of another step with the same end
    rng = np.random.default_rng(1)
    x, dx = state.rand(rng), random_step(state, rng, scale)
    inverse = np.array(compiled(state)(x, state.integrate(x, dx), dx)[-3])
    np.testing.assert_allclose(inverse @ state.jintegrate(x, dx)[1], np.eye(state.ndx), rtol=0, atol=1e-12)


# --- identities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@every_state
def test_group_identities(state: StateAbstract, scale: float | str, rng: np.random.Generator) -> None:
    x, dx = state.rand(rng), random_step(state, rng, scale)
    y = state.integrate(x, dx)
    np.testing.assert_allclose(state.difference(x, y), dx, rtol=0, atol=1e-14)
    z = state.rand(rng)
    back = state.integrate(x, state.difference(x, z))
    np.testing.assert_allclose(state.difference(back, z), 0.0, atol=1e-13)
    np.testing.assert_allclose(state.integrate(x, np.zeros(state.ndx)), x, rtol=0, atol=1e-15)


def test_small_rotation_with_a_large_translation() -> None:
    """A twist of 1 m and 1e-9 rad: Pinocchio's planar joint loses 8e-8 m here."""
    for joint in ("Planar", "FreeFlyer"):
        model = pin.Model()
        model.addJoint(0, getattr(pin, f"JointModel{joint}")(), pin.SE3.Identity(), "joint")
        state = StateMultibody(Robot(model))
        dx = np.array([1.0 if unit == "m" else 1e-9 for unit in state.tangent_units])
        x = state.rand(0)
        np.testing.assert_allclose(state.difference(x, state.integrate(x, dx)), dx, rtol=0, atol=1e-15)


def test_expressions_renormalise_as_pinocchio_does() -> None:
    state = state_of_tree(0, True)
    x, dx = state.rand(2), np.full(state.ndx, 0.3)
    for _, where, _ in state._rotations(x):
        x[where] *= 1 + 9e-7
    y = np.array(compiled(state)(state.check(x), x, dx)[0])[:, 0]
    np.testing.assert_allclose(y, state.integrate(x, dx), rtol=0, atol=1e-12)
    for _, _, norm in state._rotations(y):
        assert norm == pytest.approx(1.0, abs=2e-12)


def test_quaternions_of_both_signs_are_the_same_rotation() -> None:
    state = StateMultibody(load_robot("hector"))
    x, y = state.rand(1), state.rand(2)
    flipped = y.copy()
    flipped[3:7] *= -1
    np.testing.assert_allclose(state.difference(x, flipped), state.difference(x, y), atol=1e-14)
    assert np.linalg.norm(state.difference(x, y)[3:6]) < np.pi
    _, sx_difference, *_ = compiled(state)(x, flipped, np.zeros(state.ndx))
    np.testing.assert_allclose(np.array(sx_difference)[:, 0], state.difference(x, y), atol=1e-14)


@every_state
def test_projection_is_the_left_inverse_of_the_basis(state: StateAbstract) -> None:
    x = state.rand(4)
    *_, basis, projection = (np.array(v) for v in compiled(state)(x, x, np.zeros(state.ndx)))
    np.testing.assert_allclose(projection @ basis, np.eye(state.ndx), atol=1e-14)
    expected = central_differences(lambda e: state.integrate(x, e), state.ndx)
    assert_jacobian(basis, expected)


# --- Jacobians -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@every_state
def test_jacobians_equal_central_differences(
    state: StateAbstract, scale: float | str, rng: np.random.Generator
) -> None:
    x, dx = state.rand(rng), random_step(state, rng, scale)
    if scale == "near pi":  # keep the differences on one side of π
        dx *= 1 - 1e-4
    y, n = state.integrate(x, dx), state.ndx
    along = directions(n) / np.abs(directions(n)).max()  # a few of ±1: joints do not depend on each other

    def check(jacobian: Array, f: Callable[[Array], Array]) -> None:
        assert jacobian.shape == (n, n)
        assert_jacobian(jacobian @ along, central_differences(f, n, along))

    first, second = state.jintegrate(x, dx)
    check(first, lambda e: state.difference(y, state.integrate(state.integrate(x, e), dx)))
    check(second, lambda e: state.difference(y, state.integrate(x, dx + e)))
    first, second = state.jdifference(x, y)
    check(first, lambda e: state.difference(state.integrate(x, e), y))
    check(second, lambda e: state.difference(x, state.integrate(y, e)))


@pytest.mark.parametrize("scale", SCALES)
def test_differentiated_expressions_equal_the_jacobians(scale: float | str) -> None:
    """CasADi's derivatives of sx_integrate and sx_difference in tangent coordinates: no branch may give NaN."""
    state = state_of_tree(0)
    x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
    end = state.sx_integrate(x, dx)
    projection = state.sx_tangent_projection(end)
    f = ca.Function(
        "derivatives",
        [x, y, dx],
        [
            projection @ ca.jacobian(end, x) @ state.sx_tangent_basis(x),
            projection @ ca.jacobian(end, dx),
            ca.jacobian(state.sx_difference(x, y), x) @ state.sx_tangent_basis(x),
            ca.jacobian(state.sx_difference(x, y), y) @ state.sx_tangent_basis(y),
        ],
    )
    rng = np.random.default_rng(5)
    x0, step = state.rand(rng), random_step(state, rng, scale)
    y0 = state.integrate(x0, step)
    expected = [*state.jintegrate(x0, step), *state.jdifference(x0, y0)]
    for a, e in zip(f(x0, y0, step), expected):
        np.testing.assert_allclose(np.array(a), e, rtol=0, atol=1e-11)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-3, 0.01, 0.19, 0.21, 1.0])
def test_second_derivatives_are_finite_and_right(scale: float) -> None:
    """Derivatives of jdifference, and of the inverse of jintegrate, against central differences of the numbers."""
    state = StateMultibody(load_robot("hector"))
    x, y = SX.sym("x", state.nx), SX.sym("y", state.nx)
    second = ca.densify(state.sx_jdifference(x, y)[1])
    f = ca.Function("second", [x, y], [ca.jacobian(ca.vec(second), y) @ state.sx_tangent_basis(y)])
    rng = np.random.default_rng(6)
    x0 = state.rand(rng)
    y0 = state.integrate(x0, scale * rng.uniform(-1, 1, state.ndx))
    expected = central_differences(
        lambda e: state.jdifference(x0, state.integrate(y0, e))[1].ravel(order="F"), state.ndx
    )
    assert_jacobian(np.array(f(x0, y0)), expected)
    dx = SX.sym("dx", state.ndx)
    inverse = ca.densify(state.sx_jintegrate_inverse(x, dx))
    g = ca.Function("slope", [x, dx], [ca.jacobian(ca.vec(inverse), dx)])
    step = scale * rng.uniform(-1, 1, state.ndx)
    expected = central_differences(
        lambda e: np.linalg.inv(state.jintegrate(x0, step + e)[1]).ravel(order="F"), state.ndx
    )
    assert_jacobian(np.array(g(x0, step)), expected)


def test_jacobian_selection() -> None:
    state = StateVector(2)
    x = np.ones(2)
    np.testing.assert_array_equal(state.jdifference(x, x, "first"), -np.eye(2))
    np.testing.assert_array_equal(state.jdifference(x, x, which="second"), np.eye(2))
    assert len(state.jintegrate(x, x)) == 2
    with pytest.raises(InvalidArgumentError, match="which: expected 'both', 'first' or 'second', got 'third'"):
        state.jintegrate(x, x, "third")  # type: ignore[arg-type]


# --- cost of the expressions -----------------------------------------------------------------------------------------


def test_vector_joints_cost_one_addition_each() -> None:
    state = bounded_talos_arm()
    x, dx = SX.sym("x", state.nx), SX.sym("dx", state.ndx)
    f = ca.Function("sum", [x, dx], [state.sx_integrate(x, dx)])
    assert f.n_instructions() == 4 * state.nx  # two inputs, one addition, one output for each coordinate
    for jacobian in (*state.sx_jintegrate(x, dx), state.sx_tangent_basis(x), state.sx_tangent_projection(x)):
        assert ca.is_equal(jacobian, SX.eye(state.nx), 0)
        assert jacobian.nnz() == state.nx


def test_jacobians_keep_structural_zeros() -> None:
    state = StateMultibody(load_robot("hyq"))
    x, dx = SX.sym("x", state.nx), SX.sym("dx", state.ndx)
    for jacobian in (*state.sx_jintegrate(x, dx), *state.sx_jdifference(x, state.sx_integrate(x, dx))):
        assert jacobian.nnz() == 27 + 12 + 18  # three 3 x 3 blocks of the free flyer, joints, velocities
    assert state.sx_tangent_basis(x).nnz() == 9 + 12 + 12 + 18


# --- the door --------------------------------------------------------------------------------------------------------


def test_zero_is_fresh_and_neutral() -> None:
    state = StateMultibody(load_robot("hector"))
    zero = state.zero()
    np.testing.assert_array_equal(zero, [0, 0, 0, 0, 0, 0, 1] + [0] * 6)
    zero[0] = 5.0
    assert state.zero()[0] == 0.0


@every_state
def test_inputs_stay_unchanged(state: StateAbstract) -> None:
    x, y, dx = state.rand(0), state.rand(1), np.full(state.ndx, 0.2)
    copies = [x.copy(), y.copy(), dx.copy()]
    state.integrate(x, dx), state.difference(x, y), state.jintegrate(x, dx), state.jdifference(x, y)
    assert state.check(x) is not x
    assert state.normalize(x) is not x
    for value, copy in zip((x, y, dx), copies):
        np.testing.assert_array_equal(value, copy)


@every_state
def test_random_states(state: StateAbstract) -> None:
    np.testing.assert_array_equal(state.rand(3), state.rand(np.random.default_rng(3)))
    assert not np.array_equal(state.rand(3), state.rand(4))
    for seed in range(20):
        x = state.check(state.rand(seed))
        names, position = state.tangent_names, state.difference(state.zero(), x)
        vector = [i for i, name in enumerate(names) if ".r" not in name and state.lower[i] > -np.inf]
        assert np.all(position[vector] >= state.lower[vector])
        assert np.all(position[vector] <= state.upper[vector])
    with pytest.raises(
        InvalidArgumentError, match=r"rng: expected a numpy\.random\.Generator or a seed >= 0, got None"
    ):
        state.rand(None)  # type: ignore[arg-type]


def test_random_rotations_are_uniform() -> None:
    """E|w| of a uniform quaternion is 4/(3π); uniform Euler angles or normalised cubes give other values."""
    state = StateMultibody(load_robot("hector"))
    rng = np.random.default_rng(0)
    w = np.array([state.rand(rng)[3:7] for _ in range(4000)])
    np.testing.assert_allclose(np.abs(w).mean(axis=0), 4 / (3 * np.pi), atol=0.015)
    np.testing.assert_allclose((w**4).mean(axis=0), 1 / 8, atol=0.01)


def test_random_values_respect_one_sided_bounds() -> None:
    state = StateVector(3, lower=[2.0, -np.inf, -np.inf], upper=[np.inf, -3.0, np.inf])
    xs = np.array([state.rand(seed) for seed in range(50)])
    assert np.all(xs[:, 0] >= 2.0)
    assert np.all(xs[:, 1] <= -3.0)
    assert np.all(np.abs(xs[:, 2]) <= 1.0)


def test_check_refuses_what_is_not_a_state() -> None:
    state = StateMultibody(load_robot("hector"))
    x = state.zero()
    with pytest.raises(InvalidArgumentError, match=r"x0: expected shape \(13,\), got \(12,\); .* nq = 7 and nv = 6"):
        state.check(x[:-1], "x0")
    for index, value in ((2, np.nan), (12, np.inf)):
        bad = x.copy()
        bad[index] = value
        with pytest.raises(
            InvalidArgumentError, match=rf"x: expected finite numbers, got {value} at index \({index},\)"
        ):
            state.check(bad)
    x[6] = 1.0 + 1.1e-6
    expected = (
        r"xs\[3\]: expected the quaternion of joint 'root_joint' \(indices 3 to 6\) .* got 1.0000011; .*normalize"
    )
    with pytest.raises(InvalidArgumentError, match=expected):
        state.check(x, "xs[3]")
    x[6] = 1.0 + 0.9e-6
    np.testing.assert_array_equal(state.check(x), x)


def test_check_refuses_unit_circles_off_the_circle() -> None:
    state = StateMultibody(load_robot("kinova"))
    x = state.zero()
    x[0] = 0.5
    with pytest.raises(InvalidArgumentError, match=r"the \(cos, sin\) of joint 'j2s6s200_joint_1' .* got 0.5;"):
        state.check(x)


def test_normalize() -> None:
    state = state_of_tree(0)
    x = state.rand(8)
    scaled = x.copy()
    for joint, where, _ in state._rotations(x):
        scaled[where] *= 1 + 0.1 * len(joint.label)
    np.testing.assert_allclose(state.normalize(scaled), x, atol=1e-15)
    with pytest.raises(InvalidArgumentError, match=r"x: expected a nonzero rotation of joint .*, got zeros"):
        state.normalize(np.zeros(state.nx))


def test_sizes_are_checked() -> None:
    state = bounded_talos_arm()
    with pytest.raises(InvalidArgumentError, match=r"dx: expected shape \(14,\), got \(7,\)"):
        state.integrate(state.zero(), np.zeros(7))
    with pytest.raises(InvalidArgumentError, match=r"x1: expected shape \(14,\), got \(13,\)"):
        state.difference(state.zero(), np.zeros(13))
    with pytest.raises(InvalidArgumentError, match=r"dx: expected a casadi.SX of shape \(14, 1\), got \(7, 1\)"):
        state.sx_integrate(SX.sym("x", 14), SX.sym("dx", 7))
    with pytest.raises(InvalidArgumentError, match=r"x0: expected a casadi.SX of shape \(14, 1\), got ndarray"):
        state.sx_difference(np.zeros(14), SX.sym("x", 14))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="nx: expected an integer >= 1, got 0"):
        StateVector(0)
    with pytest.raises(InvalidArgumentError, match="robot: expected a Robot, got Model; use load_robot"):
        StateMultibody(pin.Model())


# --- bounds, names, identity -----------------------------------------------------------------------------------------


def test_bounds_come_from_the_robot() -> None:
    state = bounded_talos_arm()
    np.testing.assert_array_equal(state.lower[:7], state.model.lowerPositionLimit)
    np.testing.assert_array_equal(state.upper, [*state.model.upperPositionLimit, *state.model.velocityLimit])
    np.testing.assert_array_equal(state.lower[7:], -state.upper[7:])
    hyq = StateMultibody(load_robot("hyq"))
    assert np.all(np.isinf(hyq.upper[:6]))
    assert np.all(np.isinf(hyq.lower[18:24]))
    assert np.all(np.isfinite(hyq.upper[6:18]))
    kinova = StateMultibody(load_robot("kinova"))
    np.testing.assert_array_equal(np.isinf(kinova.lower[:6]), [True, False, False, True, False, True])


def test_bounds_can_be_given() -> None:
    lower = np.array([-1.0, -np.inf])
    state = StateVector(2, lower=lower, upper=[2.0, np.inf])
    lower[0] = -9.0
    assert state.lower[0] == -1.0
    with pytest.raises(ValueError, match="read-only"):
        state.lower[0] = 0.0
    with pytest.raises(InvalidArgumentError, match=r"upper: expected shape \(14,\), got \(15,\); .* tangent space"):
        StateMultibody(load_robot("talos_arm"), upper=np.zeros(15))
    with pytest.raises(InvalidArgumentError, match="lower: expected numbers or ±inf, got nan"):
        StateVector(1, lower=[np.nan])
    with pytest.raises(
        InvalidArgumentError, match=r"lower: expected lower <= upper, got 1.0 > 0.0 for 'x1' \(index 1\)"
    ):
        StateVector(2, lower=[0, 1], upper=[0, 0])


def test_names_and_units() -> None:
    state = StateMultibody(load_robot("hyq"))
    assert state.coordinate_names[:8] == [f"q:root_joint.{c}" for c in ("x", "y", "z", "qx", "qy", "qz", "qw")] + [
        "q:lf_haa_joint"
    ]
    assert state.tangent_names[:7] == [f"q:root_joint.{c}" for c in ("x", "y", "z", "rx", "ry", "rz")] + [
        "q:lf_haa_joint"
    ]
    assert state.tangent_names[18] == "v:root_joint.x"
    assert state.tangent_units[:7] == ["m"] * 3 + ["rad"] * 4
    assert state.tangent_units[18:25] == ["m/s"] * 3 + ["rad/s"] * 4
    cart_pole = StateMultibody(load_robot("cart-pole"))
    assert cart_pole.coordinate_names == ["q:cart", "q:pole", "v:cart", "v:pole"]
    assert cart_pole.tangent_units == ["m", "rad", "m/s", "rad/s"]


@every_state
def test_names_have_the_right_length_and_are_unique(state: StateAbstract) -> None:
    assert len(set(state.coordinate_names)) == state.nx
    assert len(set(state.tangent_names)) == len(state.tangent_units) == state.ndx


@every_state
def test_states_pickle_and_compare_by_content(state: StateAbstract) -> None:
    if isinstance(state, StateMultibody) and "JointModelMimic" in {j.shortname() for j in state.robot.model.joints}:
        with pytest.raises(UnsupportedOperationError, match="robots with mimic joints can't be pickled"):
            pickle.dumps(state)
        return
    again = pickle.loads(pickle.dumps(state))
    assert again == state
    assert hash(again) == hash(state)
    assert again is not state
    np.testing.assert_array_equal(
        again.integrate(again.zero(), np.ones(state.ndx)), state.integrate(state.zero(), np.ones(state.ndx))
    )


def test_different_states_differ() -> None:
    assert StateVector(2) != StateVector(3)
    assert StateVector(2) != StateVector(2, lower=[0, 0])
    assert StateVector(2) != "state"
    arm = load_robot("talos_arm")
    assert StateMultibody(arm) == StateMultibody(load_robot("talos_arm"))
    heavier = arm.model.copy()
    heavier.inertias[3].mass += 1.0
    assert StateMultibody(arm) != StateMultibody(Robot(heavier, name="talos_arm"))
    assert StateMultibody(arm) != StateMultibody(arm, upper=np.full(14, np.inf))


def test_states_are_fixed() -> None:
    state = StateVector(2)
    with pytest.raises(AttributeError, match="StateVector is immutable after construction: cannot set 'nx'"):
        state.nx = 3


def test_repr() -> None:
    assert repr(StateVector(3)) == "StateVector(3)"
    assert repr(StateVector(3, lower=[0, -np.inf, -np.inf])) == "StateVector(3, 1 bounded)"
    assert repr(bounded_talos_arm()) == "StateMultibody('talos_arm', nq=7, nv=7, 14 of 14 bounded)"


def test_two_coordinates_of_one_name_are_refused() -> None:
    with pytest.raises(
        DuplicateNameError, match="names: expected a different name for each coordinate, got .'a', 'a'."
    ):
        StateVector(2, names=["a", "a"])


@pytest.mark.parametrize(
    ("names", "units", "heading"),
    [
        (["x", "y", "theta", "v"], None, True),
        (["px", "py", "heading", "speed"], ["m", "m", "rad", "m/s"], True),
        (["pos_x", "pos_y", "yaw", "v"], None, True),
        (["p_x", "p_y", "v", "w"], ["m", "m", "m/s", "m/s"], False),
        (["x_pos", "y_pos", "psi", "v"], None, True),
    ],
)
def test_usual_names_of_places_are_poses(names: list[str], units: list[str] | None, heading: bool) -> None:
    poses = StateVector(4, names=names, units=units).body_poses(np.array([[1.0, 2.0, 0.3, 0.4]]))
    assert poses is not None
    np.testing.assert_allclose(poses[0, :3, 3], [1.0, 2.0, 0.0])
    np.testing.assert_allclose(poses[0, 1, 0], np.sin(0.3) if heading else 0.0)


@pytest.mark.parametrize("names", [("x", "z", "tilt", "vx"), ("px", "pz", "theta", "v"), ("pos_x", "pos_z", "w", "v")])
def test_x_and_z_are_a_place_in_a_vertical_plane(names: tuple[str, ...]) -> None:
    """An angle there is no heading, as nothing says in which direction it counts."""
    poses = StateVector(4, names=names).body_poses(np.array([[1.0, 2.0, 0.3, 0.4]]))
    assert poses is not None
    np.testing.assert_allclose(poses[0, :3, 3], [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(poses[0, :3, :3], np.eye(3))


def test_momenta_and_single_coordinates_are_no_place() -> None:
    for names, units in (
        (["px", "py"], ["kg m/s", "kg m/s"]),
        (["px", "y"], None),
        (["x0", "x1"], None),
        (["y", "z"], None),
    ):
        assert StateVector(2, names=names, units=units).body_poses(np.zeros((1, 2))) is None
    space = StateVector(3, names=["px", "py", "pz"]).body_poses(np.array([[1.0, 2.0, 3.0]]))
    assert space is not None
    np.testing.assert_allclose(space[0, :3, 3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("state", [StateVector(2), StateSE3(), StateProduct(StateVector(2), StateSO3())], ids=repr)
def test_a_check_that_passes_writes_no_message(state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each solve makes dozens of checks, and the words would take half of their time."""
    x = state.zero()
    with pytest.raises(InvalidArgumentError, match=re.escape(f"; {state._shape_hint()}")):
        state.check(np.zeros(99))
    monkeypatch.setattr(type(state), "_shape_hint", lambda self: pytest.fail("it is written"))
    np.testing.assert_array_equal(state.check(x), x)
    np.testing.assert_array_equal(state.normalize(x), x)
