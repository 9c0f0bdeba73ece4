"""Model-predictive control with reduced models: a trot of Go2, 40 knots of 20 ms, friction cones hard.

Each step starts from where the last plan leads to, with noise. Times are those of a whole step, preparation and
feedback, and the processor's, which other work on the machine disturbs less.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks.table import bar, number, table
from trajopt import gaits, mpc
from trajopt.kernels import wait_until_optimised

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
KNOTS, DT, STEPS, WARM, NOISE, LIMIT = 40, 0.02, 1_000, 20, 1e-4, 1.0  # [-, s, -, -, -, ms]
TITLE = "Steps of model-predictive control with reduced models [ms]: a trot, 40 knots of 20 ms, hard cones, one thread."
HEADER = ["model", "clock", "median", "99 %", "required", "largest", "solved"]

Figures = dict[str, dict[str, Any]]


def measure() -> Figures:
    """Times of steps [s] by model."""
    return {model: _measured(model) for model in ("srbd", "centroidal")}


def controller_of(model: str) -> mpc.MPCController:
    """A controller whose window moves along a trot of 25 cycles."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, FEET)
    trot = gaits.quadruped_trot(stance, step_length=0.15, step_height=0.05, dt=DT, step_knots=12).repeated(25)
    models = gaits.ReducedGaitModels(robot, stance, model=model, limits=True)
    whole = models.problem(trot)
    values = {name: rows for name, rows in whole.parameter_values().items() if np.ptp(_finite(rows), axis=0).any()}
    window = trajopt.ShootingProblem(whole.x0, [models.running] * KNOTS, models.terminal)
    window.set_parameter("dt", DT, [*range(KNOTS)])

    def at(times: np.ndarray) -> dict[str, np.ndarray]:
        knots = np.minimum((times / DT + 0.5).astype(int), whole.T - 1)
        return {name: rows[knots] for name, rows in values.items()}

    controller = mpc.MPCController(window, options=mpc.MPCOptions(hessian="gauss-newton"))
    controller.schedule(at)
    return controller


def _finite(rows: np.ndarray) -> np.ndarray:
    return np.nan_to_num(rows[:-1], posinf=1e9, neginf=-1e9)


def _measured(model: str) -> dict[str, Any]:
    controller, rng = controller_of(model), np.random.default_rng(0)
    state, step = controller.problem.state, controller.reset()
    wait_until_optimised()
    seconds, cpu, solved = list[float](), list[float](), 0
    for _ in range(WARM + STEPS):
        x = state.integrate(step.xs[1], NOISE * rng.normal(size=state.ndx))
        started = time.perf_counter(), time.thread_time()
        step = controller.step(x)
        seconds.append(time.perf_counter() - started[0])
        cpu.append(time.thread_time() - started[1])
        solved += step.status is mpc.MPCStatus.SOLVED
    return {"seconds": seconds[WARM:], "cpu": cpu[WARM:], "solved": solved, "steps": WARM + STEPS}


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for model, found in figures.items():
        for clock in ("seconds", "cpu"):
            times = 1e3 * np.array(found[clock])
            late = float(np.percentile(times, 99))
            limit = bar(late, LIMIT, at_least=False) if model == "srbd" else ""
            cells = [number(float(np.median(times))), number(late), limit, number(float(times.max()))]
            name = {"seconds": "wall", "cpu": "processor"}[clock]
            rows.append([model, name, *cells, f"{found['solved']} of {found['steps']}"])
    return table(TITLE, HEADER, rows)


if __name__ == "__main__":
    trajopt.set_num_threads(1)
    print(report(measure()))
