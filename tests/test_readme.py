"""The README's blocks run as they stand, its commands are complete, and it says what it must.

`.ci/run` runs the blocks once more, after real installs, in a clone, beside it and elsewhere.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.constraints_that_hold import pendulum_problem
from trajopt.analysis import limit_uses
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Fenced blocks of this language."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@functools.cache
def run_block(i: int) -> dict[str, Any]:
    """Names after a Python block, run as it stands; one that imports nothing continues the block before it."""
    text = blocks("python")[i]
    names: dict[str, Any] = {"__name__": f"readme_{i}"} if "import " in text else dict(run_block(i - 1))
    exec(compile(text, f"README.md, block {i}", "exec"), names)
    return names


def page(name: str) -> str:
    """Text of a page of the documentation."""
    return (ROOT / name).read_text(encoding="utf-8")


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_every_block_has_a_test() -> None:
    """Hello world, own model, constraints, gait, control, simulation, kinematics; install, solve."""
    assert len(blocks("python")) == 7
    assert len(blocks("bash")) == 2


def test_a_gait_a_controller_the_simulator_and_kinematics_take_twelve_lines_each() -> None:
    assert [len(lines_of(text)) for text in blocks("python")[3:] if len(lines_of(text)) > 12] == []


# Python


def test_hello_world_reaches_the_documented_cost(capsys: pytest.CaptureFixture[str]) -> None:
    run_block.cache_clear()
    solution = run_block(0)["solution"]
    said = re.search(r"converges in (\d+) iterations to a cost of ([\d.]+)\.", README)
    assert said is not None
    assert solution.converged
    assert solution.iterations == int(said[1])
    assert solution.cost == pytest.approx(float(said[2]), rel=1e-6)
    assert "SolverFDDP: converged." in capsys.readouterr().out


@pytest.mark.parametrize("i", range(7))
def test_every_block_prints_a_result(
    i: int, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # one block writes mpc.png
    if "import " not in blocks("python")[i]:
        run_block(i - 1)
    capsys.readouterr()
    run_block.__wrapped__(i)
    assert capsys.readouterr().out.strip()


def test_hello_world_stays_within_the_robots_limits() -> None:
    uses = limit_uses(run_block(0)["solution"])
    assert {use.quantity for use in uses} >= {"torque", "velocity", "angle"}
    assert not [str(use) for use in uses if use.knots]
    largest = max(use.use for use in uses if use.quantity in ("torque", "velocity"))
    assert largest == pytest.approx(0.2, abs=0.01)  # "a fifth"


def test_hello_world_has_at_most_twenty_lines() -> None:
    assert len(lines_of(blocks("python")[0])) <= 20


def test_the_simulated_robot_lands_on_its_feet() -> None:
    names = run_block(5)
    rollout = names["rollout"]
    assert rollout.xs[-1, 2] == pytest.approx(0.32, abs=0.01)  # [m]
    assert all(force[0, 2] == pytest.approx(0.0, abs=0.1) for force in rollout.forces.values())
    carried = sum(force[-1, 2] for force in rollout.forces.values())
    mass = sum(inertia.mass for inertia in names["robot"].model.inertias)
    assert carried == pytest.approx(mass * 9.81, rel=0.05)  # [N]
    nv = names["robot"].nv
    assert names["Dqdq"].shape == (2 * nv, 2 * nv)
    assert names["Dtau"].shape == (2 * nv, nv)
    np.testing.assert_allclose(names["x_next"], rollout.xs[101], rtol=0, atol=1e-12)


def test_own_model_is_ten_lines_swings_up_and_compiles_nothing_for_another_mass() -> None:
    names = run_block(1)
    text = blocks("python")[1]
    model = text[text.index("class Pendulum") : text.index("\n\n\nstate = ")]
    assert len(lines_of(model)) <= 10
    solution, heavier = names["solution"], names["heavier"]
    assert solution.converged
    assert heavier.converged
    np.testing.assert_allclose(solution.xs[-1], [np.pi, 0.0], atol=1e-3)
    acceleration = (solution.xs[1, 1] - solution.xs[0, 1]) / 0.02  # at rest, hanging: u / (m l²)
    assert acceleration == pytest.approx(solution.us[0, 0] / 0.25, rel=1e-9)
    acceleration = (heavier.xs[1, 1] - heavier.xs[0, 1]) / 0.02
    assert acceleration == pytest.approx(heavier.us[0, 0] / 0.5, rel=1e-9)


def test_the_gait_converges_and_its_feet_carry_the_robot() -> None:
    solution = run_block(3)["solution"]
    forces = solution.contact_forces()
    assert isinstance(solution, Solution)
    assert solution.converged
    assert set(forces) == {"FL_foot", "FR_foot", "RL_foot", "RR_foot"}
    weight = solution.problem.state.robot.model  # type: ignore[union-attr]
    carried = sum(np.nan_to_num(force)[:, 2] for force in forces.values())  # the last knot of a step is an impulse
    mass = sum(inertia.mass for inertia in weight.inertias)
    assert np.median(carried) == pytest.approx(9.81 * mass, rel=0.25)


def test_inverse_kinematics_reaches_its_target() -> None:
    names = run_block(6)
    result, robot = names["result"], names["robot"]
    assert result.solved
    T = robot.placement(result.q, "panda_hand")
    np.testing.assert_allclose(T[:3, 3], [0.4, 0.2, 0.5], atol=1e-5)
    np.testing.assert_allclose(T[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-5)


@pytest.mark.slow
def test_the_controlled_arm_follows_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes mpc.png
    names = run_block(4)
    log = names["log"]
    hand = log.tracked[0]
    times = log.times[:-1]
    assert hand.errors[(times > 0.5) & (times < 1.5)].max() < 2e-3  # [m]
    assert hand.errors[(times > 1.5) & (times < 1.7)].max() > 0.01  # the push
    assert hand.errors[times > 2.3].max() < 2e-3
    assert log.control_excess.max() <= 1e-6
    assert log.counts["failed"] == 0
    assert (tmp_path / "mpc.png").stat().st_size > 10_000
    assert names["step"].u.shape == (7,)
    assert names["step"].K.shape == (7, 14)


def test_the_table_of_what_compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of the concepts: no compilation for another start, number of knots, weight, reference, step, parameter."""
    import trajopt
    from trajopt.kernels import compilations

    names = run_block(1)
    problem, solver = names["problem"], names["SolverDDP"]
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path))  # what is not in memory now has to be compiled
    before = compilations()
    for name, value in (("torque.weight", 2e-2), ("upright.reference", [3.0, 0.0]), ("dt", 0.03), ("length", 0.4)):
        problem.set_parameter(name, value)
    problem.x0 = [0.1, 0.0]
    solver(problem).solve()
    longer = trajopt.ShootingProblem([0.0, 0.0], [names["knot"]] * 120, names["terminal"])
    solver(longer).solve()
    longer.set_parameter("torque.weight", 0.0, knots=range(10))
    assert compilations() == before
    more = trajopt.CostStack(names["state"]).add("torque", trajopt.ResidualModelControl(names["state"]), weight=1.0)
    more.add("rest", trajopt.ResidualModelState(names["state"]), weight=1e-3)
    node = trajopt.IntegratedActionModelEuler(names["Pendulum"](more), dt=0.02)
    solver(trajopt.ShootingProblem([0.0, 0.0], [node] * 100, names["terminal"])).solve()
    assert compilations() > before  # the left column: another term


