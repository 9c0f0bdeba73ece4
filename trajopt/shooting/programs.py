"""Programs of one knot that a solver runs, such as its expansion and one step of a rollout with feedback.

Arrays of all knots have the same shape. If a knot has fewer controls than the problem's nu, derivatives along the
missing controls are 0 and their Hessian is the identity.

If a step of a model can fail, derivatives have one more output, the status of the knot, and a trial with a failed step
has infinite cost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point
from trajopt.actions.expression import ActionModelExpression
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, computed, named_call
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract


def _once(build: Callable[..., Program]) -> Callable[..., Program]:
    """Caches programs, since building expressions takes longer than loading their kernels."""

    @functools.wraps(build)
    def remembered(model: ActionModelExpression, *args: int, **options: int | None) -> Program:
        name = (build.__name__, *args, *sorted(options.items()))
        return kept(model, name, lambda: build(model, *args, **options))

    return remembered


@_once
def expansion(model: ActionModelExpression, nu: int, nc: int = 0, *, lift: int | None = None, kept: int = 0) -> Program:
    """(x, u, parameters, x of the next knot) -> (x⁺, cost, gap x⁺ ⊖ x_next, F, g, H, constraint rows c, C).

    Results are padded to `nu` controls and `nc` rows; without rows, c and C are left out. With `lift`, the size of its
    blocks, (Fv, dt, J0, dt J1) replace F, see `Lift`. E follows if there are constant states. With `kept`, as many
    numbers for `lagrangian` follow, padded with zeros.
    """
    program = Program(f"{type(model).__name__}: expansion")
    x, u = program.input(model.state.nx), program.input(model.nu)
    p, following = program.input(model.layout.size), program.input(model.state.nx)
    point = Point(x=x, u=u, parameters=p, following=following)
    xnext, gap, e = padded_expansion(program, model, point, nu, lift=lift)
    F = e.F if e.lift is None else e.lift.Fv
    blocks = [] if e.lift is None else [e.lift.dt, e.lift.J0, e.lift.J1]
    blocks += [] if e.E is None else [e.E]
    assert F is not None
    rows = _rows(program, model, nc, (e.rows, e.C), (1, model.state.ndx + nu))
    more = () if not kept else program.call(_stacked(e.kept, kept), *e.kept)
    program.output(xnext, e.cost, gap, F, *blocks, e.g, e.H, *rows, *more, *_status(program))
    return program


def padded_expansion(
    program: Program, model: ActionModelExpression, point: Point, nu: int, *, lift: int | None = None
) -> tuple[Array, Array, Expansion]:
    """Adds the expansion of a running knot: next state x⁺, gap x⁺ ⊖ x of the next knot, derivatives for `nu` controls.

    Args:
        program: The program.
        model: The model, which may have fewer controls.
        point: Point of the knot, with the state of the next one.
        nu: Number of controls.
        lift: Size of the blocks of a lift, see `Lift`; None for all rows of F.
    """
    assert point.following is not None
    e = model.expansion(program, point, lift=lift)
    xnext, gap = _closed(program, model.state, e, point.following)
    F = e.F if e.lift is None else e.lift.Fv
    assert F is not None
    if model.nu < nu:
        F, g, H = program.call(_pad(F.shape, model.state.ndx + model.nu, nu - model.nu), F, e.g, e.H)
        e = replace(e, F=F, g=g, H=H) if e.lift is None else replace(e, lift=replace(e.lift, Fv=F), g=g, H=H)
    return xnext, gap, e


@_once
def terminal_expansion(model: ActionModelExpression, nc: int = 0) -> Program:
    """(x, parameters) -> (cost, g, H, constraint rows c, C), padded to `nc` rows; without any, c and C are left out."""
    program = Program(f"{type(model).__name__}: terminal expansion")
    x, p = program.input(model.state.nx), program.input(model.layout.size)
    e = model.expansion(program, Point(x=x, u=None, parameters=p))
    rows = _rows(program, model, nc, (e.rows, e.C), (1, model.state.ndx))
    program.output(e.cost, e.g, e.H, *rows, *_status(program))
    return program


@_once
def lagrangian(model: ActionModelExpression, nu: int, nc: int = 0, kept: int = 0, nr: int = 0) -> Program:
    """(x, u, parameters, λ, y) -> Hessian of l + λᵀ f(x, u) + yᵀ c, padded to `nu` controls.

    The padding is the identity. With `kept`, which is at least the model's `kept_size`, a further input holds the
    numbers that `expansion` has kept; with `nr`, at least `running_residuals`, the last one holds δ.
    """
    program = Program(f"{type(model).__name__}: Hessian of the Lagrangian")
    x, u, p = program.input(model.state.nx), program.input(model.nu), program.input(model.layout.size)
    lam, y = program.input(model.state.ndx), program.input(nc)
    parts = _kept_parts(program, model, kept)
    delta = _first(program, program.input(nr), running_residuals(model)) if nr else None
    multipliers = Multipliers(dynamics=lam, rows=_first(program, y, model.nc), residuals=delta)
    H = model.lagrangian_hessian(program, Point(x=x, u=u, parameters=p), multipliers, parts)
    if model.nu < nu:
        H = computed(program, "pad", lambda H: ca.diagcat(H, SX.eye(nu - model.nu)), H)
    program.output(H)
    return program


@_once
def terminal_lagrangian(model: ActionModelExpression, nc: int = 0) -> Program:
    """(x, parameters, y, δ) -> Hessian of l + yᵀ c + δᵀ r at the end; r are the residuals of the terminal costs."""
    program = Program(f"{type(model).__name__}: terminal Hessian of the Lagrangian")
    x, p, y = program.input(model.state.nx), program.input(model.layout.size), program.input(nc)
    delta = _first(program, program.input(nr := residuals_of_end(model)), nr)
    multipliers = Multipliers(rows=_first(program, y, sum(b.size for b in model.end_blocks)), residuals=delta)
    program.output(model.lagrangian_hessian(program, Point(x=x, u=None, parameters=p), multipliers))
    return program


@_once
def gradient_ahead(model: ActionModelExpression) -> Program:
    """(x, parameters, dx) -> (gradient, change) of `CostStack.gradient_ahead` at the end."""
    program = Program(f"{type(model).__name__}: gradient in residuals")
    x, p, dx = program.input(model.state.nx), program.input(model.layout.size), program.input(model.state.ndx)
    i, step, costs = Instant(model.state, 0), SX.sym("dx", model.state.ndx), model.end_costs
    assert costs is not None
    inputs: Bindings = [(i.x, x), (model.layout, p), (step, dx)]
    results = dict(zip(("p", "change"), costs.gradient_ahead(i, step)))
    program.output(*named_call(program, "gradient", inputs, results).values())
    return program


@_once
def running_gradient_ahead(model: ActionModelExpression, nu: int, kept: int, nr: int) -> Program:
    """(x, u, parameters, dx, du, kept numbers) -> (gradient, change) at all stages of a running knot.

    They are those of `CostStack.gradient_ahead`, padded to nr; inputs as in `lagrangian`.
    """
    program = Program(f"{type(model).__name__}: gradient in residuals of a running knot")
    x, u, p = program.input(model.state.nx), program.input(model.nu), program.input(model.layout.size)
    dx, du = program.input(model.state.ndx), program.input(model.nu)
    parts, costs = _kept_parts(program, model, kept), model.running_costs
    results = dict[str, list[Array]](p=[], change=[])
    if costs is not None and running_residuals(model):
        i, step = Instant(model.state, 0), SX.sym("dx", model.state.ndx)
        expressions = dict(zip(results, costs.gradient_ahead(i, step)))
        for y, dy in model.stage_steps(program, Point(x=x, u=u, parameters=p), dx, du, parts):
            inputs: Bindings = [(i.x, y), (model.layout, p), (step, dy)]
            for name, array in named_call(program, "gradient", inputs, expressions).items():
                results[name].append(array)
    program.output(*(program.call(_stacked(arrays, nr), *arrays)[0] for arrays in results.values()))
    return program


def residuals_of_end(model: ActionModelExpression) -> int:
    """Number nr of bent residuals of the terminal costs; 0 unless they are a stack."""
    return _bent_size(model, "end", model.end_costs)


def running_residuals(model: ActionModelExpression) -> int:
    """Number of bent residuals at all stages of a running knot [-]."""
    size = _bent_size(model, "running", model.running_costs)
    return size * model.stage_count if size else 0


def _bent_size(model: ActionModelExpression, name: str, costs: CostStack | None) -> int:
    if costs is None:
        return 0
    return kept(model, ("bent", name), lambda: int(costs.bent_residuals(Instant(model.state, 0))[0].numel()))


def _kept_parts(program: Program, model: ActionModelExpression, size: int) -> tuple[Array, ...]:
    """Input with the numbers that an expansion has kept, in the model's arrays; no input if the size is 0."""
    if not size:
        return ()
    whole = program.input(size)
    return program.call(_parted(model.kept_shapes, size), whole) if model.kept_shapes else ()


