"""Files and pickles of revision 2720678, which tests/data/make_files_of_2720678.py wrote, load today."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.old_files import FACTS, FILES, assert_says, brief
from trajopt import cache, mpc, problems
from trajopt.analysis import motion_report
from trajopt.errors import InvalidArgumentError
from trajopt.ik import IKBatch, IKPath, IKResult, IKStep
from trajopt.inverse_dynamics import read_positions
from trajopt.plotting import plot_com, plot_contact_forces, plot_cost_terms, plot_feet
from trajopt.solution import Solution, SolverStatus
from trajopt.sweeps import Recipe, Sweep

pytestmark = pytest.mark.filterwarnings(r"ignore:trajopt\..* is now:DeprecationWarning")  # pickles name modules

SOLUTIONS: dict[str, dict[str, Any]] = FACTS["solutions"]
JUDGED = ("gaps", "stationarity")  # need the problem


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


# Solutions


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solution_says_what_it_said(name: str) -> None:
    solution, facts = Solution.load(FILES / f"{name}.npz"), SOLUTIONS[name]
    assert solution.problem is None
    for method in ("cost_terms", "contact_forces", "violations"):
        np.testing.assert_equal(brief(getattr(solution, method)()), facts[method], err_msg=method)
    assert solution.status is SolverStatus[facts["status"]]
    assert [list(solution.coordinate_names), list(solution.coordinate_units)] == facts["coordinates"]
    assert [list(solution.control_names), list(solution.control_units)] == facts["controls"]
    robot = solution.robot
    assert (robot.name if robot else None) == facts["robot"]
    assert ([float(each.mass) for each in robot.model.inertias] if robot else None) == facts["masses"]
    for column, expected in facts["history"].items():
        np.testing.assert_array_equal([getattr(record, column) for record in solution.history], expected)
    others = ("cost_terms", "contact_forces", "violations", "status", "coordinates", "controls", "robot", "masses")
    assert_says(solution, facts, *others, "history", *JUDGED)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solution_has_its_picture_table_and_explanation(name: str, tmp_path: Path) -> None:
    solution = Solution.load(FILES / f"{name}.npz")
    axes = solution.plot().axes
    drawn = [np.asarray(line.get_ydata(), dtype=float) for each in axes for line in each.get_lines()]
    arrays = [solution.xs, solution.us, *([] if solution.robot is None else [solution.com_path()])]
    moving = [column for array in arrays for column in array.T if np.ptp(column) > 0.0]
    assert any(len(line) >= len(c) and np.allclose(line[: len(c)], c) for line in drawn for c in moving)
    with solution.to_csv(tmp_path / "table.csv").open(newline="") as file:
        _, *rows = csv.reader(file)
    np.testing.assert_array_equal([[float(cell) for cell in row[2:][: solution.xs.shape[1]]] for row in rows],
                                  solution.xs)  # fmt: skip
    np.testing.assert_array_equal(list(solution.to_dict()["states"].values()), solution.xs.T)
    assert str(solution.cost)[:6] in solution.explain()
    with pytest.raises(trajopt.TrajoptError, match=r"Solution\.load\(path, problem\)"):
        solution.gaps()


def own_pendulum(gravity: float = 9.81) -> trajopt.ShootingProblem:
    """The pendulum of `own_pendulum.npz`, with another mass than there."""

    class Pendulum(trajopt.DifferentialActionModelSymbolic):
        def __init__(self, costs: trajopt.CostStack) -> None:
            super().__init__(costs.state, nu=1, costs=costs, lower=[-4.0], upper=[4.0])
            self.mass = self.parameter("mass", 1.0, unit="kg")
            self.length = self.parameter("length", 0.5, unit="m")

        def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return u / (self.mass * self.length**2) - gravity / self.length * ca.sin(x[0])

    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    terminal = trajopt.CostStack(state)
    terminal.add("upright", trajopt.ResidualModelState(state, [np.pi, 0.0]), weight=1e2)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(running), dt=5e-2)
    return trajopt.ShootingProblem([0.0, 0.0], [knot] * 20, terminal)


def ready(name: str, robot: str | None = None, **options: Any) -> trajopt.ShootingProblem:
    return problems.load(name, robot, **options).problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("own_pendulum", own_pendulum),
        ("arm_reach", lambda: ready("arm-reach", "planar-2r", T=10, dt=0.05)),
        ("limits_sqp", lambda: ready("pendulum-limits", T=20, dt=0.15)),
        ("simulator_puck", lambda: ready("puck", T=20, dt=0.05)),
    ],
)
def test_a_solution_judges_itself_by_its_problem(name: str, problem: Any) -> None:
    solution, facts = Solution.load(FILES / f"{name}.npz", problem()), SOLUTIONS[name]
    np.testing.assert_allclose(np.abs(solution.gaps()).max(), facts["gaps"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.abs(solution.stationarity()).max(), facts["stationarity"], rtol=1e-6, atol=1e-6)
    kept = Solution.load(FILES / f"{name}.npz")
    for mine, theirs in ((solution.cost_terms(), kept.cost_terms()), (solution.violations(), kept.violations())):
        assert list(mine) == list(theirs)
        for part, values in mine.items():
            np.testing.assert_allclose(values, theirs[part], rtol=1e-9, atol=1e-9, err_msg=part)


def test_a_motion_on_feet_has_its_pictures_and_report() -> None:
    solution = Solution.load(FILES / "trot.npz")
    for draw in (plot_com, plot_contact_forces, plot_cost_terms, plot_feet):
        assert draw(solution).axes
    report = motion_report(solution, 0.7)
    for subject in ("base", "force", "slip"):
        assert numbers(report[subject]) == numbers(FACTS["motion_report"][subject])
    np.testing.assert_array_equal(solution.frame_path("lf_foot")[0], solution.robot.placement(  # type: ignore[union-attr]
        solution.xs[0, :19], "lf_foot")[:3, 3])  # fmt: skip


@pytest.mark.parametrize("name", FACTS["statuses"])
def test_each_status_is_known(name: str, tmp_path: Path) -> None:
    with np.load(FILES / "unicycle.npz") as file:
        arrays = dict(file)
    facts = json.loads(str(arrays["facts"])) | {"status": name}
    np.savez(tmp_path / "one.npz", **arrays | {"facts": np.array(json.dumps(facts))})
    assert Solution.load(tmp_path / "one.npz").converged == (name == "CONVERGED")


def test_a_pickled_solution_is_the_saved_one() -> None:
    pickled, saved = pickle.loads((FILES / "arm_reach.pickle").read_bytes()), Solution.load(FILES / "arm_reach.npz")
    assert pickled.to_dict() == saved.to_dict()
    np.testing.assert_array_equal(pickled.frame_path("tool"), saved.frame_path("tool"))


# Inverse kinematics and recorded motions


def unpickled(name: str) -> Any:
    return pickle.loads((FILES / f"{name}.pickle").read_bytes())


@pytest.mark.parametrize("name", ["ik_result", "ik_unreachable"])
def test_a_configuration_and_what_is_left_of_its_tasks(name: str) -> None:
    result, facts = unpickled(name), FACTS[name]
    assert isinstance(result, IKResult)  # the class of today, and no second one
    assert_says(result, facts, "status", "tip", "unit")
    assert result.status.name == facts["status"]
    tip = result.residuals["tip"]
    np.testing.assert_allclose(tip.value, facts["tip"], atol=1e-12)
    assert tip.unit == facts["unit"]
    assert str(result.status) in str(result)


@pytest.mark.parametrize("name", ["ik_path", "ik_path_optimal"])
def test_a_path_can_be_drawn(name: str) -> None:
    path, facts = unpickled(name), FACTS[name]
    assert isinstance(path, IKPath)
    assert_says(path, facts, "status", "tip")
    assert path.status.name == facts["status"]
    assert brief(path.residuals["tip"].value) == facts["tip"]
    assert [departure.first for departure in path.departures] == ([] if facts["followed"] else [1])
    assert (path.solution is None) == (name == "ik_path")
    assert path.plot().axes


@pytest.mark.parametrize(("name", "kind"), [("ik_batch", IKBatch), ("ik_step", IKStep)])
def test_batches_and_steps_of_inverse_kinematics(name: str, kind: type) -> None:
    found = unpickled(name)
    assert isinstance(found, kind)
    assert_says(found, FACTS[name])


def test_recorded_motions_are_read() -> None:
    """Files of `Solution.save`, `Solution.to_csv`, `trajopt ik --save` and `trajopt inverse-dynamics --save`."""
    arm, legs = trajopt.load_robot("planar-2r"), trajopt.load_robot("small-quadruped")
    solution = Solution.load(FILES / "arm_reach.npz")
    for name in ("arm_reach.npz", "arm_reach.csv"):
        positions, times = read_positions(arm, FILES / name)
        np.testing.assert_array_equal(positions, solution.xs[:, :2])
        np.testing.assert_allclose(times, solution.times, atol=1e-12)
    for name in ("ik_path_saved.npz", "ik_path_saved.csv"):
        positions, times = read_positions(arm, FILES / name)
        assert [brief(positions), brief(times)] == [FACTS["ik_path_saved"][key] for key in ("positions", "times")]
    positions, times = read_positions(legs, FILES / "forces_saved.npz")
    assert [brief(positions), brief(times)] == [FACTS["forces_saved"][key] for key in ("positions", "times")]


# Controllers


@pytest.mark.parametrize("name", FACTS["closed_loops"])
def test_a_log_says_what_it_said(name: str) -> None:
    log, facts = mpc.ClosedLoop.load(FILES / f"{name}.npz"), FACTS["closed_loops"][name]
    assert_says(log, facts, "tracked", "pushes", "motion")
    assert [brief([t.name, t.labels, t.unit, t.actual, t.reference]) for t in log.tracked] == facts["tracked"]
    values = [None if callable(push.value) else list(push.value) for push in log.pushes]
    assert [[p.time, p.duration, value] for p, value in zip(log.pushes, values)] == facts["pushes"]
    assert log.motion is not None
    assert brief([log.motion.xs, log.motion.us, log.motion.times]) == facts["motion"]
    assert f"{log.cost:.6g}" in log.report()["cost"]
    assert log.explain()
    assert log.plot().get_suptitle()


def test_a_loaded_push_of_a_function_raises_when_called() -> None:
    log = mpc.ClosedLoop.load(FILES / "closed_loop_slider.npz")
    (push,) = [each for each in log.pushes if callable(each.value)]
    with pytest.raises(InvalidArgumentError, match="a file does not store functions; pass the push"):
        push.value(1.0, np.zeros(2))


def test_a_plan_is_a_step() -> None:
    plan = unpickled("plan")
    assert isinstance(plan, mpc.MPCStep)
    assert_says(plan, FACTS["plan"], "status")
    assert str(plan.status) == FACTS["plan"]["status"]


# Sweeps


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(shutil.copytree(FILES / "sweep", tmp_path / "sweep"))


def test_a_store_is_read(store: Path) -> None:
    sweep, facts = Sweep.read(store), FACTS["sweep"]
    assert not sweep.damaged
    assert_says(sweep, {name: facts[name] for name in ("index", "cost", "iterations", "converged", "status")})
    assert list(sweep.error) == facts["error"]
    assert brief(dict(sweep.parameters)) == facts["parameters"]
    assert {reason: each.rows.index.tolist() for reason, each in sweep.failures().items()} == facts["reasons"]
    assert [brief([row.xs, row.us]) for row in sweep if not row.error] == facts["trajectories"]
    assert sweep.best().index == facts["best"]
    assert sweep.plot(kind="costs").axes


def test_a_row_is_solved_again(store: Path) -> None:
    row = Sweep.read(store).best()
    solution = row.solution()
    assert solution.status.name == row.status
    assert solution.cost == pytest.approx(row.cost, rel=1e-9)
    np.testing.assert_allclose(solution.xs, row.xs, atol=1e-6)


def test_a_sweep_does_not_go_on_in_a_store_of_another_version(store: Path) -> None:
    before = sorted((file.name, file.read_bytes()) for file in store.rglob("*.npz"))
    recipe = Recipe(**json.loads((store / "recipe.json").read_text())["recipe"])
    with pytest.raises(InvalidArgumentError, match=r"store: '.*sweep' was begun with another version .*a new folder"):
        trajopt.sweep(recipe, {"seed": np.arange(5)}, store=store, workers=1, progress=False)
    assert sorted((file.name, file.read_bytes()) for file in store.rglob("*.npz")) == before


def test_recipes_are_read() -> None:
    """The text of a recipe, and the pickle that workers get, say the same as then, and today's ready problems fit."""
    texts = json.loads((FILES / "recipes.json").read_text())
    for text, facts in zip(texts, FACTS["recipes"], strict=True):
        recipe = Recipe.read(text)
        assert json.loads(recipe.text) == facts
        assert recipe == Recipe(**facts)
    assert pickle.load(io.BytesIO((FILES / "recipe.pickle").read_bytes())) == Recipe.read(texts[0])
    built = Recipe.read(texts[0]).build()
    assert (built.solver.problem.T, built.solver.options.max_iterations) == (20, 12)


