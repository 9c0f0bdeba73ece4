"""Pairs of links whose shapes are near mostly where the links are not, and frames that share a name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.link_distances import link_distances
from trajopt import StateMultibody, ik
from trajopt.constraints import ConstraintStack
from trajopt.residuals import ResidualModelFramePlacement
from trajopt.robots import Sphere, load_robot
from trajopt.robots.collisions.samples import random_configurations

OF_A_UR = {
    frozenset(("base_link", "upper_arm_link")),
    frozenset(("forearm_link", "wrist_2_link")),
    frozenset(("wrist_1_link", "wrist_3_link")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur3", "ur10"])
def test_a_ur_reaches_poses_of_postures_that_are_clear(name: str) -> None:
    """Without the reason "coarse", no pose of a UR3 is reached with the margin of 1 cm, and 5 of 20 of a UR10."""
    robot = load_robot(name)
    shapes, model = robot.collision_shapes, robot.model
    assert {frozenset(pair) for pair in shapes.left_out.links["coarse"]} == OF_A_UR  # type: ignore[attr-defined]
    assert "base_link and upper_arm_link" in shapes.unchecked
    assert "coarse (shapes near mostly where the links are not)" in str(shapes.left_out)
    rng, state = np.random.default_rng(5), StateMultibody(robot)
    rows = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit, (20, 6))
    clear = rows[link_distances(robot, shapes, rows).geometry.min(axis=1) > 0.01]
    assert len(clear) > 10
    place = ResidualModelFramePlacement(state, "tool0")
    tasks = ConstraintStack(state).add("tool", place, equals=0.0)
    for q in clear:
        result = ik.solve(robot, tasks, {"tool.reference": robot.placement(q, "tool0")}, collisions=True)
        assert not result.failed


@pytest.mark.slow
def test_coarse_pairs_are_near_by_mistake() -> None:
    """Each is closer than 1 cm by its shapes, but not by its meshes, more often than by both."""
    robot = load_robot("ur10")
    found = link_distances(robot, robot.collision_shapes, random_configurations(robot.model, 200, seed=3))
    for column, links in enumerate(found.links):
        near, touch = (each[:, column] < 0.01 for each in (found.shapes, found.geometry))
        if frozenset(links) in OF_A_UR:
            assert np.count_nonzero(near & ~touch) > np.count_nonzero(touch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "go2", "ur5"])
def test_other_robots_have_none(name: str) -> None:
    assert "coarse" not in {reason for reason, pairs in load_robot(name).collision_shapes.left_out.items() if pairs}


@pytest.mark.slow
def test_housings_that_are_drawn_into_each_other_are_no_pair() -> None:
    """The meshes of a hip of Talos' legs overlap in 88 % of all configurations, and in each of a jump."""
    robot = load_robot("talos_legs")
    shapes = robot.collision_shapes
    always = {frozenset(pair) for pair in shapes.left_out.links["always"]}  # type: ignore[attr-defined]
    found = link_distances(robot, shapes, random_configurations(robot.model, 200, seed=3))
    overlap = dict(zip(map(frozenset, found.links), np.mean(found.geometry <= 0.0, axis=0).tolist()))
    hip = frozenset(("leg_left_1_link", "leg_left_3_link"))
    kept = {frozenset((shapes.bodies[i].frame, shapes.bodies[j].frame)) for i, j in shapes.pairs}
    assert hip in always
    assert hip not in kept
    assert overlap[hip] > 0.7
    assert frozenset(("leg_left_2_link", "leg_right_2_link")) not in always
    assert min(overlap[links] for links in always) > 0.4


@pytest.mark.slow
def test_a_link_with_the_name_of_its_fixed_joint() -> None:
    """Two frames of a Z1 have the name gripperStator, of which pinocchio's getFrameId raises a bare ValueError."""
    robot = load_robot("z1")
    with pytest.raises(ValueError, match="Several frames match"):
        robot.model.getFrameId("gripperStator")
    shapes = robot.collision_shapes
    assert "gripperStator" in {body.frame for body in shapes.bodies}
    found = link_distances(robot, shapes, random_configurations(robot.model, 20, seed=1))
    assert found.excess <= 1e-3
    state, goal = StateMultibody(robot), robot.placement(robot.configuration("arm_up"), "gripperStator")
    tasks = ConstraintStack(state).add("tool", ResidualModelFramePlacement(state, "gripperStator"), equals=0.0)
    result = ik.solve(robot, tasks, {"tool.reference": goal}, collisions=True)
    assert not result.failed
    assert "collisions" in str(result)


@pytest.mark.slow
def test_a_carried_body_leaves_the_pairs_of_the_robot_as_they_are() -> None:
    robot = load_robot("ur10").with_payload("tool0", 3.0, com=[0.0, 0.0, 0.1])
    own = robot.collision_shapes
    ball = Sphere(0.08, center=[0.0, 0.0, 0.1], frame="tool0")
    carrying = robot.with_collision_shapes([*own.bodies, ball]).collision_shapes
    number = len(own.bodies)
    assert carrying.bodies[:number] == own.bodies
    assert {pair for pair in carrying.pairs if number not in pair} == set(own.pairs)
    assert any(number in pair for pair in carrying.pairs)
    assert carrying.left_out["coarse"] == own.left_out["coarse"] != ()
    alone = robot.with_collision_shapes([ball, *own.bodies]).collision_shapes  # judged anew
    assert not alone.left_out.get("coarse")