def kept_size(model: ActionModelExpression) -> int:
    """Number of values that an expansion keeps for the Hessian of the Lagrangian [-]."""
    return sum(rows * columns for rows, columns in model.kept_shapes)


def _stacked(arrays: Sequence[Array], size: int) -> ca.Function:
    """Stacks arrays, row by row, into a column of this size."""
    parts = [SX.sym("kept", *array.shape) for array in arrays]
    column = ca.vertcat(SX(0, 1), *[ca.vec(part.T) for part in parts])
    return ca.Function("stacked", parts, [ca.vertcat(column, SX(size - column.numel(), 1))])


def _parted(shapes: Sequence[tuple[int, int]], size: int) -> ca.Function:
    """Splits a column into arrays, the inverse of `_stacked`."""
    column, parts, end = SX.sym("kept", size), list[SX](), 0
    for rows, columns in shapes:
        parts.append(ca.reshape(column[end : end + rows * columns], columns, rows).T)
        end += rows * columns
    return ca.Function("parted", [column], parts)


def _first(program: Program, array: Array, count: int) -> Array | None:
    """The first entries of a column; None if `count` is 0."""
    if not count:
        return None
    return computed(program, "first", lambda y: y[:count], array)


@_once
def step(model: ActionModelExpression, nc: int = 0, *, clipped: int = 0) -> Program:
    """Program of one step of a rollout, with feedback and partly closed gaps.

    (x, x_ref, u_ref, k, K, gap of the next knot, step length α, parameters) -> (x_next, u, cost, dx, constraint rows)
    with dx = x ⊖ x_ref, u = u_ref - α k - K dx, x_next = f(x, u) ⊕ (α - 1) gap. Rows are padded to `nc`. With
    `clipped`, lower and upper limits of u are further inputs, and u is clipped to them. Source: Mastalli et al. 2020,
    eqs. 11-13.
    """
    program = Program(f"{type(model).__name__}: step")
    x_next, u, cost, dx, *rows = add_step(program, model, nc, clipped=clipped)
    program.output(x_next, u, cost, dx, *rows)
    return program


