"""Hash of a built problem: expressions, values, guess and solver."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

import trajopt
from trajopt.errors import InvalidArgumentError
from trajopt.model.content import UnknownContentError, model_hash
from trajopt.problems import ProblemCase
from trajopt.shooting import ShootingProblem
from trajopt.sweeps.recipe import Built
from trajopt.types import Reals

METHOD = "solve_batch"
"""What solves the rows: those of earlier revisions, by `solve`, differ by rounding."""


def fingerprint(built: Built) -> str:
    """Returns a hash of all that a solve depends on, except the parameters of its row.

    It includes trajopt's version. A user's own class counts only by its parameter values, so edits of its code have no
    effect on the hash.
    """
    problem, solver = built.solver.problem, built.solver
    digest = hashlib.sha256(f"{trajopt.__version__} {METHOD} {type(solver).__name__} {solver.options}".encode())
    for name, values in _values(problem, built.xs, built.us):
        digest.update(f"{name} {values.shape} ".encode() + values.tobytes())
    for number, model in enumerate(dict.fromkeys([*problem.running, problem.terminal])):
        try:
            digest.update(model_hash(model).encode())
        except UnknownContentError:
            digest.update(f"model {number}".encode())
    return digest.hexdigest()


def check_unchanged(case: ProblemCase, setup: Built) -> None:
    """Raises InvalidArgumentError if a case differs from what its recipe builds."""
    if fingerprint(Built(solver=case.solver(case.problem, case.options), xs=case.xs, us=case.us)) == fingerprint(setup):
        return
    current = dict(_values(case.problem, case.xs, case.us))
    fresh = dict(_values(setup.solver.problem, setup.xs, setup.us))
    changed = [name for name in fresh if name not in current or not np.array_equal(current[name], fresh[name])]
    what = f"one whose {', '.join(changed)} changed" if changed else "one with another problem or other options"
    raise InvalidArgumentError(
        f"case: expected it unchanged since trajopt.problems.load, as workers load it again, got {what}; make that a "
        "parameter of the sweep, or write a function in a module that builds the case, and pass the function"
    )


def _values(problem: ShootingProblem, xs: Reals | None, us: Reals | None) -> Iterator[tuple[str, Reals]]:
    """Yields the numbers of a problem and its guess by name, in the order of the problem's parameters."""
    yield "x0", np.asarray(problem.x0)
    for name, values in problem.parameter_values().items():
        yield name, values
    yield "start", np.zeros(0) if isinstance(problem.start, str) else np.concatenate(problem.start)
    for name, guess in (("xs", xs), ("us", us)):
        yield name, np.zeros(0) if guess is None else np.asarray(guess)