# The cache


@pytest.fixture
def old_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with entries of then, a stored program and machine code, as the only one."""
    folder = Path(shutil.copytree(FILES / "cache", tmp_path / "cache"))
    folder.chmod(0o700)
    for file in folder.iterdir():
        file.chmod(0o600)
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(folder))
    assert cache.directory() == folder
    return folder


@pytest.mark.parametrize("kind", ["program", "code"])
def test_entries_of_an_old_cache_are_ignored(kind: str, old_cache: Path) -> None:
    """Under their own name, and in the place of an entry of today."""
    entry = FACTS["cache"][kind]
    content = (old_cache / f"{entry}.kernel").read_bytes()
    today = cache.key("anything")
    (old_cache / f"{today}.kernel").write_bytes(content)
    assert cache.contains(entry)
    assert [cache.load(each) for each in (entry, today)] == [None, None]
    cache.store(today, b"new")
    assert cache.load(today) == b"new"


def test_a_problem_is_solved_beside_an_old_cache(old_cache: Path) -> None:
    """Today's entries come beside those of then, which are listed and cleared."""
    problem = own_pendulum(gravity=9.80665)  # a program of no other test: it is built, and stored
    assert np.isfinite(problem.calc(np.zeros((21, 2)), np.zeros((20, 1))).cost)
    kept = {file.stem for file in old_cache.glob("*.kernel")}
    assert set(FACTS["cache"].values()) < kept
    assert cache.info().entries == len(kept)
    assert sum(content.entries for content in cache.contents()) == len(kept)
    assert cache.clear() == len(kept)
