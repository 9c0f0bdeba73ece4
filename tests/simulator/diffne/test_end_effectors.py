"""End effectors: spheres in closed form from every shape, from a mesh, and messages."""

from __future__ import annotations

import struct
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest

import trajopt.simulator.diffne as DNE
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import load_robot
from trajopt.simulator.diffne.body import ArticulatedBody, links_of
from trajopt.simulator.end_spheres import fit_sphere

TILT = pin.SE3(pin.utils.rotate("x", 0.3) @ pin.utils.rotate("y", -0.5), np.array([0.1, -0.2, 0.3]))


def body_with(*shapes: tuple[coal.CollisionGeometry, pin.SE3], visual: bool = False) -> ArticulatedBody:
    """A body with one joint, turned by a right angle about z against the world, that carries shapes."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3(pin.utils.rotate("z", np.pi / 2), np.ones(3)), "joint")
    model.addJointFrame(joint, -1)
    model.addBodyFrame("link", joint, pin.SE3.Identity(), -1)
    geometry = pin.GeometryModel()
    for i, (shape, place) in enumerate(shapes):
        geometry.addGeometryObject(pin.GeometryObject(f"link_{i}", joint, place, shape))
    kinds = {"visual" if visual else "collision": geometry}
    return ArticulatedBody(model, links_of(model), lambda kind: kinds.get(kind, pin.GeometryModel()))


def detected(body: ArticulatedBody, zRange: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> DNE.EndEffectorBounds:
    end = DNE.EndEffectorBounds(1)
    end.detectEndEffector(body, zRange)
    return end


def test_of_several_spheres_the_farthest_counts() -> None:
    near, far = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.3])), pin.SE3(np.eye(3), np.array([0.4, 0.0, 0.1]))
    end = detected(body_with((coal.Sphere(0.1), near), (coal.Sphere(0.03), far), (coal.Box(9, 9, 9), far)), (0, 0, 1.0))
    np.testing.assert_allclose(end.localPos, [0.4, 0.0, 0.1])
    assert end.phi0 == pytest.approx(0.03)


def test_a_capsule_ends_in_its_farther_sphere() -> None:
    end = detected(body_with((coal.Capsule(0.05, 0.6), TILT)))
    expected = max((TILT.act(np.array([0.0, 0.0, z])) for z in (0.3, -0.3)), key=lambda p: float(np.linalg.norm(p)))
    np.testing.assert_allclose(end.localPos, expected, atol=1e-15)
    assert end.phi0 == pytest.approx(0.05)


def test_the_slab_is_in_world_axes_at_zero() -> None:
    """The joint's x is the world's y: with zRange along -y the end is at the largest x of the joint."""
    cylinder = (coal.Cylinder(0.04, 0.5), pin.SE3(pin.utils.rotate("y", np.pi / 2), np.array([0.25, 0.0, 0.0])))
    for thickness in (0.01, 0.1, 0.49):
        end = detected(body_with(cylinder), (0.0, -thickness, 0.0))
        np.testing.assert_allclose(end.localPos, [0.5, 0.0, 0.0], atol=1e-15)
        assert end.phi0 == pytest.approx(0.04)
    other = detected(body_with(cylinder), (0.0, 0.1, 0.0))
    np.testing.assert_allclose(other.localPos, 0.0, atol=1e-15)
    whole = detected(body_with(cylinder), (0.0, -0.51, 0.0))
    np.testing.assert_allclose(whole.localPos, [0.25, 0.0, 0.0], atol=1e-15)


def test_without_a_direction_all_vertices_count() -> None:
    end = detected(body_with((coal.Box(0.2, 0.4, 0.6), TILT)))
    np.testing.assert_allclose(end.localPos, TILT.translation, atol=1e-15)
    assert end.phi0 == pytest.approx(np.sqrt(0.1**2 + 0.2**2 + 0.3**2))


def test_cone_and_convex_hull() -> None:
    cone = detected(body_with((coal.Cone(0.1, 0.4), pin.SE3.Identity())), (0.0, 0.0, 0.05))
    np.testing.assert_allclose(cone.localPos, [0.0, 0.0, -0.2], atol=1e-15)
    assert cone.phi0 == pytest.approx(0.1)
    points = coal.StdVec_Vec3s()
    for corner in np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 2.0]]):
        points.append(corner)
    hull = coal.Convex.convexHull(points, False, "")
    end = detected(body_with((hull, pin.SE3.Identity())), (0.0, 0.0, 0.5))
    np.testing.assert_allclose(end.localPos, 0.0, atol=1e-15)
    assert end.phi0 == pytest.approx(1.0)


def test_the_eye_counts_where_nothing_collides() -> None:
    end = detected(body_with((coal.Sphere(0.07), TILT), visual=True))
    assert end.phi0 == pytest.approx(0.07)


PYRAMID = np.array([[0.02, 0.02, 0], [-0.02, 0.02, 0], [-0.02, -0.02, 0], [0.02, -0.01, 0], [0.0, 0.0, -0.3]])
FACES = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2)]
URDF = """<robot name="leg"><link name="trunk"/>
  <link name="shank"><{kind}><origin xyz="0 0 -0.1" rpy="0 0 0"/>
  <geometry><mesh filename="{mesh}" scale="2 2 2"/></geometry></{kind}></link>
  <joint name="knee" type="revolute"><parent link="trunk"/><child link="shank"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("kind", ["collision", "visual"])
