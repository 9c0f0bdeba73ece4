"""Check of derivatives by differences: of whole knots, of each constraint, and of each cost term's parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.integrated.euler import IntegratedActionModelEuler
from trajopt.activations.base import as_matrix
from trajopt.analysis.row_names import row_names
from trajopt.checks import check_array, check_count, check_positive
from trajopt.constraints.row_block import RowBlock, row_name
from trajopt.costs.cost_stack import CostStack, CostTerm
from trajopt.errors import InvalidArgumentError, TrajoptError, shown
from trajopt.instant import Instant
from trajopt.residuals import ResidualModelAbstract
from trajopt.shooting import ShootingProblem
from trajopt.shooting.values import ProblemDerivatives
from trajopt.types import Reals

STEP = 6e-6  # of differences, the cube root of the rounding of doubles
APART = 1e-2  # difference from which an entry within the tolerance is too small to tell, relative to it [-]
FAR = 0.3  # deviation of random points from the start [tangent coordinates, and 1 for controls]


@dataclass(frozen=True, kw_only=True)
class DerivativeRow:
    """One block of derivatives, with its worst entry.

    Attributes:
        block: Name of the block, such as "Fx", "Lu", "tool: Cx" or "goal: residual".
        where: Class of the model or part.
        verdict: "right", "wrong", or "unlike" for a Hessian that is not that of the value, as Gauss-Newton's.
        entry: Names of the worst entry's row and column.
        found: The worst entry.
        expected: The same by central differences.
    """

    block: str
    where: str
    verdict: str
    entry: str
    found: float
    expected: float

    @property
    def small(self) -> bool:
        """Whether a right entry is more than 1 % off: it is too small to tell, as the tolerance is for entries of 1."""
        return self.verdict == "right" and abs(self.found - self.expected) > APART * abs(self.expected)


@dataclass(frozen=True)
class DerivativeCheck:
    """Result of a check; as text it is a table.

    Attributes:
        rows: One row for each block of each kind of knot, and for each part of a cost term.
    """

    rows: tuple[DerivativeRow, ...]

    @property
    def ok(self) -> bool:
        """Whether no block is wrong; Hessians may be Gauss-Newton's."""
        return not self.wrong

    @property
    def wrong(self) -> tuple[DerivativeRow, ...]:
        """Blocks that are wrong."""
        return tuple(row for row in self.rows if row.verdict == "wrong")

    def __str__(self) -> str:
        table = [("block", "of", "", "worst entry", "found", "by differences")]
        table += [
            (r.block, r.where, r.verdict + "*" * r.small, r.entry, f"{r.found:.6g}", f"{r.expected:.6g}")
            for r in self.rows
        ]
        widths = [max(len(line[i]) for line in table) for i in range(6)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in table]
        if any(row.small for row in self.rows):
            lines.append("*: too small to tell, beside the tolerance for entries of 1 and more")
        if any(row.verdict == "unlike" for row in self.rows):
            lines.append("unlike: not the Hessian of the value, which is right for Gauss-Newton's of a curved residual")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"DerivativeCheck({len(self.rows)} blocks, {len(self.wrong)} wrong)"


