"""DDP and FDDP once more, slow and readable, in numpy: the algorithm of Crocoddyl 3.2.1 knot by knot.

It shares nothing with solvers/ or the compiled code: models are asked one by one through `calc` and `calc_diff`.
States are plain vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionData, ActionModelAbstract

Reals = npt.NDArray[np.float64]


@dataclass
class Twin:
    """A solve from a guess.

    Attributes:
        models: Action models of knots 0..T-1.
        end: That of the end.
        x0: Initial state.
        xs: States (T + 1, nx), first the guess.
        us: Controls, one array a knot.
        gaps_close_in_part: FDDP; else DDP.
        costs: Cost after each iteration.
        steps: Step length of each.
        regularizations: Regularisation of each direction.
    """

    models: Sequence[ActionModelAbstract]
    end: ActionModelAbstract
    x0: Reals
    xs: list[Reals]
    us: list[Reals]
    gaps_close_in_part: bool
    feasible: bool = False
    step_lengths: Sequence[float] = tuple(0.5**i for i in range(10))
    rho: float = 1e-9
    costs: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    regularizations: list[float] = field(default_factory=list)
    converged: bool = False

    def solve(self, max_iterations: int) -> Twin:
        """At most this many iterations."""
        self.expand()
        while len(self.costs) < max_iterations and not self.converged:
            while not self.backward():
                self.rho *= 10
            self.regularizations.append(self.rho)
            was_feasible, (accepted, length, promise) = self.feasible, self.search()
            if length > 0.5:
                self.rho = max(self.rho / 10, 1e-9)
            if length <= 0.01:
                self.rho = self.rho * 10
            if accepted:
                self.feasible = was_feasible or length == 1 or not self.gaps_close_in_part
                self.expand()
            self.costs.append(self.cost)
            self.steps.append(length)
            self.converged = accepted and was_feasible and promise < 1e-9
        return self

    def expand(self) -> None:
        """Derivatives at every knot, the cost and the gaps."""
        self.data = [self.evaluated(m, x, u) for m, x, u in zip(self.models, self.xs, self.us)]
        self.last = self.evaluated(self.end, self.xs[-1], None)
        self.cost = sum(d.cost for d in self.data) + self.last.cost
        reached = [self.x0, *(d.xnext for d in self.data)]
        self.gaps = [np.zeros_like(x) if self.feasible else r - x for r, x in zip(reached, self.xs)]

    @staticmethod
    def evaluated(model: ActionModelAbstract, x: Reals, u: Any) -> ActionData:
        data = model.create_data()
        model.calc(data, x, u)
        model.calc_diff(data, x, u)
        return data

    def backward(self) -> bool:
        """Gains and value function; False where Quu is not positive definite."""
        T, identity = len(self.models), np.eye(len(self.x0))
        V, v = self.last.Lxx + self.rho * identity, self.last.Lx
        v = v + V @ self.gaps[T]
        self.K, self.k, self.Quu, self.Qu = ([v] * T for _ in range(4))  # filled from the end
        self.V, self.v = [V] * (T + 1), [v] * (T + 1)
        for t in reversed(range(T)):
            d = self.data[t]
            Qx, Qu = d.Lx + d.Fx.T @ v, d.Lu + d.Fu.T @ v
            Qxx, Qxu, Quu = d.Lxx + d.Fx.T @ V @ d.Fx, d.Lxu + d.Fx.T @ V @ d.Fu, d.Luu + d.Fu.T @ V @ d.Fu
            Quu = Quu + self.rho * np.eye(len(Quu))
            if len(Quu) and np.linalg.eigvalsh(Quu).min() <= 0:
                return False
            k, K = np.linalg.solve(Quu, Qu), np.linalg.solve(Quu, Qxu.T)
            V, v = Qxx - Qxu @ K, Qx - K.T @ Qu
            V = 0.5 * (V + V.T) + self.rho * identity
            v = v + V @ self.gaps[t]
            self.K[t], self.k[t], self.Quu[t], self.Qu[t], self.V[t], self.v[t] = K, k, Quu, Qu, V, v
        return True

    def search(self) -> tuple[bool, float, float]:
        """Whether a step was accepted, its length (or that of the last one tried), |d0 + d1 / 2|."""
        d0 = float(sum(q @ k for q, k in zip(self.Qu, self.k)))
        d1 = -float(sum(k @ Q @ k for k, Q in zip(self.k, self.Quu)))
        if self.gaps_close_in_part:
            d0 -= float(sum(v @ f for v, f in zip(self.v, self.gaps)))
            d1 += float(sum(f @ V @ f for V, f in zip(self.V, self.gaps)))
        slope, curvature = d0, d1
        for length in self.step_lengths:
            xs, us, cost = self.roll_out(length)
            if not np.isfinite(cost):
                continue
            slope, curvature = d0, d1
            if self.gaps_close_in_part:
                bend = -sum(f @ V @ (old - new) for f, V, old, new in zip(self.gaps, self.V, self.xs, xs))
                slope, curvature = d0 + bend, d1 - 2 * bend
            if self.accepts(slope, length * (slope + 0.5 * length * curvature), self.cost - cost):
                self.xs, self.us = xs, us
                return True, length, abs(slope + 0.5 * curvature)
        return False, self.step_lengths[-1], abs(slope + 0.5 * curvature)

    def accepts(self, slope: float, expected: float, decrease: float) -> bool:
        if expected >= 0:
            ignores_gaps = not self.gaps_close_in_part and not self.feasible
            return abs(slope) < 1e-12 or ignores_gaps or decrease > 0.1 * expected
        return self.gaps_close_in_part and not self.feasible and decrease > 2 * expected

    def roll_out(self, length: float) -> tuple[list[Reals], list[Reals], float]:
        """States, controls and cost of a step; FDDP leaves the part 1 - length of each gap."""
        left = 1 - length if self.gaps_close_in_part else 0.0
        xs, us, cost = [self.x0 - left * self.gaps[0]], [], 0.0
        with np.errstate(all="ignore"):
            for t, model in enumerate(self.models):
                us.append(self.us[t] - length * self.k[t] - self.K[t] @ (xs[t] - self.xs[t]))
                data = model.create_data()
                model.calc(data, xs[t], us[t])
                cost += data.cost
                xs.append(data.xnext - left * self.gaps[t + 1])
            data = self.end.create_data()
            self.end.calc(data, xs[-1], None)
        return xs, us, cost + data.cost