def add_step(program: Program, model: ActionModelExpression, nc: int = 0, *, clipped: int = 0) -> list[Array]:
    """Adds the inputs and the steps of `step` to a program, and returns the outputs."""
    state, n, m = model.state, model.state.ndx, model.nu
    x, x_ref, u_ref = program.input(state.nx), program.input(state.nx), program.input(m)
    k, K, gap, alpha = program.input(m), program.input(m, n), program.input(n), program.input(1)
    p = program.input(model.layout.size)
    u, dx = program.call(_feedback(state, m), x, x_ref, u_ref, k, K, alpha)
    if clipped:
        bounds = program.input(m), program.input(m)
        u = computed(program, "clip", lambda u, low, high: SX(ca.fmin(ca.fmax(u, low), high)), u, *bounds)
    reached = model.values(program, Point(x=x, u=u, parameters=p))
    assert reached.xnext is not None

    def partly(x: SX, gap: SX, alpha: SX) -> SX:
        return state.sx_integrate(x, (alpha - 1) * gap)

    x_next = computed(program, "partial_gap", partly, reached.xnext, gap, alpha)
    rows = _rows(program, model, nc, (reached.rows,), (1,))
    return [x_next, u, _cost_unless_failed(program, reached.cost), dx, *rows]


@_once
def point(model: ActionModelExpression, nc: int = 0) -> Program:
    """Program of one knot of a linear trial, which depends on no other knot.

    (x_ref, u_ref, dx, du, x_ref of the next knot, its dx, step length α, parameters) -> (x, u, cost, gap, constraint
    rows) with x = x_ref ⊕ α dx, u = u_ref + α du, gap = f(x, u) ⊖ x of the next knot. Rows are padded to `nc`.
    """
    state, m = model.state, model.nu
    program = Program(f"{type(model).__name__}: point")
    x_ref, u_ref, dx, du = (program.input(size) for size in (state.nx, m, state.ndx, m))
    following, dx_following = program.input(state.nx), program.input(state.ndx)
    alpha, p = program.input(1), program.input(model.layout.size)
    x = _partial_step(program, state, x_ref, dx, alpha)
    u = computed(program, "scaled_sum", lambda u, du, alpha: u + alpha * du, u_ref, du, alpha)
    x_following = _partial_step(program, state, following, dx_following, alpha)
    reached = model.values(program, Point(x=x, u=u, parameters=p, following=x_following))
    assert reached.xnext is not None
    gap = _gap(program, state, x_following, reached.xnext)
    rows = _rows(program, model, nc, (reached.rows,), (1,))
    program.output(x, u, _cost_unless_failed(program, reached.cost), gap, *rows)
    return program


