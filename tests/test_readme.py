"""The README's code runs, its commands are complete, and it says what it must."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from trajopt.solution import Solution, SolverStatus

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Fenced blocks of this language."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_hello_world_reaches_the_documented_cost(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), names)
    solution = names["solution"]
    assert isinstance(solution, Solution)
    assert solution.status is SolverStatus.CONVERGED
    assert solution.cost == pytest.approx(0.3038669, abs=5e-8)
    assert solution.iterations <= 40
    assert capsys.readouterr().out.strip().splitlines()[-1].startswith("converged 0.3038669")


def test_hello_world_has_at_most_twenty_lines() -> None:
    lines = [line for line in blocks("python")[0].splitlines() if line.strip()]
    assert len(lines) <= 20


def test_own_model_is_ten_lines_and_runs() -> None:
    import casadi

    import trajopt

    names: dict[str, object] = {"trajopt": trajopt, "casadi": casadi}
    text = blocks("python")[1]
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    exec(compile(text, "README.md", "exec"), names)
    costs = trajopt.CostStack(trajopt.StateVector(2))
    model = trajopt.IntegratedActionModelEuler(names["Pendulum"](costs), dt=0.1)  # type: ignore[operator]
    data = model.create_data()
    model.calc(data, [0.0, 0.0], [0.25])
    assert data.xnext == pytest.approx([0.01, 0.1])  # a = u / (m l²) = 1 rad/s²


def test_two_commands_each_with_an_environment_of_its_own() -> None:
    commands = blocks("bash")
    assert len(commands) == 2
    folders = [re.match(r"python3 -m venv (\S+) && \1/bin/pip install -e ", c) for c in commands]
    assert all(folders), commands
    assert folders[0].group(1) != folders[1].group(1)  # type: ignore[union-attr]
    assert "trajopt solve arm-reach --plot arm.png" in commands[0]
    assert "[robots]" in commands[0]
    assert "-m pytest" in commands[1]


def test_no_text_installs_the_package_of_somebody_else() -> None:
    phrase = " ".join(["pip", "install", "trajopt"])
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("trajopt/**/*.py"),
        *ROOT.glob("solvers/*.py"),
    ]:
        assert phrase not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_names_of_the_readme_exist() -> None:
    """Those of the tables too, but for what stands in the column of Crocoddyl's names."""
    import trajopt
    from trajopt import gaits, solvers

    own = re.sub(r"(?m)^\| `.*?\| ", "| ", README)  # the first cell of a table's row
    found = set(re.findall(r"`((?:Solver|Action|Integrated|Differential|Cost|Shooting|Activation|Contact)\w+)\b", own))
    found |= {f"{name}" for name in re.findall(r"^\| `(Solver\w+)` \|", README, flags=re.MULTILINE)}
    assert {"SolverFDDP", "SolverAbstract", "CostStack", "IntegratedActionModelRK4"} <= found
    assert not [name for name in found if not any(hasattr(room, name) for room in (trajopt, solvers, gaits))]


def test_the_gait_converges_and_its_feet_carry_the_robot() -> None:
    import trajopt
    from trajopt.solvers import SolverFDDP

    names: dict[str, object] = {"trajopt": trajopt, "SolverFDDP": SolverFDDP}
    exec(compile(blocks("python")[2], "README.md", "exec"), names)
    solution, forces = names["solution"], names["forces"]
    assert isinstance(solution, Solution)
    assert solution.converged
    assert isinstance(forces, dict)
    assert set(forces) == {"FL_foot", "FR_foot", "RL_foot", "RR_foot"}
    weight = solution.problem.state.robot.model  # type: ignore[union-attr]
    carried = sum(np.nan_to_num(force)[:, 2] for force in forces.values())  # the last knot of a step is an impulse
    mass = sum(inertia.mass for inertia in weight.inertias)
    assert np.median(carried) == pytest.approx(9.81 * mass, rel=0.25)