def check_derivatives(
    subject: ShootingProblem | ActionModelAbstract | DifferentialActionModelAbstract,
    x: npt.ArrayLike | None = None,
    u: npt.ArrayLike | None = None,
    *,
    points: int = 3,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> DerivativeCheck:
    """Compares derivatives with differences, at a state and control, or at random ones.

        print(trajopt.check_derivatives(MyModel(), x=[0.1, 0.0], u=[0.5]))

    Blocks are F of the next state, g and H of the cost, C of each constraint's rows; and of each cost term the
    residual's derivative, the activation's gradient and its Hessian. At a kink, a derivative from either side is right.

    Args:
        subject: A problem, an action model, or a continuous-time model, which is stepped by 10 ms.
        x: State (nx,); by default random ones, 0.3 around the problem's x0 or the zero state.
        u: Control (nu,); by default random ones of deviation 0.3.
        points: Number of random points.
        tolerance: Largest difference, relative to the largest entry of a block.
        seed: Seed of the random points.

    Raises:
        InvalidArgumentError: An argument does not fit.
        ModelEvaluationError: The model fails at the point.
    """
    problem = _one_knot_of_each_kind(_problem(subject))
    size, rng = check_positive("tolerance", tolerance), np.random.default_rng(check_count("seed", seed))
    given = x is not None or u is not None
    found: dict[tuple[str, str], DerivativeRow] = {}
    for _ in range(1 if given else check_count("points", points, least=1)):
        xs, us = _point(problem, x, u, rng)
        for row in (*_of_knots(problem, xs, us, size), *_of_terms(problem, xs, us, size)):
            key = row.block, row.where
            if key not in found or _ORDER[row.verdict] > _ORDER[found[key].verdict]:
                found[key] = row
    return DerivativeCheck(tuple(found.values()))


_ORDER = {"right": 0, "unlike": 1, "wrong": 2}


def _problem(subject: Any) -> ShootingProblem:
    if isinstance(subject, ShootingProblem):
        return subject
    model = (
        IntegratedActionModelEuler(subject, 1e-2) if isinstance(subject, DifferentialActionModelAbstract) else subject
    )
    if not isinstance(model, ActionModelAbstract):
        raise InvalidArgumentError(
            f"subject: expected a ShootingProblem, an action model or a differential one, got {shown(subject)}"
        )
    return ShootingProblem(model.state.zero(), [model], CostStack(model.state))


def _one_knot_of_each_kind(problem: ShootingProblem) -> ShootingProblem:
    """A problem of the first knot of each kind, with the values that parameters have there."""
    firsts = [kind.knots[0] for kind in problem.kinds]
    short = ShootingProblem(problem.x0, [problem.running[t] for t in firsts if t < problem.T], problem.terminal)
    for t, first in enumerate(firsts):
        for name, value in problem.table.at(first).items():
            short.table.set(name, value, t)
    return short


def _point(problem: ShootingProblem, x: Any, u: Any, rng: np.random.Generator) -> tuple[Reals, Reals]:
    """States (T + 1, nx) and controls (T, nu), all knots at one point each."""
    T, state = problem.T, problem.state
    if x is not None:
        xs = np.tile(state.check(x, "x"), (T + 1, 1))
    else:
        moves = FAR * rng.standard_normal((T + 1, state.ndx))
        xs = np.array([state.integrate(problem.x0, move) for move in moves])
    if u is not None:
        return xs, np.tile(check_array("u", u, (problem.nu,)), (T, 1))
    return xs, FAR * rng.standard_normal((T, problem.nu))


@dataclass(frozen=True)
class _Differences:
    """Differences of all knots along each of the m = ndx + nu directions; first ahead, then behind.

    Attributes:
        next_state: Of next states (2, T, ndx, m).
        cost: Of costs (2, T + 1, 1, m).
        rows: Of constraint rows (2, T + 1, nc, m).
        slope_x: Central ones of Lx (T + 1, ndx, m).
        slope_u: Central ones of Lu (T, nu, m).
    """

    next_state: Reals
    cost: Reals
    rows: Reals
    slope_x: Reals
    slope_u: Reals

    @staticmethod
    def of(problem: ShootingProblem, xs: Reals, us: Reals, at: ProblemDerivatives) -> _Differences:
        state, n, T = problem.state, problem.state.ndx, problem.T
        moved: dict[float, list[ProblemDerivatives]] = {STEP: [], -STEP: []}
        for direction in np.eye(n + problem.nu):
            for h, sides in moved.items():
                states = np.array([state.integrate(x, h * direction[:n]) for x in xs])
                sides.append(problem.calc_diff(states, us + h * direction[n:]))

        def changes(read: Callable[[ProblemDerivatives], Reals]) -> Reals:
            return np.stack([np.stack([read(side) / h for side in sides], axis=-1) for h, sides in moved.items()])

        def change(side: ProblemDerivatives) -> Reals:
            return np.array([state.difference(a, b) for a, b in zip(at.xnext, side.xnext)]).reshape(T, n)

        return _Differences(
            next_state=changes(change),
            cost=changes(lambda side: (side.costs - at.costs)[:, None]),
            rows=changes(lambda side: side.rows - at.rows),
            slope_x=0.5 * changes(lambda side: side.Lx - at.Lx).sum(axis=0),
            slope_u=0.5 * changes(lambda side: side.Lu - at.Lu).sum(axis=0),
        )


def _of_knots(problem: ShootingProblem, xs: Reals, us: Reals, size: float) -> Iterator[DerivativeRow]:
    """Rows of all blocks of F, g and H, and of C for each constraint, at the first knot of each kind."""
    at, T, n = problem.calc_diff(xs, us), problem.T, problem.state.ndx
    differences, names = _Differences.of(problem, xs, us, at), problem.state.tangent_names
    for kind in problem.kinds:
        model, t = kind.model, next(iter(kind.knots))
        part = model if model.model_parts.differential is None else model.model_parts.differential
        of, nu = type(part).__name__, model.nu if t < T else 0
        controls = list(model.control_names)[:nu]
        for by, cut, columns in (("x", slice(n), names), ("u", slice(n, n + nu), controls)):
            if not columns:
                continue
            L, C = (at.Lx[t][None], at.Cx[t]) if by == "x" else (at.Lu[t][None, :nu], at.Cu[t][:, :nu])
            if t < T:
                F = at.Fx[t] if by == "x" else at.Fu[t][:, :nu]
                ahead, behind = differences.next_state[:, t][..., cut]
                yield _row(f"F{by}", of, F, ahead, behind, size, names, columns)
            ahead, behind = differences.cost[:, t][..., cut]
            yield _row(f"L{by}", of, L, ahead, behind, size, [""], columns)
            for block, residual, rows in _constraint_rows(kind):
                whose, named = type(residual).__name__, _row_names(block, residual, model)
                ahead, behind = differences.rows[:, t, rows][..., cut]
                if by == "x" or np.any([C[rows], ahead, behind]):  # no row for u where no control changes anything
                    yield _row(f"{block.name}: C{by}", whose, C[rows], ahead, behind, size, named, columns)
        curved = [("Lxx", at.Lxx[t], differences.slope_x[t][:, :n], names, names)]
        if nu:
            slope = differences.slope_u[t][:nu, n : n + nu]
            curved.append(("Lxu", at.Lxu[t][:, :nu], differences.slope_x[t][:, n : n + nu], names, controls))
            curved.append(("Luu", at.Luu[t][:nu, :nu], slope, controls, controls))
        for name, found, expected, rows, columns in curved:
            yield _row(name, of, found, expected, expected, 10.0 * size, rows, columns, verdict="unlike")


def _constraint_rows(kind: Any) -> Iterator[tuple[RowBlock, ResidualModelAbstract, slice]]:
    """Rows of each constraint of a kind of knots, its residual, and where they are."""
    end, stack = 0, kind.model.constraints
    for block in kind.row_blocks:
        if block.size:
            yield block, stack[block.constraint].residual, slice(end, end + block.size)
        end += block.size


def _row_names(block: RowBlock, residual: ResidualModelAbstract, model: ActionModelAbstract) -> list[str]:
    """Name of each row, as in `explain`: those of joints and axes, or the residual's own."""
    if block.size == 1:
        return [block.name]
    return [row_name(block.name, name) for name, _ in row_names(residual, block.size, model.model_parts.actuation)]


def _row(
    block: str, of: str, found: Reals, ahead: Reals, behind: Reals, size: float, rows: Any, columns: Any,
    verdict: str = "wrong",
) -> DerivativeRow:  # fmt: skip
    """Row of a block, from derivatives and differences to both sides; either, or their mean, may be right."""
    central = 0.5 * (ahead + behind)
    scale = max(1.0, float(np.abs(central).max(initial=0.0)))
    off = np.min([np.abs(found - each) for each in (central, ahead, behind)], axis=0)
    off = np.where(np.isfinite(found), off, np.inf)
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    bad = bool(off[i, j] > size * scale)
    label = f"{rows[i]} by {columns[j]}" if rows[i] else f"by {columns[j]}"
    return DerivativeRow(
        block=block, where=of, verdict=verdict if bad else "right", entry=label, found=float(found[i, j]),
        expected=float(central[i, j]),
    )  # fmt: skip


def _of_terms(problem: ShootingProblem, xs: Reals, us: Reals, size: float) -> Iterator[DerivativeRow]:
    """Rows of each cost term: derivative of its residual, gradient and Hessian of its activation."""
    for kind in problem.kinds:
        knot = next(iter(kind.knots))
        instant, names = _of_stage(kind.model)
        u = us[knot][: instant.nu] if knot < problem.T else np.zeros(0)
        for term in kind.model.model_parts.terms:
            if not term.residual.uses_solution:
                yield from _of_term(kind, term, (instant, names), xs[knot], u, problem.table.at(knot), size)


def _of_stage(model: Any) -> tuple[Instant, list[str]]:
    """Symbols that cost terms read, and the names of their controls: those of a stage, or torques of the motors."""
    own = model.model_parts.differential or model
    if own.stage_nu == own.nu:
        return own.instant(), own.control_names
    return Instant(own.state, own.stage_nu), own.actuation.names


def _of_term(
    kind: Any, term: CostTerm, seen: tuple[Instant, list[str]], x: Reals, u: Reals, values: Any, size: float
) -> Iterator[DerivativeRow]:
    (instant, names), state = seen, kind.model.state
    symbols = [instant.x, instant.u, kind.layout.symbols]
    parameters = kind.layout.column({name: values[name] for name in kind.layout.slices})
    try:
        r = term.residual.expression(instant)
        derivative = ca.densify(ca.horzcat(*term.residual.derivative(instant)))
    except TrajoptError:  # for example of a black box
        return
    numbers = ca.Function("residual", symbols, [r, derivative])
    value, found = (np.asarray(each) for each in numbers(x, u, parameters))
    size_x = state.ndx
    steps = np.eye(size_x + len(u))

    def moved(i: int, h: float) -> Reals:
        return np.concatenate([state.integrate(x, h * steps[i, :size_x]), u + h * steps[i, size_x:]])

    sides = _sides(
        lambda z: np.asarray(numbers(z[: len(x)], z[len(x) :], parameters)[0]).ravel(),
        [functools.partial(moved, i) for i in range(len(steps))],
    )
    rows = [f"[{i}]" for i in range(len(value))]
    columns = [*state.tangent_names, *names][: found.shape[1]]
    yield _row(f"{term.name}: residual", type(term.residual).__name__, found, *sides, size, rows, columns)
    s = SX.sym("r", len(value))
    activation = term.activation
    parts = [activation.value(s), activation.gradient(s), as_matrix(activation.hessian(s))]
    of = ca.Function("activation", [s, *symbols[2:]], [ca.densify(part) for part in parts])
    at = value.ravel()
    _, gradient, hessian = (np.asarray(each) for each in of(at, parameters))
    lines = [functools.partial(lambda e, h: at + h * e, e) for e in np.eye(len(at))]
    kind_of, sides = type(activation).__name__, _sides(lambda a: np.asarray(of(a, parameters)[0]).ravel(), lines)
    yield _row(f"{term.name}: slope", kind_of, gradient.T, *sides, size, [""], rows)
    sides = _sides(lambda a: np.asarray(of(a, parameters)[1]).ravel(), lines)
    yield _row(f"{term.name}: curvature", kind_of, hessian, *sides, size, rows, rows, verdict="unlike")


def _sides(function: Callable[[Reals], Reals], along: Sequence[Callable[[float], Reals]]) -> tuple[Reals, Reals]:
    """Differences of a function to both sides along directions, each a point at a distance h: (m, directions) each."""
    first = function(along[0](0.0))
    ahead, behind = (np.stack([(function(at(h)) - first) / h for at in along], axis=-1) for h in (STEP, -STEP))
    return ahead, behind
