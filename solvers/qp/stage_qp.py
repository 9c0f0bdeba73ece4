"""A quadratic program with stages and bounded rows, its solution, and the interface of its solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import numpy as np

from trajopt.checks import check_count, check_instance
from trajopt.errors import InvalidArgumentError, shown
from trajopt.objects.immutable import Immutable
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic, check_rows
from trajopt.types import Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class StageQP:
    """A LinearQuadratic program with rows lower <= C_t z_t <= upper, z_t = (dx_t, du_t), also at the end.

    A row with equal bounds is an equation; infinite bounds switch a row off. A row with δ = 0 is hard. A row with δ > 0
    may be violated, as in an augmented Lagrangian: its multiplier y satisfies r(C z) = δ (y - y_ref), where r is the
    distance to the violated bound, at the cost δ/2 (y² - y_ref²). A row with finite `soft_linear` may exceed its bounds
    by a slack s >= 0 at the cost soft_linear s + ½ soft_quadratic s²; one of the weights is positive. A row may have
    both.

    The arrays are referenced, not copied. A knot with fewer rows than others is padded with rows that are switched off.

    Attributes:
        lq: Dynamics and cost, without rows of its own.
        C: Rows (T, nc, n + m).
        terminal_C: Rows at the end (nc, n).
        lower: Lower bounds (T + 1, nc), -inf for no bound.
        upper: Upper bounds (T + 1, nc), inf for no bound.
        delta: δ (T + 1, nc), >= 0; the inverse of a penalty weight.
        y_ref: Reference multipliers of rows with δ > 0 (T + 1, nc), positive at an upper bound, negative at a lower.
        soft_linear: Linear weights of slacks (T + 1, nc), >= 0; inf, the default, for rows without slack.
        soft_quadratic: Quadratic weights of slacks (T + 1, nc), >= 0.
        row_size: Typical sizes of the rows (T + 1, nc), > 0: tolerances and first slacks are relative to them.
        typical_cost: Typical cost (1,), which says how large multipliers may become; 0, the default, if it is unknown.
    """

    lq: LinearQuadratic
    C: Reals
    terminal_C: Reals
    lower: Reals
    upper: Reals
    delta: Reals
    y_ref: Reals
    soft_linear: Reals
    soft_quadratic: Reals
    row_size: Reals
    typical_cost: Reals

    @staticmethod
    def zeros(lq: LinearQuadratic, nc: int) -> StageQP:
        """Returns a program whose rows are zero, switched off and hard, to be filled by the caller."""
        check_instance("lq", lq, LinearQuadratic)
        check_count("nc", nc)
        T, n, s = lq.T, lq.n, lq.n + lq.m
        rows = (T + 1, nc)
        return StageQP(
            lq=lq,
            C=np.zeros((T, nc, s)),
            terminal_C=np.zeros((nc, n)),
            lower=np.full(rows, -np.inf),
            upper=np.full(rows, np.inf),
            delta=np.zeros(rows),
            y_ref=np.zeros(rows),
            soft_linear=np.full(rows, np.inf),
            soft_quadratic=np.zeros(rows),
            row_size=np.ones(rows),
            typical_cost=np.zeros(1),
        )

    def __post_init__(self) -> None:
        lq = check_instance("lq", self.lq, LinearQuadratic)
        if lq.nc:
            raise InvalidArgumentError("lq: expected a program without rows of its own; pass them as C with bounds")
        if np.ndim(self.terminal_C) != 2:
            raise InvalidArgumentError(f"terminal_C: expected an array (nc, {lq.n}), got {shown(self.terminal_C)}")
        rows = (lq.T + 1, self.nc)
        check_rows("C", self.C, (lq.T, self.nc, lq.n + lq.m))
        check_rows("terminal_C", self.terminal_C, (self.nc, lq.n))
        for name in ("lower", "upper", "delta", "y_ref", "soft_linear", "soft_quadratic", "row_size"):
            check_rows(name, getattr(self, name), rows)

    @property
    def nc(self) -> int:
        """Number of rows of a knot [-]."""
        return len(self.terminal_C)

    def rows(self, dx: Reals, du: Reals) -> Reals:
        """Values C z of all rows (T + 1, nc), at states dx (T + 1, n) and controls du (T, m)."""
        T, n = self.lq.T, self.lq.n
        found = np.empty((T + 1, self.nc))
        found[:T] = (self.C[:, :, :n] @ dx[:T, :, None] + self.C[:, :, n:] @ du[:, :, None])[:, :, 0]
        found[T] = self.terminal_C @ dx[T]
        return found


class QPStatus(Enum):
    """Why a solver of quadratic programs stopped; the value is the sentence that the user reads."""

    SOLVED = "solved"
    MAX_ITERATIONS = "stopped at max_iterations"
    ROUNDING = "stopped near the solution, where rounding errors dominate"
    INDEFINITE = "the Hessian is not positive definite along the dynamics"
    INFEASIBLE = "no step satisfies the hard rows"

    def __str__(self) -> str:
        return self.value


@dataclass(eq=False, kw_only=True, slots=True)  # not frozen: that takes three times as long to make
class QPSolution:
    """Solution of a StageQP. Its arrays belong to the solver; the next solve overwrites them.

    Lagrangian: cost + λ_0 · (f_0 - dx_0) + Σ λ_{t+1} · (F_t z_t + f_{t+1} - dx_{t+1}) + Σ y_t · C_t z_t.

    Attributes:
        status: Why the solver stopped.
        iterations: Number of iterations [-].
        dx: States (T + 1, n).
        du: Controls (T, m).
        lam: Multipliers λ of the dynamics (T + 1, n).
        y: Multipliers of the rows (T + 1, nc): positive at an upper bound, negative at a lower one.
        rows: Values C z of the rows (T + 1, nc); rows that are switched off may have any value.
        K: Feedback gains (T, m, n): du = ... - K dx, zero along directions that active rows fix. None if the solver
            computes none.
        failed_knot: Knot at which a pivot failed, if the status is INDEFINITE.
    """

    status: QPStatus
    iterations: int
    dx: Reals
    du: Reals
    lam: Reals
    y: Reals
    rows: Reals
    K: Reals | None = None
    failed_knot: int | None = None

    @staticmethod
    def failed(qp: StageQP, status: QPStatus) -> QPSolution:
        """Returns the outcome of a program that was not solved, with zeros."""
        check_instance("qp", qp, StageQP)
        T, n, rows = qp.lq.T, qp.lq.n, np.zeros(qp.lower.shape)
        x = np.zeros((T + 1, n))
        return QPSolution(status=status, iterations=0, dx=x, du=np.zeros((T, qp.lq.m)), lam=x, y=rows, rows=rows)


class QPSolverAbstract(Immutable, ABC):
    """Solves a quadratic program with stages repeatedly, with the current content of its arrays.

    Args:
        qp: The program; its arrays must not move.
    """

    def __init__(self, qp: StageQP) -> None:
        self.qp = check_instance("qp", qp, StageQP, "StageQP.zeros(lq, nc) creates one to fill")

    @abstractmethod
    def solve(self) -> QPSolution:
        """Returns the solution for the current content of the program's arrays, with its status and iterations."""
