"""Inspection of a problem: controls, cost terms, constraint violations, contact forces, motor torques."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting.kinds import Kind
from trajopt.shooting.problem import ShootingProblem
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Names, units and limits of a problem's controls.

    Attributes:
        names: Name of each control.
        units: Unit of each control; "-" if it is unknown.
        lower: Lower limits (nu,), -inf for no limit. SolverBoxDDP and SolverBoxFDDP enforce them.
        upper: Upper limits (nu,), inf for no limit.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    lower: Reals
    upper: Reals

    @classmethod
    def unnamed(cls, nu: int) -> Controls:
        """Controls named u0, u1, ... without limits."""
        names = tuple(f"u{i}" for i in range(nu))
        return cls(names=names, units=("-",) * nu, lower=np.full(nu, -np.inf), upper=np.full(nu, np.inf))


def controls(problem: ShootingProblem) -> Controls:
    """Names and limits of the controls, from the first knot that has all nu of them; unnamed if no knot has all."""
    for model in check_problem(problem).running:
        if model.nu == problem.nu:
            names, units = tuple(model.control_names), tuple(model.control_units)
            return Controls(names=names, units=units, lower=model.lower.copy(), upper=model.upper.copy())
    return Controls.unnamed(0)


def cost_terms(problem: ShootingProblem, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
    """Value of each cost term at each knot, (T + 1,) [cost]; NaN where a knot does not have the term.

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
    """
    return _gathered(problem, xs, us, lambda kind, *at: kind.cost_terms(*at), np.nan, terminal=True)


def _gathered(
    problem: ShootingProblem,
    xs: npt.ArrayLike,
    us: npt.ArrayLike,
    values_of: Callable[[Kind, Reals, Reals, Reals], dict[str, Reals]],
    otherwise: float,
    *,
    terminal: bool = False,
) -> dict[str, Reals]:
    """Values by name at the running knots, and at the terminal one; `otherwise` where a knot has none of that name."""
    states, inputs = check_problem(problem).check_guess(xs, us)
    gathered: dict[str, Reals] = {}
    for kind in problem.kinds if terminal else problem.kinds[:-1]:
        where = list(kind.knots)
        own = inputs[[] if kind.terminal else where, : kind.model.nu]
        for name, value in values_of(kind, states[where], own, kind.rows(problem.table.values)).items():
            rows = gathered.setdefault(name, np.full((problem.T + terminal, *value.shape[1:]), otherwise))
            if rows.shape[1:] != value.shape[1:]:
                sizes = f"{value.shape[1]} elements at knot {where[0]}, {rows.shape[1]} at others"
                raise InvalidArgumentError(f"{name}: {sizes}; give contacts of different sizes different names")
            rows[where] = value
    return gathered


def violations(problem: ShootingProblem, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
    """Distance of each constraint beyond its bounds, (T + 1, n); 0 where it holds and where a knot does not have it.

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).

    Raises:
        InvalidArgumentError: Constraints of one name have different sizes.
    """
    v = problem.calc(xs, us)
    beyond = np.abs(v.rows - np.clip(v.rows, v.lower, v.upper))
    return rows_by_name(problem, beyond)


def rows_by_name(problem: ShootingProblem, rows: Reals) -> dict[str, Reals]:
    """Splits values of constraint rows by the name of the constraint, (T + 1, n); 0 where a knot does not have it.

    Args:
        problem: The problem.
        rows: Values of the constraint rows (T + 1, nc).

    Raises:
        InvalidArgumentError: Constraints of one name have different sizes.
    """
    by_name: dict[str, Reals] = {}
    for kind in problem.kinds:
        start = 0
        for name, size in kind.row_sizes().items():
            mine = by_name.setdefault(name, np.zeros((problem.T + 1, size)))
            if mine.shape[1] != size:
                raise InvalidArgumentError(
                    f"{name!r}: this name has {mine.shape[1]} and {size} rows; rename one constraint"
                )
            where = list(kind.knots)
            mine[where], start = rows[where, start : start + size], start + size
    return by_name


def contact_forces(problem: ShootingProblem, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
    """Force of each contact, or impulse, at the running knots, (T, n) [N, N m; N s, N m s].

    It acts on the robot, is zero where the contact is inactive, and NaN where a knot has no contact of this name.
    Torques come after forces and are about the frame's origin. Axes:

    | contact                                            | axes                                                      |
    |----------------------------------------------------|-----------------------------------------------------------|
    | ContactModel3D, 6D, ImpulseModel3D, 6D             | world, or those of the frame with reference_frame="local" |
    | contacts of gaits, reduced models, the simulator   | world                                                     |
    | ContactModel2D                                     | x and z of the frame                                      |
    | ContactModel1D                                     | along its axis                                            |
    | ContactModelLoop                                   | those of frame A; the force acts on B                     |

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).

    Raises:
        InvalidArgumentError: Contacts of one name have different sizes.
    """
    return _gathered(problem, xs, us, lambda kind, *at: kind.contact_forces(*at), np.nan)


def motors(problem: ShootingProblem) -> Controls:
    """Names and limits of a robot's motors, from the first knot with motors; empty if no knot has motors.

    A motor that drives a single joint has the name of that joint.
    """
    for model in check_problem(problem).running:
        actuation = model.model_parts.actuation
        if model.model_parts.differential is not None and actuation is not None:
            names = tuple(name.removeprefix("u:") for name in actuation.names)
            limits = dict(zip(("lower", "upper"), (limit.copy() for limit in actuation.motor_limits)))
            return Controls(names=names, units=("N m, N",) * len(names), **limits)
    return Controls.unnamed(0)


def torques(problem: ShootingProblem, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
    """Torque, or force, of each motor of a robot at the running knots, (T,) [N m, N]; 0 where a knot lacks the motor.

    In forward dynamics the controls are the torques. In inverse dynamics they follow from accelerations and forces.

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
    """
    return _gathered(problem, xs, us, lambda kind, *at: kind.torques(*at), 0.0)


def check_problem(problem: Any) -> ShootingProblem:
    """Returns a problem; raises InvalidArgumentError for anything else."""
    if not hasattr(problem, "running"):  # objects with the same interface pass as well
        raise InvalidArgumentError(f"problem: expected a ShootingProblem, got {shown(problem)}")
    checked: ShootingProblem = problem
    return checked


@contextlib.contextmanager
def with_values(problem: ShootingProblem, parameters: Mapping[str, Reals], x0: npt.ArrayLike) -> Iterator[None]:
    """Context in which the problem has the parameter values of an earlier `parameter_values()`, and another x0.

    Args:
        problem: The problem.
        parameters: Values by name; other parameters keep theirs.
        x0: Initial state (nx,).
    """
    table, start = problem.table.values, problem.x0
    now = table.copy()
    try:
        problem.table.load(parameters)
        problem.replace_x0(x0)
        yield
    finally:
        table[:] = now
        problem.replace_x0(start)
