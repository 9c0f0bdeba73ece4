"""Words of a solution: short statuses, knots with their times, goals that are missed, files that are none."""

from __future__ import annotations

import csv
import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import arm, pendulum, solution_of, trot
from trajopt import problems
from trajopt.analysis import reached, reached_words
from trajopt.analysis.reach import farthest
from trajopt.errors import InvalidArgumentError
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import FDDPOptions, SolverFDDP


def test_a_status_that_loops_expect_is_short_and_explain_says_more() -> None:
    assert str(SolverStatus.MAX_ITERATIONS) == "stopped at max_iterations"
    assert all(len(str(status)) < 130 for status in SolverStatus)
    case = problems.load("pendulum")
    options = trajopt.solvers.FDDPOptions(max_iterations=3)
    solution = trajopt.solvers.SolverFDDP(case.problem, options).solve(case.xs, case.us)
    assert solution.status is SolverStatus.MAX_ITERATIONS
    assert "raise max_iterations, or start from a better guess" in solution.explain()


@pytest.mark.parametrize("make", [pendulum, arm, trot])
def test_explain_of_a_loaded_solution_gives_the_times_of_knots(make: Any, tmp_path: Path) -> None:
    solution = make()
    times = solution.times
    assert times is not None
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    for text in (solution.explain(), loaded.explain()):
        lines = [line for line in text.splitlines() if "largest at knot" in line]
        assert len(lines) >= 2
        for line in lines:
            knot = int(line.partition("largest at knot ")[2].split()[0])
            assert f"knot {knot} ({times[knot]:.3g} s)" in line
    assert "Solution.load(path, problem) also reports gaps and the gradient" in loaded.explain()
    assert "Solution.load" not in solution.explain()


