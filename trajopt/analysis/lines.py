"""States and controls of a solution as lines over time, each with name, quantity, unit and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.limbs import limbs_of
from trajopt.shooting import Controls
from trajopt.shooting import controls as controls_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


_QUANTITIES = {"m": "position", "rad": "angle", "m/s": "velocity", "rad/s": "velocity"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A coordinate over the knots, shape (T + 1,), or a control, shape (T,), which holds from its knot to the next.

    Attributes:
        group: "configuration", "velocity", "state" or "control".
        limb: Name of the limb, see `limbs_of`; lines of a limb share a column. Empty for a robot with few joints.
        owner: Name of the joint if it has several coordinates, which then share a panel; else empty.
        quantity: Quantity, for the label of the axis.
        unit: Unit; empty if unknown.
        name: Name, for the legend.
        values: Values.
        lower: Lower limit, -inf if there is none.
        upper: Upper limit, inf if there is none.
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

    @property
    def panel(self) -> tuple[str, ...]:
        """Key of the panel that the line belongs to; lines with equal keys share a panel."""
        return self.group, self.limb, self.owner, self.quantity, self.unit


def panels_of(solution: Solution) -> list[list[Line]]:
    """Lines of a solution grouped by panel, states before controls."""
    panels: dict[tuple[str, ...], list[Line]] = {}
    for line in lines_of(solution):
        panels.setdefault(line.panel, []).append(line)
    return list(panels.values())


def lines_of(solution: Solution) -> tuple[Line, ...]:
    """Lines of a solution: coordinates of the states in their order, then controls in theirs."""
    if solution.problem is None and solution.description is not None:
        return solution.description.lines
    return (*_state_lines(solution), *_control_lines(solution))


def coordinate_units(state: Any) -> tuple[str, ...]:
    """Unit of each coordinate of a state (nx,): that of the tangent coordinate of its name, else "-"."""
    units = dict(zip(state.tangent_names, state.tangent_units))
    return tuple(units.get(name, "-") for name in state.coordinate_names)


def _control_lines(solution: Solution) -> Iterator[Line]:
    problem, us = solution.problem, solution.us
    controls = controls_of(problem) if problem is not None else Controls.unnamed(us.shape[1])
    efforts = _efforts(problem.state) if problem is not None else {}
    limbs = _limbs(problem.state) if problem is not None else {}
    for i, name in enumerate(controls.names[: us.shape[1]]):
        quantity, unit = efforts.get(name, ("control", "" if controls.units[i] == "-" else controls.units[i]))
        yield Line(
            group="control",
            limb=limbs.get(name.removeprefix("u:"), ""),
            quantity=quantity,
            unit=unit,
            name=name.removeprefix("u:"),
            values=us[:, i],
            lower=float(controls.lower[i]),
            upper=float(controls.upper[i]),
        )


def _limbs(state: Any) -> dict[str, str]:
    """Limb of each joint of a robot with many joints, by the name of the joint; else empty."""
    return limbs_of(state.model) if hasattr(state, "model") else {}


def _efforts(state: Any) -> dict[str, tuple[str, str]]:
    """Quantity and unit of each control that drives a single joint, by its name, which is "u:JOINT"."""
    efforts = {"rad/s": ("torque", "N m"), "m/s": ("force", "N")}
    names = {f"u:{name[2:]}": unit for name, unit in zip(state.tangent_names, state.tangent_units) if name[:2] == "v:"}
    return {name: efforts[unit] for name, unit in names.items() if unit in efforts}


def _state_lines(solution: Solution) -> Iterator[Line]:
    xs = solution.xs
    state = solution.problem.state if solution.problem is not None else None
    if state is not None and hasattr(state, "model"):
        yield from _configuration_lines(state, xs)
        yield from _velocity_lines(state, xs)
        return
    names = state.coordinate_names if state is not None else [f"x{i}" for i in range(xs.shape[1])]
    units = state.coordinate_units if state is not None else ["-"] * len(names)
    flat = state is not None and state.nx == state.ndx  # otherwise bounds belong to tangent coordinates
    for i, (name, unit) in enumerate(zip(names, units)):
        more: dict[str, Any] = {}
        if state is not None and flat:
            more = {"lower": float(state.lower[i]), "upper": float(state.upper[i])}
        quantity = "quaternion" if name[-2:] in ("qx", "qy", "qz", "qw") else _QUANTITIES.get(unit, "state")
        unit = "" if unit == "-" else unit
        yield Line(group="state", quantity="state" if flat else quantity, unit=unit, name=name, values=xs[:, i], **more)


def _configuration_lines(state: Any, xs: Reals) -> Iterator[Line]:
    """Coordinates joint by joint: points on the unit circle as angles, quaternions unchanged."""
    from trajopt.states.joint_spaces import joint_spaces
    from trajopt.states.spaces import CircleSpace, PlanarPoseSpace, VectorSpace

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
            bounds = {}
            if isinstance(space, VectorSpace):  # in other spaces bounds are on tangent coordinates, not on these
                bounds = {"lower": float(state.lower[joint.v][k]), "upper": float(state.upper[joint.v][k])}
            quantity = _QUANTITIES.get(unit, "quaternion")
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


def _velocity_lines(state: Any, xs: Reals) -> Iterator[Line]:
    from trajopt.states.joint_spaces import joint_spaces

    nq, nv, units, limbs = state.nq, state.nv, state.tangent_units, _limbs(state)
    for joint in joint_spaces(state.model):
        for k, name in enumerate(joint.space.tangents):
            i = joint.v.start + k
            yield Line(
                group="velocity",
                limb=limbs.get(joint.label, ""),
                owner=joint.label if joint.space.nv > 1 else "",
                quantity=_QUANTITIES.get(units[nv + i], "velocity"),
                unit=units[nv + i],
                name=name or joint.label,
                values=xs[:, nq + i],
                lower=float(state.lower[nv + i]),
                upper=float(state.upper[nv + i]),
            )


def _angle(circle: Reals) -> Reals:
    """Angle without jumps, shape (T + 1, 1) [rad], of points (cos, sin), shape (T + 1, 2)."""
    return np.unwrap(np.arctan2(circle[:, 1:], circle[:, :1]), axis=0)
