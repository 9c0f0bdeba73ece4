"""Surfaces: distances, normals, axes of contact, and what they refuse."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError
from trajopt.simulator import HeightField, MDPContact, Plane, Surface, SurfaceAbstract

UP = np.array([0.0, 0.0, 1.0])
SURFACES = [
    Plane((0, 0, 2, 1)),
    Plane((1, -0.5, 2, 0.3)),
    Plane((0, 0, -1, 2)),
    HeightField(lambda x, y: 0.2 * ca.sin(x) * ca.cos(2 * y)),
    Surface(lambda p: ca.norm_2(p - ca.vertcat(0.1, 0.2, -2)) - 1.5),
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


def test_wrong_surfaces_are_refused() -> None:
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
