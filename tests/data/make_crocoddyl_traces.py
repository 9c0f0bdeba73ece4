"""Writes tests/data/crocoddyl/*.json: how Crocoddyl solves the reference problems, and derivatives of their nodes.

    DIR/bin/python make_crocoddyl_traces.py [NAME ...]     DIR from tests/benchmarks/peers/make_env.sh

NAME.json, one for each entry of `REFERENCES` in crocoddyl_problems.py (one thread, default options of the solver):

    iterations    directions computed: `solver.iter + 1`, unless the last one allowed was used up
    guess         u0, the first control of the guess; x, the one state of the guess at all nodes; u_norms, |us[t]| of
                  each node (0 where a node has no control); cost, of the guess
    trace         for each iteration, as a callback sees it at its end: cost after the step; stop; step_length, the last
                  one tried; preg after its update; d0, d1, the linear and the quadratic coefficient of the expected
                  decrease; dV, dV_expected for the last step length tried; ffeas, the largest gap before the step
    perturbed_*   the same solve with 1e-12 added to, then subtracted from all of u0: for each iteration that all runs
                  share, the larger |change of cost| / |cost|; and their numbers of iterations. Where this is large,
                  no other implementation can follow the trace. It does not contain rounding: 0 means that a first full
                  step forgets us[0], not that costs agree to the last bit
    solution      xs and us at the listed knots, 15 digits
    forces        of a solution with contacts (not of RK4): of each foot that touches at the listed knots, all impulses
                  among them, the force [N, N m] or impulse [N s, N m s] that Crocoddyl shows; null where it does not

derivatives-NAME.json: at one seeded random state and control, what `calc` and `calcDiff` write into the data of the
running node; and of the terminal node, called without a control, what has a meaning there.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import crocoddyl
import numpy as np
import pinocchio

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks" / "peers"))

from crocoddyl_problems import REFERENCES  # noqa: E402
from crocoddyl_reference import Reference, one_thread  # noqa: E402

TARGET = HERE / "crocoddyl"
PERTURBATION = 1e-12  # added to each entry of us[0] [unit of u]
SOLUTION_NUMBERS = 1200  # numbers a file may spend on xs and us: keeps it below 60 kB
DERIVATIVES = {  # name of a file: the problem whose nodes it is about
    "unicycle": "unicycle-t20-ddp",
    "cart-pole": "cart-pole",
    "double-pendulum": "double-pendulum",
    "arm-kinova": "arm-kinova",
    "arm-t100": "arm-t100",
    "arm-seed-rk4": "arm-seed-rk4",
}
VERSIONS = {"crocoddyl": crocoddyl.__version__, "pinocchio": pinocchio.__version__}


class Recorder(crocoddyl.CallbackAbstract):
    """Keeps what the solver shows at the end of each iteration (fields: module docstring)."""

    def __init__(self) -> None:
        crocoddyl.CallbackAbstract.__init__(self)
        self.rows: list[dict[str, float]] = []

    def __call__(self, solver: crocoddyl.SolverAbstract) -> None:
        d0, d1 = solver.d
        self.rows.append(
            {
                "cost": solver.cost,
                "stop": solver.stop,
                "step_length": solver.stepLength,
                "preg": solver.preg,
                "d0": float(d0),
                "d1": float(d1),
                "dV": solver.dV,
                "dV_expected": solver.dVexp,
                "ffeas": solver.ffeas,
            }
        )

    def column(self, name: str) -> list[float]:
        """One field over the iterations."""
        return [row[name] for row in self.rows]


def solve(reference: Reference, u0_change: float = 0.0) -> tuple[crocoddyl.SolverAbstract, Recorder, bool]:
    """Solve a freshly built problem from its guess, with `u0_change` added to each entry of us[0]."""
    problem = one_thread(reference.build())
    xs, us = reference.start(problem)
    us[0] = us[0] + u0_change
    solver, recorder = reference.make_solver(problem), Recorder()
    solver.setCallbacks([recorder])
    converged = reference.solve(solver, xs, us)
    return solver, recorder, converged


def trace(reference: Reference) -> dict[str, Any]:
    """The content of NAME.json."""
    solver, recorder, converged = solve(reference)
    disturbed = [solve(reference, change)[1].column("cost") for change in (PERTURBATION, -PERTURBATION)]
    costs = recorder.column("cost")
    shared = min(len(costs), *map(len, disturbed))
    changes = [[abs(new - old) / abs(old) for new, old in zip(run, costs[:shared], strict=False)] for run in disturbed]
    problem = solver.problem
    xs, us = reference.start(problem)
    return {
        "versions": VERSIONS,
        "solver": reference.solver,
        "T": problem.T,
        "max_iterations": reference.max_iterations,
        "converged": converged,
        "iterations": len(costs),
        "cost": solver.cost,
        "x0": problem.x0.tolist(),
        "initial_regularization": reference.initial_regularization,
        "th_stop": solver.th_stop,
        "guess": guess(problem, reference.guess, xs, us),
        "perturbation": PERTURBATION,
        "perturbed_iterations": [len(run) for run in disturbed],
        "perturbed_costs_relative_change": [float(f"{max(pair):.2e}") for pair in zip(*changes, strict=True)],
        "trace": {name: recorder.column(name) for name in recorder.rows[0]},
        "solution": solution(solver),
        **({"forces": forces(solver)} if has_contacts(problem) else {}),
    }


def guess(problem: crocoddyl.ShootingProblem, kind: str, xs: list[np.ndarray], us: list[np.ndarray]) -> dict[str, Any]:
    """What a solve starts from."""
    return {
        "kind": kind,
        "x": xs[0].tolist(),
        "u0": us[0].tolist(),
        "u_norms": digits15([np.linalg.norm(u) for u in us]),
        "cost": problem.calc(xs, us),
    }


def solution(solver: crocoddyl.SolverAbstract) -> dict[str, Any]:
    """xs and us at every k-th knot, the smallest k of 1, 2, 5, 10, ... that spends at most SOLUTION_NUMBERS."""
    knots = solver.problem.T
    size = (knots + 1) * len(solver.xs[0]) + knots * len(solver.us[0])
    every = next(k for k in (1, 2, 5, 10, 25, 50) if size <= k * SOLUTION_NUMBERS)
    return {
        "knots_xs": list(range(0, knots + 1, every)),
        "xs": [digits15(x) for x in list(solver.xs)[::every]],
        "knots_us": list(range(0, knots, every)),
        "us": [digits15(u) for u in list(solver.us)[::every]],
    }


def has_contacts(problem: crocoddyl.ShootingProblem) -> bool:
    """Whether the first node is one step of contact dynamics."""
    return hasattr(getattr(problem.runningModels[0], "differential", None), "contacts") and not isinstance(
        problem.runningModels[0], crocoddyl.IntegratedActionModelRK
    )


def forces(solver: crocoddyl.SolverAbstract) -> dict[str, Any]:
    """Forces of each foot at the knots of the solution, and at all impulses."""
    problem = solver.problem
    problem.calc(solver.xs, solver.us)
    impulses = {t for t, model in enumerate(problem.runningModels) if model.nu == 0}
    knots = sorted(impulses | set(solution(solver)["knots_us"]))
    rows = [forces_at(problem.runningModels[t], problem.runningDatas[t]) for t in knots]
    feet = sorted({foot for row in rows for foot in row})
    return {"knots": knots, **{foot: [row.get(foot) for row in rows] for foot in feet}}


def forces_at(model: crocoddyl.ActionModelAbstract, data: crocoddyl.ActionDataAbstract) -> dict[str, list[float]]:
    """What touches at a node, by the name of the foot's frame: (3,) of a point, (6,) of a sole."""
    if hasattr(model, "impulses"):
        models, datas = model.impulses.impulses, data.multibody.impulses.impulses
        touching = {item.key(): (item.data().impulse, datas[item.key()]) for item in models}
    else:
        models, datas = model.differential.contacts.contacts, data.differential.multibody.contacts.contacts
        touching = {item.key(): (item.data().contact, datas[item.key()]) for item in models}
    frames = model.state.pinocchio.frames
    return {frames[touch.id].name: digits15(found.f.vector[: touch.nc]) for touch, found in touching.values()}


