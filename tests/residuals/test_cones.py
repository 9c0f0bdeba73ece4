"""Friction and wrench cones: geometry, forces at the corners of a sole, and rows that follow their parameters."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import linprog

import trajopt
from tests.support.contact_robots import Reals, robot_state
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.friction_cone import beyond_cone

RNG = np.random.default_rng(0)
TURNED = pin.exp3(np.array([0.3, -0.7, 1.1]))
FACETS = [4, 6, 10]


def numbers(residual: Any, size: int) -> Callable[..., Reals]:
    """A residual of a force (size,) as numbers; parameters by name."""
    instant, layout = Instant(residual.state, 0, forces={"foot": size}), residual.layout
    function = ca.Function("residual", [instant.force("foot"), layout.symbols], [residual.evaluate(instant)])

    def evaluate(force: Reals, **given: Any) -> Reals:
        return np.array(function(force, layout.column(given)).full()).ravel()

    return evaluate


def friction(cone: trajopt.FrictionCone) -> trajopt.ResidualModelContactFrictionCone:
    return trajopt.ResidualModelContactFrictionCone(robot_state("hopper"), "foot", cone)


def wrench(cone: trajopt.WrenchCone) -> trajopt.ResidualModelContactWrenchCone:
    return trajopt.ResidualModelContactWrenchCone(robot_state("hopper"), "foot", cone)


def inside(cone: trajopt.FrictionCone | trajopt.WrenchCone, force: Reals, margin: float = 1e-12) -> bool:
    rows = cone.matrix @ force
    return bool(np.all(rows >= cone.lower - margin) and np.all(rows <= cone.upper + margin))


def on_the_cone(mu: float, angles: Reals, normal: float = 3.0) -> Reals:
    """Forces (n, 3) on the surface of the round cone."""
    return normal * np.column_stack([mu * np.cos(angles), mu * np.sin(angles), np.ones_like(angles)])


# Friction cones


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("rotation", [np.eye(3), TURNED], ids=["level", "tilted"])
def test_pyramids_touch_the_round_cone(facets: int, rotation: Reals) -> None:
    """The outer one with the middle of each facet, the inner one with each edge."""
    mu, step = 0.6, 2 * np.pi / facets
    outer = trajopt.FrictionCone(mu, facets=facets, inner=False, rotation=rotation)
    inner = trajopt.FrictionCone(mu, facets=facets, inner=True, rotation=rotation)
    middles, edges = np.arange(facets) * step, (np.arange(facets) + 0.5) * step
    for force in on_the_cone(mu, middles) @ rotation.T:
        rows = outer.matrix @ force
        assert np.isclose(rows[:-1], 0, atol=1e-14).sum() == 1
        assert rows[-1] == pytest.approx(3.0)
        assert inside(outer, force)
        assert not inside(inner, force, 1e-3)
    for force in on_the_cone(mu, edges) @ rotation.T:
        assert np.isclose(inner.matrix[:-1] @ force, 0, atol=1e-14).sum() == 2
        assert inside(inner, force)


@pytest.mark.parametrize("facets", FACETS)
def test_the_inner_pyramid_is_in_the_cone_and_the_cone_in_the_outer_one(facets: int) -> None:
    mu = 0.8
    outer, inner = (trajopt.FrictionCone(mu, facets=facets, inner=i, rotation=TURNED) for i in (False, True))
    forces = RNG.normal([0, 0, 1.5], size=(400, 3))
    round_cone = np.hypot(forces[:, 0], forces[:, 1]) <= mu * forces[:, 2]
    in_outer, in_inner = (np.all(forces @ TURNED.T @ c.matrix.T <= c.upper, axis=1) for c in (outer, inner))
    assert np.all(in_outer >= round_cone)
    assert np.all(in_inner <= round_cone)
    assert in_inner.sum() > 100
    assert (~in_outer).sum() > 100


def test_many_facets_converge_to_the_round_cone() -> None:
    """How far the outer pyramid sticks out at its edges, how far the inner one stays back: both with the square."""
    mu, counts = 0.7, np.array([8, 16, 32, 64])
    for inner in (False, True):
        errors = []
        for facets in counts:
            cone = trajopt.FrictionCone(mu, facets=int(facets), inner=inner)
            angles = np.linspace(0, 2 * np.pi, 721)
            slopes = (cone.matrix[:-1, :2] @ [np.cos(angles), np.sin(angles)]).max(axis=0)
            reach = -cone.matrix[0, 2] / slopes  # tangential force at which a facet is met, for unit normal force
            errors.append(np.abs(reach - mu).max())
        order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
        assert abs(order - 2) < 0.05, errors


def test_normal_forces_have_limits() -> None:
    cone = trajopt.FrictionCone(0.5, min_force=2.0, max_force=10.0)
    for normal, fits in ((1.9, False), (2.0, True), (10.0, True), (10.1, False), (-5.0, False)):
        assert inside(cone, np.array([0.0, 0.0, normal]), 0) == fits
    free = trajopt.FrictionCone(0.5)
    assert inside(free, np.array([0, 0, 1e9]))
    assert not inside(free, np.array([0, 0, -1e-3]))
    np.testing.assert_array_equal(free.lower, [-np.inf] * 4 + [0.0])
    np.testing.assert_array_equal(free.upper, [0.0] * 4 + [np.inf])


# Wrench cones


def corner_wrenches(cone: trajopt.WrenchCone) -> Reals:
    """The wrench (n, 6) of each edge of the friction pyramid at each corner of the sole, with unit normal force."""
    slope = cone.mu * (np.cos(np.pi / 4) if cone.inner else 1.0)
    length, width = np.asarray(cone.box) / 2
    result = []
    for x, y in itertools.product((-length, length), (-width, width)):
        for force in itertools.product((-slope, slope), (-slope, slope), (1.0,)):
            result.append(np.concatenate([force, np.cross([x, y, 0.0], force)]))
    return np.array(result)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("box", [(0.2, 0.1), (0.06, 0.3)])
def test_a_wrench_cone_is_what_forces_at_the_corners_give(inner: bool, box: tuple[float, float]) -> None:
    """Four facets: each sum of corner forces is in it, and each of its edges is such a sum."""
    cone = trajopt.WrenchCone(0.7, box, inner=inner)
    generators = corner_wrenches(cone)
    for weights in RNG.exponential(size=(50, len(generators))) ** 4:
        assert inside(cone, weights @ generators, 1e-10)
    rows, limit = cone.matrix, cone.upper
    unit_normal = np.array([[0.0, 0, 1, 0, 0, 0]])
    free = np.arange(len(rows)) != cone.facets  # the row of the normal force
    for direction in RNG.normal(size=(25, 6)) / [1, 1, 1, 0.1, 0.1, 0.1]:
        far = linprog(direction, rows[free], limit[free], unit_normal, [1.0], bounds=(None, None))
        assert far.status == 0
        weights = linprog(np.zeros(len(generators)), A_eq=generators.T, b_eq=far.x, bounds=(0, None))
        assert weights.status == 0, "an edge of the cone is no sum of corner forces"


def test_tilted_wrenches() -> None:
    level, tilted = (trajopt.WrenchCone(0.4, (0.2, 0.1), facets=6, rotation=R) for R in (np.eye(3), TURNED))
    w = RNG.normal(size=6)
    np.testing.assert_allclose(tilted.matrix @ np.kron(np.eye(2), TURNED) @ w, level.matrix @ w, rtol=0, atol=1e-14)
    assert level.matrix.shape == (19, 6)
    assert level.lower.shape == level.upper.shape == (19,)


def test_a_force_beside_the_sole_tips_it() -> None:
    """The first side of the box is along x: a force at x = 0.09 is on it, at y = 0.09 beside it."""
    cone = trajopt.WrenchCone(0.7, (0.2, 0.1))
    make, state = trajopt.ResidualModelContactCoPPosition, robot_state("hopper")
    pressure = numbers(make(state, "foot", (0.2, 0.1)), 6)
    tilted = numbers(make(state, "foot", (1.0, 1.0), rotation=TURNED), 6)
    for point, fits in (((0.09, 0.0), True), ((-0.09, 0.0), True), ((0.0, 0.09), False), ((0.0, -0.09), False)):
        push = np.array([0.0, 0.0, 5.0])
        w = np.concatenate([push, np.cross([*point, 0.0], push)])
        assert inside(cone, w) == fits
        assert np.all(pressure(w) <= 1e-12) == fits
        assert pressure(w).max() == pytest.approx(5 * (np.max(np.abs(point) - [0.1, 0.05])))
        turned = np.kron(np.eye(2), TURNED) @ w
        np.testing.assert_allclose(tilted(turned, box=(0.2, 0.1)), pressure(w), rtol=0, atol=1e-14)


# Residuals


RESIDUALS = {
    "friction": (lambda: friction(trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)), 3),
    "friction of a sole": (lambda: friction(trajopt.FrictionCone(0.5, inner=False, rotation=TURNED)), 6),
    "wrench": (lambda: wrench(trajopt.WrenchCone(0.5, (0.2, 0.1), rotation=TURNED)), 6),
    "wrench, 6 facets": (lambda: wrench(trajopt.WrenchCone(0.5, (0.2, 0.1), facets=6, inner=False)), 6),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals_are_the_matrix_times_the_force(name: str) -> None:
    """At first, and after each of its parameters has changed."""
    make, size = RESIDUALS[name]
    residual = make()
    evaluate, cone = numbers(residual, size), residual.cone
    force = RNG.normal(size=size)
    np.testing.assert_allclose(evaluate(force), cone.matrix @ force[: cone.matrix.shape[1]], rtol=0, atol=1e-13)
    changes = {"mu": 1.3, "rotation": pin.exp3(np.array([1.0, 0.2, 0.4]))}
    if "wrench" in name:
        changes["box"] = (0.05, 0.4)
    settings = {field: getattr(cone, field) for field in ("mu", "facets", "inner", "rotation")}
    settings |= {"box": cone.box} if "wrench" in name else {}
    for key, value in changes.items():
        other = type(cone)(**settings | {key: value})
        got = evaluate(force, **{key: value})
        np.testing.assert_allclose(got, other.matrix @ force[: other.matrix.shape[1]], rtol=0, atol=1e-13)
        assert np.abs(got - evaluate(force)).max() > 1e-3
    again = pickle.loads(pickle.dumps(residual))
    np.testing.assert_array_equal(numbers(again, size)(force), evaluate(force))


def test_a_barrier_on_a_cone_costs_nothing_inside() -> None:
    """And ½ of the squared rows outside: with a limit of the normal force only where there is one."""
    cone = trajopt.FrictionCone(0.5, inner=False, min_force=1.0)
    residual, barrier = friction(cone), trajopt.ActivationModelQuadraticBarrier(cone.lower, cone.upper)
    instant = Instant(residual.state, 0, forces={"foot": 3})
    symbols = [instant.force("foot"), residual.layout.symbols, barrier.layout.symbols]
    r = residual.evaluate(instant)
    function = ca.Function("cost", symbols, [barrier.value(r), barrier.gradient(r), barrier.hessian(r)])
    values = [m.layout.column() for m in (residual, barrier)]
    for force, expected in (((0.2, 0.1, 2.0), 0.0), ((2.0, 0.0, 2.0), 0.5), ((0.0, 0.0, 0.5), 0.125)):
        value, gradient, hessian = (v.full().ravel() for v in function(force, *values))
        assert value == pytest.approx(expected, abs=1e-15)
        assert bool(gradient.any()) == bool(hessian.any()) == (expected > 0)
        assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: trajopt.FrictionCone(-0.7), "mu: expected a number > 0, got -0.7"),
        (lambda: trajopt.FrictionCone(0.7, facets=5), "facets: expected an even number >= 4, got 5"),
        (lambda: trajopt.FrictionCone(0.7, facets=2), "facets: expected an even number >= 4, got 2"),
        (lambda: trajopt.WrenchCone(0.7, facets=7), "facets: expected an even number >= 4, got 7"),
        (lambda: trajopt.FrictionCone(0.7, facets=4.0), "facets: expected an integer"),  # type: ignore[arg-type]
        (
            lambda: trajopt.FrictionCone(0.7, min_force=3, max_force=1),
            r"min_force < max_force \[N\], got min_force=3 and max_force=1",
        ),
        (lambda: trajopt.FrictionCone(0.7, min_force=np.nan), r"min_force < max_force \[N\], got min_force=nan"),
        (lambda: trajopt.FrictionCone(0.7, rotation=2 * np.eye(3)), "rotation: expected a rotation matrix"),
        (lambda: trajopt.WrenchCone(0.7, (0.1, -0.1)), "box: expected length and width > 0 .m., got"),
        (lambda: trajopt.WrenchCone(0.7, 0.1), r"box: expected shape \(2,\).*length along x, width along y"),
        (lambda: trajopt.WrenchCone(0.0), "mu: expected a number > 0, got 0"),
        (lambda: friction(trajopt.WrenchCone()), "cone: expected a FrictionCone, got WrenchCone"),  # type: ignore
        (lambda: wrench(trajopt.FrictionCone()), "cone: expected a WrenchCone, got FrictionCone"),  # type: ignore
        (
            lambda: numbers(friction(trajopt.FrictionCone()), 2),
            "expected a 3D or 6D contact for a friction cone, got 'foot'",
        ),
        (
            lambda: numbers(wrench(trajopt.WrenchCone()), 3),
            "WrenchCone needs a force of 6 elements, but contact 'foot' has 3",
        ),
        (lambda: numbers(friction(trajopt.FrictionCone()), 3)(np.ones(3), mu=-1), "mu: expected a number > 0"),
        (lambda: numbers(friction(trajopt.FrictionCone()), 3)(np.ones(3), rotation=np.ones((3, 3))), "rotation matrix"),
        (lambda: numbers(wrench(trajopt.WrenchCone()), 6)(np.ones(6), box=(0, 1)), "box: expected length and width"),
    ],
)
def test_cones_refuse(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build()


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("facets", FACETS)
def test_the_excess_over_the_cone_follows_from_the_rows_of_its_pyramid(facets: int, inner: bool) -> None:
    """|f_t| - mu f_n of random forces on a tilted surface; a wrench cone's rows begin with those of its friction."""
    forces, mu = RNG.normal(size=(20, 6)), 0.6
    local = forces[:, :3] @ TURNED
    expected = np.hypot(*local[:, :2].T) - mu * local[:, 2]
    shape = {"facets": facets, "inner": inner, "rotation": TURNED}
    point, sole = trajopt.FrictionCone(mu, **shape), trajopt.WrenchCone(mu, (0.2, 0.1), **shape)
    np.testing.assert_allclose(beyond_cone(point, forces[:, :3] @ point.matrix.T), expected, atol=1e-12)
    np.testing.assert_allclose(beyond_cone(sole, forces @ sole.matrix.T), expected, atol=1e-12)