@_once
def terminal_point(model: ActionModelExpression, nc: int = 0) -> Program:
    """(x_ref, dx, step length α, parameters) -> (x, cost, constraint rows) of the terminal knot, as in `point`."""
    state = model.state
    program = Program(f"{type(model).__name__}: terminal point")
    x_ref, dx, alpha = program.input(state.nx), program.input(state.ndx), program.input(1)
    x = _partial_step(program, state, x_ref, dx, alpha)
    end = model.values(program, Point(x=x, u=None, parameters=program.input(model.layout.size)))
    rows = _rows(program, model, nc, (end.rows,), (1,))
    program.output(x, _cost_unless_failed(program, end.cost), *rows)
    return program


@_once
def interpolation(model: ActionModelExpression) -> Program:
    """Program (x0, x1, part) -> x0 ⊕ part (x1 ⊖ x0) of a state."""
    program, state = Program(f"{type(model.state).__name__}: interpolation"), model.state
    ends_and_part = program.input(state.nx), program.input(state.nx), program.input(1)

    def between(x0: SX, x1: SX, part: SX) -> SX:
        return state.sx_integrate(x0, part * state.sx_difference(x0, x1))

    program.output(computed(program, "between", between, *ends_and_part))
    return program


@_once
def terminal_step(model: ActionModelExpression, nc: int = 0) -> Program:
    """(x, x_ref, parameters) -> (cost, dx = x ⊖ x_ref, constraint rows) of the terminal knot, padded to `nc` rows."""
    program = Program(f"{type(model).__name__}: terminal step")
    program.output(*add_terminal_step(program, model, nc))
    return program


