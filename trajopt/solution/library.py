"""Library of warm starts: solutions of a batch, found by the nearest initial state and parameters."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.checks import check_array, check_count, check_instance, check_mapping
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.solution.batch import SolutionBatch
from trajopt.solution.reasons import first_reason
from trajopt.solution.solution import Solution
from trajopt.types import Reals


class SolutionLibrary(Immutable):
    """Converged solutions of a batch as warm starts.

    Distances are Euclidean in x0 and the parameters that were set for each row, each number divided by its standard
    deviation over the rows. `solver.solve(library)` begins from the solution nearest to the x0 and parameters of the
    problem.

    Rows are local optima. A solve from a poor one converges at once to the same poor motion, so leave such rows out:
    `solutions[solutions.cost < 5.0].library()`. `solver.solve(starts=8)` tells whether a row is one.

    Args:
        solutions: The batch; rows that did not converge are left out.

    Attributes:
        solutions: The converged rows.

    Raises:
        InvalidArgumentError: No row converged.
    """

    def __init__(self, solutions: SolutionBatch) -> None:
        check_instance("solutions", solutions, SolutionBatch, "solver.solve_batch(x0=X) returns one")
        if not solutions.converged.any():
            why = first_reason(solutions.status, solutions.error)
            raise InvalidArgumentError(f"solutions: expected converged rows, got none{f'; {why}' if why else ''}")
        self.solutions: SolutionBatch = solutions[solutions.converged]
        self._features = self._numbers(self.solutions.x0, self.solutions.parameters)
        deviations = self._features.std(axis=0)
        self._scale = np.where(deviations > 0.0, deviations, 1.0)

    @staticmethod
    def _numbers(x0: Reals, parameters: Mapping[str, Any]) -> Reals:
        """Numbers by which rows are compared (n, size)."""
        parts = [x0, *(np.asarray(values, dtype=np.float64) for values in parameters.values())]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    @functools.cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._features / self._scale)

    def __len__(self) -> int:
        return len(self.solutions)

    def nearest(self, x0: Any, parameters: Mapping[str, Any] | None = None, *, count: int = 1) -> SolutionBatch:
        """Returns the `count` nearest solutions, nearest first, or all if there are fewer.

        Args:
            x0: Initial state (nx,).
            parameters: Values by name, of all parameters that differ between the rows.
            count: Number of solutions [-].

        Raises:
            UnknownNameError: The rows have no such parameter.
            InvalidArgumentError: A shape is wrong, or a parameter is missing.
        """
        named = check_mapping("parameters", {} if parameters is None else parameters, 'write {"mass": 1.0}')
        own = self.solutions.parameters
        for name in named:
            if name not in own:
                raise UnknownNameError(f"parameters: {name!r} not found. Known: {', '.join(own) or 'none'}")
        missing = [name for name in own if name not in named]
        if missing:
            raise InvalidArgumentError(
                f"parameters: expected a value of each of {', '.join(own)}, missing {missing[0]}"
            )
        start = check_array("x0", x0, self.solutions.x0.shape[1:])
        values = {name: check_array(name, named[name], rows.shape[1:])[None] for name, rows in own.items()}
        point = self._numbers(start[None], values)[0] / self._scale
        _, rows = self._tree.query(point, k=min(check_count("count", count, least=1), len(self)))
        chosen: SolutionBatch = self.solutions[np.atleast_1d(rows)]
        return chosen

    def guess(self, problem: ShootingProblem) -> Solution:
        """Returns the solution nearest to a problem's x0 and parameters.

        Raises:
            UnknownNameError: The problem has no parameter that differs between the rows.
        """
        check_instance("problem", problem, ShootingProblem, "such as solver.problem")
        values = {}
        for name in self.solutions.parameters:
            plain, _, knots = name.partition("@")
            values[name] = problem.get_parameter(plain, knots or None)
        found: Solution = self.nearest(problem.x0, values)[0]
        return found

    def save(self, path: str | Path) -> Path:
        """Writes the solutions to a .npz file and returns its path.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        return self.solutions.save(path)

    @classmethod
    def load(cls, path: str | Path, problem: ShootingProblem | None = None) -> SolutionLibrary:
        """Reads a file of `save`, or of `SolutionBatch.save`.

        Raises:
            InvalidArgumentError: The file cannot be read, or its trajectories do not fit the problem.
        """
        return cls(SolutionBatch.load(path, problem))

    def __repr__(self) -> str:
        names = ", ".join(("x0", *self.solutions.parameters))
        return f"SolutionLibrary({len(self)} solves by {self.solutions.solver}, found by {names})"
