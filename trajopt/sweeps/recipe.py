"""Recipes: descriptions from which any process builds the same problem and solver."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt import problems, solvers
from trajopt.checks import check_known, check_mapping, check_text
from trajopt.errors import InvalidArgumentError, shown
from trajopt.problems import ProblemCase
from trajopt.robots import Robot
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverAbstract
from trajopt.types import Reals

SOLVERS = tuple(
    name for name in solvers.__all__ if name.startswith("Solver") and name not in ("SolverAbstract", "SolverOptions")
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Built:
    """A solver with its problem, and the initial guess of every solve.

    Attributes:
        solver: The solver.
        xs: Guess of the states (T + 1, nx); None for the solver's own guess.
        us: Guess of the controls (T, nu); None for the solver's own guess.
    """

    solver: SolverAbstract[Any]
    xs: Reals | None = None
    us: Reals | None = None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Description from which a worker builds a problem and its solver; it is small when pickled.

    Attributes:
        problem: Name of a ready problem, such as "arm-reach"; or "module:function", where the function returns a
            ProblemCase, a solver, or a ShootingProblem, which needs `solver`.
        robot: Robot of a ready problem; None for its default.
        options: Options of the ready problem, or arguments of the function: numbers, texts, None, and lists, arrays
            and dictionaries of these.
        solver: Name of a solver class of `trajopt.solvers`; None for the solver of the case or function.
        solver_options: Changed options of the solver, relative to its defaults if `solver` is set, otherwise to the
            case's options.

    Raises:
        InvalidArgumentError: A value has another type.
        UnknownNameError: There is no ready problem or solver of this name.
    """

    problem: str
    robot: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    solver: str | None = None
    solver_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text("problem", self.problem, such_as="arm-reach")
        if ":" not in self.problem:
            check_known("problem", self.problem, problems.names())
        elif self.robot is not None:
            raise InvalidArgumentError(
                f"robot: expected None for a function, got {self.robot!r}; pass it in options={{'robot': ...}}"
            )
        if self.robot is not None:
            check_text("robot", self.robot, such_as="panda")
        if self.solver is not None:
            check_known("solver", self.solver, SOLVERS)
        for name in ("options", "solver_options"):
            mapping = check_mapping(name, getattr(self, name))
            object.__setattr__(
                self, name, {str(key): _plain(f"{name}: {key}", value) for key, value in mapping.items()}
            )

    @classmethod
    def of(cls, thing: Recipe | ProblemCase | str | Callable[..., Any]) -> Recipe:
        """Returns the recipe of a ready problem, by name or from `trajopt.problems.load`, or of a function.

        Raises:
            InvalidArgumentError: Workers could not build the argument; the message lists what they can build.
        """
        if isinstance(thing, Recipe):
            return thing
        if isinstance(thing, str):
            return cls(problem=thing)
        if isinstance(thing, ProblemCase):
            return _of_case(thing)
        if callable(thing) and not isinstance(thing, type):
            return cls(problem=_address(thing))
        raise InvalidArgumentError(
            f"case: expected a ready problem or its name, a Recipe or a function, got {shown(thing)}; as workers build "
            "the problem themselves, pass a function in a module that returns a ProblemCase or a solver"
        )

    @property
    def text(self) -> str:
        """The recipe as JSON; equal recipes have equal texts."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Recipe:
        """Returns the recipe of a JSON text, which is that of `text`."""
        try:
            facts = json.loads(check_text("text", text))
        except ValueError as error:
            raise InvalidArgumentError(f"text: expected the text of a Recipe, got {shown(text)}: {error}") from error
        return cls(**check_mapping("text", facts, "recipe.text has that of a Recipe"))

    def build(self) -> Built:
        """Builds the problem and its solver.

        Raises:
            InvalidArgumentError: The function does not exist or returns another type, or no solver is set.
        """
        result = self._made()
        if isinstance(result, ProblemCase):
            return Built(solver=self._solver(result.problem, result.solver, result.options), xs=result.xs, us=result.us)
        if isinstance(result, SolverAbstract):
            return Built(solver=self._solver(result.problem, type(result), result.options))
        if isinstance(result, ShootingProblem) and self.solver is not None:
            return Built(solver=self._solver(result, None, None))
        if isinstance(result, ShootingProblem):
            raise InvalidArgumentError(
                f"solver: expected the name of a solver, as {self.problem} returns only a ShootingProblem, got None; "
                f'pass Recipe(problem="{self.problem}", solver="SolverFDDP")'
            )
        raise InvalidArgumentError(
            f"problem: expected {self.problem} to return a ProblemCase, a solver or a ShootingProblem, got "
            f"{type(result).__name__}"
        )

    def _made(self) -> Any:
        """Loads the ready problem, or calls the function."""
        if ":" not in self.problem:
            return problems.load(self.problem, self.robot, **self.options)
        module, _, name = self.problem.partition(":")
        try:
            function: Any = importlib.import_module(module)
            for part in name.split("."):
                function = getattr(function, part)
            inspect.signature(function).bind(**self.options)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise InvalidArgumentError(
                f"problem: expected a function that can be imported and takes the options, got {self.problem!r}: "
                f"{error}; write 'module:function', and put the module on the Python path of all workers"
            ) from error
        return function(**self.options)

    def _solver(self, problem: ShootingProblem, kind: Any, options: Any) -> SolverAbstract[Any]:
        if self.solver is not None:
            kind = getattr(solvers, self.solver)
            return kind(problem, kind.options_type(**self.solver_options))  # type: ignore[no-any-return]
        return kind(problem, dataclasses.replace(options, **self.solver_options))  # type: ignore[no-any-return]


def _of_case(case: ProblemCase) -> Recipe:
    if case.arguments is None or case.solver.__name__ not in SOLVERS:
        own = "" if case.arguments is None else f" with {case.solver.__name__}, a solver of your own"
        raise InvalidArgumentError(
            f"case: expected a case from trajopt.problems.load, which workers can load too, got {case.name!r} "
            f"{own or 'that was built otherwise'}; write a function in a module that builds it, and pass the function"
        )
    usual = type(case.options)()
    fields = [f.name for f in dataclasses.fields(case.options)]
    changed = {f: getattr(case.options, f) for f in fields if getattr(case.options, f) != getattr(usual, f)}
    options = dict(case.arguments)
    robot = options.pop("robot", None)
    if isinstance(robot, Robot):
        raise InvalidArgumentError(
            f"case: expected a case whose robot has a name or a file, which workers can load too, got {shown(robot)}; "
            "write a function in a module that builds the case, and pass the function"
        )
    name = case.solver.__name__
    return Recipe(problem=case.name, robot=robot, options=options, solver=name, solver_options=changed)


def _address(function: Any) -> str:
    """Returns the address "module:name" of a function."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    imported: Any = sys.modules.get(module)
    for part in name.split("."):
        imported = getattr(imported, part, None)
    if imported is not function or module == "__main__":
        where = "in the main script" if module == "__main__" else "without an importable name"
        raise InvalidArgumentError(
            f"case: expected a function that workers can import, got {name or shown(function)} {where}; move it to "
            "a module beside the script and import it there"
        )
    return f"{module}:{name}"


def _plain(argument: str, value: Any) -> Any:
    """Converts lists and arrays to tuples, so that recipes can be compared; raises for other types."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_plain(argument, each) for each in value)
    if isinstance(value, Mapping):
        return {str(key): _plain(argument, each) for key, each in value.items()}
    raise InvalidArgumentError(
        f"{argument}: expected numbers, texts, None, or lists and dictionaries of these, got {shown(value)}; for "
        "other types write a function in a module that builds the problem, and pass the function"
    )
