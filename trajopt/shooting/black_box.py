"""Knots whose model is Python code: evaluated one by one, on the arrays that compiled knots use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Self

import casadi as ca
import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.black_box_errors import class_name, errors_of_black_box
from trajopt.errors import ModelEvaluationError
from trajopt.instant import Instant
from trajopt.model.parameters import ParameterLayout
from trajopt.shooting.kinds import Kind, KnotsCall
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.kernels import Kernel
    from trajopt.shooting.evaluator import Evaluator
    from trajopt.shooting.linear_trial import LinearTrial
    from trajopt.shooting.trials import Trials


_END = "; at the end of the horizon u is None and only the cost of x is needed: begin with `if u is None:`"


class BlackBoxKind(Kind):
    """Kind of knot whose model is Python code with its own attributes; only its constraints have run-time parameters.

    The arguments are those of `Kind`.
    """

    def __init__(self, model: ActionModelAbstract, knots: Sequence[int], *, terminal: bool) -> None:
        if terminal:
            model.constraints.check_terminal()
        layout = ParameterLayout(model.constraints.parameters(model.nu))
        super().__init__(model, knots, terminal=terminal, layout=layout)
        self.proven = False
        """True once `calc_diff` was seen to set all derivatives."""

    @functools.cached_property
    def rows_function(self) -> ca.Function:
        """(x, u, parameters) -> constraint rows (nc,) and their derivative (nc, ndx + nu); without u at the end."""
        constraints = self.model.constraints
        instant = Instant(self.model.state, 0 if self.terminal else self.model.nu)
        results = [constraints.rows(instant), constraints.derivative(instant)]
        return ca.Function("rows", [instant.x, instant.u, self.layout.symbols], results)

    @classmethod
    def expansions(cls, kinds: Sequence[Self], evaluator: Evaluator) -> list[KnotsCall]:
        return [PythonCall({t: _Knot(kind, t, evaluator).expand for kind in kinds for t in kind.knots})]

    def terminal_expansion(self, evaluator: Evaluator) -> KnotsCall:
        return PythonCall({0: _Knot(self, evaluator.T, evaluator).expand_end})

    @classmethod
    def steps(cls, kinds: Sequence[Self], trials: Trials) -> KnotsCall:
        knots = {t: _Knot(kind, t, trials.evaluator) for kind in kinds for t in kind.knots}
        return PythonCall({t: _in_lanes(knot.step, trials) for t, knot in knots.items()})

    def terminal_step(self, trials: Trials) -> KnotsCall:
        return PythonCall({0: _in_lanes(_Knot(self, trials.evaluator.T, trials.evaluator).finish, trials)})

    @classmethod
    def points(cls, kinds: Sequence[Self], trial: LinearTrial) -> list[KnotsCall]:
        knots = {t: _Knot(kind, t, trial.evaluator) for kind in kinds for t in kind.knots}
        return [PythonCall({t: partial(knot.point, trial) for t, knot in knots.items()})]

    def terminal_point(self, trial: LinearTrial) -> KnotsCall:
        return PythonCall({0: partial(_Knot(self, trial.evaluator.T, trial.evaluator).end_point, trial)})

    def quasi_static(self, x: Reals, values: Reals) -> Reals:
        return self.model.quasi_static(x)

    def cost_terms(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        named = [self.model.cost_terms(x, None if self.terminal else us[i]) for i, x in enumerate(xs)]
        return {name: np.array([terms[name] for terms in named]) for name in named[0]}

    def contact_forces(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Returns an empty dictionary, since a black box does not report contact forces."""
        return {}


