"""Surfaces: distances, normals, axes of contact, and what they refuse."""

from __future__ import annotations

import casadi as ca
import coal
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from tests.support.meshes import cube
from trajopt import gaits
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.simulator import (
    BodySurface,
    HeightField,
    MDPContact,
    Plane,
    Simulator,
    Surface,
    SurfaceAbstract,
    scene_contacts,
)
from trajopt.simulator.box_surface import BoxSurface
from trajopt.simulator.union_surface import UnionSurface

UP = np.array([0.0, 0.0, 1.0])
TURNED = pin.SE3(pin.exp3(np.array([0.3, -0.5, 0.2])), np.array([0.1, -0.2, 0.3]))
SURFACES = [
    Plane((0, 0, 2, 1)),
    Plane((1, -0.5, 2, 0.3)),
    Plane((0, 0, -1, 2)),
    HeightField(lambda x, y: 0.2 * ca.sin(x) * ca.cos(2 * y)),
    Surface(lambda p: ca.norm_2(p - ca.vertcat(0.1, 0.2, -2)) - 1.5),
    BoxSurface((-1.0, -2.0, 0.0), (0.1, -0.5, 0.3)),
    BodySurface(trajopt.Box([0.5, 0.9, 0.3], placement=TURNED)),
    BodySurface(trajopt.Sphere(0.2, center=[0.1, 0.2, -0.3])),
    BodySurface(trajopt.Capsule(0.1, start=[-0.3, 0.1, 0.0], end=[0.4, 0.3, 0.2])),
]
UNION = UnionSurface([Plane((0, 0, 1, 0)), BoxSurface((-1.0, -2.0, 0.0), (0.1, -0.5, 0.3))])


def numbers(expression: ca.SX) -> np.ndarray:
    return np.array(ca.DM(ca.evalf(ca.SX(expression))))


@pytest.mark.parametrize("surface", [*SURFACES, UNION], ids=lambda s: type(s).__name__)
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


def test_a_terrain_is_one_surface_of_its_nearest_parts() -> None:
    """Distances are those of the terrain, normals those of the nearest part, heights the highest ones."""
    stairs = gaits.Terrain.stairs(2, rise=0.1, depth=0.3, start=0.5)
    surface, p = MDPContact("foot", surface=stairs).surface, ca.SX.sym("p", 3)
    values = ca.Function("f", [p], [surface.distance(p), surface.normal(p), surface.height(p[0], p[1])])
    points = np.random.default_rng(0).uniform([0.0, -1.2, 0.0], [1.2, 1.2, 0.5], (100, 3))
    for point, distance, height in zip(points, stairs.distances(points), stairs.heights(points)):
        assert float(values(point)[0]) == pytest.approx(distance, abs=1e-12)
        assert float(values(point)[2]) == pytest.approx(height, abs=1e-12)
    for point, normal in (((0.6, 0, 0.11), (0, 0, 1)), ((0.49, 0, 0.05), (-1, 0, 0)), ((0.3, 0, 0.02), (0, 0, 1))):
        np.testing.assert_allclose(values(point)[1].full().ravel(), normal, atol=1e-6)
    for wrong, words in (([], "at least one surface"), ([Plane((0, 0, 1, 0), "base")], "surfaces of the world, got")):
        with pytest.raises(InvalidArgumentError, match=words):
            UnionSurface(wrong)


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


@pytest.mark.parametrize("surface", SURFACES[6:])
def test_distances_from_bodies_are_those_of_another_library(surface: BodySurface) -> None:
    body, p = surface.shape, ca.SX.sym("p", 3)
    if isinstance(body, trajopt.Box):
        solid, place = coal.Box(*body.size), TURNED
    else:
        start, end = body.points[0], body.points[-1]
        length = float(np.linalg.norm(end - start))
        solid = coal.Capsule(body.radius, length) if length else coal.Sphere(body.radius)
        turn = pin.Quaternion.FromTwoVectors(UP, end - start).matrix() if length else np.eye(3)
        place = pin.SE3(turn, (start + end) / 2.0)
    values = ca.Function("surface", [p], [surface.distance(p), surface.normal(p)])
    point, at = coal.Sphere(1e-9), coal.Transform3s(place.rotation, place.translation)
    for centre in np.random.default_rng(0).uniform(-1.0, 1.2, (200, 3)):
        there = coal.Transform3s(np.eye(3), centre)
        known = coal.distance(solid, at, point, there, coal.DistanceRequest(), coal.DistanceResult())
        distance, normal = (np.array(each).ravel() for each in values(centre))
        assert distance[0] == pytest.approx(known, abs=1e-6)
        moved = np.array(values(centre + 1e-6 * normal)[0]).item()
        assert (moved - distance[0]) / 1e-6 == pytest.approx(1.0, abs=1e-3)


def test_a_scene_serves_the_simulator() -> None:
    robot = collision_arm().robot
    bodies = [body for body in robot.collision_shapes.bodies if body.frame == "arm_left_7_link"]
    balls = [(body.radius, c) for body in bodies for c in body.points]
    q = np.zeros(7)
    centre = robot.placement(q, "arm_left_7_link") @ np.append(balls[1][1], 1.0)
    scene = trajopt.Scene(
        {
            "ball": trajopt.Sphere(0.1, center=centre[:3] - (0.099 + balls[1][0]) * UP),
            "far": trajopt.Box([0.1, 0.2, 0.3], placement=[0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0]),
        }
    )
    contacts = scene_contacts(robot, scene, ["arm_left_7_link"], friction=0.0)
    assert [each.name for each in contacts] == [f"arm_left_7_link_{i}_{n}" for i in range(3) for n in ("ball", "far")]
    assert [(each.radius, *each.offset) for each in contacts[::2]] == [(radius, *c) for radius, c in balls]
    assert all(float(each.parameters()["friction"].default) == 0.0 for each in contacts)
    forces = Simulator(robot, contacts).step(1e-3, np.zeros(14))[1]
    assert forces["arm_left_7_link_1_ball"][2] > 0.0
    assert all(np.abs(force).max() < 1e-3 for name, force in forces.items() if name.endswith("far"))
    mesh = trajopt.TriangleMesh(cube(), cell=0.02)
    boxes = scene_contacts(robot, trajopt.Scene({"cube": mesh}), ["arm_left_7_link"])
    assert [each.name for each in boxes] == [f"arm_left_7_link_{i}_cube_0" for i in range(3)]
    with pytest.raises(InvalidArgumentError, match="frames: expected frames with collision shapes, got 'universe'"):
        scene_contacts(robot, scene, ["universe"])
    with pytest.raises(InvalidArgumentError, match="frames: expected a list of names, got 3"):
        scene_contacts(robot, scene, 3)


@pytest.mark.parametrize(
    "surface", [*SURFACES[:3], *SURFACES[6:], UNION, BoxSurface((-0.3, -0.4, -0.2), (0.5, 0.1, 0.3))]
)
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
        assert value <= (least if least > 0 or isinstance(surface, Plane) else 0.5 * least) + 3e-9


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
