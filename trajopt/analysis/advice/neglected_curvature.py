"""Curvature along the last direction that Gauss-Newton's Hessian leaves out, and which term or dynamics it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trajopt.analysis.costates import adjoint
from trajopt.shooting import inspection
from trajopt.shooting.problem import ShootingProblem
from trajopt.shooting.values import ProblemDerivatives
from trajopt.solution.solution import Solution
from trajopt.types import Reals

STEP = 1e-3  # largest change of a state, or of a control beside the largest one, by which second differences are taken


@dataclass(frozen=True)
class LeftOut:
    """Second derivatives of the Lagrangian along a direction d, without those that Gauss-Newton's Hessian has.

    The cost of a term is a(r), of which Gauss-Newton has (R d)ᵀ a'' (R d), and leaves out Σ aᵢ' dᵀ∇²rᵢ d; of the
    dynamics it leaves out λᵀ dᵀ∇²f d.

    Attributes:
        promised: dᵀ H d of Gauss-Newton's Hessian [cost].
        terms: What is left out of each cost term, by name (T + 1,) [cost].
        dynamics: What is left out of the dynamics, of the step to each knot (T + 1,) [cost].
    """

    promised: float
    terms: Mapping[str, Reals]
    dynamics: Reals

    @property
    def sources(self) -> dict[str, float]:
        """Curvature that is left out by where it comes from, in words, the largest first [cost]."""
        found = {"the dynamics": float(self.dynamics.sum())}
        for name, values in self.terms.items():
            found[f"term {name!r}"] = float(values[:-1].sum())
            found[f"term {name!r} at the end"] = float(values[-1])
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def total(self) -> float:
        """All that is left out [cost]."""
        return sum(self.sources.values())


def left_out(solution: Solution) -> LeftOut | None:
    """Curvature that Gauss-Newton leaves out along the solver's last direction, at the solution; None without one."""
    if solution.problem is None or solution.k is None or solution.K is None:
        return None
    with solution.as_solved() as problem:
        d = problem.calc_diff(solution.xs, solution.us)
        dx, du = _direction(d, solution.k, solution.K)
        size = max(np.abs(dx).max(initial=0.0), np.abs(du).max() / max(1.0, np.abs(solution.us).max()))
        if not 0.0 < size < np.inf:
            return None
        y = np.zeros(d.rows.shape)
        _, costates = adjoint(d, solution.K, y)
        bends, gaps = _second_differences(problem, (solution.xs, solution.us), (dx, du), STEP / size)
        modelled = _modelled(d, dx, du)
        terms = {}
        for name in bends:
            key = f"{name}.weight"
            if key not in problem.parameters:
                continue  # a cost that is no stack of terms has its whole Hessian
            without = {key: np.zeros_like(problem.parameter_values()[key])}
            with inspection.with_values(problem, without, problem.x0):
                rest = _modelled(problem.calc_diff(solution.xs, solution.us), dx, du)
            terms[name] = bends[name] - (modelled - rest)
    return LeftOut(float(modelled.sum()), terms, (costates * gaps).sum(axis=1))


def _direction(d: ProblemDerivatives, k: Reals, K: Reals) -> tuple[Reals, Reals]:
    """dx (T + 1, ndx) and du (T, nu) of the linear dynamics under du = -k - K dx."""
    dx, du = np.zeros_like(d.Lx), np.zeros_like(k)
    for t in range(len(du)):
        du[t] = -k[t] - K[t] @ dx[t]
        dx[t + 1] = d.Fx[t] @ dx[t] + d.Fu[t] @ du[t]
    return dx, du


def _modelled(d: ProblemDerivatives, dx: Reals, du: Reals) -> Reals:
    """dᵀ H d of each knot (T + 1,) [cost]."""
    found = np.einsum("ti,tij,tj->t", dx, d.Lxx, dx)
    found[:-1] += np.einsum("ti,tij,tj->t", du, d.Luu, du) + 2.0 * np.einsum("ti,tij,tj->t", dx[:-1], d.Lxu, du)
    return found


def _second_differences(
    problem: ShootingProblem, at: tuple[Reals, Reals], along: tuple[Reals, Reals], h: float
) -> tuple[dict[str, Reals], Reals]:
    """Second derivatives by s at xs ⊕ s dx, us + s du: of each cost term (T + 1,), and of the gaps (T + 1, ndx)."""
    (xs, us), (dx, du) = at, along
    terms, gaps = dict[str, Reals](), np.zeros_like(dx)
    for part, factor in ((h, 1.0), (0.0, -2.0), (-h, 1.0)):
        states = np.array([problem.state.integrate(x, part * step) for x, step in zip(xs, dx)])
        for name, values in inspection.cost_terms(problem, states, us + part * du).items():
            terms[name] = terms.get(name, 0.0) + factor * np.nan_to_num(values)
        gaps += factor * problem.calc(states, us + part * du).gaps
    return {name: values / h**2 for name, values in terms.items()}, gaps / h**2
