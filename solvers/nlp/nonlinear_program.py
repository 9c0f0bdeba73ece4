"""A shooting problem as one sparse nonlinear program in CasADi symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import MX, SX

from trajopt.errors import UnsupportedOperationError
from trajopt.model.functions import function_of
from trajopt.shooting import ShootingProblem
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.kinds import Kind
from trajopt.types import Reals


class NonlinearProgram:
    """Nonlinear program of a problem: minimise Σ l(x, u) over tangent steps from given states x̂, and controls.

    Variables are dx_0, u_0, dx_1, .. dx_T with x_t = x̂_t ⊕ dx_t. Constraints are, knot by knot, the gap behind it,
    dx_{t+1} - (f(x_t, u_t) ⊖ x̂_{t+1}), and its rows. If the start is fixed, rows of knot 0 that do not depend on
    u are left out. After u_t follow the slacks of soft rows, s⁻ >= 0 and s⁺ >= 0 with lower <= c + s⁻ - s⁺ <= upper; at
    an optimum at most one of the two is positive.

    Args:
        problem: The problem; all its models must be expressions.

    Attributes:
        symbols: "x" the variables, "p" the states x̂ and parameters of all knots, "f" the cost, "g" the constraints.
        is_gap: Mask of the constraints that are gaps, or a sum of the start that stays.
        nu: Number of controls of each knot, 0 at the end.
        rows: Indices of the rows of each knot that are constraints.
        soft: Indices of the soft ones among these.
        curved: Mask (ndx,) of the directions of a step in which x̂ ⊕ dx is not a straight line: rotations.

    Raises:
        UnsupportedOperationError: A knot is not a single expression, or a start has bounds on a rotation.
    """

    def __init__(self, problem: ShootingProblem) -> None:
        self._problem, self._state = problem, problem.state
        compiled = [_compiled(kind) for kind in problem.kinds]
        kinds = {t: kind for kind in compiled for t in kind.knots}
        functions = {id(kind): _knot_function(kind) for kind in compiled}
        models = [kinds[t].model for t in range(problem.T + 1)]
        self._sizes = [kinds[t].layout.size for t in range(problem.T + 1)]
        self.nu = [model.nu for model in models[:-1]] + [0]
        self.rows = [np.arange(kinds[t].nc) for t in range(problem.T + 1)]
        if problem.T and problem.start == "fixed":
            self.rows[0] = np.flatnonzero(~models[0].rows_free_of_control)
        soft = np.isfinite(problem.row_softness()[0])
        self.soft = [np.flatnonzero(soft[t, rows]) for t, rows in enumerate(self.rows)]
        self.curved = self._state.curved_directions
        if not isinstance(problem.start, str):
            lower, upper = problem.start
            if np.any(self.curved & (lower < upper) & (np.isfinite(lower) | np.isfinite(upper))):
                raise UnsupportedOperationError("start: expected no bounds on rotations; use SolverSQP")
        self._build([functions[id(kinds[t])] for t in range(problem.T + 1)])

    def _build(self, functions: list[ca.Function]) -> None:
        state, T = self._state, self._problem.T
        centres = [MX.sym(f"centre{t}", state.nx) for t in range(T + 1)]
        parameters = [MX.sym(f"p{t}", size) for t, size in enumerate(self._sizes)]
        steps = [MX.sym(f"dx{t}", state.ndx) for t in range(T + 1)]
        us = [MX.sym(f"u{t}", nu) for t, nu in enumerate(self.nu)]
        slacks = [(MX.sym(f"below{t}", len(soft)), MX.sym(f"above{t}", len(soft))) for t, soft in enumerate(self.soft)]
        weights = [(MX.sym(f"w{t}", len(soft)), MX.sym(f"W{t}", len(soft))) for t, soft in enumerate(self.soft)]
        (xs,) = _each(state.functions["integrate"], centres, steps)
        xnexts, rows_of = [MX()] * (T + 1), [MX()] * (T + 1)
        cost, constraints, is_gap = MX(0), list[MX](), list[bool]()
        for function in dict.fromkeys(functions):
            knots = [t for t, each in enumerate(functions) if each is function]
            found = _each(function, *([values[t] for t in knots] for values in (xs, us, parameters)))
            for t, xnext, value, rows in zip(knots, *found):
                xnexts[t], rows_of[t] = xnext, rows
                cost += value + _slack_cost(*slacks[t], *weights[t])
        (reached,) = _each(state.functions["difference"], centres[1:], xnexts[:-1])
        for t, rows in enumerate(rows_of):
            if t < T:
                constraints.append(steps[t + 1] - reached[t])
                is_gap += [True] * state.ndx
            if len(self.rows[t]):  # limits of controls too; as bounds of variables IPOPT's cart-pole took 119, not 95
                slack = ca.DM(np.eye(len(self.rows[t]))[:, self.soft[t]]) @ (slacks[t][0] - slacks[t][1])
                constraints.append(rows[self.rows[t].tolist()] + slack)
                is_gap += [False] * len(self.rows[t])
            if t == 0 and self._problem.start_sum is not None:
                constraints.append(ca.dot(ca.DM(self._problem.start_sum), steps[0]))
                is_gap.append(True)
        self.is_gap = np.array(is_gap, dtype=np.bool_)
        self.symbols = {
            "x": ca.vertcat(*(each for dx, u, pair in zip(steps, us, slacks) for each in (dx, u, *pair))),
            "p": ca.vertcat(*centres, *parameters, *(each for pair in weights for each in pair)),
            "f": cost,
            "g": ca.vertcat(*constraints),
        }

    def values(self, xs: Reals) -> Reals:
        """Numeric values of "p" for states x̂ (T + 1, nx)."""
        table, softness = self._problem.table.values, self._problem.row_softness()
        numbers = [xs.ravel(), *(table[t, :size] for t, size in enumerate(self._sizes))]
        for t, (rows, soft) in enumerate(zip(self.rows, self.soft)):
            numbers += [weight[t, rows[soft]] for weight in softness]
        return np.concatenate(numbers)

    @property
    def inputs(self) -> list[int]:
        """Number of variables of each knot besides dx: controls and slacks."""
        return [nu + 2 * len(soft) for nu, soft in zip(self.nu, self.soft)]

    def guess(self, us: Reals) -> Reals:
        """Values of the variables for controls (T, nu), zero steps and zero slacks."""
        parts = []
        for t, (nu, size) in enumerate(zip(self.nu, self.inputs)):
            parts.append(np.zeros(self._state.ndx + size))
            if nu:
                parts[t][self._state.ndx : self._state.ndx + nu] = us[t, :nu]
        return np.concatenate(parts)

    def with_start(self, xs: Reals) -> Reals:
        """States (T + 1, nx) that begin at a fixed start, or with its fixed coordinates."""
        problem, state, first = self._problem, self._state, xs[0]
        if problem.start == "fixed":
            first = problem.x0
        elif not isinstance(problem.start, str):
            lower, upper = problem.start
            first = state.integrate(state.zero(), np.clip(state.difference(state.zero(), first), lower, upper))
        return np.vstack([first, xs[1:]])

    def _start_bounds(self, x: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the first step (ndx,) from a state x (nx,) within the bounds of the start."""
        problem, n = self._problem, self._state.ndx
        if problem.start == "fixed":
            return np.zeros(n), np.zeros(n)
        if isinstance(problem.start, str):
            return np.full(n, -np.inf), np.full(n, np.inf)
        lower, upper = problem.start
        at = self._state.difference(self._state.zero(), x)
        held = lower == upper
        return np.where(held, 0.0, lower - at), np.where(held, 0.0, upper - at)

    def bounds(self, x: Reals) -> dict[str, Reals]:
        """Bounds of variables and constraints: those of the start, gaps are 0, slacks >= 0; x (nx,) is the first x̂."""
        problem, n = self._problem, self._state.ndx
        size = int(self.symbols["x"].numel())
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        lower[:n], upper[:n] = self._start_bounds(x)
        ends = np.cumsum([n + size for size in self.inputs])
        for end, soft in zip(ends, self.soft):
            lower[end - 2 * len(soft) : end] = 0.0
        low, high = problem.row_bounds()
        lbg, ubg = np.zeros(len(self.is_gap)), np.zeros(len(self.is_gap))
        lbg[~self.is_gap] = np.concatenate([low[t, rows] for t, rows in enumerate(self.rows)])
        ubg[~self.is_gap] = np.concatenate([high[t, rows] for t, rows in enumerate(self.rows)])
        return {"lbx": lower, "ubx": upper, "lbg": lbg, "ubg": ubg}

    def trajectory(self, variables: Reals, centres: Reals) -> tuple[Reals, Reals, float]:
        """States (T + 1, nx), controls (T, nu) and the largest rotation from x̂ [rad], from the variables."""
        n, xs, at, largest = self._state.ndx, np.empty_like(centres), 0, 0.0
        us = np.zeros((self._problem.T, self._problem.nu))
        for t, (nu, size) in enumerate(zip(self.nu, self.inputs)):
            step = variables[at : at + n]
            xs[t] = self._state.integrate(centres[t], step)
            largest = max(largest, float(np.abs(step[self.curved]).max(initial=0.0)))
            if nu:
                us[t, :nu] = variables[at + n : at + n + nu]
            at += n + size
        return xs, us, largest

    def costates(self, of_variables: Reals, y: Reals) -> Reals:
        """Derivative (T + 1, ndx) of the cost from each knot on by its step dx, from multipliers of the program.

        Args:
            of_variables: Multipliers of the bounds of all variables; positive at upper bounds.
            y: Multipliers of the constraints.
        """
        n, gaps, weights = self._state.ndx, y[self.is_gap], self._problem.start_sum
        pull = np.array(of_variables[:n])  # of the bounds of the start, and of a sum that stays, behind the first gap
        if weights is not None:
            pull += gaps[n] * weights
            gaps = np.delete(gaps, n)
        return -np.vstack([pull, gaps.reshape(-1, n)])

    def multipliers(self, y: Reals) -> Reals:
        """Multipliers of the problem's rows (T + 1, nc), from those of the program's constraints."""
        found, values, at = np.zeros((self._problem.T + 1, self._problem.nc)), y[~self.is_gap], 0
        for t, rows in enumerate(self.rows):
            found[t, rows], at = values[at : at + len(rows)], at + len(rows)
        return found


