"""Quantity and unit of coordinates and controls, for axis labels."""

from __future__ import annotations

from typing import Any

from trajopt.shooting import Controls

STATE_QUANTITIES = {"m": "position", "rad": "angle", "m/s": "velocity", "rad/s": "velocity"}
"""Quantity by unit."""


def control_quantities(state: Any, controls: Controls) -> list[tuple[str, str]]:
    """Returns quantity and unit of each control, "torque" or "force" if it drives one joint; the unit may be empty.

    Controls of inverse dynamics are accelerations, "a:JOINT", and contact forces, "f:FOOT".
    """
    efforts, kinds = efforts_of(state), {"a:": "acceleration", "f:": "contact force"}
    units = ["" if unit == "-" else unit for unit in controls.units]
    return [efforts.get(name, (kinds.get(name[:2], "control"), unit)) for name, unit in zip(controls.names, units)]


def efforts_of(state: Any) -> dict[str, tuple[str, str]]:
    """Returns quantity and unit of each control that drives a single joint, by its name "u:JOINT"."""
    efforts = {"rad/s": ("torque", "N m"), "m/s": ("force", "N")}
    names = {f"u:{name[2:]}": unit for name, unit in zip(state.tangent_names, state.tangent_units) if name[:2] == "v:"}
    return {name: efforts[unit] for name, unit in names.items() if unit in efforts}
