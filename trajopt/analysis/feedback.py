"""Feedback around a solution: the solver's gains, or joint springs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from trajopt.actuation.base import check_linear
from trajopt.analysis.basics import problem_of, robot_of
from trajopt.analysis.legs import is_legged
from trajopt.checks import check_finite, check_flag, check_known, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.analysis.constraints import ConstraintRows
    from trajopt.solution import Solution

KINDS = ("gains", "springs", "gains+springs", "open")
BEND = 0.5  # error at which a spring alone asks for the limit of its motor [rad, m]
SHARE = 0.2  # part of the springs that is added to gains: with 0.1 to 0.35 all ready jumps, trots and walks stay up [-]
LAG = 0.03  # ratio of damping to stiffness of the springs [s]
QUICKEST = 1.5e3  # rate at which a damper may slow its joint: 2e3 is unstable in a plant's steps of 1 ms [1/s]


class Feedback(Immutable):
    """Policy u(t, x) around a solution; between knots its state moves along the step from one to the next.

    | kind      | u(t, x)                                                                                            |
    |-----------|----------------------------------------------------------------------------------------------------|
    | "gains"   | us - K (x ⊖ x_ref) with the solver's gains; those of DDP and FDDP do not know limits of torque     |
    | "springs" | us + B⁺ (k (q_ref - q) + d (v_ref - v)): a spring and a damper at each motor                       |
    | "open"    | us                                                                                                 |

    Gains of a gait know feet that stand on their contacts only; a foot that slips or lands early moves in directions in
    which they are weak or even unstable. The kind "gains+springs" adds a fifth of the springs to them.

    Args:
        solution: The solution, with its problem and with times.
        kind: The kind.
        clip: Whether to clip controls to the limits of models, which have those of their motors, and to bounds of hard
            constraints whose rows are single controls, such as those of ResidualModelControl.
        stiffness: k of all springs [N m/rad, N/m]; by default half a radian asks for the limit of the motor, or for
            less at a joint that moves so little inertia that the damper would be unstable in steps of 1 ms.
        damping: d of all dampers [N m s/rad, N s/m]; by default 0.03 s times k.

    Attributes:
        kind: The kind.
        times: Time of each knot (T + 1,) [s].

    Raises:
        InvalidArgumentError: The solution has no times, no gains, or no robot with limits of torque.
    """

    def __init__(
        self,
        solution: Solution,
        kind: str = "gains",
        *,
        clip: bool = True,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        check_known("kind", kind, KINDS)
        problem = problem_of(solution)
        if solution.times is None:
            raise InvalidArgumentError("solution: expected one of a problem whose knots have time steps")
        if "springs" not in kind and (stiffness is not None or damping is not None):
            raise InvalidArgumentError("stiffness, damping: expected with kind='springs' only; leave them out")
        self._solution, self.kind, self._state = solution, kind, problem.state
        self.times = solution.times
        self._acting = np.flatnonzero(np.diff(self.times) > 0.0)
        self._begins, self._same = self.times[self._acting], 1e-9 * float(np.diff(self.times).max())
        self._limits = control_limits(solution) if check_flag("clip", clip) else None
        T, nu, n = len(solution.us), problem.nu, self._state.ndx
        if kind == "springs":
            self._K = np.tile(_springs(solution, stiffness, damping), (T, 1, 1))
        elif kind == "open" or nu == 0:
            self._K = np.zeros((T, nu, n))
        elif solution.K is None:
            raise InvalidArgumentError(
                f"solution: expected one with gains K, got none from {solution.solver}; use SolverFDDP, or 'springs'"
            )
        else:
            self._K = solution.K
        if kind == "gains+springs":
            self._K = self._K + SHARE * _springs(solution, stiffness, damping)

    @property
    def K(self) -> Reals:
        """Gains (T, nu, ndx)."""
        return self._K.copy()

    def __call__(self, t: float, x: Reals) -> Reals:
        """Control (nu,) at a time [s] and a state (nx,); after the end, that of the last knot."""
        solution, state = self._solution, self._state
        knot = self.knot(t)
        begin, end = self.times[knot], self.times[knot + 1]
        part = min(max((t - begin) / (end - begin), 0.0), 1.0)
        step = state.difference(solution.xs[knot], solution.xs[knot + 1])
        reference = state.integrate(solution.xs[knot], part * step)
        u = solution.us[knot] - self._K[knot] @ state.difference(reference, x)
        return u if self._limits is None else np.clip(u, self._limits[0][knot], self._limits[1][knot])

    def knot(self, t: float) -> int:
        """Knot that acts at a time [s]; knots without a duration, such as impulses, never do."""
        last = int(np.searchsorted(self._begins, check_finite("t", t) + self._same, "right")) - 1
        return int(self._acting[max(last, 0)])

    def __repr__(self) -> str:
        return f"Feedback({self.kind!r}, {len(self._K)} knots over {self.times[-1]:g} s)"


def usual_kind(solution: Solution) -> str:
    """Returns the kind of feedback for a replay: of a gait "gains+springs", on terrain "springs", otherwise "gains".

    On stairs of Go2 and a jump onto a platform gains fall in MuJoCo, with a fifth of the springs, too.
    """
    if not is_legged(solution) or solution.description.spheres or solution.problem is None:
        return "gains"
    motors = solution.problem.running[0].model_parts.actuation
    if motors is None or not np.all(np.isfinite(motors.upper)):
        return "gains"
    schedule = solution.problem.schedule
    return "gains+springs" if schedule is None or schedule.terrain is None else "springs"


def control_limits(solution: Solution, sampled: Mapping[str, Reals] | None = None) -> tuple[Reals, Reals]:
    """Lower and upper limits of the controls (T, nu): those of the models, and bounds of hard rows that are a control.

    Limits of models are those of their motors.

    Args:
        solution: The solution, with its problem.
        sampled: Bounds of such rows in n samples, (n, rows) by name; limits are then (n, T, nu).
    """
    problem, sampled = solution.problem, sampled or {}
    assert problem is not None
    lower, upper = np.full(solution.us.shape, -np.inf), np.full(solution.us.shape, np.inf)
    for kind in problem.kinds[:-1]:
        model, knots = kind.model, np.array(kind.knots)
        lower[knots, : model.nu], upper[knots, : model.nu] = model.lower, model.upper
    for values in sampled.values():
        lower, upper = (np.broadcast_to(each, (len(values), *solution.us.shape)).copy() for each in (lower, upper))
        break
    for rows, row, control in limiting_rows(solution):
        constant = rows.values[:-1, row] - solution.us[:, control]  # NaN at knots without the row
        low, high = (
            sampled[name][:, [min(row, sampled[name].shape[1] - 1)]] if name in sampled else bounds[:-1, row]
            for name, bounds in zip(bound_names(rows), (rows.lower, rows.upper))
        )
        lower[..., control] = np.fmax(lower[..., control], low - constant)
        upper[..., control] = np.fmin(upper[..., control], high - constant)
    return lower, upper


def limiting_rows(solution: Solution) -> Iterator[tuple[ConstraintRows, int, int]]:
    """Hard rows that equal a control up to a constant: the constraint, number of the row, and that of the control."""
    for rows in solution.description.constraints:
        for row, control in enumerate(rows.controls):
            if control >= 0 and not rows.soft:
                yield rows, row, control


def bound_names(rows: ConstraintRows) -> tuple[str, str]:
    """Names of the parameters with the lower and upper bounds of a constraint."""
    name = rows.name.split(" at ")[0]  # without the stage
    return f"{name}.lower", f"{name}.upper"


def _springs(solution: Solution, stiffness: float | None, damping: float | None) -> Reals:
    """Gains (nu, ndx) of springs and dampers at the motors."""
    motors, nv = _motors(solution), robot_of(solution).nv
    check_linear(motors, "a spring at each motor")
    limits = motors.upper
    if stiffness is None and not np.all(np.isfinite(limits)):
        raise InvalidArgumentError("stiffness: expected a number, as the robot's motors have no limits of torque")
    k = limits / BEND if stiffness is None else np.full(motors.nu, check_positive("stiffness", stiffness))
    d = LAG * k if damping is None else np.full(motors.nu, check_positive("damping", damping))
    B = np.linalg.pinv(motors.matrix)
    if stiffness is None and damping is None:
        mobilities = np.diag(B @ np.linalg.solve(_inertia(solution), motors.matrix))
        k, d = (each * np.minimum(1.0, QUICKEST / (d * mobilities)) for each in (k, d))
    return np.concatenate([k[:, None] * B, d[:, None] * B], axis=1)[:, : 2 * nv]


def _inertia(solution: Solution) -> Reals:
    """Inertia matrix (nv, nv) of the robot at the start."""
    model = robot_of(solution)
    upper = np.triu(pin.crba(model, model.createData(), solution.xs[0, : model.nq]))
    return np.asarray(upper + np.triu(upper, 1).T)


def _motors(solution: Solution) -> Any:
    problem = solution.problem
    assert problem is not None
    for kind in problem.kinds[:-1]:
        if kind.model.model_parts.actuation is not None and kind.model.nu:
            return kind.model.model_parts.actuation
    raise InvalidArgumentError("solution: expected models of a robot with motors")
