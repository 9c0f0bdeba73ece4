"""Texts of results: why targets failed, least distances, links that are not checked; and the branch near a start."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.ik.test_collisions import BALL, FRAME, ROBOT, SCENE, STATE, TARGETS, TASKS
from trajopt import ik
from trajopt.robots import CollisionShapes, Robot, load_robot

UR5 = load_robot("ur5")


def hand(robot: Robot, frame: str) -> Any:
    state = trajopt.StateMultibody(robot)
    return trajopt.ConstraintStack(state).add("hand", trajopt.ResidualModelFramePlacement(state, frame), equals=0.0)


def moved(pose: Any, step: Any) -> np.ndarray:
    pose = np.array(pose)
    pose[:3, 3] += step
    return pose


def test_a_miss_of_a_placement_has_a_part_for_position_and_one_for_rotation() -> None:
    far = UR5.placement(np.full(6, 0.5), "tool0")
    along = np.array([1.15, 0.0, 0.0])  # within the sum of the lengths of all links
    far[:3, 3] = UR5.model.jointPlacements[1].translation + along
    one = ik.solve(UR5, hand(UR5, "tool0"), {"hand.reference": far}, starts=2, limits=False)
    miss = one.residuals["hand"].violation
    assert one.residuals["hand"].closest == ""  # only collisions have bodies
    words = f"  hand by {np.linalg.norm(miss[:3]):.3g} m and {np.linalg.norm(miss[3:]):.3g} rad"
    assert words in one.explain().splitlines()
    assert "  out of reach: no joint is at a limit" in one.explain().splitlines()
    batch = ik.solve_batch(UR5, hand(UR5, "tool0"), {"hand.reference": far[None]}, starts=2, limits=False)
    lines = batch.explain().splitlines()
    assert lines[1] == "1 failed: 1 out of reach"
    assert re.fullmatch(r"  target 0: hand by [\d.]+ m and [\d.e-]+ rad", lines[2])
    assert lines[3] == "    out of reach: no joint is at a limit"


def test_a_joint_at_its_limit_is_named() -> None:
    robot = load_robot("panda")
    q = robot.configurations["default"].copy()
    q[3] = 0.3  # beyond its upper limit
    pose = robot.placement(q, "panda_hand")
    fixed = {name: float(q[i]) for i, name in enumerate(robot.joint_names) if name not in ("panda_joint4",)}
    options: dict[str, Any] = {"fixed": fixed}
    one = ik.solve(robot, hand(robot, "panda_hand"), {"hand.reference": pose}, **options)
    batch = ik.solve_batch(robot, hand(robot, "panda_hand"), {"hand.reference": pose[None]}, **options)
    assert one.active_limits == batch.active_limits[0] == ("q:panda_joint4",)
    assert "  at limits: q:panda_joint4" in one.explain().splitlines()
    lines = batch.explain().splitlines()
    assert lines[1] == "1 failed: 1 with joints at their limits"
    assert lines[3] == "    at limits: q:panda_joint4"


def test_a_batch_counts_failures_by_reason(tmp_path: Path) -> None:
    there = np.array([*TARGETS[:4], BALL.points[0], [9.0, 0.0, 0.0], [-9.0, 0.0, 0.0]])
    batch = ik.solve_batch(ROBOT, TASKS, {"tool.reference": there}, collisions=SCENE, margin=0.01)
    lines = batch.explain().splitlines()
    failed = int((~batch.solved).sum())
    counts = [int(each) for each in re.findall(r"(\d+) (?:only|out|with|because)", lines[1])]
    assert lines[1].startswith(f"{failed} failed: ")
    assert sum(counts) == failed
    assert "only because of collisions" in lines[1]
    collided = lines.index(next(line for line in lines if line.startswith("  target 4: ")))
    words = f"    no collision-free configuration was found from {batch.starts[4]} starts: "
    assert lines[collided + 1].startswith(f"{words}all others hold without ")
    assert "collisions" in lines[collided + 1]
    task = batch.residuals["collisions"]
    assert len(task.touching) == len(batch)
    blamed = [i for i, causes in enumerate(batch.causes) if "collisions" in causes]
    often = Counter(task.touching[i] for i in blamed if task.touching[i][0])
    (advice,) = (line for line in lines if line.startswith("-> "))
    bodies = advice.removeprefix("-> ").partition(" are ")[0]
    count = often[bodies, 0.01]
    assert count == max(often.values())
    how = "in the way" + (f", most often, at {count} of {len(blamed)} targets" if len(blamed) > 1 else "")
    cure = "a smaller margin (now 0.01 m) or more starts may find configurations without collision"
    assert advice == f"-> {bodies} are {how}: {cure}"
    assert ik.IKBatch.load(batch.save(tmp_path / "batch.npz")).explain().splitlines() == lines


def test_a_pose_that_is_reachable_in_collision_only_is_not_called_out_of_reach() -> None:
    """Each pose is that of a configuration within the limits; the nearest configuration of some is in no collision."""
    limits, rng = (UR5.model.lowerPositionLimit, UR5.model.upperPositionLimit), np.random.default_rng(3)
    poses = np.array([UR5.placement(q, "tool0") for q in rng.uniform(*limits, (500, 6))])[380:400]
    batch = ik.solve_batch(UR5, hand(UR5, "tool0"), {"hand.reference": poses}, collisions=True)
    failed = np.flatnonzero(~batch.solved)
    assert 13 in failed
    assert "collisions" not in batch.failed[13]
    assert all("collisions" in batch.causes[i] for i in failed)
    assert batch.explain().splitlines()[1] == f"{len(failed)} failed: {len(failed)} only because of collisions"
    one = ik.solve(UR5, hand(UR5, "tool0"), {"hand.reference": poses[13]}, collisions=True)
    words = f"  no collision-free configuration was found from {one.starts} starts: "
    lines = one.explain().splitlines()
    assert f"{words}all others hold without collisions" in lines
    assert one.residuals["collisions"].touching == (("", 0.01),)
    cure = "a smaller margin (now 0.01 m) or more starts may find configurations without collision"
    assert f"-> {cure}" in lines
    held = next(i for i in failed if batch.residuals["collisions"].touching[i][0])
    bodies, _ = batch.residuals["collisions"].touching[held]
    alone = batch.judge(batch.q)["collisions"].value[held]
    assert alone.min() <= 0.01 + 1e-4
    assert " and " in bodies


def test_links_that_are_not_checked_are_named() -> None:
    shapes = ROBOT.collision_shapes
    pair = shapes.pairs[0]
    frames = " and ".join(str(shapes.bodies[k].frame) for k in pair)
    robot = ROBOT.with_collision_shapes(
        CollisionShapes(bodies=shapes.bodies, pairs=shapes.pairs[1:], left_out={"disabled": (pair,)})
    )
    state = trajopt.StateMultibody(robot)
    tasks = trajopt.ConstraintStack(state).add("tool", trajopt.ResidualModelFrameTranslation(state, FRAME), equals=0.0)
    one = ik.solve(robot, tasks, {"tool.reference": TARGETS[0]}, collisions=True)
    words = f"{frames} (by the SRDF)"
    assert f"unchecked  {words}" in str(one).splitlines()
    assert f"not checked by collisions: {words}" in one.explain().splitlines()
    batch = ik.solve_batch(robot, tasks, {"tool.reference": TARGETS[:2]}, collisions=True)
    assert batch.explain().splitlines()[-1] == f"not checked by collisions: {words}"
    plain = ik.solve(ROBOT, TASKS, {"tool.reference": TARGETS[0]}, collisions=True)
    assert STATE.robot is ROBOT
    assert "checked" not in plain.explain() + str(plain)


@pytest.mark.slow
def test_a_path_prints_its_least_distance_with_the_bodies() -> None:
    path = np.linspace(TARGETS[0], TARGETS[0] + [0.05, 0.0, 0.0], 20)
    track = ik.track(ROBOT, TASKS, path, 0.05, collisions=SCENE, acceleration=20.0)
    rows = track.residuals["collisions"]
    (line,) = (line for line in str(track).splitlines() if line.startswith("collisions"))
    knot = int(rows.value.min(axis=1).argmin())
    alone = rows.value[knot]
    assert line.startswith(f"collisions {alone.min():.6g} m between ")
    assert line.endswith(", the nearest bodies")
    assert rows.bodies[int(alone.argmin())] in line


def test_one_solve_stays_in_the_branch_of_its_start() -> None:
    robot, tasks, rng = UR5, hand(UR5, "tool0"), np.random.default_rng(5)
    far = 0
    for _ in range(80):
        q = rng.uniform(-2.5, 2.5, 6)
        start = q + rng.uniform(-0.5, 0.5, 6)
        result = ik.solve(robot, tasks, {"hand.reference": robot.placement(q, "tool0")}, start=start)
        assert result.solved
        far += np.abs(result.q - start).max() > 1.5
    assert far <= 3


@pytest.mark.parametrize(("share", "named"), [(0.2, True), (1e-4, False)])
def test_a_light_link_at_its_limit_has_no_part_in_where_the_centre_of_mass_is(share: float, named: bool) -> None:
    """The last joint can hardly move; a link of a fifth of the mass counts, one of 0.1 per mille does not."""
    model = load_robot("planar-3r").model.copy()
    model.inertias[3].mass = share * (model.inertias[1].mass + model.inertias[2].mass)
    model.lowerPositionLimit[2], model.upperPositionLimit[2] = 0.3, 0.3 + 1e-8
    robot = trajopt.Robot(model)
    state = trajopt.StateMultibody(robot)
    com = trajopt.ConstraintStack(state).add(
        "com", trajopt.ResidualModelCoMPosition(state, [9.0, 0.0, 0.0]), equals=0.0
    )
    last = f"q:{robot.joint_names[2]}"
    one = ik.solve(robot, com)
    assert not one.solved
    assert (last in one.active_limits) == named
    assert (f"at limits: {last}" in one.explain()) == named
    tool = trajopt.ConstraintStack(state)
    tool.add(
        "tool", trajopt.ResidualModelFrameTranslation(state, robot.model.frames[-1].name, [9.0, 0.0, 0.0]), equals=0.0
    )
    assert last in ik.solve(robot, tool).active_limits
