"""Controls that hold many states at rest, in lanes: the iteration of `quasi_static`, and torques against gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.differential.free_fwd_dynamics import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.expansion import Point
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.kernels import KernelCall, Program, Rows, blocks_of, kernel, lane_count, rows
from trajopt.model.programs import kept
from trajopt.shooting.programs import padded_expansion
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

ITERATIONS, TOLERANCE = 20, 1e-9  # as in `ActionModelAbstract.quasi_static`


def iterates(model: ActionModelAbstract) -> bool:
    """Whether a model's `quasi_static` is the default iteration, from an expression, and no closed form."""
    if not isinstance(model, ActionModelExpression):
        return False
    if isinstance(model, IntegratedActionModelAbstract):
        inner, plain = type(model.differential).quasi_static, DifferentialActionModelAbstract.quasi_static
        own = type(model).quasi_static is IntegratedActionModelAbstract.quasi_static
        return own and getattr(inner, "__wrapped__", inner) is getattr(plain, "__wrapped__", plain)
    return type(model).quasi_static is ActionModelAbstract.quasi_static


def controls_of_rows(problem: ShootingProblem, states: Reals) -> Reals | None:
    """Controls (m, T, nu) that hold states (m, T, nx), or (m, 1, nx) at all knots; None if lanes can't compute them."""
    controls = np.zeros((len(states), problem.T, problem.nu))
    for kind in problem.kinds[:-1]:
        knots, nu = list(kind.knots), kind.model.nu
        if nu == 0:
            continue
        wanted = states if states.shape[1] == 1 else states[:, knots]
        found = controls_at_rest_of(kind.model, wanted.reshape(-1, states.shape[2]))
        if found is None:
            return None
        controls[:, knots, :nu] = found.reshape(*wanted.shape[:2], nu)
    return controls


def controls_at_rest_of(model: ActionModelAbstract, states: Reals) -> Reals | None:
    """Controls (m, nu) that best hold states (m, nx) at rest, as `quasi_static`; None if lanes can't compute them."""
    if iterates(model):
        assert isinstance(model, ActionModelExpression)
        return _iterated(model, states)
    own = isinstance(model, IntegratedActionModelAbstract) and model.control.is_constant
    fixed = not model.state.parameters()  # those of a robot may differ from knot to knot
    if own and fixed and type(model.differential) is DifferentialActionModelFreeFwdDynamics:  # type: ignore[attr-defined]
        return _against_gravity(model.differential, states)  # type: ignore[attr-defined]
    return None


def _against_gravity(model: DifferentialActionModelFreeFwdDynamics, states: Reals) -> Reals:
    gravity = np.zeros((len(states), model.state.ndx // 2))
    numbers = rows(np.zeros((len(states), 0)))  # a robot without parameters
    _call(model.gravity_program, len(states), [rows(states.copy()), numbers, rows(gravity)])()
    inverse = np.linalg.pinv(model.actuation.matrix)
    return np.array([model.actuation.controls_for(inverse @ torques) for torques in gravity])


def _call(program: Program, m: int, arguments: list[Rows]) -> KernelCall:
    """Call of a program on m rows."""
    blocks = blocks_of(range(m), lane_count())
    return KernelCall([kernel(program, lane_count())], np.zeros(len(blocks)), blocks, arguments)


def _iterated(model: ActionModelExpression, states: Reals) -> Reals:
    """The iteration of `ActionModelAbstract.quasi_static`."""
    moves = type(model.state).at_rest is not StateAbstract.at_rest
    still = np.array([model.state.at_rest(x) for x in states]) if moves else states.copy()
    if isinstance(model, IntegratedActionModelAbstract) and model.differential.second_order:
        still[:, model.state.nx - model.state.ndx // 2 :] = 0.0
    m, n = len(states), model.state.ndx
    us, gap, F = np.zeros((m, model.nu)), np.zeros((m, n)), np.zeros((m, n, n + model.nu))
    parameters = Rows(model.layout.column()[None], 0)
    call = _call(_program(model), m, [rows(still), rows(us), parameters, rows(gap), rows(F)])
    left = np.arange(m)
    for _ in range(ITERATIONS):
        call()
        left = left[np.isfinite(gap[left]).all(axis=1) & np.isfinite(F[left]).all(axis=(1, 2))]
        if not len(left):
            break
        inverse = np.linalg.pinv(F[left][:, :, n:], rcond=np.finfo(float).eps * max(n, model.nu))
        step = np.einsum("mun,mn->mu", inverse, -gap[left])
        us[left] += step
        size, most = np.abs(step).max(axis=1), np.abs(us[left]).max(axis=1)
        left = left[size > TOLERANCE * np.maximum(1.0, most)]
    us[~np.isfinite(us).all(axis=1)] = 0.0
    return us


def _program(model: ActionModelExpression) -> Program:
    """(x, u, parameters) -> (f(x, u) ⊖ x, F)."""

    def build() -> Program:
        program = Program(f"{type(model).__name__}: balance at rest")
        x, u = program.input(model.state.nx), program.input(model.nu)
        p = program.input(model.layout.size)
        _, gap, e = padded_expansion(program, model, Point(x=x, u=u, parameters=p, following=x), model.nu)
        assert e.F is not None
        program.output(gap, e.F)
        return program

    return kept(model, ("balance at rest",), build)