def digits15(values: Iterable[float]) -> list[float]:
    """The values with 15 significant digits."""
    return [float(f"{value:.15g}") for value in values]


def derivatives(reference: Reference, seed: int = 7) -> dict[str, Any]:
    """The content of derivatives-NAME.json."""
    problem = one_thread(reference.build())
    running, terminal = problem.runningModels[0], problem.terminalModel
    random = np.random.default_rng(seed)
    x = running.state.integrate(running.state.zero(), random.uniform(-1.0, 1.0, running.state.ndx))
    u = random.uniform(-1.0, 1.0, running.nu)
    run_data, end_data = running.createData(), terminal.createData()
    running.calc(run_data, x, u)
    running.calcDiff(run_data, x, u)
    terminal.calc(end_data, x)
    terminal.calcDiff(end_data, x)
    shapes = {"Fx": (-1, running.state.ndx), "Fu": (-1, running.nu), "Lxu": (-1, running.nu)}
    fields = ("cost", "xnext", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")
    return {
        "versions": VERSIONS,
        "x": x.tolist(),
        "u": u.tolist(),
        "running": {name: array(run_data, name, shapes) for name in fields},
        "terminal": {name: array(end_data, name, shapes) for name in ("cost", "Lx", "Lxx")},
    }


def array(data: crocoddyl.ActionDataAbstract, name: str, shapes: dict[str, tuple[int, int]]) -> Any:
    """A field of the data as nested lists; Crocoddyl drops the second axis of matrices with one column."""
    value = np.asarray(getattr(data, name))
    return (value.reshape(shapes[name]) if name in shapes else value).tolist()


def write(path: Path, content: dict[str, Any]) -> None:
    """Compact JSON with a line per key, also inside the objects of the first level, so that differences can be read."""
    lines = [f"{json.dumps(key)}: {one_per_line(value)}" for key, value in content.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def one_per_line(value: Any) -> str:
    """JSON of a value; an object with a line per key."""
    if not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    lines = [f"  {json.dumps(key)}: {json.dumps(item, separators=(',', ':'))}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def verdict(expected: tuple[int, float] | None, content: dict[str, Any]) -> str:
    """Whether the known answer came out again."""
    if expected is None:
        return "no answer to compare with"
    iterations, cost = expected
    holds = content["iterations"] == iterations and abs(content["cost"] - cost) <= 1e-9 * cost
    return "holds" if holds else f"EXPECTED {expected}"


def main(names: list[str]) -> None:
    """Write the files of the named problems, or of all."""
    TARGET.mkdir(exist_ok=True)
    for name in names or REFERENCES:
        reference = REFERENCES[name]
        content = trace(reference)
        write(TARGET / f"{name}.json", content)
        spread = max(content["perturbed_costs_relative_change"])
        print(
            f"{name}: {content['iterations']} iterations, cost {content['cost']!r}, converged {content['converged']}, "
            f"perturbed {content['perturbed_iterations']} {spread:.1e}; {verdict(reference.expected, content)}"
        )
        for file in (file for file, about in DERIVATIVES.items() if about == name):
            write(TARGET / f"derivatives-{file}.json", derivatives(reference))


if __name__ == "__main__":
    main(sys.argv[1:])
