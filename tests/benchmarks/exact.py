"""An iteration of DDP with an exact Hessian beside a Gauss-Newton one, and the parts that both consist of."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.table import bar, number, table
from tests.support import arm_reaches
from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import wait_until_optimised
from trajopt.shooting import programs
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati

ARMS = ("ur5", "panda", "talos_arm")
T = 100  # knots
FIRST = 1000  # seed from which on reaches are looked through
RATIO = 2.5  # bar of an exact iteration, in Gauss-Newton ones
TITLE = f"""Iterations of reaches of a placement, {T} knots: µs of this thread, lower quartile of turns. A Gauss-Newton
iteration is an expansion, a pass and a rollout; an exact one is an expansion that keeps what the Hessian reads, a pass,
the Hessian, one more pass, or two where the first of them fails late, and a rollout. In brackets: operations of the
Hessian in those of the expansion."""

Figures = dict[str, dict[str, float]]


def measure(*, rounds: int) -> Figures:
    """Times [µs] of the parts of each case, and "operations", the Hessian's in those of the expansion.

    Args:
        rounds: Turns, times ten [-].
    """
    parts = {f"{arm}, {kind}": _parts(arm, rk4=kind == "RK4") for arm in ARMS for kind in ("Euler", "RK4")}
    wait_until_optimised()
    times: dict[str, dict[str, list[float]]] = {case: {name: [] for name in of} for case, of in parts.items()}
    for _ in range(10 * rounds):
        for case, of in parts.items():
            for name, call in of.items():
                before = time.thread_time()
                call()
                times[case][name].append(1e6 * (time.thread_time() - before))
    figures: Figures = {}
    for case, of_case in times.items():
        figures[case] = {name: float(np.quantile(each, 0.25)) for name, each in of_case.items()}
        arm, kind = case.split(", ")
        figures[case]["operations"] = _operations(_problem(arm, rk4=kind == "RK4").running[0])
    return figures


def _problem(arm: str, *, rk4: bool) -> Any:
    reaches = (arm_reaches.reach(seed) for seed in range(FIRST, FIRST + 1000))
    first = next(each for each in reaches if each.robot == arm and each.placement)
    return arm_reaches.problem(dataclasses.replace(first, rk4=rk4, T=T))


def _parts(arm: str, *, rk4: bool) -> dict[str, Callable[[], Any]]:
    """What an iteration calls, at the start of the reach."""
    problem = _problem(arm, rk4=rk4)
    plain, kept = Evaluator(problem), Evaluator(problem)
    hessian = LagrangianHessian(kept)
    hessian.prepare()
    for e in (plain, kept):
        e.prepare()
        e.xs[:], e.us[:] = problem.x0, problem.quasi_static(np.tile(problem.x0, (T, 1)))
        e.expand(problem.x0)
    riccati = Riccati(LinearQuadratic.of(plain), K=plain.K, k=plain.k)
    riccati.factor(1e-9, feasible=True, regularize_value=False)
    hessian.lam[:] = riccati.Vx
    return {
        "expansion": lambda: plain.expand(problem.x0),
        "pass": lambda: riccati.factor(1e-9, feasible=True, regularize_value=False),
        "rollout": lambda: plain.trials(1).roll_out(problem.x0, (1e-3,), None),
        "keeping": lambda: kept.expand(problem.x0),
        "Hessian": hessian,
    }


def _operations(model: ActionModelExpression) -> float:
    hessian = programs.lagrangian(model, model.nu, 0, programs.kept_size(model))
    return hessian.work / programs.expansion(model, model.nu, lift=model.lift_size).work


def ratios(of: dict[str, float]) -> tuple[float, float]:
    """Time of an exact iteration in Gauss-Newton ones, with one pass of its own and with two."""
    gauss_newton = of["expansion"] + of["pass"] + of["rollout"]
    exact = of["keeping"] + 2 * of["pass"] + of["Hessian"] + of["rollout"]
    return exact / gauss_newton, (exact + of["pass"]) / gauss_newton


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for case, of in figures.items():
        one, two = ratios(of)
        cells = [number(of[name]) for name in ("expansion", "keeping", "pass", "rollout")]
        cells += [f"{number(of['Hessian'])} ({of['operations']:.2f})", f"{one:.2f}", f"{two:.2f}"]
        rows.append([case, *cells, bar(two, RATIO, at_least=False)])
    header = ["arm, step", "expansion", "keeping", "pass", "rollout", "Hessian", "one pass", "two", "bar"]
    return table(TITLE, header, rows)