class PythonCall:
    """Functions of single knots with the interface of a `KernelCall`.

    Args:
        functions: One function per block.
    """

    kernels: Sequence[Kernel] = ()

    def __init__(self, functions: Mapping[int, Callable[[], None]]) -> None:
        self._functions = functions

    def prepare(self) -> None:
        """Does nothing, since no code is compiled."""

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Calls the functions of blocks first..end-1, or of all blocks from `first` on if there is no `end`."""
        for t in self._functions if end is None else range(first, end):
            self._functions[t]()


def _in_lanes(step: Callable[[Trials, int], None], trials: Trials) -> Callable[[], None]:
    """Runs a step of a rollout in all lanes, one lane after another."""

    def run() -> None:
        for lane in range(trials.width):
            step(trials, lane)

    return run


class _Knot:
    """One knot of a black box; it reads and writes the arrays of an evaluator."""

    def __init__(self, kind: BlackBoxKind, t: int, evaluator: Evaluator) -> None:
        self._kind, self._model, self._t, self._e = kind, kind.model, t, evaluator
        self._data, self._nc = self._model.create_data(), kind.nc
        self._name = class_name(self._model)

    def _named(self, method: str, *, end: bool = False) -> AbstractContextManager[None]:
        """Context in which errors name the knot and the method, and say that u is None if this is the end."""
        return errors_of_black_box(self._model, method, before=f"knot {self._t}: ", after=_END if end else "")

    def _calc(self, x: Reals, u: Reals | None) -> None:
        """Evaluates `calc` at a read-only point; raises ModelEvaluationError if it sets no cost or no next state."""
        x.flags.writeable = False
        if u is not None:
            u.flags.writeable = False
        self._data.forget()
        with self._named("calc", end=u is None):
            self._model.calc(self._data, x, u)
        forgotten = self._data.forgotten(end=u is None)
        if forgotten:
            raise ModelEvaluationError(f"knot {self._t}: {self._name}.calc has not set {forgotten}")

    def _prove(self, x: Reals, u: Reals | None) -> None:
        """Raises ModelEvaluationError if `calc_diff` leaves a derivative unset (it would count as 0); once per kind."""
        if self._kind.proven:
            return
        self._kind.proven, data = True, self._model.create_data()
        data.forget_derivatives()
        try:
            with np.errstate(all="ignore"):
                self._model.calc(data, x, u)
                self._model.calc_diff(data, x, u)
        except Exception:  # the evaluation itself reports it
            return
        left_out = data.forgotten_derivatives(end=u is None)
        if left_out:
            fields = ", ".join(f"data.{name}" for name in left_out)
            raise ModelEvaluationError(
                f"knot {self._t}: {self._name}.calc_diff has not set {fields}; set all derivatives, and those that are "
                "zero to 0.0"
            )

    def _rows(self, x: Reals, u: Reals) -> tuple[Reals, Reals]:
        """Values of the constraint rows (nc,) and their derivative (nc, ndx + nu); nc > 0."""
        values = self._e.parameters[self._t, : self._kind.layout.size]
        rows, C = self._kind.rows_function(x, u, values)
        return np.asarray(rows.full().ravel()), np.asarray(C.full())

    def expand(self) -> None:
        """Fills this running knot's rows of the evaluator's arrays."""
        e, t, d, n, m = self._e, self._t, self._data, self._e.state.ndx, self._model.nu
        x, u = e.xs[t].copy(), e.us[t, :m].copy()
        self._calc(x, u)
        self._check(d.xnext, "calc", "data.xnext")
        with self._named("calc_diff"):
            self._model.calc_diff(d, x, u)
        e.xnext[t], e.costs[t] = d.xnext, d.cost
        with self._named("calc"):  # the next state that it set may be invalid
            e.f[t + 1] = e.state.difference(e.xs[t + 1], d.xnext)
        e.F[t, :, :n], e.F[t, :, n : n + m] = d.Fx, d.Fu
        e.g[t, :n], e.g[t, n : n + m] = d.Lx, d.Lu
        H = e.H[t]
        H[:n, :n], H[:n, n : n + m], H[n : n + m, :n], H[n : n + m, n : n + m] = d.Lxx, d.Lxu, d.Lxu.T, d.Luu
        np.fill_diagonal(H[n + m :, n + m :], 1.0)
        if self._nc:
            e.c[t, : self._nc], e.C[t, : self._nc, : n + m] = self._rows(x, u)
        for name in ("cost", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
            self._check(getattr(d, name), "calc" if name == "cost" else "calc_diff", f"data.{name}")
        self._prove(x, u)

    def expand_end(self) -> None:
        """Fills the evaluator's terminal arrays."""
        e, d, x = self._e, self._data, self._e.xs[self._t].copy()
        self._calc(x, None)
        with self._named("calc_diff", end=True):
            self._model.calc_diff(d, x, None)
        e.costs[self._t], e.terminal_g[:], e.terminal_H[:] = d.cost, d.Lx, d.Lxx
        if self._nc:
            e.c[self._t, : self._nc], e.terminal_C[: self._nc] = self._rows(x, np.zeros(0))
        for name in ("cost", "Lx", "Lxx"):
            self._check(getattr(d, name), "calc" if name == "cost" else "calc_diff", f"data.{name}", end=True)
        self._prove(x, None)

    def step(self, trials: Trials, lane: int) -> None:
        """One step of a rollout in one lane, as in `programs.step`; the results are not finite if x is not."""
        e, t, m, d = self._e, self._t, self._model.nu, self._data
        x, alpha = trials.xs[lane, t].copy(), trials.alphas[lane, 0]
        if not np.all(np.isfinite(x)):
            trials.xs[lane, t + 1], trials.costs[lane, t] = np.nan, np.nan
            return
        dx = e.state.difference(e.xs[t], x)
        u = e.us[t, :m] - alpha * e.k[t, :m] - e.K[t, :m] @ dx
        if trials.clipped:
            u = np.clip(u, trials.lower[t, :m], trials.upper[t, :m])
        self._calc(x, u)
        if self._nc:
            trials.c[lane, t, : self._nc] = self._rows(x, u)[0]
        trials.dx[lane, t], trials.us[lane, t, :m], trials.costs[lane, t] = dx, u, d.cost
        finite = bool(np.all(np.isfinite(d.xnext)))
        with self._named("calc"):  # the next state that it set may be invalid
            after = e.state.integrate(d.xnext, (alpha - 1) * trials.gaps[t + 1]) if finite else np.nan
        trials.xs[lane, t + 1] = after

    def finish(self, trials: Trials, lane: int) -> None:
        """Ends a rollout in one lane."""
        e, t, x = self._e, self._t, trials.xs[lane, self._t].copy()
        if not np.all(np.isfinite(x)):
            trials.costs[lane, t] = np.nan
            return
        self._calc(x, None)
        trials.costs[lane, t], trials.dx[lane, t] = self._data.cost, e.state.difference(e.xs[t], x)
        if self._nc:
            trials.c[lane, t, : self._nc] = self._rows(x, np.zeros(0))[0]

    def point(self, trial: LinearTrial) -> None:
        """Evaluates this knot of a linear trial, as `programs.point` does; not finite where the model is not."""
        e, t, m, d = self._e, self._t, self._model.nu, self._data
        x, u, following = trial.state(t), e.us[t, :m] + trial.alpha[0] * trial.du[t, :m], trial.state(t + 1)
        trial.xs[t], trial.us[t, :m] = x, u
        self._calc(x, u)
        trial.costs[t] = d.cost
        if self._nc:
            trial.c[t, : self._nc] = self._rows(x, u)[0]
        finite = bool(np.all(np.isfinite(d.xnext)))
        with self._named("calc"):  # the next state that it set may be invalid
            trial.f[t + 1] = e.state.difference(following, d.xnext) if finite else np.nan

    def end_point(self, trial: LinearTrial) -> None:
        """Evaluates the terminal knot of a linear trial."""
        x = trial.state(self._t)
        self._calc(x, None)
        trial.xs[self._t], trial.costs[self._t] = x, self._data.cost
        if self._nc:
            trial.c[self._t, : self._nc] = self._rows(x, np.zeros(0))[0]

    def _check(self, value: Reals, method: str, field: str, *, end: bool = False) -> None:
        if not np.all(np.isfinite(value)):
            raise ModelEvaluationError(
                f"knot {self._t}: {self._name}.{method} set {field} to a value that is not finite{_END if end else ''}"
            )
