"""Table of the iterations, printed line by line during the solve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trajopt.callbacks.base import Callback
from trajopt.errors import InvalidArgumentError

if TYPE_CHECKING:
    from rich.console import Console

    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord, Solution


HEADER_EVERY = 20
"""Number of lines after which the header is repeated [-]."""

_COLUMNS = {
    "iter": 4,
    "cost": 12,
    "stop": 7,
    "step": 7,
    "hes": 3,
    "reg": 5,
    "gap": 7,
    "exp.dV": 8,
    "dV": 8,
    "feas": 4,
    "s": 5,
}
"""Header and width of each column; 80 characters in all with the blanks between them."""

_CONSTRAINED = {
    "iter": 4,
    "cost": 12,
    "station": 8,
    "violated": 8,
    "compl": 8,
    "gap": 8,
    "step": 7,
    "reg": 5,
    "feas": 4,
    "s": 6,
}
"""Header and width of each column for a solver with constraints."""


class CallbackVerbose(Callback):
    """Prints a table of the iterations, one line each, then the status and the totals.

    The columns are: iteration; cost after the step; stopping value; step length, or "refused" if no step was accepted;
    Hessian of the step ("gn" for Gauss-Newton, "gn~" for Gauss-Newton along a parabola, "H" for the exact one, "/2"
    for half of it); regularisation; largest gap before the step; predicted and actual decrease of the cost (exp.dV and
    dV); whether the trajectory is a rollout; seconds since the start. For a solver with constraints, stationarity,
    largest violation of a constraint and complementarity replace stopping value and decreases. A dash means that the
    solver has no such number. In a pipe or a file the lines are plain text.

    Args:
        every: Prints every n-th iteration, >= 1 [-]; the last one is always printed.
        console: Console to print to; by default the terminal (standard output).
        closing: Whether to print the status and the totals at the end.

    Raises:
        InvalidArgumentError: `every` is not an integer >= 1.
    """

    def __init__(self, every: int = 1, console: Console | None = None, *, closing: bool = True) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise InvalidArgumentError(f"every: expected an integer >= 1, got {every!r}; 1 prints each iteration")
        self._every = every
        self._console = console
        self._closing = closing
        self._lines = 0
        self._columns: dict[str, int] = {}
        self._skipped: IterationRecord | None = None

    def start(self, problem: ShootingProblem, solver_name: str) -> None:
        """Prints the solver and the size of the problem, and begins a new table."""
        self._lines = 0
        self._skipped = None
        state = problem.state
        self._print(f"{solver_name}: T = {problem.T} knots, nx = {state.nx}, nu = {problem.nu}", "bold")

    def __call__(self, record: IterationRecord) -> None:
        """Prints a line for every n-th iteration."""
        if record.iteration % self._every == 0:
            self._draw(record)
        else:
            self._skipped = record

    def finish(self, solution: Solution) -> None:
        """Prints the last iteration if it was skipped, then the status and the totals."""
        if self._skipped is not None:
            self._draw(self._skipped)
        if not self._closing:
            return
        plural = "" if solution.iterations == 1 else "s"
        totals = f"cost {solution.cost:.8g} after {solution.iterations} iteration{plural} in {solution.seconds:.3g} s"
        self._print(str(solution.status), "bold green" if solution.converged else "bold yellow")
        self._print(totals)

    def __repr__(self) -> str:
        return f"CallbackVerbose(every={self._every})"

    def _draw(self, record: IterationRecord) -> None:
        if self._lines == 0:
            self._columns = _COLUMNS if math.isnan(record.constraint_violation) else _CONSTRAINED
        if self._lines % HEADER_EVERY == 0:
            self._print(" ".join(f"{name:>{width}}" for name, width in self._columns.items()), "bold")
        self._print(_line(record, self._columns), "" if record.accepted else "yellow")
        self._lines += 1
        self._skipped = None

    def _print(self, text: str, style: str = "") -> None:
        if self._console is None:
            from rich.console import Console

            self._console = Console(force_jupyter=False)  # in a notebook each line would be an output of its own
        # soft_wrap: rich would otherwise break lines at 80 columns where it does not know the width, as in a pipe
        self._console.print(text, style=style or None, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _line(record: IterationRecord, columns: dict[str, int]) -> str:
    """Text of an iteration, with cells right-aligned under the header."""
    cells = {
        "iter": f"{record.iteration}",
        "cost": f"{record.cost:.5e}",
        "stop": _number(record.stop, ".1e"),
        "station": _number(record.stop, ".2e"),
        "violated": _number(record.constraint_violation, ".2e"),
        "compl": _number(record.complementarity, ".2e"),
        "step": _step(record),
        "reg": _number(record.regularization, ".0e"),
        "hes": _mode(record),
        "gap": _number(record.gap_norm, ".1e" if "hes" in columns else ".2e"),
        "exp.dV": _number(record.expected_decrease, ".1e", zero=False),
        "dV": _number(record.decrease, ".1e", zero=False),
        "feas": "yes" if record.feasible else "no",
        "s": _seconds(record.seconds),
    }
    return " ".join(f"{cells[name]:>{width}}" for name, width in columns.items())


def _number(value: float, form: str, *, zero: bool = True) -> str:
    """Text of a number: a dash for NaN, and "0" for zero if `zero`."""
    if math.isnan(value):
        return "-"
    return "0" if zero and value == 0 else f"{value:{form}}"


def _mode(record: IterationRecord) -> str:
    """Text of the Hessian column."""
    if math.isnan(record.blend):
        return "-"
    if record.blend == 0.0:
        return "gn~" if record.bent else "gn"
    return "H" if record.blend == 1.0 else f"/{1.0 / record.blend:.0f}"


def _seconds(value: float) -> str:
    """Text of a time in at most five characters."""
    form = ".3f" if value < 10 else ".1f" if value < 1000 else ".0f" if value < 99999 else ".0e"
    return f"{value:{form}}"


def _step(record: IterationRecord) -> str:
    if not record.accepted:
        return "refused"
    if math.isnan(record.step_length):
        return "-"
    return f"{record.step_length:.3g}" if record.step_length >= 1e-3 else f"{record.step_length:.1e}"
