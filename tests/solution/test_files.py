"""What a saved solution still says without its problem, and tables of a solution."""

from __future__ import annotations

import csv
import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import trajopt
from tests.mpc.slider import controller
from tests.support.unsolved import arm, pendulum, solved, trot
from trajopt import ik, mpc, problems
from trajopt.analysis import motion_report
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_com, plot_contact_forces, plot_cost_terms, plot_feet, plot_motion, plot_strip
from trajopt.solution import Solution
from trajopt.solvers import SolverDDP, SolverSQP
from trajopt.types import Reals

MAKERS = [pendulum, arm, trot]


def reloaded(solution: Solution, folder: Path) -> Solution:
    return Solution.load(solution.save(folder / "one.npz"))


def pixels(figure: Figure) -> Reals:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).astype(float)


@pytest.mark.parametrize("make", MAKERS)
def test_a_file_keeps_times_names_units_and_the_robot(make: Callable[[], Solution], tmp_path: Path) -> None:
    solution = make()
    loaded = reloaded(solution, tmp_path)
    assert loaded.problem is None
    assert solution.problem is not None
    np.testing.assert_array_equal(loaded.times, solution.problem.times)
    assert loaded.coordinate_names == tuple(solution.problem.state.coordinate_names)
    assert loaded.coordinate_units == solution.coordinate_units
    assert loaded.control_names == tuple(solution.problem.running[0].control_names)
    assert loaded.control_units == solution.control_units
    np.testing.assert_equal(loaded.cost_terms(), solution.cost_terms())
    np.testing.assert_equal(loaded.contact_forces(), solution.contact_forces())
    assert (loaded.robot is None) == (solution.robot is None)
    if solution.robot is not None and loaded.robot is not None:
        assert loaded.robot.name == solution.robot.name
        assert loaded.robot.model == solution.robot.model


@pytest.mark.parametrize("make", MAKERS)
def test_a_loaded_solution_looks_like_the_original(make: Callable[[], Solution], tmp_path: Path) -> None:
    solution = make()
    np.testing.assert_array_equal(pixels(reloaded(solution, tmp_path).plot()), pixels(solution.plot()))


def test_every_picture_of_a_motion_on_feet_can_be_drawn_from_a_file(tmp_path: Path) -> None:
    loaded = reloaded(trot(), tmp_path)
    for draw in (plot_com, plot_contact_forces, plot_cost_terms, plot_feet, plot_motion, plot_strip):
        assert draw(loaded).axes
    assert motion_report(loaded, 0.7) == motion_report(trot(), 0.7)
    assert "% of the cost; largest at knot" in loaded.explain()
    with pytest.raises(InvalidArgumentError, match=r"sole: expected None .*Solution.load\(path, problem\)"):
        plot_com(loaded, sole=(0.2, 0.1))


def test_a_loaded_solution_is_saved_and_pickled_again(tmp_path: Path) -> None:
    once = reloaded(trot(), tmp_path)
    for again in (reloaded(once, tmp_path), pickle.loads(pickle.dumps(once))):
        np.testing.assert_equal(again.cost_terms(), trot().cost_terms())
        assert again.coordinate_names == trot().coordinate_names


def test_times_are_those_of_the_solve(tmp_path: Path) -> None:
    problem = problems.load("pendulum", T=5).problem
    solution = dataclasses.replace(pendulum(), problem=problem, xs=pendulum().xs[:6], us=pendulum().us[:5],
                                   parameters=problem.parameter_values())  # fmt: skip
    problem.set_parameter("dt", 0.1)
    np.testing.assert_allclose(solution.times, 0.02 * np.arange(6), rtol=1e-15)
    np.testing.assert_allclose(reloaded(solution, tmp_path).times, 0.02 * np.arange(6), rtol=1e-15)


def test_a_problem_with_other_coordinates_is_refused(tmp_path: Path) -> None:
    path = arm().save(tmp_path / "arm.npz")
    other = problems.load("lqr", nx=6, nu=3, T=len(arm().us)).problem
    with pytest.raises(InvalidArgumentError, match="problem: expected a state with coordinates q:.*got x0"):
        Solution.load(path, other)
    assert Solution.load(path, arm().problem).problem is arm().problem


def test_a_robot_that_pinocchio_cannot_read_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = arm().save(tmp_path / "arm.npz")
    with np.load(path) as file:
        arrays = dict(file)
    tree = json.loads(str(arrays["description"]))
    tree["fields"]["robot"]["model"] = "22 serialization::archive 99 0 0"
    np.savez(path, **arrays | {"description": np.array(json.dumps(tree))})
    loaded = Solution.load(path)
    assert "cannot be read by the installed version of Pinocchio" in caplog.text
    assert loaded.robot is None
    assert loaded.coordinate_names == arm().coordinate_names
    with pytest.raises(InvalidArgumentError, match="expected a state with a robot"):
        loaded.com_path()


