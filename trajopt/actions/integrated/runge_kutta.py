"""Explicit Runge-Kutta steps on a manifold, with derivatives: stages y = x ⊕ dt Σ a κ, result x⁺ = x ⊕ dt Σ b κ.

κ = ∂(y ⊖ x)/∂y k is the rate k of a stage at y, seen in the tangent space at x. Without that map, which is the identity
for vectors and for joints with one axis, the order on rotations would be 2.

Source: Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.8.2 (Munthe-Kaas methods).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.actions.integrated.tableau import Tableau
from trajopt.kernels.derivatives import jacobian
from trajopt.states.base import StateAbstract

Call = Callable[..., Sequence[Any]]
"""Applies a function to arguments: `Program.call` to arrays, `call_expression` to expressions."""


Field = Callable[..., Sequence[Any]]
"""From the number of a stage and y, its rate in a tuple; or from these and Z, the rate and its derivative."""


def call_expression(function: ca.Function, *arguments: SX) -> list[SX]:
    """Results of a function of expressions."""
    return list(function.call(list(arguments)))


def is_curved(state: StateAbstract) -> bool:
    """Whether tangent spaces at different states differ, so that κ is not k."""
    x, y = SX.sym("x", state.nx), SX.sym("y", state.nx)
    return not state.sx_jdifference(x, y)[1].is_eye()


class RungeKutta:
    """The steps of one method, of values or with derivatives.

    A stage gives its rate k (ndx,), or, with `size`, the accelerations alone: then velocities of y are the other half.
    With derivatives a stage at y has Z too, the derivative of y by x and further inputs (ndx, ndx + inputs), above that
    of the stage's control, and gives the derivative of its rate.

    Args:
        tableau: The method.
        state: State of the system.
        dt: Symbol of the time step (1,).
        curved: Whether rates are seen from x.
        size: Size of what a stage gives, ndx or ndx / 2; by default ndx.
        inputs: Number of inputs beside x that derivatives are by [-].
        control: Derivative of the control of a stage at c by the inputs, which is then part of Z.
    """

    def __init__(
        self,
        tableau: Tableau,
        state: StateAbstract,
        dt: SX,
        *,
        curved: bool,
        size: int | None = None,
        inputs: int = 0,
        control: Callable[[float | SX], SX] | None = None,
    ) -> None:
        self.tableau, self._state, self._dt, self._curved, self._control = tableau, state, dt, curved, control
        self._n, self._s, self._size = state.ndx, state.ndx + inputs, state.ndx if size is None else size
        self._x = SX.sym("x", state.nx)

    def step(self, call: Call, x: Any, dt: Any, field: Field, *, derivatives: bool = False) -> Any:
        """x⁺, or (x⁺, its derivative, the rates of the stages, their derivatives); arguments as of `stages`."""
        stages = self.stages(call, x, dt, field, derivatives=derivatives)
        used = [stage for b, stage in zip(self.tableau.b, stages) if b]
        results = call(self._finish(derivatives=derivatives), x, *_columns(used), dt)
        return (*results, *list(zip(*stages))[2:]) if derivatives else results[0]

    def stages(self, call: Call, x: Any, dt: Any, field: Field, *, derivatives: bool = False) -> list[tuple[Any, ...]]:
        """(y, rate) of each stage, or (y, Z, rate, its derivative).

        Args:
            call: How functions are applied.
            x: State at the start (nx,).
            dt: Time step (1,).
            field: The rate of a stage.
            derivatives: Whether there are derivatives.
        """
        done = list[tuple[Any, ...]]()
        for i, (row, c) in enumerate(zip(self.tableau.A, self.tableau.c)):
            used = [(a, done[j]) for j, a in enumerate(row) if a]
            times = [a for a, _ in used] + [c] * (derivatives and self._control is not None)
            if used:
                numbers = {a: call(ca.Function("constant", [], [SX(a)]))[0] for a in times}
                advance = self._advance(len(used), derivatives=derivatives)
                at = call(advance, x, *_columns([stage for _, stage in used]), dt, *(numbers[a] for a in times))
            else:
                start = ca.Function("identity", [], [self._sensitivity(SX.eye(self._n), 0.0)])
                at = (x, *call(start)) if derivatives else (x,)
            rate = field(i, *at)
            if self._curved:
                rate = call(self._seen(derivatives=derivatives), x, *at, *rate)
            done.append((*at, *rate))
        return done

    def _rate(self, y: SX, f: SX) -> SX:
        """Rate of the state (ndx,), from what a stage at y hands on."""
        return f if f.numel() == self._n else ca.vertcat(y[self._state.nx - f.numel() :], f)

    def _rate_sensitivity(self, Z: SX, D: SX) -> SX:
        """Its derivative (ndx, ndx + inputs), with D that of f."""
        return D if D.shape[0] == self._n else ca.vertcat(Z[D.shape[0] : self._n, :], D)

    def _sensitivity(self, by: SX, c: float | SX) -> SX:
        """Z of a stage at c, of the derivative of its y by x and the inputs, or by x alone."""
        by = ca.horzcat(by, SX(self._n, self._s - by.shape[1]))
        if self._control is None:
            return by
        own = self._control(c)
        return ca.vertcat(by, ca.horzcat(SX(own.shape[0], self._n), own))

    def _symbols(self, count: int, size: int) -> list[list[SX]]:
        """y, Z, and what stages hand on: f or κ, of a size, and its derivative D."""
        rows = self._sensitivity(SX.eye(self._n), 0.0).shape[0]
        shapes = {"y": (self._state.nx, 1), "Z": (rows, self._s), "f": (size, 1), "D": (size, self._s)}
        return [[SX.sym(name, *shape) for _ in range(count)] for name, shape in shapes.items()]

    def _seen(self, *, derivatives: bool) -> ca.Function:
        """κ of what a stage gives, and its derivative (ndx, ndx + inputs)."""
        n, x, ((y,), (Z,), (f,), (D,)), k = self._n, self._x, self._symbols(1, self._size), SX.sym("k", self._n)
        to_x, rate = self._state.sx_jdifference(x, y)[1], self._rate(y, f)
        if not derivatives:
            return ca.Function("seen", [x, y, f], [to_x @ rate])
        by_x = jacobian(to_x @ k, x) @ self._state.sx_tangent_basis(x)
        by_y = jacobian(to_x @ k, y) @ self._state.sx_tangent_basis(y)
        by_x, by_y = ca.substitute([by_x, by_y], [k], [rate])
        change = to_x @ self._rate_sensitivity(Z, D) + by_y @ Z[:n, :] + ca.horzcat(by_x, SX(n, self._s - n))
        return ca.Function("seen_diff", [x, y, Z, f, D], [to_x @ rate, change])

    def _advance(self, count: int, *, derivatives: bool) -> ca.Function:
        """y, and Z, of the next stage, from `count` ones before."""
        a, c = [SX.sym("a") for _ in range(count)], SX.sym("c")
        times = [self._dt, *a, c] if derivatives and self._control is not None else [self._dt, *a]
        inputs, results = self._moved([each * self._dt for each in a], SX(1), derivatives=derivatives)
        return ca.Function(
            "advance", [*inputs, *times], [results[0], *(self._sensitivity(by, c) for by in results[1:])]
        )

    def _finish(self, *, derivatives: bool) -> ca.Function:
        """x⁺, and its derivative (ndx, ndx + inputs)."""
        inputs, results = self._moved([SX(b) for b in self.tableau.b if b], self._dt, derivatives=derivatives)
        return ca.Function("finish", [*inputs, self._dt], results)

    def _moved(self, weights: Sequence[SX], scale: SX, *, derivatives: bool) -> tuple[list[SX], list[SX]]:
        """Symbols, and x ⊕ scale Σ weight κ of them, with its derivative."""
        n, (ys, Zs, fs, Ds) = self._n, self._symbols(len(weights), self._n if self._curved else self._size)
        step = scale * sum((w * self._rate(y, f) for w, y, f in zip(weights, ys, fs)), SX(0))
        moved = self._state.sx_integrate(self._x, step)
        if not derivatives:
            return [self._x, *ys, *fs], [moved]
        change = scale * sum((w * self._rate_sensitivity(Z, D) for w, Z, D in zip(weights, Zs, Ds)), SX(0))
        first, second = self._state.sx_jintegrate(self._x, step)
        by = second @ change + ca.horzcat(first, SX(n, self._s - n))
        return [self._x, *ys, *Zs, *fs, *Ds], [moved, by]


def _columns(stages: Sequence[tuple[Any, ...]]) -> list[Any]:
    """y of all stages, then Z of all, and so on."""
    return list(itertools.chain(*zip(*stages)))
