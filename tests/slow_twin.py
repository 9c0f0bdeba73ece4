"""Integrated models once more, slow and readable, in numpy: values, and Gauss-Newton Hessians by differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

import trajopt
from trajopt.expressions import Instant
from trajopt.model import Parameter, parameter_vector

Reals = npt.NDArray[np.float64]
STEP = np.finfo(float).eps ** (1 / 3)


def central_differences(f: Callable[[Reals], Reals], n: int) -> Reals:
    """df/de at e = 0, (m, n)."""
    columns = [(np.asarray(f(STEP * e)) - np.asarray(f(-STEP * e))) / (2 * STEP) for e in np.eye(n)]
    return np.array(columns).reshape(n, -1).T


def assert_close(actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6, what: str = "") -> None:
    """Within tolerance · max(1, largest expected)."""
    largest = float(np.abs(expected).max(initial=1.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * largest, err_msg=what)


def first_values(parameters: dict[str, Parameter]) -> Reals:
    return np.concatenate([*(p.flat(p.default) for p in parameters.values()), []])


@dataclass(frozen=True)
class NumericTerm:
    """One cost term as numbers: its residual (nr,), w · a(r), and the diagonal of w · d²a/dr²."""

    function: ca.Function
    parameters: Reals

    def __call__(self, x: Reals, u: Reals) -> tuple[Reals, float, Reals]:
        r, value, curvature = self.function(x, u, self.parameters)
        return r.full().ravel(), float(value), curvature.full().ravel()


def numeric_terms(costs: trajopt.CostStack, nu: int) -> list[NumericTerm]:
    terms = []
    for term in costs.terms:
        instant, named = Instant(costs.state, nu), term.parameters(nu)
        r = term.residual.evaluate(instant)
        w = term.weight.symbol
        results = [r, w * term.activation.value(r), w * term.activation.hessian(r)]
        function = ca.Function("term", [instant.x, instant.u, parameter_vector(named)], results)
        terms.append(NumericTerm(function, first_values(named)))
    return terms


class Twin:
    """An integrated model in numpy.

    Args:
        model: The model whose steps are repeated; its dynamics come from `differential.calc`.
    """

    def __init__(self, model: trajopt.IntegratedActionModelEuler | trajopt.IntegratedActionModelRK4) -> None:
        self.state, self.nu, self.differential = model.state, model.nu, model.differential
        self.dt = float(model.parameters()["dt"].default)
        self.runge_kutta = isinstance(model, trajopt.IntegratedActionModelRK4)
        self.terms = numeric_terms(model.differential.costs, model.nu)
        self._data = self.differential.create_data()

    def rate(self, x: Reals, u: Reals) -> Reals:
        self.differential.calc(self._data, x, u)
        return np.array(self._data.xnext)

    def stages(self, x: Reals, u: Reals) -> tuple[list[Reals], list[float], Reals]:
        """States of the stages, their weights, and the step in the tangent space at x."""
        if not self.runge_kutta:
            rate = self.rate(x, u)
            half = self.state.ndx // 2
            if self.differential.second_order:
                rate[:half] += rate[half:] * self.dt  # the velocity is stepped first
            return [x], [1.0], rate * self.dt
        ys, step, weights = [], np.zeros(self.state.ndx), [1 / 6, 1 / 3, 1 / 3, 1 / 6]
        kappa = np.zeros(self.state.ndx)
        for node, weight in zip((0, 0.5, 0.5, 1), weights):
            ys.append(self.state.integrate(x, node * self.dt * kappa))
            back = self.state.jdifference(x, ys[-1], "second")  # rates at y, seen at x
            kappa = back @ self.rate(ys[-1], u)
            step += weight * self.dt * kappa
        return ys, weights, step

    def values(self, x: Reals, u: Reals) -> tuple[Reals, float]:
        """Next state and cost."""
        ys, weights, step = self.stages(x, u)
        cost = sum(b * self.dt * term(y, u)[1] for y, b in zip(ys, weights) for term in self.terms)
        return self.state.integrate(x, step), float(cost)

    def gauss_newton(self, x: Reals, u: Reals) -> Reals:
        """Σ w b dt Rᵀ Arr R over terms and stages, R by central differences in (x, u)."""
        n, m = self.state.ndx, self.nu

        def residuals(z: Reals) -> Reals:
            control = u + z[n:]
            ys, _, _ = self.stages(self.state.integrate(x, z[:n]), control)
            return np.concatenate([term(y, control)[0] for y in ys for term in self.terms])

        R = central_differences(residuals, n + m)
        ys, weights, _ = self.stages(x, u)
        diagonal = [b * self.dt * term(y, u)[2] for y, b in zip(ys, weights) for term in self.terms]
        return R.T @ (np.concatenate(diagonal)[:, None] * R)
