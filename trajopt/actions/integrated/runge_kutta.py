"""Explicit Runge-Kutta steps on a manifold, with derivatives: stages y = x ⊕ s, s = dt Σ a κ, result x⁺ = x ⊕ dt Σ b κ.

κ = ∂(y ⊖ x)/∂y k is the rate k of a stage at y, mapped to the tangent space at x: on a Lie group a function of s alone.
The map is the identity for vectors and for joints with one axis. Without it the order on rotations would be 2.

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
"""Applies a function to arguments: `Program.call` for arrays, `call_expression` for expressions."""


Field = Callable[..., Sequence[Any]]
"""Maps stage number and y to a tuple with the rate; or stage number, y and Z to the rate and its derivative."""


def call_expression(function: ca.Function, *arguments: SX) -> list[SX]:
    """Results of a function called with expressions."""
    return list(function.call(list(arguments)))


def is_curved(state: StateAbstract) -> bool:
    """Whether tangent spaces at different states differ, so that κ differs from k."""
    x, y = SX.sym("x", state.nx), SX.sym("y", state.nx)
    return not state.sx_jdifference(x, y)[1].is_eye()


def is_flat(state: StateAbstract) -> bool:
    """Whether ⊕ is a sum, or only joints with one axis differ from it; then it adds no second derivatives."""
    x, step = SX.sym("x", state.nx), SX.sym("step", state.ndx)
    return all(bool(each.is_eye()) for each in state.sx_jintegrate(x, step))


class RungeKutta:
    """The steps of one Runge-Kutta method, with or without derivatives.

    A stage returns its rate k (ndx,). If `size` is ndx / 2 it returns accelerations only, and the velocities come from
    y. With derivatives, a stage also takes Z and returns the derivative of its rate. Z stacks the derivative of y by x
    and further inputs (ndx, ndx + inputs) on that of the stage's control.

    Args:
        tableau: Coefficients of the method.
        state: State of the system.
        dt: Symbol of the time step (1,) [s].
        curved: Whether rates are mapped to the tangent space at x.
        size: Size of the result of a stage, ndx or ndx / 2; ndx by default.
        inputs: Number of inputs, besides x, of the derivatives [-].
        control: Derivative of a stage's control by the inputs, as a function of its time c; then it is part of Z.
        by_time: Derivative of dt by the inputs (1, inputs); None for zeros.
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
        by_time: SX | None = None,
    ) -> None:
        self._by_time = by_time
        self.tableau, self.state, self._dt, self.curved, self._control = tableau, state, dt, curved, control
        self._n, self._s, self._size = state.ndx, state.ndx + inputs, state.ndx if size is None else size
        self._x, self.flat = SX.sym("x", state.nx), is_flat(state)

    def step(self, call: Call, x: Any, dt: Any, field: Field, *, derivatives: bool = False) -> Any:
        """x⁺, or (x⁺, its derivative); arguments as in `stages`."""
        stages = self.stages(call, x, dt, field, derivatives=derivatives)
        used = [stage for b, stage in zip(self.tableau.b, stages) if b]
        results = call(self._finish(derivatives=derivatives), x, *_columns(used, derivatives), dt)
        return results if derivatives else results[0]

    def stages(self, call: Call, x: Any, dt: Any, field: Field, *, derivatives: bool = False) -> list[tuple[Any, ...]]:
        """Returns (y, rate) of each stage, or (y, Z, rate, derivative of the rate).

        Where ⊕ is no sum, s and its derivative follow, but for the knot.

        Args:
            call: Applies a function to arrays or to expressions.
            x: State at the start (nx,).
            dt: Time step (1,) [s].
            field: Computes the rate of a stage.
            derivatives: Whether to compute derivatives.
        """
        done = list[tuple[Any, ...]]()
        for i, (row, c) in enumerate(zip(self.tableau.A, self.tableau.c)):
            used = [(a, done[j]) for j, a in enumerate(row) if a]
            times = [a for a, _ in used] + [c] * (derivatives and self._control is not None)
            if used:
                numbers = {a: call(ca.Function("constant", [], [SX(a)]))[0] for a in times}
                advance = self._advance(len(used), derivatives=derivatives)
                at = call(
                    advance, x, *_columns([stage for _, stage in used], derivatives), dt, *(numbers[a] for a in times)
                )
                at, moved = at[: 1 + derivatives], at[1 + derivatives :]
            else:
                at, moved = (x, *call(self.still(0.0))) if derivatives else (x,), ()
            rate = field(i, *at)
            if self.curved:
                rate = call(self._seen(bool(used), derivatives=derivatives), x, *moved, *at, *rate)
            done.append((*at, *rate, *moved))
        return done

    def rate(self, y: SX, f: SX) -> SX:
        """Rate of the state (ndx,), from the result f of a stage at y."""
        return f if f.numel() == self._n else ca.vertcat(y[self.state.nx - f.numel() :], f)

    def rate_derivative(self, Z: SX, D: SX) -> SX:
        """Derivative of the rate (ndx, ndx + inputs); D is the derivative of f."""
        return D if D.shape[0] == self._n else ca.vertcat(Z[D.shape[0] : self._n, :], D)

    def still(self, c: float) -> ca.Function:
        """Function without arguments that returns Z at time c if y moves with x."""
        return ca.Function("identity", [], [self.sensitivity(SX.eye(self._n), c)])

    def sensitivity(self, by: SX, c: float | SX) -> SX:
        """Z of a stage at time c, from the derivative of its y by x and the inputs, or by x alone."""
        by = ca.horzcat(by, SX(self._n, self._s - by.shape[1]))
        if self._control is None:
            return by
        own = self._control(c)
        return ca.vertcat(by, ca.horzcat(SX(own.shape[0], self._n), own))

    def _symbols(self, count: int, size: int) -> list[list[SX]]:
        """Symbols of y, Z, the stage results (f or κ, `size` entries each) and their derivatives D."""
        rows = self.sensitivity(SX.eye(self._n), 0.0).shape[0]
        shapes = {"y": (self.state.nx, 1), "Z": (rows, self._s), "f": (size, 1), "D": (size, self._s)}
        return [[SX.sym(name, *shape) for _ in range(count)] for name, shape in shapes.items()]

    def _seen(self, moved: bool, *, derivatives: bool) -> ca.Function:
        """Function that maps the result of a stage to κ, with its derivative (ndx, ndx + inputs).

        Its arguments are x, then s and the derivative of s if the stage has `moved` from x, y, Z, f and D.
        """
        n, x, ((y,), (Z,), (f,), (D,)), k = self._n, self._x, self._symbols(1, self._size), SX.sym("k", self._n)
        rate, s, S = self.rate(y, f), SX.sym("s", n), SX.sym("S", n, self._s)
        to_x = self.state.sx_jintegrate_inverse(x, s) if moved else SX.eye(n)
        if not derivatives:
            return ca.Function("seen", [x, *[s] * moved, y, f], [to_x @ rate])
        change = to_x @ self.rate_derivative(Z, D)
        if moved:
            by_s, by_x = jacobian(to_x @ k, s), jacobian(to_x @ k, x) @ self.state.sx_tangent_basis(x)
            by_s, by_x = ca.substitute([by_s, by_x], [k], [rate])
            change += by_s @ S + ca.horzcat(by_x, SX(n, self._s - n))
        return ca.Function("seen_diff", [x, *[s, S] * moved, y, Z, f, D], [to_x @ rate, change])

    def _advance(self, count: int, *, derivatives: bool) -> ca.Function:
        """Function that computes y, and Z, of the next stage from the `count` stages before."""
        a, c = [SX.sym("a") for _ in range(count)], SX.sym("c")
        times = [self._dt, *a, c] if derivatives and self._control is not None else [self._dt, *a]
        inputs, (y, *by), moved = self._moved([each * self._dt for each in a], SX(1), derivatives=derivatives)
        results = [y, *(self.sensitivity(each, c) for each in by), *([] if self.flat else moved)]
        return ca.Function("advance", [*inputs, *times], results)

    def _finish(self, *, derivatives: bool) -> ca.Function:
        """Function that computes x⁺, and its derivative (ndx, ndx + inputs)."""
        inputs, results, _ = self._moved([SX(b) for b in self.tableau.b if b], self._dt, derivatives=derivatives)
        return ca.Function("finish", [*inputs, self._dt], results)

    def _moved(self, weights: Sequence[SX], scale: SX, *, derivatives: bool) -> tuple[list[SX], list[SX], list[SX]]:
        """Symbols, x ⊕ s with s = scale Σ weight κ as an expression of them, and s, each with its derivative."""
        n, (ys, Zs, fs, Ds) = self._n, self._symbols(len(weights), self._n if self.curved else self._size)
        step = scale * sum((w * self.rate(y, f) for w, y, f in zip(weights, ys, fs)), SX(0))
        moved = self.state.sx_integrate(self._x, step)
        if not derivatives:
            return [self._x, *ys, *fs], [moved], [step]
        change = scale * sum((w * self.rate_derivative(Z, D) for w, Z, D in zip(weights, Zs, Ds)), SX(0))
        if self._by_time is not None:
            change += jacobian(step, self._dt) @ ca.horzcat(SX(1, n), self._by_time)
        first, second = self.state.sx_jintegrate(self._x, step)
        by = second @ change + ca.horzcat(first, SX(n, self._s - n))
        return [self._x, *ys, *Zs, *fs, *Ds], [moved, by], [step, change]


def _columns(stages: Sequence[tuple[Any, ...]], derivatives: bool) -> list[Any]:
    """Transposes stage results: y of all stages, then Z of all, and so on."""
    size = 4 if derivatives else 2
    return list(itertools.chain(*zip(*(stage[:size] for stage in stages))))
