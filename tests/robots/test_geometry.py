"""Robots' shapes: those of the package's own loader, on a robot that has lost joints, and messages."""

from __future__ import annotations

from pathlib import Path

import example_robot_data
import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnknownNameError
from trajopt.robots import load_robot
from trajopt.robots.bases import with_base
from trajopt.robots.example import example_robot_files
from trajopt.robots.geometry import load_geometry

FAR = """<robot name="far"><link name="base"><collision><geometry>
  <mesh filename="package://nowhere/far.stl"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize("name", ["hyq", "solo12"])
def test_shapes_are_those_of_the_loader(name: str) -> None:
    loaded = example_robot_data.load(name)
    found = load_geometry(name, load_robot(name).model, "collision").geometryObjects
    assert len(found) > 10
    for shape, expected in zip(found, loaded.collision_model.geometryObjects, strict=True):
        assert (shape.name, shape.parentJoint) == (expected.name, expected.parentJoint)
        np.testing.assert_allclose(shape.placement.homogeneous, expected.placement.homogeneous, atol=1e-15)
    assert len(load_geometry(name, load_robot(name).model, "visual").geometryObjects) == len(
        loaded.visual_model.geometryObjects
    )


def test_shapes_move_with_the_robot_whatever_joints_and_base_it_has() -> None:
    robot = load_robot("hyq")
    other = load_robot("hyq").lock_joints(["lf_kfe_joint", "rh_hfe_joint"])
    model = with_base(other.model, "euler")
    for kind in ("collision", "visual"):
        places = []
        for some in (robot.model, model):
            geometry = load_geometry("hyq", some, kind)
            pin.updateGeometryPlacements(
                some, some.createData(), geometry, data := geometry.createData(), pin.neutral(some)
            )
            places.append({shape.name: data.oMg[i] for i, shape in enumerate(geometry.geometryObjects)})
        assert places[0].keys() == places[1].keys()
        for name, place in places[0].items():
            np.testing.assert_allclose(place.homogeneous, places[1][name].homogeneous, atol=1e-15)


def test_a_robot_that_is_a_part_of_its_file_has_the_shapes_of_its_links() -> None:
    model = load_robot("talos_legs").model  # its file has arms, too
    links = {model.frames[s.parentFrame].name for s in load_geometry("talos_legs", model, "collision").geometryObjects}
    assert {"leg_left_6_link", "leg_right_6_link"} <= links
    with pytest.raises(InvalidArgumentError, match="model: expected a robot with links such as .*got 'planar-2r'"):
        load_geometry("hyq", load_robot("planar-2r").model, "collision")


def test_robots_defined_in_code_have_shapes_or_none() -> None:
    assert len(load_geometry("four-limbs", load_robot("four-limbs").model, "collision").geometryObjects) == 29
    assert len(load_geometry("planar-2r", load_robot("planar-2r").model, "collision").geometryObjects) == 0


def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "far.urdf"
    path.write_text(FAR)
    with pytest.raises(InvalidArgumentError, match=r"source: expected collision meshes.*far\.urdf.*in package_dirs"):
        load_geometry(path, load_robot(path).model, "collision")
    with pytest.raises(UnknownNameError, match="robot 'hyk' not found; did you mean 'hyq'"):
        load_geometry("hyk", load_robot("hyq").model, "collision")
    with pytest.raises(InvalidArgumentError, match="expected one with a URDF, got 'cassie'"):
        example_robot_files("cassie")
    with pytest.raises(InvalidArgumentError, match="model: expected a robot with the link 'trunk', got 'planar-2r'"):
        load_geometry("four-limbs", load_robot("planar-2r").model, "collision")
    with pytest.raises(UnknownNameError, match="kind 'collisions' not found; did you mean 'collision'"):
        load_geometry("hyq", load_robot("hyq").model, "collisions")
    with pytest.raises(InvalidArgumentError, match=r"model: expected .*Model.*robot\.model"):
        load_geometry("hyq", load_robot("hyq"), "collision")  # type: ignore[arg-type]
    monkeypatch.setitem(__import__("sys").modules, "example_robot_data.robots_loader", None)
    with pytest.raises(MissingDependencyError, match="pip install example-robot-data-loaders"):
        load_geometry("hyq", load_robot("planar-2r").model, "collision")
