"""Riccati recursion: the solution of a quadratic program with stages, by one backward and one forward pass.

With the gaps f and the regularisation ρ, from the last knot to the first (Mastalli et al., Crocoddyl, 2020, eqs. 6-10;
with rows C z + d = δ ∘ y: Jallet et al., Parallel and proximal constrained linear-quadratic methods, 2024):

    Q = H + Fᵀ V' F,  q = g + Fᵀ v'
    M = ((Quu + ρ I, Cuᵀ), (Cu, -δ)),  (K | k) = M⁻¹ ((Qux, Cx) | (Qu, d))
    V = Qxx - (Qux, Cx)ᵀ K + ρ I,  v = Qx - (Qux, Cx)ᵀ k + V f            ρ I on V is optional

M is eliminated without pivoting (Vanderbei, Symmetric quasidefinite matrices, 1995). Rows of controls come first: their
pivots are positive if and only if Quu + ρ I is positive definite; then those of constraints are negative if and only if
Cu has full row rank, or δ > 0 makes up for it. So constraints on states alone need δ > 0 here, and there are none at
the end: both come with the constraints.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from trajopt.kernels import ParallelCalls
from trajopt.shooting.arrays import padded
from trajopt.solvers.riccati import recursion
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic, check_rows
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals


class RiccatiFailure(Enum):
    """Reason why the recursion failed at a knot; the value is the sentence that the user reads."""

    INDEFINITE = "Quu is not positive definite"
    RANK_DEFICIENT = "constraint rows depend on one another, or not on the controls"
    NOT_FINITE = "the value function is not finite, or beyond 1e30"


_FAILURES = {
    recursion.INDEFINITE: RiccatiFailure.INDEFINITE,
    recursion.RANK_DEFICIENT: RiccatiFailure.RANK_DEFICIENT,
    recursion.NOT_FINITE: RiccatiFailure.NOT_FINITE,
}


_WAIT = slice(-len(recursion.WAIT), None)


class _Arguments(ctypes.Structure):
    """Arguments of the backward pass, see `recursion.factor`."""

    _fields_ = (
        ("table", ctypes.c_void_p),
        ("regularization", ctypes.c_double),
        ("on_value", ctypes.c_double),
        ("with_gaps", ctypes.c_int64),
    )


@dataclass(frozen=True, eq=False)
class ControlBox:
    """Limits of the controls of a program, and how the programs of the knots are solved, see `recursion.box`.

    Attributes:
        lower: Lower limits of du (T, m), infinite where there are none; read at each pass.
        upper: Upper limits.
        options: Numbers in the order of `recursion.BOX_OPTIONS`.
    """

    lower: Reals
    upper: Reals
    options: Reals


@dataclass(slots=True)  # not frozen: that takes three times as long to make
class RiccatiOutcome:
    """Outcome of a backward pass.

    Attributes:
        failure: Reason of the failure; None if the pass succeeded.
        failed_knot: Knot of the failure, T for the end; None if the pass succeeded.
        decrease: Σ (Qu, d) · (k, ky) [cost]. Without gaps the optimal cost of the program is - decrease / 2; without
            constraints this is the linear part of the decrease that the step promises, Σ Qu · k.
        curvature: Σ k · Quu k [cost], the same but where limits of controls are active.
    """

    failure: RiccatiFailure | None
    failed_knot: int | None
    decrease: float
    curvature: float

    @property
    def promised(self) -> float:
        """Decrease of the cost that a full step predicts if there are no gaps [cost]."""
        return self.decrease - 0.5 * self.curvature


@dataclass(frozen=True, eq=False)
class LinearStep:
    """Solution of a linear-quadratic program. The next solve overwrites its arrays.

    With the Lagrangian, cost + λ_0 · (f_0 - dx_0) + Σ λ_{t+1} · (F_t z_t + f_{t+1} - dx_{t+1}) + y_t · (C_t z_t + d_t).

    Attributes:
        dx: States (T + 1, n).
        du: Controls (T, m).
        lam: Multipliers λ of the dynamics (T + 1, n): the gradient of the value function at dx.
        y: Multipliers of the constraints (T, nc).
        flat: dx, du and λ in one vector.
    """

    dx: Reals
    du: Reals
    lam: Reals
    y: Reals
    flat: Reals

    @staticmethod
    def zeros(T: int, n: int, m: int, nc: int) -> LinearStep:
        """Returns a solution of these sizes in which all values are zero."""
        states, controls = (T + 1) * n, T * m
        flat = padded((2 * states + controls,))
        dx, du, lam = np.split(flat, [states, states + controls])
        return LinearStep(dx.reshape(T + 1, n), du.reshape(T, m), lam.reshape(T + 1, n), np.zeros((T, nc)), flat)


class Riccati:
    """Riccati recursion on the arrays of one program, as machine code compiled for its sizes.

    `factor` first; then `forward` for the solution. With other vectors (g, f, d, terminal_g) and the same matrices,
    `solve` and `forward`. What depends on ρ is the solution of the program with ρ I added to Huu, and to Hxx too if it
    is on V.

    Args:
        lq: The program; its arrays must not move.
        K: Array for the gains K; a new one by default.
        k: Array for the feed-forward k; a new one by default.
        box: Limits of du that a pass keeps; none by default. `solve` does not know them.
        rows: Rows that add CᵀDC to H and Cᵀh to g, if any.

    Attributes:
        lq: The program.
        rows: Rows that add CᵀDC to H and Cᵀh to g; None without any.
        box: Limits of du; None without any.
        K: Gains (T, m, n): du = -k - K dx.
        k: Feed-forward of the controls (T, m).
        Ky: Gains of the multipliers (T, nc, n): y = -ky - Ky dx.
        ky: Feed-forward of the multipliers (T, nc).
        Vxx: Hessians V of the value function (T + 1, n, n).
        Vx: Its gradients v behind the gap (T + 1, n).
        Vf: Vxx f (T + 1, n); not written by a pass without gaps.
        step: Solution that `forward` writes.
    """

    def __init__(
        self,
        lq: LinearQuadratic,
        *,
        K: Reals | None = None,
        k: Reals | None = None,
        rows: WeightedRows | None = None,
        box: ControlBox | None = None,
    ) -> None:
        T, n, m, nc = lq.T, lq.n, lq.m, lq.nc
        self.lq, self.rows, self.box = lq, rows, box
        self._sizes = replace(sizes_of(lq, rows), boxed=box is not None)
        self.K, self.k = np.zeros((T, m, n)) if K is None else K, np.zeros((T, m)) if k is None else k
        check_rows("K", self.K, (T, m, n))
        check_rows("k", self.k, (T, m))
        self.Ky, self.ky = np.zeros((T, nc, n)), np.zeros((T, nc))
        self.Vx, self.Vf = padded((T + 1, n)), np.zeros((T + 1, n))
        self.Vxx = padded((T + 1, n, self._sizes.row_V))[:, :, :n]
        self.step = LinearStep.zeros(T, n, m, nc)
        self._decrease, self._curvature, self._with_gaps = ctypes.c_double(), ctypes.c_double(), 0
        self._table = self._bind()
        self._address = ctypes.addressof(self._table)
        self._factor, self._factor_after = recursion.factor(self._sizes)

    @functools.cached_property
    def _solve(self) -> Any:
        return recursion.solve(self._sizes)

    @functools.cached_property
    def _forward(self) -> Any:
        return recursion.forward(self._sizes)

    @functools.cached_property
    def _adjoint(self) -> Any:
        return recursion.adjoint(self._sizes)

    @functools.cached_property
    def _find(self) -> Any:
        return recursion.find_rows(self._sizes)

    def _bind(self) -> ctypes.Array[ctypes.c_int64]:
        """T and the addresses of all arrays."""
        lq, step, sizes = self.lq, self.step, self._sizes
        U, inverse = padded((lq.T, sizes.rows, sizes.left)), padded((lq.T, sizes.left))
        own = {"V": self.Vxx, "v": self.Vx, "Vf": self.Vf, "K": self.K, "k": self.k, "Ky": self.Ky, "ky": self.ky}
        own |= {"dx": step.dx, "du": step.du, "lam": step.lam, "y": step.y, "U": U, "inverse": inverse}
        given = {name: getattr(lq, name, None) for name in recursion.ARRAYS if name not in own}
        if lq.second_order is not None:
            given |= {name: getattr(lq.second_order, name) for name in ("dt", "J0", "J1dt")}
        if self.rows is not None:
            given |= self.rows.arrays()
        if self.box is not None:
            given |= {"du_lower": self.box.lower, "du_upper": self.box.upper, "box_options": self.box.options}
        self._held = (U, inverse, given)
        sums = {"decrease": self._decrease, "curvature": self._curvature}
        addresses = {name: ctypes.addressof(value) for name, value in sums.items()}
        return bind(sizes, lq.T, given | own, addresses)

    def factor(
        self,
        regularization: float = 0.0,
        *,
        feasible: bool = False,
        regularize_value: bool = True,
        after: ParallelCalls | None = None,
        fill: tuple[int, int] | None = None,
    ) -> RiccatiOutcome:
        """Runs the backward pass on the current arrays: computes gains and value functions.

        Args:
            regularization: ρ, added to the diagonal of Quu [-].
            feasible: Whether all gaps count as zero.
            regularize_value: Whether ρ is added to the diagonal of Vxx too.
            after: Calls that fill the arrays first. On several threads a knot is passed as soon as it is filled.
            fill: What fills the arrays of a knot t just before it is passed, as far as it comes: addresses of a
                function `void fill(void *job, long t)` and of its job.
        """
        self._with_gaps = 0 if feasible else 1
        numbers = (regularization, regularization if regularize_value else 0.0, self._with_gaps)
        if after is not None and after.shared:
            return self.outcome(self._factored_during(after, *numbers))
        if after is not None:
            after()
        if fill is None:
            return self.outcome(self._factor(self._address, *numbers))
        try:
            self._table[_WAIT] = list(fill)
            return self.outcome(self._factor(self._address, *numbers))
        finally:
            self._table[_WAIT] = [0, 0]

    def _factored_during(self, calls: ParallelCalls, *numbers: float) -> int:
        arguments = _Arguments(self._address, *numbers)
        try:
            self._table[_WAIT] = list(calls.ready)
            return calls.read_by(self._factor_after, ctypes.addressof(arguments))
        finally:
            self._table[_WAIT] = [0, 0]

    def solve(self, *, feasible: bool = False, same_gaps: bool = False) -> RiccatiOutcome:
        """Runs the backward pass on the current vectors g, f, d, terminal_g, with the matrices of the last `factor`.

        It writes Vx, Vf, k and ky.

        Args:
            feasible: Whether all gaps count as zero.
            same_gaps: Whether Vf of the last pass is right: f is as it was then. For programs with weighted rows.
        """
        self._with_gaps = 0 if feasible else recursion.WITH_GAPS
        flags = self._with_gaps | (recursion.SHORT if same_gaps and self.rows is not None else 0)
        return self.outcome(self._solve(self._address, flags))

    def forward(self, *, costates: bool = True) -> LinearStep:
        """Forward pass: the solution for the vectors of the last `factor` or `solve`.

        Args:
            costates: Whether λ is wanted; a program with weighted rows can do without.
        """
        self._forward(self._address, self._with_gaps | (0 if costates else recursion.SHORT))
        return self.step

    def forward_from(self, dx0: Reals) -> LinearStep:
        """`forward` with a change dx0 (n,) of the first state that the backward pass did not know."""
        gap, gradient, flags = self.lq.f[0].copy(), self.Vx[0].copy(), self._with_gaps
        self.lq.f[0] += dx0
        self.Vx[0] += self.Vxx[0] @ dx0
        self._with_gaps |= recursion.WITH_GAPS
        try:
            return self.forward()
        finally:
            self.lq.f[0], self.Vx[0], self._with_gaps = gap, gradient, flags

    def adjoint(self) -> tuple[Reals, Reals]:
        """Gradient along each control (T, m) of the function with gradients g and terminal_g, and costates (T + 1, n).

        After a change of one control later ones follow the law - K dx, with what K holds now; weighted rows add Cᵀh.
        Without gaps. The arrays are k and Vx, which are overwritten.
        """
        self._adjoint(self._address, 0)
        return self.k, self.Vx

    def find_rows(self) -> None:
        """Lists the weighted rows that are switched on, and those with a single variable, from the current arrays."""
        self._find(self._address, 0)

    @functools.cached_property
    def native(self) -> tuple[int, int, int, int]:
        """Addresses of the table, and of the functions behind `factor`, `solve` and `forward`, for machine code."""
        functions = self._factor, self._solve, self._forward
        factor, solve, forward = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
        return self._address, factor, solve, forward

    def outcome(self, code: int) -> RiccatiOutcome:
        """Returns the outcome of the last backward pass, from the code that its machine code returned."""
        decrease = self._decrease.value
        curvature = decrease if self.box is None else self._curvature.value
        if code:
            return RiccatiOutcome(_FAILURES[code % 4], code // 4 - 1, decrease, curvature)
        return RiccatiOutcome(None, None, decrease, curvature)


def sizes_of(lq: LinearQuadratic, rows: WeightedRows | None = None) -> recursion.Sizes:
    """Returns the sizes for which the machine code of a program is generated."""
    width, count = recursion.registers()
    knot, row, _ = (stride // 8 for stride in (lq.F if lq.T else np.zeros((1, *lq.F.shape[1:]))).strides)
    return recursion.Sizes(
        n=lq.n,
        m=lq.m,
        nc=lq.nc,
        row_F=row,
        knot_F=knot,
        nb=lq.second_order.J0.shape[-1] if lq.second_order is not None else None,
        width=width,
        registers=count,
        weighted=None if rows is None else rows.nr,
        constant=lq.k,
        starts=lq.starts,
    )


def bind(
    sizes: recursion.Sizes, T: int, arrays: dict[str, Any], addresses: dict[str, int]
) -> ctypes.Array[ctypes.c_int64]:
    """Returns the table of addresses that the machine code reads: T, all arrays, and new scratch memory.

    Args:
        sizes: Sizes of the program.
        T: Number of knots before the last.
        arrays: Arrays by name; who calls keeps them.
        addresses: Addresses of what is no array.
    """
    scratch = padded((sizes.scratch()[1],))
    found = {name: int(array.ctypes.data) for name, array in arrays.items() if array is not None} | addresses
    found["scratch"] = int(scratch.ctypes.data)
    names = (*recursion.ARRAYS, *recursion.WAIT)
    table = (ctypes.c_int64 * (len(names) + 1))(T, *(found.get(name, 0) for name in names))
    table.scratch = scratch  # type: ignore[attr-defined]  # lives as long as the table
    return table