def _each(function: ca.Function, *arguments: list[MX]) -> list[list[MX]]:
    """Outputs of a function for each of its arguments, as one mapped call: CasADi derives that once, not per knot."""
    count = len(arguments[0])
    if not count:
        return [[] for _ in range(function.n_out())]
    outputs = function.map(count).call([ca.horzcat(*values) for values in arguments])
    return [ca.horzsplit(output, output.shape[1] // count) for output in outputs]


def _slack_cost(below: MX, above: MX, linear: MX, quadratic: MX) -> MX:
    """linear · s + ½ quadratic · s² of all slacks of a knot."""
    return ca.dot(linear, below + above) + 0.5 * ca.dot(quadratic, below**2 + above**2)


def _compiled(kind: Kind) -> CompiledKind:
    if not isinstance(kind, CompiledKind):
        raise UnsupportedOperationError(
            "problem: expected models that are expressions, got a black box, which CasADi can't use; use SolverSQP"
        )
    return kind


def _knot_function(kind: CompiledKind) -> ca.Function:
    """(x, u, parameters) -> (x⁺, cost, rows) of a kind of knot; x⁺ is empty at the end."""
    i, values = kind.model.knot_expressions(terminal=kind.terminal)
    results = [values.get("xnext", SX(0, 1)), values["cost"], values.get("rows", SX(0, 1))]
    return function_of(type(kind.model).__name__, [i.x, i.u, kind.layout.symbols], results)