def add_terminal_step(program: Program, model: ActionModelExpression, nc: int = 0) -> list[Array]:
    """Adds the inputs and the steps of `terminal_step` to a program, and returns the outputs."""
    x, x_ref = program.input(model.state.nx), program.input(model.state.nx)
    end = model.values(program, Point(x=x, u=None, parameters=program.input(model.layout.size)))
    dx = _gap(program, model.state, x_ref, x)
    rows = _rows(program, model, nc, (end.rows,), (1,))
    return [_cost_unless_failed(program, end.cost), dx, *rows]


def _status(program: Program) -> tuple[Array, ...]:
    """Status output of a program's steps; empty if no step can fail."""
    return () if program.status is None else (program.status,)


def _cost_unless_failed(program: Program, cost: Array) -> Array:
    """The cost, or infinity if a step has failed, so that no line search accepts the trial."""
    if program.status is None:
        return cost

    def unless_failed(cost: SX, status: SX) -> SX:
        return ca.if_else(status == 0, cost, ca.inf)

    return computed(program, "cost_unless_failed", unless_failed, cost, program.status)


def _closed(program: Program, state: StateAbstract, e: Expansion, following: Array) -> tuple[Array, Array]:
    """Next state x⁺ (nx,) and gap (ndx,); the expansion of a model contains one of the two."""
    if e.gap is not None:
        return computed(program, "integrate", state.sx_integrate, following, e.gap), e.gap
    assert e.xnext is not None
    return e.xnext, _gap(program, state, following, e.xnext)


def _rows(
    program: Program, model: ActionModelExpression, nc: int, blocks: Sequence[Array | None], widths: Sequence[int]
) -> tuple[Array, ...]:
    """Pads arrays of constraint rows with zeros to (nc, width) each; the model may have fewer rows or none."""
    arrays = [array for array in blocks if array is not None]
    if arrays and arrays[0].shape[0] > nc:
        raise UnsupportedOperationError(
            f"constraints: {type(model).__name__} has {arrays[0].shape[0]} rows, but this solver provides {nc}; use a "
            "solver that handles constraints"
        )
    if not nc or [array.shape for array in arrays] == [(nc, width) for width in widths]:
        return tuple(arrays)
    symbols, padded = [SX.sym("rows", *array.shape) for array in arrays], [SX(nc, width) for width in widths]
    for whole, part in zip(padded, symbols):
        whole[: part.shape[0], : part.shape[1]] = part
    return program.call(ca.Function("pad_rows", symbols, padded), *arrays)


def _gap(program: Program, state: StateAbstract, x0: Array, x1: Array) -> Array:
    """Adds the call that computes x1 ⊖ x0 (ndx,)."""
    return computed(program, "gap", lambda a, b: ca.densify(state.sx_difference(a, b)), x0, x1)


def _partial_step(program: Program, state: StateAbstract, x: Array, dx: Array, alpha: Array) -> Array:
    """Adds the call that computes x ⊕ α dx (nx,)."""
    return computed(program, "partial_step", lambda x, dx, alpha: state.sx_integrate(x, alpha * dx), x, dx, alpha)


def _feedback(state: StateAbstract, nu: int) -> ca.Function:
    x, x_ref, u_ref = SX.sym("x", state.nx), SX.sym("x_ref", state.nx), SX.sym("u_ref", nu)
    k, K, alpha = SX.sym("k", nu), SX.sym("K", nu, state.ndx), SX.sym("alpha")
    dx = state.sx_difference(x_ref, x)
    u = u_ref - alpha * k - K @ dx
    return ca.Function("feedback", [x, x_ref, u_ref, k, K, alpha], [u, dx])


def _pad(shape: tuple[int, int], s: int, extra: int) -> ca.Function:
    """Adds controls without effect to F of a shape, and to g and H of size s."""
    jacobian, gradient, hessian = SX.sym("F", *shape), SX.sym("g", s), SX.sym("H", s, s)
    results = [
        ca.horzcat(jacobian, SX(shape[0], extra)),
        ca.vertcat(gradient, SX(extra, 1)),
        ca.diagcat(hessian, SX.eye(extra)),
    ]
    return ca.Function("pad", [jacobian, gradient, hessian], results)