def test_a_mesh_is_read_with_its_scale_and_each_vertex_once(tmp_path: Path, kind: str) -> None:
    """An STL repeats a vertex in each of its triangles: here two of them three times and the others four times."""
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *PYRAMID[list(face)].ravel(), 0) for face in FACES)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "pyramid.stl").write_bytes(bytes(80) + struct.pack("<I", len(FACES)) + triangles)
    path = tmp_path / "leg.urdf"
    path.write_text(URDF.format(kind=kind, mesh="package://meshes/pyramid.stl"))
    m = DNE.DiffNERobotModel(None, path)
    leaf = m.body.nrJ() - 1
    points = 2.0 * PYRAMID + np.array([0.0, 0.0, -0.1])
    end = DNE.EndEffectorBounds(leaf)
    end.detectEndEffector(m.body, [0, 0, 0.05])
    np.testing.assert_allclose(end.localPos, points[4], atol=1e-7)
    assert end.phi0 == pytest.approx(0.0, abs=1e-7)
    end.detectEndEffector(m.body)
    np.testing.assert_allclose(end.localPos, points.mean(axis=0), atol=1e-7)
    assert end.phi0 == pytest.approx(np.linalg.norm(points - points.mean(axis=0), axis=1).mean(), abs=1e-7)


@pytest.mark.parametrize(("name", "radius"), [("hyq", 0.02175), ("anymal", 0.031), ("a1", 0.02)])
def test_feet_of_real_quadrupeds_are_their_spheres(name: str, radius: float) -> None:
    """Each sphere is around the frame of a foot."""
    m, feet = DNE.DiffNERobotModel(None, name), []
    for i in range(m.body.nrJ()):
        if not m.body.children(i, True):
            end = DNE.EndEffectorBounds(i)
            end.detectEndEffector(m.body)
            assert end.phi0 == pytest.approx(radius)
            feet.append(end.on(m.body))
    assert len(feet) == 4
    q = load_robot(name).configuration("standing")
    for foot in feet:
        centre = m.robot.placement(q, foot.frame) @ [*foot.offset, 1.0]
        frames = [n for n in m.robot.frame_names if n.lower().endswith("foot")]
        distance = min(np.linalg.norm(m.robot.placement(q, n)[:3, 3] - centre[:3]) for n in frames)
        assert distance < 0.03


def test_fit_sphere_is_exact_on_a_ring() -> None:
    angles = np.linspace(0.0, 2 * np.pi, 7)[:-1]
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)])
    centre, radius = fit_sphere(np.concatenate([ring, ring + np.array([0.0, 0.0, 1.0])]), np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(centre, 0.0, atol=1e-15)
    assert radius == pytest.approx(1.0)


def test_messages() -> None:
    bare = body_with()
    with pytest.raises(InvalidArgumentError, match=r"EndEffectorBounds\(1\): expected a link with a collision or vis.*"
                       r"'link'.*pass the sphere: EndEffectorBounds\(1, localPos"):  # fmt: skip
        detected(bare)
    with pytest.raises(
        InvalidArgumentError, match=r"expected meshes, boxes.*on 'link', got Halfspace; pass the sphere"
    ):
        detected(body_with((coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), TILT)))
    with pytest.raises(InvalidArgumentError, match="expected a sphere, got none; call detectEndEffector"):
        _ = DNE.EndEffectorBounds(1).localPos
    with pytest.raises(InvalidArgumentError, match="expected a sphere, got none; call detectEndEffector"):
        DNE.DiffNERobotModel(None, "four-limbs").set_floor((0, 0, 1, 0), [DNE.EndEffectorBounds(1)])
    with pytest.raises(InvalidArgumentError, match=r"zRange: expected shape \(3,\), got \(2,\)"):
        detected(bare, (0.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="zRange: expected finite"):
        detected(bare, (0.0, np.nan, 1.0))
    with pytest.raises(InvalidArgumentError, match=r"body: expected .*ArticulatedBody.*m\.body"):
        DNE.EndEffectorBounds(1).detectEndEffector(None, (0.0, 0.0, 0.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="phi0"):
        DNE.EndEffectorBounds(1, (0, 0, 0), -0.1)
    with pytest.raises(InvalidArgumentError, match="i: expected"):
        DNE.EndEffectorBounds(0)
    with pytest.raises(InvalidArgumentError, match="i: expected"):
        DNE.EndEffectorBounds(7).detectEndEffector(bare)
    with pytest.raises(UnknownNameError):
        DNE.DiffNERobotModel(None, "no-such-robot")


def test_repr_and_a_sphere_by_hand() -> None:
    assert repr(DNE.EndEffectorBounds(1)) == "EndEffectorBounds(1)"
    end = DNE.EndEffectorBounds(1, localPos=(0.1, 0, 0), phi0=0.02)
    assert repr(end) == "EndEffectorBounds(1, localPos=(0.1, 0, 0), phi0=0.02)"
    assert end.on(body_with()) == DNE.EndEffector(frame="joint", offset=(0.1, 0.0, 0.0), radius=0.02)
