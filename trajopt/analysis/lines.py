"""States and controls of a solution as lines over time, with name, quantity, unit and limits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.constraints import ConstraintRows, constraint_rows
from trajopt.analysis.limbs import limbs_of
from trajopt.analysis.quantities import STATE_QUANTITIES, control_quantities, efforts_of
from trajopt.errors import TrajoptError
from trajopt.shooting import controls as controls_of
from trajopt.shooting import motors as motors_of
from trajopt.states import StateAbstract, StateMultibody, StateProduct, StateVector
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.spaces import CircleSpace, PlanarPoseSpace, PoseSpace, RotationSpace, VectorSpace
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import Solution

SAME = 1e-9
"""Largest difference of a constraint row from a torque that it bounds, relative to the torque or 1 [-]."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A coordinate over the knots, shape (T + 1,), or a control, shape (T,), which is constant between knots.

    Attributes:
        group: "configuration", "velocity", "state", "control", or "torque" of a motor if controls are not torques.
        limb: Name of the limb, see `limbs_of`; lines of a limb share a column. Empty for a robot with few joints.
        owner: Name of the joint if it has several coordinates, which then share a panel; otherwise empty.
        quantity: Quantity, for the label of the axis.
        unit: Unit; empty if unknown.
        name: Name, for the legend.
        values: Values [unit].
        lower: Lower limit [unit]; -inf without a limit.
        upper: Upper limit [unit]; inf without a limit.
        tangent: Index of the tangent coordinate that equals the line up to a constant; None for other lines and
            controls.
        least: Lower bounds by constraints, one per value [unit], -inf without a bound; None without constraints.
        most: Upper bounds by constraints, likewise, with inf.
    """

    group: str
    limb: str = ""
    owner: str = ""
    quantity: str
    unit: str = ""
    name: str
    values: Reals
    lower: float = -np.inf
    upper: float = np.inf
    tangent: int | None = None
    least: Reals | None = None
    most: Reals | None = None

    @property
    def panel(self) -> tuple[str, ...]:
        """Key of the panel that the line belongs to; lines with equal keys share a panel."""
        return self.group, self.limb, self.owner, self.quantity, self.unit


def panels_of(solution: Solution) -> list[list[Line]]:
    """Groups the lines of a solution by panel, states before controls."""
    panels: dict[tuple[str, ...], list[Line]] = {}
    for line in solution.description.lines:
        panels.setdefault(line.panel, []).append(line)
    return list(panels.values())


def lines_of(solution: Solution, problem: ShootingProblem) -> tuple[Line, ...]:
    """Returns the lines of a solution: coordinates of the states, then controls, then torques, each in their order."""
    rows = [(each, row) for each in constraint_rows(solution) for row in range(len(each.rows))]

    def of(kind: str, number: int | None) -> list[tuple[ConstraintRows, int]]:
        return [(each, row) for each, row in rows if number is not None and getattr(each, kind)[row] == number]

    controls, torques = _control_lines(problem, solution.us), _torque_lines(solution, problem)
    return (
        *(_bounded(line, of("coordinates", line.tangent)) for line in state_lines(problem, solution.xs)),
        *(_bounded(line, of("controls", i)) for i, line in enumerate(controls)),
        *(_bounded(line, [each for each in rows if _is_torque(line, *each)]) for line in torques),
    )


def _bounded(line: Line, rows: Sequence[tuple[ConstraintRows, int]]) -> Line:
    """Adds the bounds of constraint rows that equal the line up to a constant."""
    least, most = np.full(line.values.shape, -np.inf), np.full(line.values.shape, np.inf)
    T = len(line.values)
    for constraint, row in rows:
        shift = line.values - constraint.values[:T, row]
        here = np.isfinite(shift)
        least[here] = np.maximum(least, constraint.lower[:T, row] + shift)[here]
        most[here] = np.minimum(most, constraint.upper[:T, row] + shift)[here]
    return dataclasses.replace(line, least=least, most=most) if rows else line


def _is_torque(line: Line, constraint: ConstraintRows, row: int) -> bool:
    """Whether a row has the name and the values of a torque, as that of ResidualModelJointEffort."""
    values = constraint.values[: len(line.values), row]
    near = np.abs(values - line.values) <= SAME * np.max(np.abs(line.values), initial=1.0)
    return constraint.rows[row] == line.name and bool(np.all(near | np.isnan(values)) and near.any())


def coordinate_units(state: StateAbstract) -> tuple[str, ...]:
    """Returns the unit of each coordinate of a state (nx,): that of the tangent coordinate with its name, or "-"."""
    units = dict(zip(state.tangent_names, state.tangent_units))
    return tuple(units.get(name, "-") for name in state.coordinate_names)


def _control_lines(problem: ShootingProblem, us: Reals) -> Iterator[Line]:
    controls = controls_of(problem)
    efforts, limbs = control_quantities(problem.state, controls), _limbs(problem.state)
    for i, name in enumerate(controls.names[: us.shape[1]]):
        short = name[2:] if name[:2] in ("u:", "a:", "f:") else name
        yield _effort_line("control", short, limbs, efforts[i], us[:, i], (controls.lower[i], controls.upper[i]))


def _torque_lines(solution: Solution, problem: ShootingProblem) -> Iterator[Line]:
    """Yields lines of motor torques if controls are accelerations."""
    if not any(name.startswith("a:") for name in controls_of(problem).names):
        return
    try:
        values = solution.torques()
    except TrajoptError:  # for example a state of a failed solve that is not finite
        return
    motors, efforts, limbs = motors_of(problem), efforts_of(problem.state), _limbs(problem.state)
    for i, name in enumerate(motors.names):
        effort = efforts.get(f"u:{name}", ("torque", "N m, N"))
        yield _effort_line("torque", name, limbs, effort, values[name], (motors.lower[i], motors.upper[i]))


def _effort_line(
    group: str, name: str, limbs: dict[str, str], effort: tuple[str, str], values: Reals, limits: tuple[float, float]
) -> Line:
    limb, (quantity, unit), (lower, upper) = limbs.get(name, ""), effort, map(float, limits)
    return Line(
        group=group, limb=limb, quantity=quantity, unit=unit, name=name, values=values, lower=lower, upper=upper
    )


def _limbs(state: StateAbstract) -> dict[str, str]:
    """Limb of each joint by joint name, for a robot with many joints; otherwise empty."""
    return limbs_of(state.robot.model) if state.robot is not None else {}


def state_lines(problem: ShootingProblem, xs: Reals) -> Iterator[Line]:
    """Yields lines of the state coordinates in their order, without bounds of constraints.

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
    """
    state = problem.state
    if isinstance(state, StateMultibody):
        yield from robot_lines(state, xs)
        return
    names, units, tangents = state.coordinate_names, state.coordinate_units, _added(state)
    for i, (name, unit) in _velocities_of(problem).items():
        names[i], units[i] = name, unit
    flat = state.nx == state.ndx  # otherwise bounds belong to tangent coordinates
    for i, (name, unit) in enumerate(zip(names, units)):
        more: dict[str, Any] = {}
        if flat:
            more = {"lower": float(state.lower[i]), "upper": float(state.upper[i])}
        quaternion = not flat and name[-2:] in ("qx", "qy", "qz", "qw")
        quantity = "quaternion" if quaternion else STATE_QUANTITIES.get(unit, "state")
        unit = "" if unit == "-" else unit
        yield Line(
            group="state", quantity=quantity, unit=unit, name=name, values=xs[:, i], tangent=tangents.get(i), **more
        )


def robot_lines(
    state: StateMultibody,
    xs: Reals,
    taus: Reals | None = None,
    limits: tuple[Reals, Reals] | None = None,
    accelerations: tuple[Reals, Reals] | None = None,
) -> Iterator[Line]:
    """Yields lines of a robot's coordinates, and of the torques at its joints that are not always zero.

    Args:
        state: State of the robot.
        xs: States (T + 1, nx).
        taus: Torques (T, nv), or at all states (T + 1, nv) [N m, N]; None for none.
        limits: Largest velocities and torques (nv,) of a motion whose torques are no controls; by default velocities
            have the limits of the state, and torques are controls without limits.
        accelerations: Accelerations (T + 1, nv) and their largest sizes (nv,) [rad/s², m/s²]; None for no lines.
    """
    yield from _configuration_lines(state, xs)
    group, most = ("control", np.full(state.nv, np.inf)) if limits is None else ("torque", limits[1])
    for line in _velocity_lines(state, xs):
        fastest = None if limits is None else float(limits[0][(line.tangent or 0) - state.nv])
        yield line if fastest is None else dataclasses.replace(line, lower=-fastest, upper=fastest)
    limbs, (values, bounds) = _limbs(state), accelerations or (np.zeros((0, 0)), np.zeros(0))
    for name, unit, column, bound in zip(state.tangent_names, state.tangent_units, values.T, bounds):
        effort = ("acceleration", f"{unit}/s²")
        yield _effort_line("acceleration", name.removeprefix("q:"), limbs, effort, column, (-bound, bound))
    if taus is None:
        return
    for (name, effort), values, limit in zip(efforts_of(state).items(), taus.T, most, strict=True):
        if values.any():
            yield _effort_line(group, name.removeprefix("u:"), limbs, effort, values, (-limit, limit))


def _added(state: StateAbstract) -> dict[int, int]:
    """Tangent coordinate of each coordinate to which it is simply added, as in a vector space."""
    tangents, x, dx = {}, 0, 0
    for part in state.states if isinstance(state, StateProduct) else [state]:
        if isinstance(part, StateVector):
            tangents.update({x + i: dx + i for i in range(part.nx)})
        x, dx = x + part.nx, dx + part.ndx
    return tangents


def _velocities_of(problem: ShootingProblem) -> dict[int, tuple[str, str]]:
    """Name and unit of velocities whose state has no names for them, by index; derived from the positions."""
    continuous = [model.model_parts.differential for model in problem.running]
    if not any(model is not None and model.second_order for model in continuous):
        return {}
    state, n = problem.state, problem.state.ndx // 2
    first = state.nx - n
    if not all(re.fullmatch(r"(.*\.)?x\d+", name) for name in state.coordinate_names[first:]):
        return {}
    if all(re.fullmatch(r"(.*\.)?x\d+", name) for name in state.tangent_names[:n]):
        return {}
    positions = zip(state.tangent_names[:n], state.tangent_units[:n])
    return {first + i: (name, "-" if unit == "-" else f"{unit}/s") for i, (name, unit) in enumerate(positions)}


def _configuration_lines(state: StateMultibody, xs: Reals) -> Iterator[Line]:
    """Yields lines of coordinates joint by joint, with points on the unit circle as angles."""
    limbs = _limbs(state)
    for joint in joint_spaces(state.model):
        space, q = joint.space, xs[:, joint.q]
        owner = joint.label if space.nv > 1 else ""
        names, units = list(space.coordinates), ["m"] * (space.nq - 4) + ["-"] * 4
        if isinstance(space, VectorSpace):
            units = list(space.units)
        elif isinstance(space, CircleSpace):
            q, names, units = _angle(q), [""], ["rad"]
        elif isinstance(space, PlanarPoseSpace):
            q, names, units = np.hstack([q[:, :2], _angle(q[:, 2:])]), ["x", "y", "angle"], ["m", "m", "rad"]
        for k, (name, unit) in enumerate(zip(names, units)):
            bounds: dict[str, Any] = {}
            if isinstance(space, VectorSpace):  # in other spaces bounds apply to tangent coordinates
                bounds = {"lower": float(state.lower[joint.v][k]), "upper": float(state.upper[joint.v][k])}
                bounds["tangent"] = joint.v.start + k
            quantity = STATE_QUANTITIES.get(unit, "quaternion")
            label = name or joint.label
            yield Line(
                group="configuration",
                limb=limbs.get(joint.label, ""),
                owner=owner,
                quantity=quantity,
                unit=unit,
                name=label,
                values=q[:, k],
                **bounds,
            )


def _velocity_lines(state: StateMultibody, xs: Reals) -> Iterator[Line]:

    nq, nv, units, limbs = state.nq, state.nv, state.tangent_units, _limbs(state)
    for joint in joint_spaces(state.model):
        turns = isinstance(joint.space, (RotationSpace, PlanarPoseSpace, PoseSpace))
        for k, name in enumerate(joint.space.tangents):
            i = joint.v.start + k
            yield Line(
                group="velocity",
                limb=limbs.get(joint.label, ""),
                owner=f"{joint.label}{', body axes' * turns}" if joint.space.nv > 1 else "",
                quantity=STATE_QUANTITIES.get(units[nv + i], "velocity"),
                unit=units[nv + i],
                name=name or joint.label,
                values=xs[:, nq + i],
                lower=float(state.lower[nv + i]),
                upper=float(state.upper[nv + i]),
                tangent=nv + i,
            )


def _angle(circle: Reals) -> Reals:
    """Continuous angle, shape (T + 1, 1) [rad], of points (cos, sin), shape (T + 1, 2)."""
    return np.unwrap(np.arctan2(circle[:, 1:], circle[:, :1]), axis=0)


def shown_panels(solution: Solution) -> list[list[Line]]:
    """Panels of a solution that have something to draw."""
    return [panel for panel in all_panels(solution) if any(np.isfinite(line.values).any() for line in panel)]


def all_panels(solution: Solution) -> list[list[Line]]:
    """Panels of a solution, with motor torques instead of the controls that determine them."""
    panels = panels_of(solution)
    torques = any(panel[0].group == "torque" for panel in panels)
    return [panel for panel in panels if not (torques and panel[0].group == "control")]
