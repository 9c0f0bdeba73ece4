"""Evaluator: the arrays of a problem that a solver works on, and the calls that fill them."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.actions.freed import ActionModelFreed
from trajopt.errors import ModelEvaluationError, shown_numbers
from trajopt.kernels import KernelCall, ParallelCalls, Reduction, compile_together, lane_count
from trajopt.model.programs import no_solution
from trajopt.residuals import ResidualModelCollisions
from trajopt.shooting.arrays import in_one_piece, lifted, padded, with_constant
from trajopt.shooting.collision_slots import CollisionSlots
from trajopt.shooting.kinds import Kind, by_class
from trajopt.shooting.slot_filler import SlotFiller
from trajopt.shooting.trials import Trials
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

STILL = 5e-3  # motion of all bodies of a knot within which its collision rows keep their bodies [m]


class Evaluator:
    """Values and derivatives of a problem along one trajectory.

    The arrays never move. Write into them; do not replace them.

    Args:
        problem: The problem; its parameter values are read at each call. See `fits`.

    Attributes:
        xs: States (T + 1, nx); set them before a call.
        us: Controls (T, nu).
        xnext: f(x, u) of each running knot (T, nx).
        costs: Cost of each knot, the terminal last (T + 1,) [cost].
        f: Gaps (T + 1, ndx): first x0 ⊖ xs[0] (0 unless the start is fixed), then xnext[t] ⊖ xs[t + 1].
        F: (Fx, Fu) of each running knot (T, n, n + nu), with n = ndx - constant; with a lift only the velocity rows
            (T, n / 2, n + nu).
        E: Derivatives of the next state by constant states, as rows (T, constant, n).
        constant: Number of states that never change, the last ones, such as unknown parameters [-].
        dt, J0, J1dt: The lift, see `trajopt.actions.Lift`: (T,), (T, nb, nb), (T, nb, nb) with nb = lift_size.
        lift_size: Size of the lift's blocks; None if a kind of knot has no lift.
        g: Gradient (Lx, Lu) of the cost (T, ndx + nu).
        H: Hessian of the cost in (x, u) (T, ndx + nu, ndx + nu); compiled knots fill its lower triangle only.
        nc: Largest number of constraint rows of a knot; knots with fewer rows are padded with zeros.
        c: Constraint rows (T + 1, nc).
        C: Derivative of c at the running knots (T, nc, ndx + nu).
        terminal_C: Derivative of c at the end (nc, ndx).
        terminal_g: Gradient of the terminal cost (ndx,).
        terminal_H: Hessian of the terminal cost (ndx, ndx).
        status: 0 for each knot, or the residual if a step of the knot has failed (T + 1,).
        kept: Numbers of the expansion that a Hessian of the Lagrangian reads (T, size); empty until `keep` is called.
        has_kept: True if an expansion has filled `kept`.
        k: Feed-forward term of the feedback law of rollouts (T, nu).
        K: Feedback gains (T, nu, ndx).
    """

    def __init__(self, problem: ShootingProblem) -> None:
        self.state, self.T, self.nu = problem.state, problem.T, problem.nu
        self.parameters, self._rows, kinds = problem.table.values, problem.table.rows, problem.kinds
        self.running, self.terminal = kinds[:-1], kinds[-1]
        self._allocate()
        self.can_fail = any(kind.can_fail(self) for kind in kinds)
        self._end = self.terminal.terminal_expansion(self)
        self._bind()
        self._fillers = self._slot_fillers()
        self._trials: dict[tuple[int, bool], Trials] = {}

    def _allocate(self) -> None:
        T, n, nx, nu = self.T, self.state.ndx, self.state.nx, self.nu
        s = n + nu
        self.nc = nc = self._rows.nc
        self.lift_size = _common_lift([kind.lift_size for kind in self.running])
        self.constant = k = self.terminal.constant_states
        nb, rows = self.lift_size or 0, n - k if self.lift_size is None else (n - k) // 2
        shapes = [(T, nx), (T + 1,), (T, rows, s - k), (T, s), (T, s, s), (n,), (n, n), (T + 1, nc), (T, nc, s)]
        piece, arrays = in_one_piece(*shapes, (T, k, n - k))
        self.xnext, self.costs, self.F, self.g, self.H, self.terminal_g, self.terminal_H, self.c, self.C = arrays[:-1]
        self.E = arrays[-1]
        self.xs, self.us, self.f = padded((T + 1, nx)), padded((T, nu)), padded((T + 1, n))
        self.terminal_C = padded((nc, n))
        self.dt, self.J0, self.J1dt = padded((T,)), padded((T, nb, nb)), padded((T, nb, nb))
        self.kept, self.has_kept = padded((T, 0)), True
        self.k, self.K, self.status = padded((T, nu)), padded((T, nu, n)), padded((T + 1,))
        flat = self.f.reshape(1, -1)
        self._cost, self._sum_of_results = Reduction(self.costs[None]), Reduction(piece[None])
        self._sum_of_gaps, self._largest_gap = Reduction(flat, "sum of sizes"), Reduction(flat, "largest size")
        self._x_first, self._f_first = self.xs[0], self.f[0]
        self._results = {
            "next state": self.xnext,
            "cost": self.costs,
            "F": self.F,
            "E": self.E,
            "cost gradient": self.g,
            "cost Hessian": self.H,
            "terminal gradient": self.terminal_g[None],
            "terminal Hessian": self.terminal_H[None],
            **({"constraint row": self.c, "derivative of a constraint row": self.C} if nc else {}),
        }

    def _bind(self) -> None:
        """Creates the calls of an expansion."""
        families = by_class(self.running).items()
        self._expansions = [call for family, members in families for call in family.expansions(members, self)]
        calls = [*self._expansions, self._end]
        compiled = [call for call in calls if isinstance(call, KernelCall)]  # these run in parallel
        self._compiled = ParallelCalls(compiled, then=[self._cost, self._sum_of_gaps, self._largest_gap])
        self._others = [call for call in calls if call not in compiled]

    def _slot_fillers(self) -> list[SlotFiller]:
        """Fillers of all collision rows; the terminal knot has its own."""
        return [
            SlotFiller(self.xs, self.parameters, kind.knots, slots, STILL)
            for kind in (*self.running, self.terminal)
            for slots in _slots_of(kind)
        ]

    def keep(self, size: int) -> None:
        """Makes all later expansions fill `kept`, with `size` numbers per knot."""
        if size > self.kept.shape[1]:
            self.kept, self.has_kept = padded((self.T, size)), False
            self._bind()

    def fits(self, problem: ShootingProblem) -> bool:
        """True while the evaluator belongs to the problem; False once the problem's models have changed."""
        return self.parameters is problem.table.values

    def full(self) -> tuple[Reals, Reals, Reals]:
        """Complete copies of F (T, ndx, ndx + nu), g (T + 1, ndx + nu) and H (T + 1, ndx + nu, ndx + nu).

        The last row of g and H is the end, with zeros along u. The arrays themselves are incomplete: they hold only
        the entries that a Riccati recursion reads.
        """
        T, n, s = self.T, self.state.ndx, self.state.ndx + self.nu
        g, H = np.empty((T + 1, s)), np.empty((T + 1, s, s))
        g[:T], g[T], g[T, :n] = self.g, 0.0, self.terminal_g
        np.take(self.H.reshape(T, s * s), self._lower, axis=1, out=H[:T].reshape(T, s * s), mode="clip")  # no buffer
        H[T], H[T, :n, :n] = 0.0, self.terminal_H
        F = self.F.copy() if self.lift_size is None else lifted(self.F, self.dt, self.J0, self.J1dt)
        return with_constant(F, self.E) if self.constant else F, g, H

    @functools.cached_property
    def _lower(self) -> Ints:
        """Index in the lower triangle of each entry of a symmetric matrix (s²,)."""
        i = np.arange(self.H.shape[-1])
        return (np.maximum.outer(i, i) * len(i) + np.minimum.outer(i, i)).ravel()

    def row_bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the constraint rows (T + 1, nc), infinite for no bound."""
        return self._rows.bounds()

    def row_softness(self) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of the slacks of the constraint rows (T + 1, nc); inf and 0 for hard rows."""
        return self._rows.softness()

    @property
    def given_rows(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the rows of knot 0 that depend on its state only."""
        return self._rows.given_rows

    def expand(self, x0: Reals | None) -> None:
        """Fills all arrays at `xs`, `us`.

        Args:
            x0: Initial state (nx,) for the first gap; None unless the start is fixed.

        Raises:
            ModelEvaluationError: A step of a knot has failed.
        """
        self.expansion(x0)()
        self.check_steps()

    def expansion(self, x0: Reals | None) -> ParallelCalls:
        """Fills the knots of black boxes and the first gap; returns the call that fills all other knots.

        Run this call, at once or knot by knot, then call `check_steps`. The argument is that of `expand`.
        """
        self.has_kept = True
        for fill in self._fillers:
            fill()
        for call in self._others:
            call()
        if x0 is None or x0.tobytes() == self._x_first.tobytes():  # mostly equal, and comparing bytes is fast
            self._f_first.fill(0.0)
        else:
            self._f_first[:] = self.state.difference_unchecked(self._x_first, x0)  # both were checked before
        return self._compiled

    def expand_again(self) -> None:
        """Fills the arrays of compiled knots again; `expand` must have been called before."""
        self._compiled()
        self.has_kept = True

    @property
    def expansion_calls(self) -> list[KernelCall]:
        """Calls that expand the compiled knots."""
        return self._compiled.calls

    def expand_first(self) -> None:
        """Fills the first knot again, with the knots that share its lanes; the first gap stays as it is."""
        self._expansions[0](0, 1)

    @property
    def cost(self) -> float:
        """Total cost of the expanded trajectory [cost]."""
        return self._cost.latest()[0]

    @property
    def sum_of_gaps(self) -> float:
        """Sum Σ |f| of all absolute gaps of the expanded trajectory [-]."""
        return self._sum_of_gaps.latest()[0]

    @property
    def largest_gap(self) -> float:
        """Largest absolute gap max |f| of the expanded trajectory [-]."""
        return self._largest_gap.latest()[0]

    def check_steps(self) -> None:
        """Raises ModelEvaluationError if a step has failed; the message names the knot, the model and the residual."""
        if not self.can_fail:
            return
        bad = np.flatnonzero(self.status != 0)
        if len(bad):
            t = int(bad[0])
            kind = next(k for k in (*self.running, self.terminal) if t in k.knots)
            knot = f"knot {t} (terminal): " if kind.terminal else f"knot {t}: "
            u = None if kind.terminal else self.us[t, : kind.model.nu]
            raise no_solution(kind.model, float(self.status[t]), self.xs[t], u, knot)

    def prepare(self, *, clipped: bool = False) -> None:
        """Compiles all code that a solve needs, or loads it from the cache, so that the solve itself compiles nothing.

        Args:
            clipped: Whether rollouts clip controls to their limits.
        """
        rollouts = [call for width in (1, lane_count()) for call in self.trials(width, clipped=clipped).calls]
        calls = [*self._expansions, self._end, *rollouts, *(call for fill in self._fillers for call in fill.calls)]
        compile_together([each for call in calls for each in call.kernels])
        for call in calls:
            call.prepare()

    def control_limits(self) -> tuple[Reals, Reals]:
        """Lower and upper limits of the controls of each knot's model (T, nu); infinite for no limit."""
        lower, upper = np.full_like(self.us, -np.inf), np.full_like(self.us, np.inf)
        for kind in self.running:
            knots, nu = list(kind.knots), kind.model.nu
            lower[knots, :nu], upper[knots, :nu] = kind.model.lower, kind.model.upper
        return lower, upper

    def trials(self, width: int, *, clipped: bool = False) -> Trials:
        """Arrays for rollouts with `width` step lengths at once, 1 or `lane_count()`; `clipped` clips controls."""
        if (width, clipped) not in self._trials:
            self._trials[width, clipped] = Trials(self, width, clipped=clipped)
        return self._trials[width, clipped]

    def check_finite(self) -> None:
        """Raises ModelEvaluationError if a value or derivative is not finite; the message names knot and array."""
        self._sum_of_results()
        if math.isfinite(self._sum_of_results.latest()[0]):
            return
        for name, array in self._results.items():  # a sum of finite numbers may overflow
            bad = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
            if len(bad):
                t = self.T if name.startswith("terminal") else int(bad[0])
                kind = next(k for k in (*self.running, self.terminal) if t in k.knots)
                at = f"x = {shown_numbers(self.xs[t], self.state.coordinate_names)}"
                if not kind.terminal:
                    at += f", u = {shown_numbers(self.us[t, : kind.model.nu])}"
                raise ModelEvaluationError(
                    f"knot {t}: {type(kind.model).__name__} gives a {name} that is not finite at {at}; look for an "
                    "expression that is undefined there (sqrt, log, division) or for a number that is too large"
                )


def _common_lift(sizes: list[int | None]) -> int | None:
    """Largest lift size of all kinds of running knots; None if a kind has no lift."""
    lifts = [size for size in sizes if size is not None]
    return max(lifts) if lifts and len(lifts) == len(sizes) else None


def _slots_of(kind: Kind) -> list[CollisionSlots]:
    """Slots of a kind's collision rows."""
    model = kind.model
    unknowns = model.unknowns_at if isinstance(model, ActionModelFreed) else None
    return [
        CollisionSlots(kind.layout, item.name, item.residual, unknowns)
        for item in model.constraints.constraints
        if isinstance(item.residual, ResidualModelCollisions)
    ]
