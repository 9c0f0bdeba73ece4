"""Margins in the scene: rings at joints and feet, lines to obstacles; layers that wait until they are shown."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.display.recording import Recording
from tests.display.test_layers_around import point_among
from tests.support.unsolved import arm, pendulum, solution_of, trot
from trajopt.analysis import legged_motion
from trajopt.analysis.limits import joint_uses
from trajopt.display.actor import Actor
from trajopt.display.layers import LAYERS, nearness
from trajopt.display.layers.drawing import torus
from trajopt.display.layers.films import size_of
from trajopt.display.layers.nearness import FREE, LIMIT, NEAR, MarginsInScene, has_margins, joint_axes, margin_color
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.film import film_of


def test_the_colour_goes_from_grey_over_yellow_to_red() -> None:
    assert [margin_color(use) for use in (-np.inf, 0.3, 0.8, 1.0, np.inf)] == [FREE, FREE, NEAR, LIMIT, LIMIT]
    red, green, _ = margin_color(0.9)
    assert NEAR[1] > green > LIMIT[1]
    assert LIMIT[0] < red < NEAR[0]


def test_each_joint_has_a_ring_in_the_colour_of_its_largest_use() -> None:
    problem = arm().problem
    assert problem is not None
    solution, scene = solution_of(problem, 2.0 * arm().xs, arm().us), Recording()
    layer = MarginsInScene(scene, solution, "/margins")
    rings, uses, model = scene.nodes["/margins/rings"], joint_uses(solution), solution.robot.model  # type: ignore[union-attr]
    assert list(layer.joints) == list(uses) == list(model.names[1:])
    times = solution.times
    assert times is not None
    colors = set()
    for t in (20, 80, 98):
        layer.at(float(times[t]) + 1e-9)
        data = model.createData()
        pin.forwardKinematics(model, data, solution.xs[t, : model.nq])
        for i, name in enumerate(uses):
            placement = data.oMi[model.getJointId(name)]
            np.testing.assert_allclose(rings.batched_positions[i], placement.translation, atol=1e-5)
            w, x, y, z = rings.batched_wxyzs[i].astype(float)
            axis = placement.rotation @ joint_axes(model)[name]
            np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix()[:, 2], axis, atol=1e-5)
            expected = margin_color(uses[name][t])
            assert np.abs(rings.batched_colors[i].astype(int) - expected).max() <= 10  # colours change in steps
            colors.add(expected)
    assert len(colors) > 2


def test_axes_of_joints_are_those_of_the_model() -> None:
    model = pin.buildSampleModelManipulator()
    for name, axis in joint_axes(model).items():
        joint = model.joints[model.getJointId(name)]
        expected = {"X": [1, 0, 0], "Y": [0, 1, 0], "Z": [0, 0, 1]}[joint.shortname()[-1]]
        np.testing.assert_allclose(axis, expected, atol=1e-12)


def test_rings_of_feet_are_visible_while_in_contact() -> None:
    scene, solution = Recording(), trot()
    layer, motion = MarginsInScene(scene, solution, "/margins"), legged_motion(solution)
    rings, n = scene.nodes["/margins/rings"], len(layer.joints)
    assert [foot.name for foot, _ in layer.feet] == [foot.name for foot in motion.feet]
    swing = next(phase.first for phase in motion.phases if len(phase.feet) == 2) + 2
    for t in (0, swing):
        layer.at(float(motion.abscissa[t]) + 1e-9)
        for i, foot in enumerate(motion.feet, start=n):
            assert (rings.batched_scales[i] > 0.0) == foot.stands[t]
            np.testing.assert_allclose(rings.batched_positions[i], foot.positions[t], atol=1e-6)
        assert (rings.batched_scales[:n] > 0.0).all()
    assert np.count_nonzero(rings.batched_scales) == n + 2


def test_a_line_joins_a_point_and_the_nearest_ball_within_reach() -> None:
    far, balls = [[0.5, 0.0, 9.0, 0.1]], [[0.5, 0.2, 0.2, 0.15], [0.1, 0.6, 0.3, 0.2]]  # [m]
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, balls))
    scene = Recording()
    layer = MarginsInScene(scene, solution, "/margins")
    line, reach = scene.nodes["/margins/lines"], 0.3 * size_of(film_of(solution, aside=False))
    layer.at(0.2)  # knot 2, at (0.5, 0, 0.2)
    away = 0.05  # from the first ball [m]
    assert line.visible
    ((start, end),) = line.points
    np.testing.assert_allclose(start, [0.5, 0.0, 0.2], atol=1e-6)
    assert np.linalg.norm(end - start) == pytest.approx(away, abs=1e-6)
    assert tuple(line.colors[0, 0]) == margin_color(1.0 - away / reach) != FREE
    scene = Recording()
    layer = MarginsInScene(scene, point_among(lambda s: trajopt.ResidualModelObstacleDistance(s, far)), "/margins")
    layer.at(0.2)
    assert not scene.nodes["/margins/lines"].visible
    assert "/margins/rings" not in scene.nodes


def test_which_motions_have_margins() -> None:
    assert has_margins(trot())
    assert has_margins(arm())
    assert not has_margins(pendulum())


def test_a_torus_is_closed_and_looks_outwards() -> None:
    points, faces = torus(0.1)
    a, b, c = (points[faces[:, i]] for i in range(3))
    volume = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0
    assert volume == pytest.approx(2.0 * np.pi**2 * 0.1**2, rel=0.12)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_a_layer_that_is_hidden_is_built_when_it_is_shown() -> None:
    scene = Recording()
    actor = Actor(scene, arm(), "/a")
    layer = actor.layers["margins"]
    assert not layer.visible
    actor.at(0.1)
    actor.follow(arm().xs)
    assert not [name for name in scene.nodes if name.startswith("/a/margins")]
    layer.visible = True
    assert layer.visible
    actor.at(0.1)
    rings = scene.nodes["/a/margins/rings"]
    layer.visible = False
    layer.visible = True
    assert scene.nodes["/a/margins/rings"] is rings


def test_a_hidden_layer_that_cannot_be_built_warns_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> float:
        raise InvalidArgumentError("solution: expected finite states")

    monkeypatch.setattr(nearness, "size_of", fails)
    kinds = [replace(kind, on=False) for kind in LAYERS if kind.label == "margins"]
    layer = Actor(Recording(), arm(), "/a", layers=kinds).layers["margins"]
    with caplog.at_level(logging.WARNING):
        layer.visible = True
        layer.visible = True
    assert not layer.visible
    assert caplog.text.count("margins: not shown: solution: expected finite states") == 1
