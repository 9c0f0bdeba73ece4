"""Motions around obstacles: distances by a formula of their own, limits, goals of each kind, outcomes, errors."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnsupportedOperationError
from trajopt.planning import Plan, PlanStatus, plan

Reals = npt.NDArray[np.float64]

START, GOAL = np.array([-0.9, 0.3, 0.2]), np.array([0.9, -0.3, 0.1])
LENGTHS, THICK, MARGIN = (0.5, 0.4, 0.2), 0.04, 0.02  # [m]
BALLS = {
    "ball": ([0.8, 0.0, 0.05], 0.1),
    "low": ([0.1, 0.0, -0.75], 0.05),
}  # centres, in the arm's plane, and radii [m]
LIMITS: dict[str, Any] = {"velocity": 2.0, "acceleration": 4.0, "jerk": 60.0}


@functools.cache
def arm() -> trajopt.Robot:
    """Three links in the plane y = 0."""
    links = [
        trajopt.Capsule(THICK, start=[0.0, 0.0, 0.0], end=[length, 0.0, 0.0], frame=f"link_{i + 1}")
        for i, length in enumerate(LENGTHS)
    ]
    return trajopt.load_robot("planar-3r").with_collision_shapes(links)


@functools.cache
def scene() -> trajopt.Scene:
    return trajopt.Scene({name: trajopt.Sphere(radius, center=center) for name, (center, radius) in BALLS.items()})


@functools.cache
def around(**options: Any) -> Plan:
    return plan(arm(), START, GOAL, scene(), margin=MARGIN, **LIMITS, **options)


def gaps(qs: Reals) -> Reals:
    """Least distance (n,) of links from balls, from the ends of links and the nearest points on them [m]."""
    least = np.full(len(qs), np.inf)
    for i, length in enumerate(LENGTHS):
        poses = arm().placement(qs, f"link_{i + 1}")
        along = length * poses[:, :3, 0]
        for center, radius in BALLS.values():
            share = np.clip(np.einsum("nx,nx->n", center - poses[:, :3, 3], along) / length**2, 0.0, 1.0)
            away = np.linalg.norm(poses[:, :3, 3] + share[:, None] * along - center, axis=1)
            least = np.minimum(least, away - radius - THICK)
    return least


def test_a_motion_keeps_the_margin_where_the_straight_line_does_not() -> None:
    line = START + np.linspace(0.0, 1.0, 200)[:, None] * (GOAL - START)
    assert gaps(line).min() < 0.0
    found = around()
    assert found.solved
    assert "no optimum" in repr(found)
    assert found.motion is not None
    times = np.linspace(0.0, found.motion.duration, 5_000)
    q, v, _ = found.motion.at(times)
    assert gaps(q).min() > MARGIN - 1e-9
    assert found.clearance().distance == pytest.approx(gaps(q).min(), abs=2e-4)
    np.testing.assert_allclose(q[[0, -1]], [START, GOAL], atol=1e-9)
    assert not v[[0, -1]].any()


def test_a_motion_keeps_all_limits_and_uses_one() -> None:
    motion = around().motion
    assert motion is not None
    usage = motion.usage()
    assert set(usage) == set(LIMITS)
    assert 0.95 < max(usage.values()) < 1.001


@pytest.mark.slow
def test_motions_are_the_same_again_and_another_seed_searches_elsewhere() -> None:
    again = plan(arm(), START, GOAL, scene(), margin=MARGIN, **LIMITS)
    first, second = around().motion, again.motion
    assert first is not None
    assert second is not None
    assert first.qs.tobytes() == second.qs.tobytes()
    other = around(seed=1).motion
    assert other is not None
    assert other.qs.tobytes() != first.qs.tobytes()


@pytest.mark.slow
def test_more_paths_give_no_longer_motion() -> None:
    motions = [around(paths=paths).motion for paths in (1, 2, 4)]
    durations = [np.nan if motion is None else motion.duration for motion in motions]
    assert durations[0] >= 0.99 * durations[1] >= 0.99**2 * durations[2]  # motions are compared with few intervals
    assert durations[0] > durations[2]


@pytest.mark.slow
def test_easy_searches_are_many_unless_their_number_is_given() -> None:
    """Three searches find a slower motion."""
    found, three = around(seed=2), around(seed=2, paths=3)
    assert 10 < found.paths <= 20
    assert three.paths == 3
    assert found.motion is not None
    assert three.motion is not None
    assert found.motion.duration < 0.99 * three.motion.duration


def test_intervals_are_those_of_retiming() -> None:
    few = around(intervals=30)
    assert few.motion is not None
    assert len(few.motion.slopes) == 30
    assert around().motion is not None
    assert len(around().motion.slopes) >= 100  # type: ignore[union-attr]


def test_a_free_straight_line_is_the_path() -> None:
    found = plan(arm(), START, START + 0.3, scene(), **LIMITS)
    assert found.solved
    assert len(found.corners) == 2
    assert found.motion is not None
    off = np.cross(found.motion.qs - START, np.ones(3) / np.sqrt(3.0))
    assert np.abs(off).max() < 1e-9


@pytest.mark.slow
def test_a_goal_may_be_a_placement_or_tasks() -> None:
    placed = arm().placement(GOAL, "tool")
    found = plan(arm(), START, placed, scene(), frame="tool", **LIMITS)
    assert found.solved
    np.testing.assert_allclose(arm().placement(found.corners[-1], "tool"), placed, atol=1e-5)
    state = trajopt.StateMultibody(arm())
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", placed[:3, 3])
    for goal in (trajopt.ConstraintStack(state).add("tip", tip, equals=0.0), (_tip(state, tip), _still(state))):
        found = plan(arm(), START, goal, scene(), **LIMITS)
        assert found.solved
        np.testing.assert_allclose(arm().placement(found.corners[-1], "tool")[:3, 3], placed[:3, 3], atol=1e-5)
        assert gaps(found.corners[-1:]).min() > 0.01


def _tip(state: Any, residual: Any) -> trajopt.ConstraintStack:
    return trajopt.ConstraintStack(state).add("tip", residual, equals=0.0)


def _still(state: Any) -> trajopt.CostStack:
    return trajopt.CostStack(state).add("still", trajopt.ResidualModelState(state), weight=1e-3)


def test_a_goal_out_of_reach_is_unreachable() -> None:
    placement = np.eye(4)
    placement[:3, 3] = [2.0, 0.0, 0.0]
    found = plan(arm(), START, placement, scene(), frame="tool", **LIMITS)
    assert found.status is PlanStatus.UNREACHABLE
    assert found.motion is None
    assert "no configuration that meets the goal" in repr(found)


def test_a_search_without_a_path_ends_at_its_time_limit() -> None:
    wall = trajopt.Box([2.0, 1.0, 0.02], placement=[1.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    back = trajopt.Box([2.0, 1.0, 0.02], placement=[-1.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    parts = trajopt.Scene({"wall": wall, "back": back})  # the arm can not turn from one side to the other
    found = plan(arm(), START, GOAL, parts, time_limit=0.2, **LIMITS)
    assert found.status is PlanStatus.NO_PATH
    assert found.corners.shape == (0, 3)
    with pytest.raises(UnsupportedOperationError, match="no motion: no path was found within time_limit"):
        found.solution()


def test_a_motion_is_a_solution_for_views_and_guesses() -> None:
    found = around()
    assert found.motion is not None
    solution = found.solution(0.05)
    assert solution.xs.shape == (int(np.ceil(found.motion.duration / 0.05)) + 1, 6)
    np.testing.assert_allclose(np.diff(solution.times), 0.05)
    np.testing.assert_allclose(solution.xs[-1], [*GOAL, 0.0, 0.0, 0.0], atol=1e-9)
    assert trajopt.analysis.clearance(solution, scene()).distance > MARGIN - 5e-3
    assert len(found.plot().axes) >= 1


def test_a_motion_has_the_names_units_and_torques_of_its_robot(tmp_path: Path) -> None:
    found = around()
    assert found.motion is not None
    solution = found.solution(0.05)
    head, *rows = solution.to_csv(tmp_path / "plan.csv").read_text().splitlines()
    names = [
        f"{kind}:joint_{i} [{unit}]"
        for kind, unit in (("q", "rad"), ("v", "rad/s"), ("a", "rad/s²"), ("u", "N m"))
        for i in (1, 2, 3)
    ]
    assert head.split(",") == ["knot [-]", "time [s]", *names]
    model, data = arm().model, arm().model.createData()
    for row, time in zip(rows, solution.times, strict=True):  # the last is at rest, after the end
        q, v, a = found.motion.at(time)
        written = [float(cell) for cell in row.split(",")[2:]]
        np.testing.assert_allclose(written, [*q, *v, *a, *pin.rnea(model, data, q, v, a)], atol=1e-9)
    assert solution.times[-1] > found.motion.duration


def test_a_motion_explains_its_clearance_and_limits(tmp_path: Path) -> None:
    found = around()
    assert found.motion is not None
    solution, least, used = found.solution(0.05), found.clearance(), found.motion.usage()
    text = solution.explain()
    assert f"  clearance: {least.distance:.4g} m between {least.bodies} (margin {MARGIN:g} m" in text
    assert f"acceleration {100 * used['acceleration']:.0f} %" in text.partition("  limits: at most ")[2]
    assert "exceeded" not in text
    fastest = [line.upper for line in solution.description.lines if line.group == "velocity"]
    np.testing.assert_allclose(fastest, found.motion.limits.velocity, rtol=1e-3)
    loaded = trajopt.Solution.load(solution.save(tmp_path / "plan.npz"))
    assert loaded.explain() == text


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"start": [0.0, 0.0, 0.0]}, "start: expected link_2 and ball at least 0.01 m apart, got .* m; choose"),
    ({"goal": [0.1, 0.0, 0.0]}, "goal: expected link_2 and ball at least 0.01 m apart, got -0.1099 m"),
    ({"goal": [4.0, 0.0, 0.0]}, r"goal: expected joints within limits, got joint_1 = 4 beyond \[-3\.14159, 3\.14159\]"),
    ({"goal": START}, "goal: expected another configuration than the start, got the same one"),
    ({"goal": [0.0, 0.0]}, r"goal: expected shape \(3,\), got \(2,\)"),
    ({"acceleration": None}, r"acceleration, torque: expected a finite limit.* pass acceleration="),
    ({"paths": 0}, "paths"),
    ({"margin": -0.01}, r"margin: expected a number >= 0 \[m\], got -0.01"),
    ({"time_limit": 0.0}, "time_limit"),
    ({"goal": np.eye(4)}, r"goal: expected shape \(3,\), got \(4, 4\).* pass frame=... with a placement"),
    ({"scene": [trajopt.Sphere(0.1)]}, r"scene: expected a Scene, got .*write trajopt.Scene\({.ball.: obstacle}\)"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_errors_name_the_argument_and_the_cure(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        plan(**{"robot": arm(), "start": START, "goal": GOAL, "scene": scene(), "acceleration": 4.0, **arguments})


def test_a_robot_with_a_floating_base_has_no_plans() -> None:
    quadruped = trajopt.load_robot("quadruped")
    with pytest.raises(InvalidArgumentError, match="robot: expected a fixed base and joints with one coordinate each"):
        plan(quadruped, np.zeros(quadruped.nq), np.zeros(quadruped.nq))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"trajopt.plan needs ompl.*pip install ompl .*extra 'plan'"):
        around.__wrapped__()


def test_the_library_is_loaded_when_a_path_is_searched() -> None:
    code = (
        "import sys, trajopt; assert 'trajopt.planning' not in sys.modules;"
        "assert trajopt.plan is trajopt.planning.plan; assert 'ompl' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
