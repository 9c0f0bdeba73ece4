"""The problem that a solver sees if parameters are unknown: these are constant states with free starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.freed import ActionModelFreed
from trajopt.errors import InvalidArgumentError
from trajopt.shooting.parameters import ParameterValues
from trajopt.shooting.unknown import Unknown
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem


class FreedProblem:
    """A problem with unknowns θ, and the same problem with states (x, θ), in which x0 is fixed by equal bounds.

    Args:
        problem: The problem.
        unknowns: Its unknowns.

    Attributes:
        whole: The problem with states (x, θ); `follow` updates it.
        unknowns: The unknowns.

    Raises:
        InvalidArgumentError: A model is a black box.
    """

    def __init__(self, problem: ShootingProblem, unknowns: Mapping[str, Unknown]) -> None:
        self.unknowns, self._own = dict(unknowns), problem
        self._models = (*problem.running, problem.terminal)
        freed = {id(model): _freed(model, self.unknowns) for model in self._models}
        running, x0 = [freed[id(model)] for model in problem.running], np.concatenate([problem.x0, self.guess()])
        self.whole = type(problem)(x0, running, freed[id(problem.terminal)], start=self._start())
        self.whole.start_sum = self._sum()
        for name, unknown in self.unknowns.items():
            for phase, row in zip(unknown.phases, np.eye(len(unknown.phases))):
                for knots, columns in self.whole.table.places(f"{name}.phase", phase):
                    self.whole.table.values[knots, columns] = row

    def fits(self) -> bool:
        """False once the models of the problem have changed."""
        own = (*self._own.running, self._own.terminal)
        return len(own) == len(self._models) and all(a is b for a, b in zip(own, self._models))

    def follow(self) -> ShootingProblem:
        """Takes over parameter values and x0 of the problem; returns the one with states (x, θ)."""
        own, whole = self._own, self.whole
        for kind in own.kinds:
            whole.table.values[kind.knots, : kind.layout.size] = kind.rows(own.table.values)
        whole.replace_x0(np.concatenate([own.x0, self.guess()]), start=self._start())
        whole.table.rows.ignore(self._given_rows() if own.start == "fixed" else np.zeros(whole.nc, dtype=np.bool_))
        return whole

    def _start(self) -> tuple[Reals, Reals]:
        """Bounds of the start: those of x_0, equal ones if it is fixed, then those of θ."""
        own = self._own
        low, high = np.full(own.state.ndx, -np.inf), np.full(own.state.ndx, np.inf)
        if own.start == "fixed":
            low = high = own.state.difference(own.state.zero(), own.x0)
        elif not isinstance(own.start, str):
            low, high = own.start
        lower, upper = zip(*(unknown.bounds for unknown in self.unknowns.values()))
        return np.concatenate([low, *lower]), np.concatenate([high, *upper])

    def _sum(self) -> Reals | None:
        """Weights (ndx,) of the total of an unknown; None without one."""
        if all(unknown.total is None for unknown in self.unknowns.values()):
            return None
        pairs = ((u, np.zeros(u.size)) for u in self.unknowns.values())
        weights = [none if unknown.total is None else unknown.counts for unknown, none in pairs]
        return np.concatenate([np.zeros(self._own.state.ndx), *weights])

    def _given_rows(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the rows of knot 0 that a fixed x0 determines; solvers ignore them with a fixed start."""
        kind = next(kind for kind in self.whole.kinds if 0 in kind.knots)
        given = np.zeros(self.whole.nc, dtype=np.bool_)
        if not kind.terminal and kind.nc:
            assert isinstance(kind.model, ActionModelFreed)
            phases = {name: unknown.knots for name, unknown in self.unknowns.items()}
            names = [name for name, knots in phases.items() if any(ts is None or 0 in ts for ts in knots)]
            given[: kind.nc] = kind.model.model.rows_free_of_control & ~kind.model.rows_that_read(names)
        return given

    def guess(self) -> Reals:
        """Present values of the unknowns (k,), moved to within their bounds and to their total."""
        table, values = self._own.table, list[Reals]()
        for name, unknown in self.unknowns.items():
            places = [table.places(name, knots)[0] for knots in unknown.knots]
            rows = np.array([table.values[knots[0], columns] for knots, columns in places])
            values.append(unknown.feasible(rows.ravel(order="F")))
        return np.concatenate(values)

    def flat(self, values: Mapping[str, Reals]) -> Reals:
        """Values of the unknowns (k,) from values by name, moved as by `guess`; by default their guesses."""
        theta = self.shaped(self.guess())
        theta |= {name: value for name, value in values.items() if name in theta and theta[name].shape == value.shape}
        pairs = zip(theta.values(), self.unknowns.values())
        return np.concatenate([unknown.feasible(value.ravel(order="F")) for value, unknown in pairs])

    def shaped(self, theta: Reals) -> dict[str, Reals]:
        """Values of the unknowns by name, from θ (k,)."""
        ends = np.cumsum([unknown.size for unknown in self.unknowns.values()])[:-1]
        parts = zip(self.unknowns.values(), np.split(theta, ends))
        return {unknown.name: part.reshape(unknown.shape, order="F").copy() for unknown, part in parts}

    def parameters_at(self, theta: Reals) -> ParameterValues:
        """Values of all parameters of the problem where the unknowns are θ (k,)."""
        own, values = self._own, self._own.table.values.copy()
        for name, value in self.shaped(theta).items():
            unknown = self.unknowns[name]
            for phase, row in zip(unknown.knots, unknown.rows(value)):
                for knots, columns in own.table.places(name, phase):
                    values[knots, columns] = row
        return ParameterValues(own.kinds, own.parameters, values)


def _freed(model: ActionModelAbstract, unknowns: Mapping[str, Unknown]) -> ActionModelFreed:
    """The model with unknowns; it is built once, so that its programs are reused."""
    if not isinstance(model, ActionModelExpression):
        raise InvalidArgumentError(
            f"free: expected models that are expressions, got {type(model).__name__}, a black box without derivatives "
            "by parameters; write it as an expression"
        )
    labels = {name: unknown.labels for name, unknown in unknowns.items()}
    phases = {name: len(unknown.phases) for name, unknown in unknowns.items() if unknown.phases}
    key: Any = ("freed", *((name, *each) for name, each in labels.items()), *phases.items())
    if key not in model.built:
        model.built[key] = ActionModelFreed(model, labels, phases)
    freed: ActionModelFreed = model.built[key]
    return freed
