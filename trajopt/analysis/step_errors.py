"""Error of the integrator: steps that are too long for a motion."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.analysis.within_steps import WithinSteps
from trajopt.errors import TrajoptError
from trajopt.shooting.inspection import controls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

MISSED = 0.05
"""Least deviation at the end that is reported, relative to the range of the coordinate [-]."""
ADDED = 0.05
"""Least correction of the controls for first-order steps that is reported, relative to the controls [-]."""
ERRED = 0.01
"""Least sum of the errors of steps of higher order that is reported, relative to the range of the coordinate [-]."""
FIRST_ORDER = 2.0**2.5
"""Steps of order p have errors 2^(p + 1) times those of half the step; a smaller ratio counts as first order [-]."""
CONSISTENT = 1.5
"""Least such ratio of a step in time [-]; other models use `dt` for something else."""
SMALL = 1e-6
"""Deviation below which nothing is reported [unit of the coordinate]."""


@dataclass(frozen=True, kw_only=True)
class StepError:
    """Error of the steps of the integrator: the difference of one step from two of half the length.

    Attributes:
        knot: Knot whose step has the largest error [-].
        name: Coordinate with that error.
        unit: Its unit.
        error: That error [unit].
        first_order: Whether errors fall in proportion to the square of the step, as those of Euler's method.
        euler: Whether a model uses Euler's method, which IntegratedActionModelRK4 can replace.
        end_name: Coordinate of the deviation; for steps of first order the control that is corrected most.
        end_unit: Its unit.
        deviation: At the end, to first order, under the same controls in shorter steps; for steps of first order the
            mean size of what corrects the controls of this unit, so that the errors vanish [end_unit].
        scale: Largest range of the coordinates of this unit; for steps of first order the mean size of the controls
            [end_unit].
    """

    knot: int
    name: str
    unit: str
    error: float
    first_order: bool
    euler: bool
    end_name: str
    end_unit: str
    deviation: float
    scale: float


def step_error(solution: Solution, problem: ShootingProblem) -> StepError | None:
    """Error of the steps of a converged solution; None if it is small, or if knots have no time steps.

    Errors e_t = f(x_t, u_t, dt) ⊖ f(f(x_t, u_t, dt/2), u_t, dt/2) add up to the deviation Σ Φ(T, t + 1) e_t at the end,
    with Φ the product of the derivatives of the steps between. Coordinates count relative to the largest one of their
    unit. Steps of first order have errors in any usual motion, which feedback makes up for. What counts besides is how
    much: corrections δu_t of the controls, with the least |Fu δu_t + e_t| of all coordinates or of the velocities of a
    robot, are compared with the controls. Steps of higher order matter if their errors alone add up to a part of the
    range: what stands upright or walks loses any plan without feedback.

    Args:
        solution: The solution.
        problem: Its problem, with the parameters of the solve.
    """
    xs, us, state, within = solution.xs, solution.us, problem.state, WithinSteps(problem, solution.xs, solution.us)
    if not (solution.converged and within.timed.any()):
        return None

    def apart(a: Reals, b: Reals) -> Reals:
        pairs = [state.difference_unchecked(*pair) for pair in zip(a, b)]
        return np.where(within.timed[:, None], pairs, 0.0)

    try:
        half, quarter = within.after(xs[:-1], 0.0, 0.5), within.after(xs[:-1], 0.0, 0.25)
        errors = apart(within.at_knots.xnext, within.after(half, 0.5, 0.5))
        finer = apart(half, within.after(quarter, 0.25, 0.25))
    except TrajoptError:  # a model has no value at a state between knots
        return None
    sizes = np.abs(errors)
    ratio = float(sizes.sum() / max(np.abs(finer).sum(), 1e-300))
    scales = ranges(state, xs)
    missed, turned = _in_world(state, xs[-1], _propagated(within.at_knots.Fx, errors))
    end = int((missed / scales).argmax())
    name, unit = state.tangent_names[end] + (" in world axes" if turned[end] else ""), state.tangent_units[end]
    deviation, scale = float(missed[end]), float(scales[end])
    matters = deviation > max(MISSED * scale, SMALL)
    if matters and ratio < FIRST_ORDER:
        name, unit, deviation, scale = _corrected(problem, within.at_knots.Fu / scales[:, None], errors / scales, us)
        matters = deviation > ADDED * scale
    else:
        matters &= bool(((sizes / scales).sum(axis=0) > ERRED).any())
    if ratio < CONSISTENT or not matters:
        return None
    knot, row = np.unravel_index((sizes / scales).argmax(), sizes.shape)
    return StepError(
        knot=int(knot),
        name=state.tangent_names[row],
        unit=state.tangent_units[row].replace("-", ""),
        error=float(sizes[knot, row]),
        first_order=ratio < FIRST_ORDER,
        euler=any(isinstance(model, IntegratedActionModelEuler) for model in problem.running),
        end_name=name,
        end_unit=unit.replace("-", ""),
        deviation=deviation,
        scale=scale,
    )


def _corrected(problem: ShootingProblem, Fu: Reals, errors: Reals, us: Reals) -> tuple[str, str, float, float]:
    """Corrections of the controls that take off errors (T, ndx), by relative derivatives Fu (T, ndx, nu).

    Returns the control that changes most and its unit, and the mean size of the corrections of this unit and of the
    controls.
    """
    rows, found = slice(-getattr(problem.state, "nv", problem.state.ndx), None), controls(problem)
    du = np.abs(np.linalg.pinv(Fu[:, rows], rcond=1e-6) @ errors[:, rows, None])[..., 0]
    if not found.names:
        return "", "", 0.0, 0.0
    units = np.array(found.units)
    sums = {unit: (du[:, units == unit].sum(), np.abs(us[:, units == unit]).sum()) for unit in found.units}
    unit = max(sums, key=lambda each: sums[each][0] / max(sums[each][1], 1e-300))
    most = int(np.where(units == unit, du.sum(axis=0), -1.0).argmax())
    deviation, scale = (float(total) / us[:, units == unit].size for total in sums[unit])
    return found.names[most], unit, deviation, scale


def _in_world(state: StateAbstract, x: Reals, dx: Reals) -> tuple[Reals, npt.NDArray[np.bool_]]:
    """Size of a deviation dx (ndx,) of a state x (nx,), and which of its entries are in world axes.

    Positions and velocities of free-flyer joints are: in the axes of a body, the velocity R v of one that spins differs
    by δθ × v because of its turn δθ alone.
    """
    dx, turned = dx.copy(), np.zeros(len(dx), dtype=np.bool_)
    if isinstance(state, StateMultibody):
        for joint in state.model.joints:
            if joint.shortname() != "JointModelFreeFlyer":
                continue
            q, n = x[joint.idx_q : joint.idx_q + 7], state.nv + joint.idx_v
            R, place = pin.Quaternion(q[3:] / np.linalg.norm(q[3:])).matrix(), slice(joint.idx_v, joint.idx_v + 3)
            turn = dx[joint.idx_v + 3 : joint.idx_v + 6].copy()
            for rows in (slice(n, n + 3), slice(n + 3, n + 6)):
                v = x[state.nq - state.nv :][rows]
                dx[rows], turned[rows] = R @ (dx[rows] + np.cross(turn, v)), True
            dx[place], turned[place] = R @ dx[place], True
    return np.abs(dx), turned


def _propagated(Fx: Reals, errors: Reals) -> Reals:
    """Deviation at the end (ndx,), to first order."""
    dx = np.zeros(errors.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for F, error in zip(Fx, errors):
            dx = F @ dx + error
    return np.nan_to_num(dx, nan=np.inf)


def ranges(state: StateAbstract, xs: Reals) -> Reals:
    """Largest range of the coordinates of the same unit (ndx,) along states (T + 1, nx), > 0; see `shared_scales`."""
    moves = np.array([state.difference_unchecked(*pair) for pair in itertools.pairwise(xs)])
    path = np.concatenate([np.zeros((1, state.ndx)), np.cumsum(moves, axis=0)])
    return shared_scales(np.ptp(path, axis=0), state.tangent_units)


def shared_scales(scale: Reals, units: list[str]) -> Reals:
    """Returns the largest scale of the coordinates of the same unit (ndx,), > 0; its own for one without unit.

    Args:
        scale: A size of each coordinate, such as its range (ndx,) [unit].
        units: Unit of each coordinate; "-" if there is none.
    """
    same = np.array([[i == j or (a == b != "-") for j, b in enumerate(units)] for i, a in enumerate(units)])
    return np.maximum(np.max(np.where(same, scale, 0.0), axis=1), 1e-300)