# Shell


def commands() -> list[str]:
    """Every `trajopt ...` command in the README's shell blocks and within its text."""
    shell = [line for text in blocks("bash") for line in text.splitlines() if line.startswith("trajopt ")]
    return shell + re.findall(r"`(trajopt [^`]+)`", README)


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    if "--plot" in words:
        assert (tmp_path / words[words.index("--plot") + 1]).stat().st_size > 10_000


def test_the_printed_result_is_what_the_command_prints() -> None:
    command = next(command for command in commands() if "--plot" in command).partition(" --plot")[0]
    words = [sys.executable, "-m", *command.split(), "--quiet"]
    printed = subprocess.run(words, capture_output=True, text=True, timeout=300).stdout.splitlines()
    (shown,) = re.findall(r"```\n(status .*?)```", README, flags=re.DOTALL)
    stable = [line for line in shown.splitlines() if line.split()[0] not in ("...", "reference", "picture")]
    assert len(stable) >= 6
    assert [line for line in stable if line not in printed] == []


def test_installing_and_testing_have_an_environment_each() -> None:
    assert blocks("bash")[0].splitlines() == [
        "python3 -m venv .venv",
        "source .venv/bin/activate",
        "pip install -e '.[robots]'",
    ]
    (test,) = re.findall(r"```bash\n(.*?)```", page("docs/extending.md"), flags=re.DOTALL)
    assert re.match(r"python3 -m venv \.venv-test && \.venv-test/bin/pip install -e '\.\[test\]' && ", test)
    assert "-m pytest" in test


