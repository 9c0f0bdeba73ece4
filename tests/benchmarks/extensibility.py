"""What it costs to write a model oneself: with CasADi, and as a black box in numpy."""

from __future__ import annotations

from statistics import median

import numpy as np

from tests.benchmarks import user_models
from tests.benchmarks.peers.stopwatch import median_seconds
from tests.benchmarks.table import number, table
from trajopt.shooting import ProblemDerivatives, ShootingProblem
from trajopt.shooting.evaluator import Evaluator

TITLE = """Models of one's own: calc_diff in µs per knot, one thread. With CasADi the ratio [-] to the built-in model
is to be about 1; numpy is for scale. All give the same derivatives."""
HEADER = ["model", "written with", "calc_diff", "to built in"]
AGREEMENT = 1e-9  # of derivatives, relative to the largest of an array

Figures = dict[str, dict[str, dict[str, float]]]


def measure(*, rounds: int, seconds: float) -> Figures:
    """Times of each family of problems, measured in turns.

    Raises:
        RuntimeError: Two ways to write a model give different derivatives.
    """
    families = {"arm-reach, costs": user_models.arms(), "cart-pole, dynamics": user_models.cart_poles()}
    return {name: _family(name, problems, rounds, seconds) for name, problems in families.items()}


def _family(
    name: str, problems: dict[str, ShootingProblem], rounds: int, seconds: float
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    first = problems["built in"]
    xs = first.x0 + 0.1 * rng.normal(size=(first.T + 1, first.state.nx))
    us = rng.normal(size=(first.T, first.nu))
    wanted = first.calc_diff(xs, us)
    for way, problem in problems.items():
        _check_same(f"{name}, {way}", problem.calc_diff(xs, us), wanted)
    times: dict[str, list[float]] = {way: [] for way in problems}
    evaluators = {way: Evaluator(problem) for way, problem in problems.items()}
    for evaluator in evaluators.values():
        evaluator.xs[:], evaluator.us[:] = xs, us
    for _ in range(rounds):
        for way, evaluator in evaluators.items():
            call = lambda e=evaluator: e.expand(first.x0)  # noqa: E731
            times[way].append(1e6 * median_seconds(call, seconds=seconds / 4) / first.T)
    base = median(times["built in"])
    return {way: {"us_per_knot": median(t), "ratio": median(t) / base} for way, t in times.items()}


def _check_same(name: str, got: ProblemDerivatives, wanted: ProblemDerivatives) -> None:
    for field in ("xnext", "costs", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
        a, b = getattr(got, field), getattr(wanted, field)
        error = float(np.abs(a - b).max()) / max(1.0, float(np.abs(b).max()))
        if not error < AGREEMENT:
            raise RuntimeError(f"{name}: {field} differs from the built-in model's by {error:.3g}")


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, ways in figures.items():
        rows += [[name, way, number(t["us_per_knot"]), f"{t['ratio']:.2f}"] for way, t in ways.items()]
    return table(TITLE, HEADER, rows)
