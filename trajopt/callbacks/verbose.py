"""Verbose: a table of the iterations, printed line by line during the solve."""

from __future__ import annotations

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
    "stop": 8,
    "step": 7,
    "reg": 5,
    "gap": 8,
    "exp.dV": 8,
    "dV": 9,
    "feas": 4,
    "s": 6,
}
"""Header and width of the columns; 80 characters in all with the blanks between them."""


class CallbackVerbose(Callback):
    """Prints a table of the iterations, one line each, then the status and the totals.

    Columns: iteration, cost after the step, stopping value, step length ("refused" if no step was accepted),
    regularisation, largest gap before the step, predicted and actual decrease of the cost (exp.dV and dV), whether the
    trajectory is a rollout, seconds since the start. In a pipe or a file the lines are plain text.

    Args:
        every: Prints every n-th iteration, >= 1 [-]; the last one is always printed.
        console: Where to print; by default the terminal (standard output).
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
        if self._lines % HEADER_EVERY == 0:
            self._print(" ".join(f"{name:>{width}}" for name, width in _COLUMNS.items()), "bold")
        self._print(_line(record), "" if record.accepted else "yellow")
        self._lines += 1
        self._skipped = None

    def _print(self, text: str, style: str = "") -> None:
        if self._console is None:
            from rich.console import Console

            self._console = Console()
        # soft_wrap: rich would otherwise break lines at 80 columns where it does not know the width, as in a pipe
        self._console.print(text, style=style or None, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _line(record: IterationRecord) -> str:
    """The cells of an iteration, right-aligned under the header."""
    cells = (
        f"{record.iteration}",
        f"{record.cost:.5e}",
        f"{record.stop:.2e}",
        _step(record),
        "0" if record.regularization == 0 else f"{record.regularization:.0e}",
        "0" if record.gap_norm == 0 else f"{record.gap_norm:.2e}",
        f"{record.expected_decrease:.1e}",
        f"{record.decrease:.2e}",
        "yes" if record.feasible else "no",
        f"{record.seconds:.3f}" if record.seconds < 100 else f"{record.seconds:.0f}",
    )
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _COLUMNS.values()))


def _step(record: IterationRecord) -> str:
    if not record.accepted:
        return "refused"
    return f"{record.step_length:.3g}" if record.step_length >= 1e-3 else f"{record.step_length:.1e}"
