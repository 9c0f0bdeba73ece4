"""Bad tasks and targets: what is told; and the table of starts on disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.command_line import CliRunner
from tests.support.ik_robots import arm, placement_task, reachable
from trajopt import cache, cli, ik
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownNameError, UnsupportedOperationError
from trajopt.ik import IKSolver
from trajopt.ik.seeds import ENTRIES, seed_table

STATE, FRAME = arm("talos_arm")
TASK = placement_task(STATE, FRAME)


def turning() -> tuple[trajopt.Robot, trajopt.CostStack]:
    """A spherical joint with limits."""
    robot = trajopt.load_robot("solo12")
    lower = np.full(2 * robot.nv, -1.0)
    state = trajopt.StateMultibody(robot, lower=lower, upper=-lower)
    return robot, trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), 1.0)


def still() -> trajopt.ConstraintStack:
    """A point at a frame of the world."""
    return trajopt.ConstraintStack(STATE).add(
        "still", trajopt.ResidualModelFrameTranslation(STATE, "universe", [1.0, 0.0, 0.0]), equals=0.0
    )


SOLVE: dict[str, tuple[Any, type[TrajoptError], str]] = {
    "robot": (lambda: ik.solve("panda", TASK), InvalidArgumentError, r"robot: expected a Robot.*got 'panda'"),
    "none": (
        lambda: ik.solve(STATE.robot, trajopt.CostStack(STATE)),
        InvalidArgumentError,
        r"tasks: expected at least one task, got none; add a residual",
    ),
    "kind": (
        lambda: ik.solve(STATE.robot, trajopt.ResidualModelState(STATE)),
        InvalidArgumentError,
        r"tasks: expected a ConstraintStack.*got \(ResidualModelState\); add all residuals to one stack",
    ),
    "twice": (lambda: ik.solve(STATE.robot, (TASK, TASK)), InvalidArgumentError, r"got \(ConstraintStack, Constraint"),
    "other": (
        lambda: ik.solve(trajopt.load_robot("planar-2r"), TASK),
        InvalidArgumentError,
        r"tasks: expected tasks of 'planar-2r', got some of 'talos_arm'; create the state with StateMultibody\(robot\)",
    ),
    "control": (
        lambda: ik.solve(
            STATE.robot, trajopt.CostStack(STATE).add("u", trajopt.ResidualModelControl(STATE), weight=1.0)
        ),
        InvalidArgumentError,
        r"got u, which depend on a control or on forces; remove them",
    ),
    "curved": (
        lambda: ik.solve(*turning()),
        UnsupportedOperationError,
        r"limits: expected no limits of joint 'root_joint'",
    ),
    "fixed to the world": (
        lambda: ik.solve(STATE.robot, still()),
        InvalidArgumentError,
        r"joints move, got none: still",
    ),
    "followed": (
        lambda: ik.track(STATE.robot, still(), {"still.reference": np.zeros((3, 3))}, dt=0.1, q0=np.zeros(7)),
        InvalidArgumentError,
        r"joints move, got none: still; is their frame fixed to the world",
    ),
    "starts": (lambda: ik.solve(STATE.robot, TASK, starts=0), InvalidArgumentError, r"starts: expected .* got 0"),
    "seed": (lambda: ik.solve(STATE.robot, TASK, seed=-1), InvalidArgumentError, r"seed: expected .* got -1"),
    "limits": (lambda: ik.solve(STATE.robot, TASK, limits="yes"), InvalidArgumentError, r"limits: expected .*'yes'"),
    "tolerance": (lambda: ik.solve(STATE.robot, TASK, tolerance=0), InvalidArgumentError, r"tolerance: expected"),
    "start": (lambda: ik.solve(STATE.robot, TASK, start=[1]), InvalidArgumentError, r"start: expected shape \(7,\)"),
    "nan": (lambda: ik.solve(STATE.robot, TASK, start=[np.nan] * 7), InvalidArgumentError, r"start: expected finite"),
}


@pytest.mark.parametrize("name", SOLVE)
def test_bad_tasks(name: str) -> None:
    call, kind, message = SOLVE[name]
    with pytest.raises(kind, match=message):
        call()


TURNED = np.tile(np.eye(4), (3, 1, 1))
BATCH: dict[str, tuple[Any, type[TrajoptError], str]] = {
    "name": ({"tol.reference": TURNED}, UnknownNameError, r"parameter 'tol.reference' not found.*tool.reference"),
    "mapping": (TURNED, InvalidArgumentError, r"targets: expected .*; pass \{\"tool.reference\": array\}"),
    "empty": ({}, InvalidArgumentError, r"targets: expected at least one array, got none"),
    "rotation": (
        {"tool.reference": TURNED[:, :3] * np.array([1.0, 2.0, 1.0])[:, None, None]},
        InvalidArgumentError,
        r"targets\['tool.reference'\]: expected rotation matrices .* in row 1; use pinocchio",
    ),
    "nan": (
        {"tool.reference": np.where(TURNED == 1, TURNED, np.nan)[:, :3]},
        InvalidArgumentError,
        r"finite.* in row 0",
    ),
    "last row": (
        {"tool.reference": TURNED + np.array([0.0, 0.4, 0.0])[:, None, None] * np.eye(4, k=-3)},
        InvalidArgumentError,
        r"targets\['tool.reference'\]\[1\]: expected a matrix .* got \[0.4, 0.0, 0.0, 1.0\]; its position belongs in",
    ),
    "shape": (
        {"tool.reference": np.zeros((2, 5))},
        InvalidArgumentError,
        r"targets\['tool.reference'\]\[0\]: expected",
    ),
    "scalar": (
        {"tool.reference": 1.0},
        InvalidArgumentError,
        r"expected shape \(n, 3, 4\) with one row for each pose, got \(\)",
    ),
    "lengths": (
        {"tool.reference": TURNED, "tool.lower": np.zeros((2, 6))},
        InvalidArgumentError,
        r"arrays of equal length, got .*'tool.reference': 3, 'tool.lower': 2",
    ),
}


@pytest.mark.parametrize("name", BATCH)
def test_bad_targets(name: str) -> None:
    targets, kind, message = BATCH[name]
    with pytest.raises(kind, match=message):
        ik.solve_batch(STATE.robot, TASK, targets)


def test_targets_in_other_forms() -> None:
    """Matrices (4, 4) and (3, 4), positions with quaternions, and lists of placements."""
    import pinocchio as pin

    targets = reachable(STATE, FRAME, 3, 6)
    solver = IKSolver(STATE.robot, TASK)
    expected = solver.solve_batch({"tool.reference": targets}).q
    vectors = np.array([pin.SE3ToXYZQUAT(pin.SE3(each)) for each in targets])
    for form in (targets[:, :3], vectors, [pin.SE3(each) for each in targets]):
        np.testing.assert_allclose(solver.solve_batch({"tool.reference": form}).q, expected, atol=1e-6)
    wide = solver.solve_batch({"tool.reference": targets, "tool.lower": np.full((3, 6), -0.1)})
    assert wide.solved.all()


def test_wrong_targets_of_a_single_solve_are_refused(capsys: Any) -> None:
    solver = IKSolver(STATE.robot, TASK)
    with pytest.raises(InvalidArgumentError, match=r"tool.reference: expected a pinocchio.SE3"):
        solver.solve({"tool.reference": [1.0, 2.0]})
    with pytest.raises(UnknownNameError, match=r"parameter 'tool.target' not found"):
        solver.solve({"tool.target": np.eye(4)})
    assert repr(solver) == "IKSolver('talos_arm', tool, limits=True, tolerance=1e-06)"


@pytest.mark.slow
def test_the_table_of_starts_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path))
    nv = STATE.nv
    bounds = STATE.lower[:nv], STATE.upper[:nv]
    made = seed_table(STATE, FRAME, *bounds)
    assert cache.info().entries == 1
    loaded = seed_table(STATE, FRAME, *bounds)
    assert cache.info().entries == 1
    for one, other in zip(vars(made).values(), vars(loaded).values()):
        np.testing.assert_array_equal(one, other)
    assert made.q.shape == (ENTRIES, STATE.nq)
    assert np.all((made.q >= bounds[0]) & (made.q <= bounds[1]))
    there = STATE.robot.placement(made.q[17], FRAME)
    np.testing.assert_allclose(there[:3], np.column_stack([made.rotations[17], made.positions[17]]))
    for kind, target in (("placement", there[None, :3]), ("translation", there[None, :3, 3])):
        assert made.nearest(kind, target, 2)[0, 0] == 17
    seed_table(STATE, "arm_left_7_link", *bounds)
    assert cache.info().entries == 2


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli.app, ["ik", *arguments])


def test_the_command(tmp_path: Path) -> None:
    arm_2r = ("--robot", "planar-2r", "--frame", "tool", "--position")
    found = run(*arm_2r, "0.3", "0", "0.6", "--plot", str(tmp_path / "arm.png"))
    assert found.exit_code == 0, found.output
    assert "every constraint holds" in found.output
    assert (tmp_path / "arm.png").stat().st_size > 5000
    far = run(*arm_2r, "3", "0", "4")
    assert far.exit_code == 2
    assert re.search(r"distance +4\n", far.output)
    wrong = run("--robot", "planar-2r", "--frame", "tol", "--position", "3", "0", "4")
    assert wrong.exit_code == 1
    placed = run(
        *("--robot", "talos_arm", "--frame", FRAME, "--position", "0.3", "0.3", "0.2"),
        *("--quaternion", "0", "0", "0", "2"),
    )
    assert placed.exit_code == 1
    assert "norm" in placed.stderr


def test_a_target_beyond_all_numbers_is_out_of_reach() -> None:
    tasks = placement_task(STATE, FRAME)
    far = np.hstack([np.eye(3), np.full((3, 1), 1e155)])
    result = ik.solve(STATE.robot, tasks, {"tool.reference": far}, starts=2)
    assert result.status is ik.IKStatus.UNREACHABLE
    for junk, message in [("x", "got 'x'"), (None, "got None"), (np.ones(3), r"got \(3,\)")]:
        with pytest.raises(InvalidArgumentError, match=rf"q: expected .*\({STATE.nq},\) or .*{message}"):
            result.judge(junk)  # type: ignore[arg-type]


def test_a_batch_tells_which_targets_are_not_solved() -> None:
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    tip = trajopt.ResidualModelFrameTranslation(state, robot.frame_names[-1])
    tasks = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    near = robot.placement(np.array([0.3, 0.4]), robot.frame_names[-1])[:3, 3]
    targets = near + np.array([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0], [-70.0, 0.0, 0.0]])
    found = ik.solve_batch(robot, tasks, {"tip.reference": targets})
    first, *rows = found.explain(most=1).splitlines()
    assert first == "1 of 3 targets solved"
    assert rows[0] == "2 failed: 2 out of reach"
    assert re.fullmatch(r"  target 1: tip by up to 4[89]\.?\d* m", rows[1])
    assert rows[2].startswith("    tip: it is out of reach, 50.9 m from the first joint with an arm of at most 1 m; ")
    assert rows[3:] == ["  and 1 more"]
    with pytest.raises(InvalidArgumentError, match=r"one row for each pose, got one value, of shape \(3,\)"):
        ik.solve_batch(robot, tasks, {"tip.reference": near})


@pytest.mark.parametrize("elbow", [1.2, -1.2])
def test_of_two_solutions_the_one_near_the_start_is_the_result(elbow: float) -> None:
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    tip = trajopt.ResidualModelFrameTranslation(state, robot.frame_names[-1])
    tasks = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    start = np.array([0.3, elbow])
    target = robot.placement(start + 0.02, robot.frame_names[-1])[:3, 3]
    found = ik.solve(robot, tasks, {"tip.reference": target}, start=start)
    assert len(found.configurations) == 2
    np.testing.assert_allclose(found.q, start + 0.02, atol=1e-5)


def test_a_batch_says_what_a_status_is_here() -> None:
    batch = ik.solve_batch(STATE.robot, TASK, {f"{TASK.names[0]}.reference": reachable(STATE, FRAME, 1, 0)})
    with pytest.raises(AttributeError, match="IKBatch has no attribute 'status'; here: solved"):
        batch.status  # type: ignore[attr-defined]  # noqa: B018
