"""Explicit Runge-Kutta steps on a manifold, with derivatives: stages y = x ⊕ dt Σ a κ, result x⁺ = x ⊕ dt Σ b κ.

κ = ∂(y ⊖ x)/∂y k is the rate k of a stage at y, seen in the tangent space at x. Without that map, which is the identity
for vectors and for joints with one axis, the order on rotations would be 2.

Source: Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.8.2 (Munthe-Kaas methods).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import casadi as ca
from casadi import SX

from trajopt.actions.integrated.tableau import Tableau
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.steps import Array
from trajopt.states.base import StateAbstract

T = TypeVar("T", Array, SX)

Call = Callable[..., Any]
"""Applies a function to arguments: `Program.call` to arrays, `call_expression` to expressions."""


def call_expression(function: ca.Function, *arguments: SX) -> list[SX]:
    """Results of a function of expressions."""
    return list(function.call(list(arguments)))


def is_curved(state: StateAbstract) -> bool:
    """Whether tangent spaces at different states differ, so that κ is not k."""
    x, y = SX.sym("x", state.nx), SX.sym("y", state.nx)
    return not state.sx_jdifference(x, y)[1].is_eye()


class RungeKutta:
    """The steps of one method.

    A stage gives its rate k (ndx,), or, with `size`, the accelerations alone: then velocities of y are the other half.

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
        self.tableau, self._state, self._dt, self._curved = tableau, state, dt, curved
        self._size, self._s = state.ndx if size is None else size, state.ndx + inputs
        self._control = control
        self._x, self._y = SX.sym("x", state.nx), SX.sym("y", state.nx)

    def values(self, call: Call, x: T, dt: T, field: Callable[[int, T], T]) -> T:
        """x⁺, where `field` gives the rate of a stage from its number and y."""
        ys, fs = self.stages(call, x, dt, field)
        used = self._used(self.tableau.b)
        result: T = call(self._finish(derivatives=False), x, dt, *(ys[j] for j in used), *(fs[j] for j in used))[0]
        return result

    def stages(self, call: Call, x: T, dt: T, field: Callable[[int, T], T]) -> tuple[list[T], list[T]]:
        """y and the rate of each stage."""
        ys: list[T] = []
        fs: list[T] = []
        for i, row in enumerate(self.tableau.A):
            y, before = x, self._used(row)
            if before:
                rates = [all_[j] for all_ in (ys, fs) for j in before]
                y = call(self._advance(len(before)), x, *rates, dt, *(_constant(call, row[j]) for j in before))[0]
            f = field(i, y)
            if self._curved:
                f = call(self._seen(), x, y, f)[0]
            ys.append(y)
            fs.append(f)
        return ys, fs

    def derivatives(
        self, call: Call, x: Array, dt: Array, field: Callable[[int, Array, Array], tuple[Array, Array]]
    ) -> tuple[Array, Array, list[Array], list[Array]]:
        """x⁺, its derivative (ndx, ndx + inputs), and the rate of each stage with its derivative.

        `field` gives the rate of a stage and its derivative from its number, y, and Z, the derivative of y by x and the
        inputs (ndx, ndx + inputs), with rows for the control of the stage below.
        """
        start = ca.Function("identity", [], [self._sensitivity(SX.eye(self._state.ndx), 0.0)])
        ys, Zs, fs, Ds = list[Array](), list[Array](), list[Array](), list[Array]()
        for i, row in enumerate(self.tableau.A):
            y, before = x, self._used(row)
            if not before:
                (Z,) = call(start)
            else:
                numbers = {a: _constant(call, a) for a in (*(row[j] for j in before), self.tableau.c[i])}
                given = [all_[j] for all_ in (ys, Zs, fs, Ds) for j in before]
                times = [numbers[row[j]] for j in before] + [numbers[self.tableau.c[i]]] * (self._control is not None)
                y, Z = call(self._advance_derivatives(len(before)), x, *given, dt, *times)
            f, D = field(i, y, Z)
            if self._curved:
                f, D = call(self._seen_derivatives(), x, y, Z, f, D)
            for all_, value in zip((ys, Zs, fs, Ds), (y, Z, f, D)):
                all_.append(value)
        used = self._used(self.tableau.b)
        given = [all_[j] for all_ in (ys, Zs, fs, Ds) for j in used]
        xnext, F = call(self._finish(derivatives=True), x, dt, *given)
        return xnext, F, fs, Ds

    @staticmethod
    def _used(row: Sequence[float]) -> list[int]:
        return [j for j, a in enumerate(row) if a]

    def _rate(self, y: SX, f: SX) -> SX:
        """Rate of the state (ndx,), from what a stage at y hands on."""
        return f if f.numel() == self._state.ndx else ca.vertcat(y[self._state.nx - f.numel() :], f)

    def _rate_sensitivity(self, Z: SX, D: SX) -> SX:
        """Its derivative (ndx, ndx + inputs), with D that of f."""
        n = self._state.ndx
        return D if D.shape[0] == n else ca.vertcat(Z[D.shape[0] : n, :], D)

    def _seen(self) -> ca.Function:
        """κ of what a stage gives."""
        f = SX.sym("f", self._size)
        to_x = self._state.sx_jdifference(self._x, self._y)[1]
        return ca.Function("seen", [self._x, self._y, f], [to_x @ self._rate(self._y, f)])

    def _seen_derivatives(self) -> ca.Function:
        """κ and its derivative (ndx, ndx + inputs)."""
        n, x, y, Z = self._state.ndx, self._x, self._y, self._symbols(1)[1][0]
        f, D, k = SX.sym("f", self._size), SX.sym("D", self._size, self._s), SX.sym("k", n)
        to_x = self._state.sx_jdifference(x, y)[1]
        by_x = jacobian(to_x @ k, x) @ self._state.sx_tangent_basis(x)
        by_y = jacobian(to_x @ k, y) @ self._state.sx_tangent_basis(y)
        rate = self._rate(y, f)
        by_x, by_y = ca.substitute([by_x, by_y], [k], [rate])
        change = to_x @ self._rate_sensitivity(Z, D) + by_y @ Z[:n, :] + ca.horzcat(by_x, SX(n, self._s - n))
        return ca.Function("seen_diff", [x, y, Z, f, D], [to_x @ rate, change])

    def _symbols(self, count: int) -> tuple[list[SX], list[SX], list[SX], list[SX]]:
        """y, Z, and what stages hand on: f or κ, and its derivative D."""
        n, size = self._state.ndx, self._state.ndx if self._curved else self._size
        rows = n if self._control is None else n + self._control(0.0).shape[0]
        shapes = {"y": (self._state.nx, 1), "Z": (rows, self._s), "f": (size, 1), "D": (size, self._s)}
        ys, Zs, fs, Ds = ([SX.sym(name, *shape) for _ in range(count)] for name, shape in shapes.items())
        return ys, Zs, fs, Ds

    def _moved(self, step: SX, change: SX) -> list[SX]:
        """x ⊕ step, and its derivative (ndx, ndx + inputs), with `change` that of the step."""
        first, second = self._state.sx_jintegrate(self._x, step)
        by = second @ change + ca.horzcat(first, SX(self._state.ndx, self._s - self._state.ndx))
        return [self._state.sx_integrate(self._x, step), by]

    def _sensitivity(self, by: SX, c: float | SX) -> SX:
        """Z of a stage at c, of the derivative of its y by x and the inputs, or by x alone."""
        by = ca.horzcat(by, SX(by.shape[0], self._s - by.shape[1]))
        if self._control is None:
            return by
        own = self._control(c)
        return ca.vertcat(by, ca.horzcat(SX(own.shape[0], self._state.ndx), own))

    def _advance(self, count: int) -> ca.Function:
        """y of the next stage, from `count` ones before."""
        a, (ys, _, fs, _) = [SX.sym("a") for _ in range(count)], self._symbols(count)
        step = sum((each * self._dt * self._rate(y, f) for each, y, f in zip(a, ys, fs)), SX(0))
        return ca.Function("advance", [self._x, *ys, *fs, self._dt, *a], [self._state.sx_integrate(self._x, step)])

    def _advance_derivatives(self, count: int) -> ca.Function:
        """y and Z of the next stage."""
        a, c, (ys, Zs, fs, Ds) = [SX.sym("a") for _ in range(count)], SX.sym("c"), self._symbols(count)
        step = sum((each * self._dt * self._rate(y, f) for each, y, f in zip(a, ys, fs)), SX(0))
        change = sum((each * self._dt * self._rate_sensitivity(Z, D) for each, Z, D in zip(a, Zs, Ds)), SX(0))
        y, by = self._moved(step, change)
        times = [*a, c] if self._control is not None else a
        given = [self._x, *ys, *Zs, *fs, *Ds, self._dt, *times]
        return ca.Function("advance_diff", given, [y, self._sensitivity(by, c)])

    def _finish(self, *, derivatives: bool) -> ca.Function:
        weights = [b for b in self.tableau.b if b]
        ys, Zs, fs, Ds = self._symbols(len(weights))
        step = self._dt * sum((b * self._rate(y, f) for b, y, f in zip(weights, ys, fs)), SX(0))
        if not derivatives:
            moved = self._state.sx_integrate(self._x, step)
            return ca.Function("finish", [self._x, self._dt, *ys, *fs], [moved])
        change = self._dt * sum((b * self._rate_sensitivity(Z, D) for b, Z, D in zip(weights, Zs, Ds)), SX(0))
        return ca.Function("finish_diff", [self._x, self._dt, *ys, *Zs, *fs, *Ds], self._moved(step, change))


def _constant(call: Call, value: float) -> Any:
    """A constant number."""
    return call(ca.Function("constant", [], [SX(value)]))[0]
