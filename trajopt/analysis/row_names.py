"""Names and units of the rows of residuals: axes of points, obstacles, faces of friction and wrench cones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trajopt.actuation import ActuationModelAbstract
from trajopt.analysis.quantities import efforts_of
from trajopt.residuals import (
    ResidualModelAbstract,
    ResidualModelCoMPosition,
    ResidualModelContactControlGrav,
    ResidualModelContactCoPPosition,
    ResidualModelContactFrictionCone,
    ResidualModelContactWrenchCone,
    ResidualModelControl,
    ResidualModelControlGrav,
    ResidualModelFramePlacement,
    ResidualModelFrameRotation,
    ResidualModelFrameTranslation,
    ResidualModelFrameVelocity,
    ResidualModelJointAcceleration,
    ResidualModelJointEffort,
    ResidualModelObstacleDistance,
    ResidualModelRelativePlacement,
    ResidualModelRelativeTranslation,
    ResidualModelState,
)

Names = list[tuple[str, str]]
"""Name and unit of each row."""

FRICTION, NORMAL = "friction ", "normal"
"""Start of the names of a friction pyramid's rows, and name of the row of a contact's normal force."""

_TIPPING: Names = [(f"tipping {axis}", "N m") for axis in ("+x", "-x", "+y", "-y")]
_SIDES = ("+x", "-x", "+y", "-y")


def row_names(residual: ResidualModelAbstract, n: int, actuation: ActuationModelAbstract | None = None) -> Names:
    """Returns name and unit of each of n rows of a constraint; names are numbers if the residual has none.

    Args:
        residual: Residual of the constraint.
        n: Number of rows [-].
        actuation: Actuation of the model, whose controls the residual may read; None without a robot.
    """
    if isinstance(residual, _OF_CONTROLS) and actuation is not None and actuation.nu == n:
        return _motors(actuation)
    name_rows = _NAMES.get(type(residual))
    names = [(name, _unit(residual)) for name in residual.row_names] if name_rows is None else name_rows(residual)
    if len(names) == n:
        return names
    return [(str(row), _unit(residual)) for row in range(n)]


def _unit(residual: ResidualModelAbstract) -> str:
    """Unit of all rows; "-" if they differ."""
    return "-" if "," in residual.unit else residual.unit


def _motors(actuation: ActuationModelAbstract) -> Names:
    """Joints, or controls that drive several; in inverse dynamics they are torques as well."""
    efforts = efforts_of(actuation.state)
    return [(name.removeprefix("u:"), efforts.get(name, ("", "-"))[1]) for name in actuation.names]


def _accelerations(residual: Any) -> Names:
    names, units = (each[residual.nr :] for each in (residual.state.tangent_names, residual.state.tangent_units))
    return [(name.removeprefix("v:"), f"{unit}²" if unit[-2:] == "/s" else "-") for name, unit in zip(names, units)]


def _coordinates(residual: Any) -> Names:
    state = residual.state
    return [(state.tangent_names[i], state.tangent_units[i]) for i in residual.elements]


def _axes(residual: Any) -> Names:
    return [(axis, residual.unit) for axis in "xyz"]


def _placement(residual: Any) -> Names:
    """Translation along the axes of the frame, then the rotation vector."""
    return [*((axis, "m") for axis in "xyz"), *_rotation(residual)]


def _rotation(residual: Any) -> Names:
    return [(f"rotation {axis}", "rad") for axis in "xyz"]


def _velocity(residual: Any) -> Names:
    return [*((axis, "m/s") for axis in "xyz"), *((f"rotation {axis}", "rad/s") for axis in "xyz")]


def _efforts(residual: Any) -> Names:
    """Joints, and N for those that slide."""
    state = residual.state
    rates = [(state.tangent_names[state.nv + i], state.tangent_units[state.nv + i]) for i in residual.joints]
    return [(name.removeprefix("v:"), "N" if unit == "m/s" else "N m") for name, unit in rates]


def _obstacles(residual: Any) -> Names:
    kind = "circle" if residual.dim == 2 else "sphere"
    return [(f"{kind} {i}", residual.unit) for i in range(residual.nr)]


def _friction(facets: int) -> Names:
    """Faces of a friction pyramid by their directions, then the normal force."""
    angles = [(360 * (i // 2) / facets + 180 * (i % 2)) % 360 for i in range(facets)]
    sides = _SIDES if facets == 4 else [f"{angle:g} deg" for angle in angles]
    return [*((f"{FRICTION}{side}", "N") for side in sides), (NORMAL, "N")]


def _wrench(residual: Any) -> Names:
    """Friction and normal force, tipping about the axes of the sole, and yaw about its normal."""
    return [*_friction(residual.cone.facets), *_TIPPING, *((f"yaw {i}", "N m") for i in range(8))]


_OF_CONTROLS = (ResidualModelControl, ResidualModelControlGrav, ResidualModelContactControlGrav)

_NAMES: dict[type, Callable[[Any], Names]] = {
    ResidualModelFramePlacement: _placement,
    ResidualModelFrameRotation: _rotation,
    ResidualModelFrameTranslation: _axes,
    ResidualModelFrameVelocity: _velocity,
    ResidualModelRelativePlacement: _placement,
    ResidualModelRelativeTranslation: _axes,
    ResidualModelJointAcceleration: _accelerations,
    ResidualModelJointEffort: _efforts,
    ResidualModelCoMPosition: _axes,
    ResidualModelContactFrictionCone: lambda residual: _friction(residual.cone.facets),
    ResidualModelContactWrenchCone: _wrench,
    ResidualModelContactCoPPosition: lambda _: _TIPPING,
    ResidualModelObstacleDistance: _obstacles,
    ResidualModelState: _coordinates,
}