def test_csv_has_a_header_of_names_and_units(tmp_path: Path) -> None:
    solution = pendulum()
    with solution.to_csv(tmp_path / "pendulum.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:4] == ["knot [-]", "time [s]", "q [rad]", "v [rad/s]"]
    assert head[4].startswith("torque")
    assert len(rows) == len(solution.xs)
    np.testing.assert_array_equal([[float(cell) for cell in row[2:4]] for row in rows], solution.xs)
    np.testing.assert_array_equal([float(row[4]) for row in rows[:-1]], solution.us[:, 0])
    assert rows[-1][4] == ""
    assert float(rows[-1][1]) == pytest.approx(2.0)


def test_csv_of_a_robot_has_the_names_of_its_joints(tmp_path: Path) -> None:
    text = trot().to_csv(tmp_path / "trot.csv").read_text().splitlines()[0]
    assert text.startswith("knot [-],time [s],q:root_joint.x [m],q:root_joint.y [m],q:root_joint.z [m],")
    assert ",q:root_joint.qx [-]," in text
    assert "v:root_joint.rz [rad/s]" in text
    assert ",u:lf_haa [N m]," in text
    assert ",rh_foot fz [N]," in text
    assert text.endswith(",rh_foot impulse fz [N s]")  # at touch-downs


def test_csv_has_round_times_and_no_negative_zeros_of_feet_in_the_air(tmp_path: Path) -> None:
    solution = trot()
    with solution.to_csv(tmp_path / "trot.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert solution.times is not None
    assert max(len(row[1]) for row in rows) <= 5  # such as 0.145; sums of steps have up to 19 letters
    assert max(len(str(time)) for time in solution.times.tolist()) > 5
    np.testing.assert_allclose([float(row[1]) for row in rows], solution.times, atol=1e-12)
    forces = [i for i, name in enumerate(head) if " f" in name and "[N" in name]
    cells = {row[i] for row in rows for i in forces}
    assert "0.0" in cells
    assert "-0.0" not in cells
    assert np.any(np.signbit(solution.contact_forces()["lf_foot"]) & (solution.contact_forces()["lf_foot"] == 0.0))
    assert all(len(str(time)) <= 5 for time in solution.to_dict()["times"])


def test_csv_of_inverse_dynamics_has_torques(tmp_path: Path) -> None:
    """They are those of Pinocchio's recursive Newton-Euler algorithm, from a file without its problem as well."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    full = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-2)
    arm = trajopt.DifferentialActionModelFreeInvDynamics(state, full, costs)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [0.5, -0.4, 0.0, 0.0]), 1e3)
    problem = trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelEuler(arm, 0.05)] * 10, end)
    solution = SolverSQP(problem).solve()
    text = solution.to_csv(tmp_path / "arm.csv").read_text()
    head, *rows = csv.reader(text.splitlines())
    joints = state.robot.joint_names
    assert head[6:] == [*(f"a:{joint} [rad/s²]" for joint in joints), *(f"u:{joint} [N m]" for joint in joints)]
    table = np.array([[float(cell) for cell in row[2:]] for row in rows[:-1]])
    assert rows[-1][6:] == [""] * 4
    model = state.robot.model
    data = model.createData()
    expected = [pin.rnea(model, data, row[:2], row[2:4], row[4:6]) for row in table]
    np.testing.assert_allclose(table[:, 6:], expected, rtol=1e-9, atol=1e-9)
    assert np.abs(table[:, 6:]).max() > 0.1
    loaded = Solution.load(solution.save(tmp_path / "arm.npz"))
    assert loaded.to_csv(tmp_path / "again.csv").read_text() == text


def test_csv_names_another_suffix(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path: expected a file ending in \.csv, got .*one\.txt"):
        pendulum().to_csv(tmp_path / "one.txt")


@pytest.mark.parametrize("make", MAKERS)
def test_to_dict_is_plain_data(make: Callable[[], Solution], tmp_path: Path) -> None:
    solution = make()
    found = json.loads(json.dumps(solution.to_dict(), allow_nan=False))
    assert found == reloaded(solution, tmp_path).to_dict()
    assert found["cost"] == solution.cost
    assert found["status"] == solution.status.name
    np.testing.assert_array_equal(list(found["states"].values()), solution.xs.T)
    np.testing.assert_array_equal(list(found["controls"].values()), solution.us.T)
    assert list(found["state_units"]) == list(found["states"]) == list(solution.coordinate_names)


@pytest.mark.parametrize("make", [arm, trot])
def test_paths_are_those_of_pinocchio(make: Callable[[], Solution], tmp_path: Path) -> None:
    solution = make()
    assert solution.robot is not None
    model = solution.robot.model
    data, frame = model.createData(), model.frames[model.nframes - 1].name
    path, com = solution.frame_path(frame), solution.com_path()
    placements = solution.frame_path(frame, placements=True)
    assert path.shape == com.shape == (len(solution.xs), 3)
    for t, x in enumerate(solution.xs):
        pin.framesForwardKinematics(model, data, x[: model.nq])
        place = data.oMf[model.getFrameId(frame)]
        np.testing.assert_allclose(path[t], place.translation, atol=1e-14)
        np.testing.assert_allclose(placements[t], place.homogeneous, atol=1e-14)
        np.testing.assert_allclose(com[t], pin.centerOfMass(model, data, x[: model.nq]), atol=1e-14)
    np.testing.assert_array_equal(reloaded(solution, tmp_path).frame_path(frame), path)


def test_a_name_that_is_too_long_is_no_file() -> None:
    with pytest.raises(
        InvalidArgumentError, match="path: expected a file that Solution.save wrote, but there is no file at"
    ):
        Solution.load("a" * 5000)


def test_frame_path_refuses_unknown_frames_and_states_without_a_robot() -> None:
    with pytest.raises(UnknownNameError, match="frame 'tol' not found; did you mean 'tool'"):
        arm().frame_path("tol")
    with pytest.raises(InvalidArgumentError, match="expected a state with a robot .*got StateVector"):
        pendulum().frame_path("tool")


def test_a_solve_that_failed_is_saved_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    solution = dataclasses.replace(solved("unicycle"), xs=np.full((21, 3), np.nan))
    loaded = reloaded(solution, tmp_path)
    assert loaded.description is not None
    assert loaded.description.cost_terms is None
    assert loaded.coordinate_names == ("x", "y", "theta")
    assert "so plots from the file will lack it: xs" in caplog.text
    with pytest.raises(InvalidArgumentError, match="expected finite states"):
        loaded.animate(tmp_path / "one.gif")


def test_a_file_from_before_constraints_were_kept_is_read(tmp_path: Path) -> None:
    """Descriptions of that version lack the fields that came later."""
    solution = trot()
    path = solution.save(tmp_path / "one.npz")
    later = {"constraints", "lands", "tangent", "least", "most"}

    def strip(tree: object) -> object:
        if isinstance(tree, dict):
            return {key: strip(value) for key, value in tree.items() if key not in later}
        return [strip(item) for item in tree] if isinstance(tree, list) else tree

    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    described = json.loads(str(arrays["description"]))
    assert strip(described) != described
    arrays["description"] = np.array(json.dumps(strip(described)))
    np.savez(path, **arrays)
    loaded = Solution.load(path)
    assert loaded.violations() == {}
    assert len(loaded.plot().axes) > 5


def test_a_file_of_another_kind_says_which_load_reads_it(tmp_path: Path) -> None:
    own = pendulum()
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    hand = trajopt.ResidualModelFrameTranslation(state, "tool0", [0.4, 0.3, 0.5])
    tasks = trajopt.ConstraintStack(state).add("hand", hand, equals=0.0)
    kinds: dict[str, tuple[Any, Any]] = {
        "trajopt.Solution": (Solution, own),
        "trajopt.SolutionBatch": (
            trajopt.SolutionBatch,
            SolverDDP(own.problem, SolverDDP.options_type(max_iterations=1)).solve_batch(own.x0[None], progress=False),
        ),
        "trajopt.mpc.ClosedLoop": (mpc.ClosedLoop, mpc.simulate(controller(), None, [0.0, 0.9], 0.1)),
        "trajopt.ik.IKBatch": (
            ik.IKBatch,
            ik.solve_batch(robot, tasks, {"hand.reference": np.array([[0.4, 0.3, 0.5], [0.4, 0.2, 0.5]])}),
        ),
    }
    for name, (kind, result) in kinds.items():
        path = result.save(tmp_path / f"{kind.__name__}.npz")
        kind.load(path)
        words = f"it holds a {kind.__name__}: read it with {name}.load(path)"
        for other, _ in kinds.values():
            if other is not kind:
                with pytest.raises(InvalidArgumentError, match=rf"{other.__name__}\.save wrote.*{re.escape(words)}"):
                    other.load(path)