@functools.cache
def reach(x: float, z: float = 0.0) -> Solution:
    """The planar arm at rest, with a goal in its plane [m]."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), 1e-3)
    goal = trajopt.CostStack(state)
    goal.add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", [x, 0.0, z]), 1.0)
    actuation = trajopt.ActuationModelFull(state)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
    problem = trajopt.ShootingProblem([0.0, 1.0, 0.0, 0.0], [trajopt.IntegratedActionModelEuler(model, 0.01)] * 3, goal)
    return solution_of(problem, np.tile(problem.x0, (4, 1)), np.zeros((3, 2)))


def test_explain_reports_a_goal_out_of_reach(tmp_path: Path) -> None:
    solution = reach(5.0)
    left = float(np.linalg.norm(solution.frame_path("tool")[-1] - [5.0, 0.0, 0.0]))
    (line,) = [line for line in solution.explain().splitlines() if "residual of 'goal'" in line]
    assert f"is still {left:.3g} m at the end, {left:.3g} m at the start" in line
    assert "it is out of reach, 5 m from the first joint" in line
    loaded = Solution.load(solution.save(tmp_path / "arm.npz"))
    assert f"distance of frame 'tool' from its goal is still {left:.3g} m at the end" in loaded.explain()


def test_a_goal_in_another_unit_is_asked_about() -> None:
    (far,) = [line for line in reach(400.0).explain().splitlines() if "residual of 'goal'" in line]
    assert re.search(r"out of reach, 400 m from the first joint with an arm of at most \S+ m; lengths are in m: ", far)
    assert "in mm or cm?" in far
    assert "in mm or cm?" not in reach(5.0).explain()


def test_a_goal_that_is_missed_within_reach_claims_nothing() -> None:
    (line,) = [line for line in reach(-0.2).explain().splitlines() if "residual of 'goal'" in line]
    assert "raise its weight, give the motion more time, or check that the robot can reach it" in line
    assert "no posture" not in line


def test_a_goal_that_is_met_is_not_mentioned() -> None:
    tool = reach(5.0).frame_path("tool")[-1]
    assert abs(tool[1]) < 1e-9
    assert "is still" not in reach(float(tool[0]), float(tool[2])).explain()
    case = problems.load("arm-reach", robot="planar-2r")
    assert "is still" not in case.solve().explain()


@pytest.mark.parametrize(("name", "frame"), [("planar-2r", "tool"), ("planar-3r", "tool")])
def test_the_farthest_point_bounds_all_postures_and_is_reached(name: str, frame: str) -> None:
    robot = trajopt.load_robot(name)
    found = farthest(robot.model, frame)
    assert found is not None
    first, most = found
    rng = np.random.default_rng(0)
    distances = [
        np.linalg.norm(robot.placement(rng.uniform(-3, 3, robot.nq), frame)[:3, 3] - first) for _ in range(200)
    ]
    assert max(distances) <= most + 1e-12
    stretched = np.linalg.norm(robot.placement(np.zeros(robot.nq), frame)[:3, 3] - first)
    assert stretched == pytest.approx(most, abs=1e-9)


def test_no_bound_is_claimed_where_something_else_moves_the_frame() -> None:
    assert farthest(trajopt.load_robot("cart-pole").model, "pole") is None
    assert farthest(trajopt.load_robot("small-quadruped").model, "lf_foot") is None


def test_forces_are_columns_of_the_table(tmp_path: Path) -> None:
    solution = trot()
    forces = solution.contact_forces()
    with solution.to_csv(tmp_path / "trot.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert solution.times is not None
    sudden = np.diff(solution.times) == 0.0
    assert sudden.any()
    pushes = [(name, "fx [N]", "fy [N]", "fz [N]", ~sudden) for name in forces]
    pushes += [(name, "impulse fx [N s]", "impulse fy [N s]", "impulse fz [N s]", sudden) for name in forces]
    for name, *axes, here in pushes:
        values = forces[name]
        for i, axis in enumerate(axes):
            column = [row[head.index(f"{name} {axis}")] for row in rows]
            known = np.isfinite(values[:, i]) & here
            assert known.any()
            np.testing.assert_array_equal([float(c) for c in np.array(column[:-1])[known]], values[known, i])
            assert column[-1] == ""
            assert all(cell == "" for cell in np.array(column[:-1])[~known])
    loaded = Solution.load(solution.save(tmp_path / "trot.npz"))
    assert loaded.to_csv(tmp_path / "again.csv").read_text() == (tmp_path / "trot.csv").read_text()
    with pendulum().to_csv(tmp_path / "pendulum.csv").open(newline="") as file:
        assert not [name for name in next(csv.reader(file)) if "[N]" in name]


def test_reached_words_refuses_a_solution_and_names_the_right_argument() -> None:
    words: Any = reached_words
    assert set(words(reached(trot()))) == {"clearance", "length", "landing", "lowest"}
    assert words(list(reached(trot()))) == words(reached(trot()))
    with pytest.raises(InvalidArgumentError, match=r"write reached_words\(reached\(solution\)\)"):
        words(trot())


def test_loading_a_file_without_a_solution_says_which_content_it_has(tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", a=[1.0], b=[2.0])
    np.save(tmp_path / "one.npy", [1.0])
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("hello")
    cut = arm().save(tmp_path / "cut.npz")
    cut.write_bytes(cut.read_bytes()[:-100])
    says = {
        "foreign.npz": r"expected a file that Solution.save wrote, got .*, which has other arrays: a, b",
        "none.npz": r"expected a file that Solution.save wrote, but there is no file",
        ".": r"expected a file that Solution.save wrote, but there is no file",
        "one.npy": r"cannot be read as a saved solution: File is not a zip file",
        "empty.npz": r"cannot be read as a saved solution: File is not a zip file",
        "text.npz": r"cannot be read as a saved solution: File is not a zip file",
        "cut.npz": r"cannot be read as a saved solution",
    }
    for name, message in says.items():
        with pytest.raises(InvalidArgumentError, match=rf"^path: .*{message}"):
            Solution.load(tmp_path / name)


@pytest.mark.parametrize(("write", "suffix"), [("save", "npz"), ("to_csv", "csv"), ("animate", "gif"), ("plot", "png")])
def test_all_writers_refuse_a_missing_folder_in_the_same_words(write: str, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"^path: expected an existing folder, got '.*none'; create it first$"
    ):
        getattr(arm(), write)(tmp_path / "none" / f"a.{suffix}")


def test_the_last_step_is_told_of_failures_only() -> None:
    """A converged solve may end with a short step, when rounding is all that is left."""
    case = problems.load("arm-reach", robot="planar-2r")
    assert "last step length" not in case.solve().explain()
    cut = SolverFDDP(case.problem, FDDPOptions(max_iterations=2)).solve()
    assert f", last step length {cut.history[-1].step_length:g}" in cut.explain()


def test_controls_are_named_as_the_joints_that_they_drive() -> None:
    """The prefix of tables, as in "u:joint_1", is left out where the sentence says that it is a control."""
    solution = problems.load("arm-reach", robot="planar-2r").solve()
    assert all(name.startswith("u:") for name in solution.control_names)
    (line,) = [line for line in solution.explain().splitlines() if "steepest control" in line]
    assert any(f"steepest control {name[2:]!r} at knot" in line for name in solution.control_names)
    assert "u:" not in solution.explain()
