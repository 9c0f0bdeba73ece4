"""Values of a batch, with a row for each solve."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import as_numbers, check_mapping, shape_of
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting.at_rest_lanes import controls_of_rows
from trajopt.solution import Solution, SolutionBatch
from trajopt.solvers.ways import begins_at_rest
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem


class BatchRows:
    """Values of a batch: initial states, parameters and guesses of each solve.

    Args:
        problem: The problem, for sizes and for what is not passed.
        x0: Initial states (B, nx), one (nx,), or None.
        parameters: Values by name, with B rows each; or None.
        xs: Guesses of states (B, T + 1, nx), one (T + 1, nx), a Solution or SolutionBatch, or None.
        us: Guesses of controls (B, T, nu), one (T, nu), or None.

    Attributes:
        n: Number of rows B [-].
        x0: Initial states (B, nx).
        parameters: Values by name, (B, ...).
        xs: Guesses of states, (B, T + 1, nx) or (1, T + 1, nx); None without any.
        us: Guesses of controls, (B, T, nu) or (1, T, nu); None without any.

    Raises:
        UnknownNameError: There is no parameter of this name.
        InvalidArgumentError: Shapes or numbers of rows do not fit one another.
    """

    def __init__(self, problem: ShootingProblem, x0: Any, parameters: Any, xs: Any, us: Any) -> None:
        if isinstance(xs, (Solution, SolutionBatch)):
            xs, us = xs.xs, xs.us if us is None else us
        self._problem, self._counts, self._held = problem, dict[str, int](), dict[int, Reals]()
        one = problem.x0 if x0 is None else self._array("x0", x0, (problem.state.nx,))
        self.xs = None if xs is None else self._array("xs", xs, (problem.T + 1, problem.state.nx), one=True)
        self.us = None if us is None else self._array("us", us, (problem.T, problem.nu), one=True)
        self.parameters = self._parameters({} if parameters is None else parameters)
        self.n = self._count()
        self.x0: Reals = np.broadcast_to(one, (self.n, problem.state.nx)).copy()

    def _array(self, argument: str, value: Any, shape: tuple[int, ...], *, one: bool = False) -> Reals:
        """Numbers (B, *shape) or `shape`; with `one` the latter as a single row."""
        array = as_numbers(argument, value, f"numbers of shape (B, {', '.join(map(str, shape))})")
        rows = array.ndim == len(shape) + 1
        if array.shape[rows:] != shape or array.ndim > len(shape) + 1:
            raise InvalidArgumentError(
                f"{argument}: expected shape (B, {', '.join(map(str, shape))}) with a row for each solve, or {shape} "
                f"for all of them, got {array.shape}"
            )
        if rows:
            self._counts[argument] = len(array)
        return array[None] if one and not rows else array

    def _parameters(self, parameters: Any) -> dict[str, Any]:
        values = check_mapping("parameters", parameters, "write {'goal.reference': values} with a row for each solve")
        table, found = self._problem.table, dict[str, Any]()
        for name, rows in values.items():
            plain, _, knots = name.partition("@") if isinstance(name, str) else (name, "", "")
            table.places(plain, knots or None)  # raises unless they exist
            shape = shape_of(rows)
            if not shape:
                raise InvalidArgumentError(
                    f"parameters: expected a sequence of values of {name!r}, one for each solve, got {shown(rows)}; "
                    f"a value for all of them is set by problem.set_parameter({name!r}, value)"
                )
            self._counts[f"parameters[{name!r}]"] = shape[0]
            found[name] = np.asarray(rows)
        return found

    def _count(self) -> int:
        """Number of rows, on which all arrays agree."""
        numbers = set(self._counts.values())
        if not numbers:
            raise InvalidArgumentError(
                "x0, parameters, xs, us: expected at least one of them with a row for each solve, got none; a single "
                "problem is solved by solve(xs, us)"
            )
        if len(numbers) > 1:
            got = ", ".join(f"{count} of {name}" for name, count in self._counts.items())
            raise InvalidArgumentError(f"{', '.join(self._counts)}: expected the same number of rows, got {got}")
        if numbers == {0}:
            raise InvalidArgumentError(f"{', '.join(self._counts)}: expected at least one row, got none")
        return numbers.pop()

    def set(self, i: int) -> None:
        """Sets x0 and the parameters of row i in the problem.

        Raises:
            InvalidArgumentError: A value does not fit.
        """
        self._problem.replace_x0(self.x0[i])
        for name, values in self.parameters.items():
            plain, _, knots = name.partition("@")
            self._problem.set_parameter(plain, values[i], knots or None)

    def hold(self, chosen: Ints) -> None:
        """Computes the controls that hold the guesses of rows (m,) together, where they have none and lanes can.

        One after the other they take longer than a solve.
        """
        if self.us is None and len(chosen) and (self.xs is not None or begins_at_rest(self._problem)):
            x0 = self.x0[chosen][:, None]
            xs = x0 if self.xs is None else self.xs[chosen if len(self.xs) == self.n else chosen * 0, :-1]
            found = controls_of_rows(self._problem, xs)
            self._held = {} if found is None else dict(zip(chosen.tolist(), found))

    def guess(self, i: int) -> tuple[Reals | None, Reals | None]:
        """Guess of row i: states (T + 1, nx) and controls (T, nu), or None for the solver's own."""
        xs, us = (None if a is None else a[i if len(a) == self.n else 0] for a in (self.xs, self.us))
        if us is None and i in self._held:
            xs, us = np.tile(self.x0[i], (self._problem.T + 1, 1)) if xs is None else xs, self._held[i]
        return xs, us

    @contextlib.contextmanager
    def kept(self) -> Iterator[Mapping[str, Reals]]:
        """Context that yields the values of all parameters, after which the problem has its own values and x0 again."""
        problem = self._problem
        x0, values = problem.x0, problem.table.values.copy()
        try:
            yield dict(problem.parameter_values())
        finally:
            problem.table.values[:] = values
            problem.replace_x0(x0)
