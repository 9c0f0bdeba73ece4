"""Layers of a robot on feet: arrows, cones, centre of mass, support, footholds, paths."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tests.display.recording import Recording, vertices
from tests.support.unsolved import pendulum, trot
from trajopt.analysis import legged_motion
from trajopt.display.layers import LAYERS
from trajopt.display.layers.balance import CentreOfMass, Footholds, SupportPolygons
from trajopt.display.layers.forces import ContactForces, FrictionCones
from trajopt.display.layers.paths import Goals, Paths
from trajopt.types import Reals


def foot_at(knot: int, frame: str) -> Reals:
    """Position of a frame at a knot by Pinocchio (3,) [m]."""
    solution = trot()
    robot = solution.robot
    assert robot is not None
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, solution.xs[knot, : robot.nq])
    return np.array(data.oMf[robot.model.getFrameId(frame)].translation)


def knots() -> list[tuple[int, float]]:
    """Some knots that take time, on four feet and on two, each with a time within it [s]."""
    motion = legged_motion(trot())
    swing = next(phase.first for phase in motion.phases if len(phase.feet) == 2)
    chosen = (0, swing + 2, int(np.flatnonzero(motion.takes_time)[-1]))
    return [(int(t), float(motion.abscissa[t] + 0.3 * (motion.abscissa[t + 1] - motion.abscissa[t]))) for t in chosen]


def test_an_arrow_begins_at_its_foot_and_is_as_long_as_its_force() -> None:
    scene, solution = Recording(), trot()
    layer, motion = ContactForces(scene, solution, "/forces"), legged_motion(solution)
    for t, time in knots():
        layer.at(time)
        feet = [foot for foot in motion.feet if foot.stands[t]]
        shown = scene.nodes["/forces/arrows"]
        assert shown.visible
        assert len(shown.points) == len(feet)
        for foot, (start, end) in zip(feet, shown.points):
            np.testing.assert_allclose(start, foot_at(t, foot.frame), atol=1e-6)
            np.testing.assert_allclose(end - start, layer.scale * foot.forces[t], atol=1e-6)
    assert layer.scale > 0.0
    assert layer.note == f"0.1 m is {0.1 / layer.scale:.3g} N"


def test_a_cone_stands_at_its_foot_with_the_slope_of_friction() -> None:
    scene, solution = Recording(), trot()
    layer, motion = FrictionCones(scene, solution, "/cones"), legged_motion(solution)
    for t, time in knots():
        layer.at(time)
        for foot in motion.feet:
            cone = scene.nodes[f"/cones/{foot.name}"]
            assert cone.visible == foot.stands[t]
            if cone.visible:
                np.testing.assert_allclose(cone.position, foot_at(t, foot.frame), atol=1e-9)
                assert cone.scale[0] / cone.scale[2] == pytest.approx(foot.mu[t])
    rim = np.asarray(cone.vertices)[1:]
    np.testing.assert_allclose(np.linalg.norm(rim[:, :2], axis=1), rim[:, 2])


def test_cones_get_red_where_friction_is_used_up() -> None:
    scene = Recording()
    layer, (t, time) = FrictionCones(scene, trot(), "/cones"), knots()[1]
    i = next(i for i, foot in enumerate(layer.feet) if foot.stands[t])
    foot = layer.feet[i]
    assert layer.use(i, t) == pytest.approx(foot.tangential_forces[t] / (foot.mu[t] * foot.normal_forces[t]))
    colors = []
    for use in (0.2, 1.0):
        layer.use = lambda *_, use=use: use  # type: ignore[method-assign]
        layer.at(time)
        colors.append(scene.nodes[f"/cones/{foot.name}"].color)
    assert colors[0][1] > colors[0][0]
    assert colors[1][0] > colors[1][1]


def test_centre_of_mass_and_its_projection() -> None:
    scene, solution = Recording(), trot()
    layer = CentreOfMass(scene, solution, "/com")
    robot = solution.robot
    assert robot is not None
    time = float(solution.times[9])  # type: ignore[index]
    layer.at(time)
    knot = int(np.searchsorted(solution.times, time, side="right")) - 1  # type: ignore[arg-type]
    expected = robot.com(solution.xs[knot, : robot.nq])
    ball, below = scene.nodes["/com/ball"].position, scene.nodes["/com/projection"].position
    np.testing.assert_allclose(ball, expected, atol=1e-9)
    np.testing.assert_allclose(below[:2], expected[:2], atol=1e-9)
    ground = min(foot.positions[0, 2] for foot in legged_motion(solution).feet)
    assert 0.0 < below[2] - ground < 0.01
    pressure = scene.nodes["/com/pressure"]
    np.testing.assert_allclose(pressure.position[:2], legged_motion(solution).pressures[knot, :2])


def test_support_polygons_have_the_feet_that_stand_as_corners() -> None:
    scene, motion = Recording(), legged_motion(trot())
    layer = SupportPolygons(scene, trot(), "/support")
    for t, time in knots():
        layer.at(time)
        shown = [handle for handle in scene.ending("/edge") if handle.visible]
        feet = [foot for foot in motion.feet if foot.stands[t]]
        assert len(shown) == 1
        corners = np.unique(np.round(shown[0].points.reshape(-1, 3)[:, :2], 9), axis=0)
        assert len(corners) == len(feet)
        for foot in feet:
            place = foot_at(next(p.first for p in motion.phases if p.first <= t < p.last), foot.frame)
            assert np.linalg.norm(corners - place[:2], axis=1).min() < 1e-6


def test_footholds_are_where_feet_land() -> None:
    scene, motion = Recording(), legged_motion(trot())
    Footholds(scene, trot(), "/prints")
    points = vertices(scene.nodes["/prints/prints"])
    landings = [(foot.frame, knot) for foot in motion.feet for knot in motion.landings(foot)]
    assert len(points) % len(landings) == 0
    discs = points.reshape(len(landings), -1, 3).mean(axis=1)
    for disc, (frame, knot) in zip(discs, landings):
        np.testing.assert_allclose(disc[:2], foot_at(knot, frame)[:2], atol=1e-9)


def test_paths_go_through_the_feet_at_all_knots() -> None:
    scene, motion = Recording(), legged_motion(trot())
    Paths(scene, trot(), "/paths")
    segments = scene.nodes["/paths/lines"].points
    assert len(segments) == len(motion.feet) * (len(motion.abscissa) - 1)
    np.testing.assert_allclose(segments[4, 0], foot_at(4, motion.feet[0].frame), atol=1e-6)
    np.testing.assert_allclose(segments[4, 1], foot_at(5, motion.feet[0].frame), atol=1e-6)


def test_layers_that_a_motion_has() -> None:
    def labels(solution: object) -> list[str]:
        return [kind.label for kind in LAYERS if kind.applies(solution) and not kind.body]  # type: ignore[arg-type]

    found = ["contact forces", "friction cones", "paths", "centre of mass", "support polygons", "footholds", "margins"]
    found += ["strobe", "ghosts"]
    assert labels(trot()) == found  # goals of feet are footholds
    assert labels(pendulum()) == ["paths", "strobe", "ghosts"]
    assert not Goals(Recording(), trot(), "/goals").points().size
