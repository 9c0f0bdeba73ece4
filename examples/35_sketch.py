"""A sketch in the browser: a sine that an arm draws, and a pen that two sliders move.

    minimise ∫ ½ (1e4 |tool - sine(t)|² + 1e-3 |τ|²) dt over 2 s

With `plot=True` a page opens: a slider for the frequency, which solves again and compiles nothing; two sliders that
move the pen, as on a toy with two knobs; and a button that clears the page.

Look at: torques of a sine with many waves. Expected cost: 0.05002491.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from trajopt.solvers import SolverDDP
from trajopt.types import Reals

DT, T = 0.02, 100  # [s], [-]
MIDDLE = np.array([0.7, 0.0, 0.0])  # of the sheet [m]


def sine(frequency: float = 3.0) -> Reals:
    """Points (T + 1, 3) of a sine of this frequency [1/m], 0.6 m long [m]."""
    along = np.linspace(0.3, -0.3, T + 1)
    return MIDDLE + np.stack([0.1 * np.sin(2 * np.pi * frequency * along), 0.0 * along, along], axis=1)


def draughtsman() -> SolverDDP:
    """Solver of an arm that draws; the points are the parameter "tool.reference"."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    motors, tool = trajopt.ActuationModelFull(state), trajopt.ResidualModelFrameTranslation(state, "tool", sine()[0])
    costs = trajopt.CostStack(state).add("tool", tool, 1e4).add("torque", trajopt.ResidualModelControl(state), 1e-3)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs)
    end = trajopt.CostStack(state).add("tool", tool, 1e4 * DT)
    knots = [trajopt.IntegratedActionModelEuler(model, DT)] * T
    problem = trajopt.ShootingProblem(state.at_rest([-0.347, 1.568]), knots, end)
    problem.set_parameter("tool.reference", sine(), knots="all")
    return SolverDDP(problem)


def main(plot: bool = False) -> trajopt.Solution:
    """Draws one sine and returns the solution; `plot` opens the page."""
    solution = (solver := draughtsman()).solve()
    away = np.linalg.norm(solution.frame_path("tool") - sine(), axis=1)
    print(f"the tool is {1e3 * away.max():.1f} mm from its sine at most, with {np.abs(solution.us).max():.0f} N m")
    if plot:
        page = trajopt.display.Page()
        add_widgets(page.server, solver)
        if page.open():  # there is a browser
            page.wait()
    return solution


def add_widgets(server: Any, solver: SolverDDP) -> None:
    """Adds the sliders and the button."""
    pen, gui = [MIDDLE], server.gui

    def line(name: str, points: Any) -> None:
        server.scene.add_line_segments(name, np.stack([points[:-1], points[1:]], axis=1), (0, 114, 178))

    def draw(_: Any) -> None:
        solver.problem.set_parameter("tool.reference", sine(frequency.value), knots="all")
        line("/tool", solver.solve().frame_path("tool"))

    def move(_: Any) -> None:
        pen.append(MIDDLE + np.array([x.value, 0.0, z.value]))
        line("/pen", pen)

    frequency = gui.add_slider("frequency [1/m]", min=0.0, max=10.0, step=0.1, initial_value=3.0)
    x, z = (gui.add_slider(name, min=-0.5, max=0.5, step=0.01, initial_value=0.0) for name in ("x [m]", "z [m]"))
    for slider, act in ((frequency, draw), (x, move), (z, move)):
        slider.on_update(act)
    gui.add_button("Clear").on_click(lambda _: (pen.clear(), pen.append(MIDDLE), server.scene.reset()))


if __name__ == "__main__":
    main(plot=True)
