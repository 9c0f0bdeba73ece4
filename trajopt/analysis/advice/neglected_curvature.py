"""Curvature along the last direction that is missing in Gauss-Newton's Hessian, by term and dynamics."""

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

STEP = 1e-3  # largest change of a state for second differences; of a control relative to the largest control


@dataclass(frozen=True)
class LeftOut:
    """Second derivatives of the Lagrangian along a direction d that are missing in Gauss-Newton's Hessian.

    For a cost a(r), Gauss-Newton has (R d)ᵀ a'' (R d) and leaves out Σ aᵢ' dᵀ∇²rᵢ d. For the dynamics it leaves out
    λᵀ dᵀ∇²f d.

    Attributes:
        promised: dᵀ H d of Gauss-Newton's Hessian [cost].
        terms: Missing curvature of each cost term, by name (T + 1,) [cost].
        dynamics: Missing curvature of the dynamics, for the step to each knot (T + 1,) [cost].
    """

    promised: float
    terms: Mapping[str, Reals]
    dynamics: Reals

    @property
    def sources(self) -> dict[str, float]:
        """Missing curvature by its source, the largest first [cost]."""
        curvature = {"the dynamics": float(self.dynamics.sum())}
        for name, values in self.terms.items():
            curvature[f"term {name!r}"] = float(values[:-1].sum())
            curvature[f"term {name!r} at the end"] = float(values[-1])
        return dict(sorted(curvature.items(), key=lambda item: -item[1]))

    @property
    def total(self) -> float:
        """Total missing curvature [cost]."""
        return sum(self.sources.values())


def left_out(solution: Solution) -> LeftOut | None:
    """Returns the missing curvature along the solver's last direction, at the solution; None without a direction."""
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
                continue  # a cost that is not a stack of terms has its whole Hessian
            without = {key: np.zeros_like(problem.parameter_values()[key])}
            with inspection.with_values(problem, without, problem.x0):
                rest = _modelled(problem.calc_diff(solution.xs, solution.us), dx, du)
            terms[name] = bends[name] - (modelled - rest)
    return LeftOut(float(modelled.sum()), terms, (costates * gaps).sum(axis=1))


def _direction(d: ProblemDerivatives, k: Reals, K: Reals) -> tuple[Reals, Reals]:
    """Returns dx (T + 1, ndx) and du (T, nu) of the linear dynamics under du = -k - K dx."""
    dx, du = np.zeros_like(d.Lx), np.zeros_like(k)
    for t in range(len(du)):
        du[t] = -k[t] - K[t] @ dx[t]
        dx[t + 1] = d.Fx[t] @ dx[t] + d.Fu[t] @ du[t]
    return dx, du


def _modelled(d: ProblemDerivatives, dx: Reals, du: Reals) -> Reals:
    """Returns dᵀ H d of each knot (T + 1,) [cost]."""
    curvature = np.einsum("ti,tij,tj->t", dx, d.Lxx, dx)
    curvature[:-1] += np.einsum("ti,tij,tj->t", du, d.Luu, du) + 2.0 * np.einsum("ti,tij,tj->t", dx[:-1], d.Lxu, du)
    return curvature


def _second_differences(
    problem: ShootingProblem, at: tuple[Reals, Reals], along: tuple[Reals, Reals], h: float
) -> tuple[dict[str, Reals], Reals]:
    """Returns second derivatives by s at xs ⊕ s dx, us + s du: of cost terms (T + 1,) and gaps (T + 1, ndx)."""
    (xs, us), (dx, du) = at, along
    terms, gaps = dict[str, Reals](), np.zeros_like(dx)
    for part, factor in ((h, 1.0), (0.0, -2.0), (-h, 1.0)):
        states = np.array([problem.state.integrate(x, part * step) for x, step in zip(xs, dx)])
        for name, values in inspection.cost_terms(problem, states, us + part * du).items():
            terms[name] = terms.get(name, 0.0) + factor * np.nan_to_num(values)
        gaps += factor * problem.calc(states, us + part * du).gaps
    return {name: values / h**2 for name, values in terms.items()}, gaps / h**2
