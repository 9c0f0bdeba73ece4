"""Knots whose model is a black box in Python: one by one, on the arrays that compiled knots use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.data import UNKNOWN
from trajopt.errors import ModelEvaluationError
from trajopt.model.parameters import ParameterLayout
from trajopt.shooting.kinds import Call, Kind
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.kernels import Kernel
    from trajopt.shooting.evaluator import Evaluator
    from trajopt.shooting.trials import Trials


class BlackBoxKind(Kind):
    """A model in Python; it has no run-time parameters, its attributes are its own. Arguments as in `Kind`."""

    def __init__(self, model: ActionModelAbstract, knots: Sequence[int], *, terminal: bool) -> None:
        super().__init__(model, knots, terminal=terminal, layout=ParameterLayout({}))

    @classmethod
    def expansions(cls, kinds: Sequence[Self], evaluator: Evaluator) -> list[Call]:
        return [PythonCall({t: _Knot(kind.model, t, evaluator).expand for kind in kinds for t in kind.knots})]

    def terminal_expansion(self, evaluator: Evaluator) -> Call:
        return PythonCall({0: _Knot(self.model, evaluator.T, evaluator).expand_end})

    @classmethod
    def steps(cls, kinds: Sequence[Self], trials: Trials) -> Call:
        knots = {t: _Knot(kind.model, t, trials.evaluator) for kind in kinds for t in kind.knots}
        return PythonCall({t: _in_lanes(knot.step, trials) for t, knot in knots.items()})

    def terminal_step(self, trials: Trials) -> Call:
        return PythonCall({0: _in_lanes(_Knot(self.model, trials.evaluator.T, trials.evaluator).finish, trials)})

    def quasi_static(self, x: Reals, values: Reals) -> Reals:
        return self.model.quasi_static(x)

    def cost_terms(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        named = [self.model.cost_terms(x, None if self.terminal else us[i]) for i, x in enumerate(xs)]
        return {name: np.array([terms[name] for terms in named]) for name in named[0]}

    def contact_forces(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """None: a black box does not tell its forces."""
        return {}


class PythonCall:
    """Functions of single knots, called as a `KernelCall` is.

    Args:
        functions: One a block.
    """

    kernels: Sequence[Kernel] = ()

    def __init__(self, functions: Mapping[int, Callable[[], None]]) -> None:
        self._functions = functions

    def prepare(self) -> None:
        """There is nothing to compile."""

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Calls the functions of blocks first..end-1, of all without an end."""
        for t in self._functions if end is None else range(first, end):
            self._functions[t]()


def _in_lanes(step: Callable[[Trials, int], None], trials: Trials) -> Callable[[], None]:
    """A step of a rollout in all lanes, one after the other."""

    def run() -> None:
        for lane in range(trials.width):
            step(trials, lane)

    return run


class _Knot:
    """One knot of a black box, which reads and writes the arrays of an evaluator."""

    def __init__(self, model: ActionModelAbstract, t: int, evaluator: Evaluator) -> None:
        self._model, self._t, self._e = model, t, evaluator
        self._data = model.create_data()

    @contextmanager
    def _named(self, method: str) -> Iterator[None]:
        """Errors inside name the knot and the method."""
        try:
            yield
        except ModelEvaluationError:
            raise
        except Exception as error:
            raise ModelEvaluationError(
                f"knot {self._t}: {type(self._model).__name__}.{method} raised {type(error).__name__}: {error}"
            ) from error

    def _calc(self, x: Reals, u: Reals | None) -> None:
        """Values at a point; a model that sets no cost has forgotten it."""
        self._data.forget()
        with self._named("calc"):
            self._model.calc(self._data, x, u)
        if self._data.cost is UNKNOWN:
            raise ModelEvaluationError(
                f"knot {self._t}: {type(self._model).__name__}.calc has not set data.cost; set it, to 0.0 for a knot "
                "that costs nothing"
            )

    def expand(self) -> None:
        """Fills the evaluator's rows of this running knot."""
        e, t, d, n, m = self._e, self._t, self._data, self._e.state.ndx, self._model.nu
        x, u = e.xs[t].copy(), e.us[t, :m].copy()
        self._calc(x, u)
        with self._named("calc_diff"):
            self._model.calc_diff(d, x, u)
        self._check(d.xnext, "calc", "data.xnext")
        e.xnext[t], e.costs[t] = d.xnext, d.cost
        with self._named("calc"):  # what it set may be no state
            e.f[t + 1] = e.state.difference(e.xs[t + 1], d.xnext)
        e.F[t, :, :n], e.F[t, :, n : n + m] = d.Fx, d.Fu
        e.g[t, :n], e.g[t, n : n + m] = d.Lx, d.Lu
        H = e.H[t]
        H[:n, :n], H[:n, n : n + m], H[n : n + m, :n], H[n : n + m, n : n + m] = d.Lxx, d.Lxu, d.Lxu.T, d.Luu
        np.fill_diagonal(H[n + m :, n + m :], 1.0)
        for name in ("cost", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
            self._check(getattr(d, name), "calc" if name == "cost" else "calc_diff", f"data.{name}")

    def expand_end(self) -> None:
        """Fills the evaluator's terminal arrays."""
        e, d, x = self._e, self._data, self._e.xs[self._t].copy()
        self._calc(x, None)
        with self._named("calc_diff"):
            self._model.calc_diff(d, x, None)
        e.costs[self._t], e.terminal_g[:], e.terminal_H[:] = d.cost, d.Lx, d.Lxx
        for name in ("cost", "Lx", "Lxx"):
            self._check(getattr(d, name), "calc" if name == "cost" else "calc_diff", f"data.{name}")

    def step(self, trials: Trials, lane: int) -> None:
        """One step of a rollout in one lane, as `programs.step` defines it; not finite if x is not."""
        e, t, m, d = self._e, self._t, self._model.nu, self._data
        x, alpha = trials.xs[lane, t].copy(), trials.alphas[lane, 0]
        if not np.all(np.isfinite(x)):
            trials.xs[lane, t + 1], trials.costs[lane, t] = np.nan, np.nan
            return
        dx = e.state.difference(e.xs[t], x)
        u = e.us[t, :m] - alpha * e.k[t, :m] - e.K[t, :m] @ dx
        self._calc(x, u)
        trials.dx[lane, t], trials.us[lane, t, :m], trials.costs[lane, t] = dx, u, d.cost
        finite = bool(np.all(np.isfinite(d.xnext)))
        with self._named("calc"):  # what it set may be no state
            after = e.state.integrate(d.xnext, (alpha - 1) * trials.gaps[t + 1]) if finite else np.nan
        trials.xs[lane, t + 1] = after

    def finish(self, trials: Trials, lane: int) -> None:
        """The end of a rollout in one lane."""
        e, t, x = self._e, self._t, trials.xs[lane, self._t].copy()
        if not np.all(np.isfinite(x)):
            trials.costs[lane, t] = np.nan
            return
        self._calc(x, None)
        trials.costs[lane, t], trials.dx[lane, t] = self._data.cost, e.state.difference(e.xs[t], x)

    def _check(self, value: Reals, method: str, field: str) -> None:
        if not np.all(np.isfinite(value)):
            raise ModelEvaluationError(
                f"knot {self._t}: {type(self._model).__name__}.{method} set {field} to a value that is not finite"
            )
