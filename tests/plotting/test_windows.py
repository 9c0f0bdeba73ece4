"""Figures in windows and notebooks, and objects that show themselves in notebooks."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from matplotlib import pyplot as plt

from tests.mpc.slider import controller
from tests.support import window_backend
from tests.support.unsolved import arm, pendulum, trot
from trajopt import (
    ActionModelTerminal,
    ConstraintStack,
    CostStack,
    DifferentialActionModelSymbolic,
    IntegratedActionModelEuler,
    ResidualModelControl,
    ResidualModelState,
    ShootingProblem,
    StateMultibody,
    StateVector,
    compare,
    gaits,
    ik,
    load_robot,
    mpc,
    problems,
)
from trajopt.notebook import columns
from trajopt.plotting import plot_motion, plot_solution
from trajopt.plotting.inline import InlineFigure
from trajopt.plotting.window import new_figure


@pytest.fixture
def window() -> Iterator[list[Any]]:
    """Figures that were shown, with a backend that has windows."""
    before = plt.get_backend()
    plt.switch_backend("module://tests.support.window_backend")
    window_backend.SHOWN.clear()
    yield window_backend.SHOWN
    plt.close("all")
    plt.switch_backend(before)


def test_show_shows_what_the_user_drew(window: list[Any]) -> None:
    figures = [arm().plot(), plot_motion(arm()), plot_solution(pendulum())]
    plt.show()
    assert window == figures


def test_a_schedule_is_shown_too(window: list[Any]) -> None:
    stance = gaits.Stance.of(load_robot("small-quadruped"), ("lf_foot", "rf_foot", "lh_foot", "rh_foot"))
    schedule = gaits.quadruped_trot(stance, step_length=0.1)
    figure = schedule.plot()
    plt.show()
    assert window == [figure]
    assert "<pre" in schedule._repr_html_()
    assert is_picture(schedule._repr_html_())
    assert plt.get_fignums() == [figure.number]


def test_files_and_other_threads_open_no_window(window: list[Any], tmp_path: Path) -> None:
    pendulum().plot(tmp_path / "one.png")
    pendulum().animate(tmp_path / "one.gif", speed=50.0)
    thread = threading.Thread(target=plot_solution, args=(pendulum(),))
    thread.start()
    thread.join()
    pendulum()._repr_html_()
    assert plt.get_fignums() == []


def test_a_closed_loop_that_shows_itself_leaves_no_figure_open(window: list[Any]) -> None:
    """A notebook showed it again at the end of the cell."""
    log = mpc.simulate(controller(), None, [0.0, 0.9], 0.2)
    assert is_picture(log._repr_html_())
    assert plt.get_fignums() == []


def test_without_a_display_figures_stay_apart() -> None:
    before = plt.get_fignums()
    pendulum().plot()
    assert plt.get_fignums() == before


def test_an_inline_figure_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shows it closes it, so that the end of the cell does not show it again, and IPython makes its picture."""
    monkeypatch.setattr("matplotlib.get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure = new_figure(4.0, 3.0)
    assert isinstance(figure, InlineFigure)
    assert plt.fignum_exists(figure.number)
    for _ in range(2):
        with pytest.raises(NotImplementedError):
            figure._ipython_display_()
        assert not plt.fignum_exists(figure.number)


@pytest.mark.slow
def test_a_notebook_shows_each_figure_once() -> None:
    """In a kernel: as the value of the last line, at the end of a cell, and by `display`."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import trajopt\ncase = trajopt.problems.load('lqr')\n"
        "solution = case.solve()\n"
        "plot = trajopt.plotting.plot_convergence",
        "plot(solution)",
        "figure = plot(solution)",
        "plot(solution); plot(solution);",
        "display(figure)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    pictures = [sum("image/png" in output.get("data", {}) for output in cell.outputs) for cell in notebook.cells]
    assert pictures == [0, 1, 1, 2, 1]


def is_picture(html: str) -> bool:
    found = re.search(r'src="data:image/png;base64,([^"]+)"', html)
    return found is not None and base64.b64decode(found[1]).startswith(b"\x89PNG")


def test_a_solution_shows_itself() -> None:
    html = trot()._repr_html_()
    assert is_picture(html)
    for text in ("Solution of SolverFDDP", "stopped at max_iterations", "small-quadruped", "nx = 37, nu = 12"):
        assert text in html


def test_a_problem_and_a_case_show_themselves() -> None:
    case = problems.load("pendulum")
    html = case._repr_html_()
    assert case.problem._repr_html_() in html
    for text in (
        "A pendulum swings up.",
        "0.35543177",
        "100 × IntegratedActionModelEuler",
        "T = 100, 2 s",
        "torque: 0.1",
    ):
        assert text in html
    assert "ActionModelLQR" in problems.load("lqr").problem._repr_html_()


class Mass(DifferentialActionModelSymbolic):
    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def test_a_problem_shows_its_constraints_and_what_is_free() -> None:
    state = StateVector(2)
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-8.0, upper=8.0)
    goal = ConstraintStack(state).add("goal", ResidualModelState(state), equals=0.0)
    mass = Mass(state, 1, CostStack(state), constraints=rows)
    end = ActionModelTerminal(CostStack(state), constraints=goal)
    problem = ShootingProblem([1.0, 0.0], [IntegratedActionModelEuler(mass, dt=0.1)] * 20, end)
    assert "free" not in problem._repr_html_()
    problem.free("dt", 0.03, 0.12)
    html = problem._repr_html_()
    texts = ("T = 20, 2 s (dt is free)", "dt from 0.03 to 0.12 s", "running constraints", "motor: -8 &lt;= ResidualMod")
    for text in (*texts, 'terminal cost</b></td><td style="text-align:left">none', "terminal constraints", "goal: "):
        assert text in html


def test_a_comparison_shows_itself() -> None:
    html = compare(pendulum(), pendulum(), labels=["before", "after"])._repr_html_()
    assert "<table>" in html
    assert all(f">{text}</t" in html for text in ("before", "after", "status", "SolverFDDP"))


def test_a_robot_and_its_state_show_themselves() -> None:
    robot = load_robot("small-quadruped")
    html = robot._repr_html_()
    assert is_picture(html)
    for text in (
        "Robot small-quadruped",
        "nq = 19, nv = 18",
        "floating",
        "lf_haa",
        "-0.8 to 0.8 rad",
        "30 N m",
        "FreeFlyer",
    ):
        assert text in html
    html = StateMultibody(robot)._repr_html_()
    for text in ("nx = 37", "ndx = 36", "v:lf_haa", "rad/s", "-0.8", "inf"):
        assert text in html
    assert "</tr><tr>" in html
    assert html.count("<tr>") == 2 + 1 + 36
    assert "and 10 more" in columns(["a"], [["1"]] * 50)


def test_an_ik_result_shows_itself() -> None:
    q, off = np.array([0.5, -1.25]), np.array([0.0, 0.125])
    result = ik.IKResult(
        q=q, configurations=q[None], status=ik.IKStatus.UNREACHABLE, cost=0.0, distance=0.125, iterations=7, starts=8,
        active_limits=("q:elbow",), judge=lambda _: {"<tool>": ik.TaskResidual(off, off, "m")},
    )  # fmt: skip
    html = result._repr_html_()
    for text in (
        str(result.status),
        "[ 0.5  -1.25]",
        "&lt;tool&gt;",
        "[0.    0.125] [m]",
        "q:elbow",
        "7 from 8 starts",
    ):
        assert text in html
    assert str(result).splitlines()[2:4] == ["<tool>     [0.    0.125] [m]", "distance   0.125"]


def test_a_closed_loop_shows_itself() -> None:
    html = problems.mpc.load("cart-pole-balance").simulate(0.1)._repr_html_()
    assert is_picture(html)
    for text in ("Closed loop of 0.1 s", "5 steps of 20 ms", "5 solved"):
        assert text in html


def test_names_are_escaped() -> None:
    from trajopt.notebook import table, text

    assert table("<b>", {"a&b": "<i>\nx"}).count("&lt;") == 2
    assert "a&amp;b" in table("t", {"a&b": ""})
    assert text("<x>") == '<pre style="line-height:1.2">&lt;x&gt;</pre>'
