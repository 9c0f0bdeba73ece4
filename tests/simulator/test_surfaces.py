"""Surfaces: distances, normals, axes of contact, and what they refuse."""

from __future__ import annotations

import casadi as ca
import coal
import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.simulator import BoxSurface, HeightField, MDPContact, Plane, Surface, SurfaceAbstract

UP = np.array([0.0, 0.0, 1.0])
SURFACES = [
    Plane((0, 0, 2, 1)),
    Plane((1, -0.5, 2, 0.3)),
    Plane((0, 0, -1, 2)),
    HeightField(lambda x, y: 0.2 * ca.sin(x) * ca.cos(2 * y)),
    Surface(lambda p: ca.norm_2(p - ca.vertcat(0.1, 0.2, -2)) - 1.5),
    BoxSurface((-1.0, -2.0, 0.0), (0.1, -0.5, 0.3)),
]


def numbers(expression: ca.SX) -> np.ndarray:
    return np.array(ca.DM(ca.evalf(ca.SX(expression))))


@pytest.mark.parametrize("surface", SURFACES, ids=lambda s: type(s).__name__)
def test_axes_are_a_rotation_about_the_normal(surface: SurfaceAbstract) -> None:
    p = ca.SX([0.3, -0.4, 0.5])
    normal, axes = numbers(surface.normal(p)).ravel(), numbers(surface.axes(p, UP))
    assert np.allclose(axes.T @ axes, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert np.allclose(axes[:, 2], normal, atol=1e-14)


def test_distances_are_exact_for_planes_and_spheres() -> None:
    p = ca.SX([0.3, -0.4, 0.5])
    assert numbers(SURFACES[0].distance(p)).item() == pytest.approx(1.0)
    away = np.array([0.3, -0.4, 0.5]) - [0.1, 0.2, -2]
    assert numbers(SURFACES[4].distance(p)).item() == pytest.approx(np.linalg.norm(away) - 1.5)
    assert np.allclose(numbers(SURFACES[4].normal(p)).ravel(), away / np.linalg.norm(away))


def test_a_flat_height_field_is_a_plane() -> None:
    p, field, plane = ca.SX([0.3, -0.4, 0.5]), HeightField(lambda x, y: 0.1 + 0.5 * x), Plane((-0.5, 0, 1, -0.1))
    assert numbers(field.distance(p)).item() == pytest.approx(numbers(plane.distance(p)).item())
    assert np.allclose(numbers(field.axes(p, UP)), numbers(plane.axes(p, UP)))


def test_distances_from_a_box_are_those_of_another_library() -> None:
    """Outside of it from the nearest point, inside from the nearest face."""
    low, high = np.array([-0.5, 0.0, 0.1]), np.array([0.3, 0.9, 0.4])
    box, p = BoxSurface(low, high), ca.SX.sym("p", 3)
    distance = ca.Function("distance", [p], [box.distance(p)])
    solid, point = coal.Box(*(high - low)), coal.Sphere(1e-9)
    for place in np.random.default_rng(0).uniform(-1.0, 1.2, (200, 3)):
        result = coal.DistanceResult()
        at = [coal.Transform3s(np.eye(3), c) for c in ((low + high) / 2, place)]
        known = coal.distance(solid, at[0], point, at[1], coal.DistanceRequest(), result)
        assert float(distance(place)) == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize("surface", [*SURFACES[:3], BoxSurface((-0.3, -0.4, -0.2), (0.5, 0.1, 0.3))])
def test_the_nearest_point_of_a_segment_is_nearer_than_all_others(surface: SurfaceAbstract) -> None:
    rng, fractions = np.random.default_rng(1), np.linspace(0.0, 1.0, 501)
    start, end = ca.SX.sym("a", 3), ca.SX.sym("b", 3)
    nearest = ca.Function("nearest", [start, end], [surface.nearest(start, end)])
    distance = ca.Function("distance", [start], [surface.distance(start)])
    for i in range(150):
        a, b = rng.uniform(-1.0, 1.0, (2, 3))
        if i % 3 == 0:
            b[i % 9 // 3] = a[i % 9 // 3]  # along a face
        along = a[:, None] + fractions * (b - a)[:, None]
        least, s = float(distance(along).full().min()), float(nearest(a, b))
        assert 0.0 <= s <= 1.0
        value = float(distance(a + s * (b - a)))
        # where a segment crosses the box, the middle of the part inside, which is at least half as deep as the deepest
        assert value <= (least if least > 0 or not isinstance(surface, BoxSurface) else 0.5 * least) + 3e-9


def test_heights_are_those_of_the_ground() -> None:
    x, y = ca.SX(0.3), ca.SX(-0.4)
    for surface in SURFACES[:2]:
        height = numbers(surface.height(x, y)).item()
        assert numbers(surface.distance(ca.vertcat(x, y, height))).item() == pytest.approx(0.0, abs=1e-12)
    assert numbers(SURFACES[3].height(x, y)).item() == pytest.approx(0.2 * np.sin(0.3) * np.cos(0.8))
    box = BoxSurface((0.0, -1.0, 0.0), (0.3, 1.0, 0.5))
    assert numbers(box.height(x, y)).item() == 0.5  # the rim belongs to it
    assert numbers(box.height(x + 1e-9, y)).item() == -np.inf
    for surface in (SURFACES[2], SURFACES[4]):
        with pytest.raises(UnsupportedOperationError, match="height: expected"):
            surface.height(x, y)


def test_wrong_surfaces_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"high: expected a corner above \[0.0, 0.0, 0.0\] along each axis"):
        BoxSurface((0, 0, 0), (1, 1, 0))
    with pytest.raises(InvalidArgumentError, match="nonzero normal"):
        Plane((0, 0, 0, 1))
    with pytest.raises(InvalidArgumentError, match="coefficients: expected"):
        Plane((0, 0, np.nan, 1))
    with pytest.raises(InvalidArgumentError, match="height: expected one expression, got 2"):
        HeightField(lambda x, y: [x, y])
    with pytest.raises(InvalidArgumentError, match="distance: expected an expression of the point only"):
        Surface(lambda p: p[2] + ca.SX.sym("stranger"))
    for surface in (3.0, "floor"):
        with pytest.raises(InvalidArgumentError, match="surface: expected Plane"):
            MDPContact("foot", surface=surface)
    with pytest.raises(InvalidArgumentError, match=r"distance: expected a function, got 0\.3"):
        Surface(0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"friction": -0.1}, "friction: expected a number >= 0"),
        ({"strength": -1.0}, "strength"),
        ({"radius": np.nan}, "radius"),
        ({"rays": 2}, "rays"),
        ({"exponent": 0.5}, "exponent: expected a number >= 1"),
        ({"name": "left foot"}, "name: expected an identifier"),
        ({"offset": (0, 0)}, "offset"),
    ],
)
def test_wrong_contacts_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        MDPContact("foot", **options)