def test_no_text_installs_the_package_of_somebody_else() -> None:
    phrase = re.compile(r"pip install (-\w+ )*['\"]?trajopt")
    patterns = (
        "*.md",
        "docs/**/*.md",
        "trajopt/**/*.py",
        "solvers/**/*.py",
        "problems/**/*.py",
        "examples/*.py",
        "tests/**/*.py",
    )
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        assert not phrase.search(path.read_text(encoding="utf-8")), path


# Text


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_names_of_the_readme_exist() -> None:
    """Those of the tables too, but for what stands in the column of Crocoddyl's names."""
    import trajopt
    from trajopt import gaits, simulator, solvers

    crocoddyl = page("docs/howto/from-crocoddyl.md")
    table = crocoddyl[crocoddyl.index("| Crocoddyl | here |") : crocoddyl.index("## A program")]
    texts = README + page("docs/concepts/solvers.md") + page("docs/extending.md") + table
    own = re.sub(r"(?m)^\| `.*?\| ", "| ", texts)  # the first cell of a table's row
    kinds = "Solver|Action|Integrated|Differential|Cost|Shooting|Activation|Contact"
    found = set(re.findall(rf"`(?:trajopt\.(?:solvers\.)?)?((?:{kinds})\w+)\b", own))
    found |= {f"{name}" for name in re.findall(r"^\| .* \| `(Solver\w+)`", texts, flags=re.MULTILINE)}
    assert {"SolverFDDP", "SolverAbstract", "CostStack", "IntegratedActionModelRK4"} <= found
    assert not [name for name in found if not any(hasattr(room, name) for room in (trajopt, solvers, gaits, simulator))]


def test_constraints_hold() -> None:
    names = run_block(2)
    for solution, limit in ((names["solution"], 1.5), (names["weaker"], 1.4)):
        assert solution.converged
        assert max(v.max() for v in solution.violations().values()) < 1e-6
        assert solution.us.max() <= limit + 1e-9
        np.testing.assert_allclose(solution.xs[-1], [np.pi, 0.0], atol=1e-6)


def test_what_cannot_hold_says_what_to_relax() -> None:
    names = run_block(2)
    problem = names["problem"]
    problem.set_parameter("motor.lower", -1.3)
    problem.set_parameter("motor.upper", 1.3)
    infeasible = names["SolverSQP"](problem).solve()
    assert infeasible.status is SolverStatus.INFEASIBLE
    assert "relax 'upright[v]' by" in infeasible.explain()
    assert "'upright[q]' by" in infeasible.explain()
    problem.set_parameter("motor.lower", -1.5)
    problem.set_parameter("motor.upper", 1.4)


def test_the_pendulum_that_is_measured_takes_eleven_iterations() -> None:
    problem = pendulum_problem()
    solution = SolverSQP(problem).solve()
    assert solution.iterations == 11
    problem.set_parameter("motor.upper", 1.4)
    weaker = SolverSQP(problem).solve(solution.xs, solution.us)
    for found, limit in ((solution, 1.5), (weaker, 1.4)):
        assert found.converged
        assert max(v.max() for v in found.violations().values()) < 1e-6
        assert found.us.max() <= limit + 1e-9
        np.testing.assert_allclose(found.xs[-1], [np.pi, 0.0], atol=1e-6)
