"""Targets of many poses: values of the tasks' parameters, one row for each pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_mapping
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.model import Parameter, ParameterLayout
from trajopt.robots.placements import NORM_TOLERANCE, check_placement, check_rotation, has_last_row
from trajopt.types import Reals

_CURE = 'pass {"tool.reference": array} with one row for each pose'


def target_rows(layout: ParameterLayout, first: Reals, targets: Any) -> Reals:
    """Values of all parameters for each target (n, layout.size).

    Args:
        layout: Layout of the parameters in a row.
        first: Values of the parameters that are not in `targets` (layout.size,).
        targets: Arrays (n, ...) of values, by name of the parameter.

    Raises:
        UnknownNameError: There is no parameter of this name.
        InvalidArgumentError: Arrays have different lengths, or values do not fit their parameters.
    """
    arrays = check_mapping("targets", targets, _CURE)
    if not arrays:
        raise InvalidArgumentError(f"targets: expected at least one array, got none; {_CURE}")
    columns = {}
    for name, values in arrays.items():
        if name not in layout.parameters:
            raise unknown_name("parameter", name, layout.parameters)
        columns[name] = _flat_rows(f"targets[{name!r}]", layout.parameters[name], values)
    counts = {name: len(rows) for name, rows in columns.items()}
    if len(set(counts.values())) > 1:
        raise InvalidArgumentError(
            f"targets: expected arrays of equal length, got {counts}; pass one row for each pose in all of them"
        )
    if 0 in counts.values():
        raise InvalidArgumentError("targets: expected at least one target, got none; pass one row for each pose")
    rows = np.tile(first, (next(iter(counts.values())), 1))
    for name, column in columns.items():
        rows[:, layout.slices[name]] = column
    return rows


def _flat_rows(argument: str, parameter: Parameter, values: Any) -> Reals:
    """Values of a parameter as rows (n, size), in the order of its symbol's elements."""
    scalars = isinstance(values, (list, tuple)) and all(isinstance(each, (int, float)) for each in values)
    if isinstance(values, (list, tuple)) and not (values and scalars and parameter.shape):
        checked = [parameter.flat(parameter.check(f"{argument}[{i}]", each)) for i, each in enumerate(values)]
        return np.array(checked).reshape(-1, parameter.size)
    array = as_numbers(argument, values, f"one row for each pose, of shape {parameter.shape}")
    if _is_one(parameter, array):
        raise InvalidArgumentError(
            f"{argument}: expected one row for each pose, got one value, of shape {array.shape}; pass [value], or use "
            "ik.solve for one target"
        )
    placements = parameter.convert is check_placement
    if placements and array.shape[1:] == (4, 4) and has_last_row(array):
        array = array[:, :3]
    if array.ndim != 1 + len(parameter.shape) or array.shape[1:] != parameter.shape:
        if array.ndim and len(array):  # another representation, such as position and quaternion
            return _flat_rows(argument, parameter, list(array))
        raise InvalidArgumentError(
            f"{argument}: expected shape (n, {', '.join(map(str, parameter.shape))}) with one row for each pose, got "
            f"{array.shape}"
        )
    if not np.all(np.isfinite(array)) and (placements or parameter.convert is None):
        bad = int(np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))[0])
        raise InvalidArgumentError(f"{argument}: expected finite numbers, got {array[bad].tolist()} in row {bad}")
    if placements or parameter.convert is check_rotation:
        _check_rotations(argument, array[:, :, :3])
    elif parameter.convert is not None:
        return _flat_rows(argument, parameter, list(array))
    return array.reshape(len(array), *parameter.shape).swapaxes(1, -1).reshape(len(array), parameter.size)


def _is_one(parameter: Parameter, array: Reals) -> bool:
    """Whether an array is the value of one target."""
    try:
        parameter.check("", array)
    except InvalidArgumentError:
        return False
    return True


def _check_rotations(argument: str, rotations: Reals) -> None:
    """Raises InvalidArgumentError if a matrix (n, 3, 3) is not a rotation."""
    off = np.abs(rotations.swapaxes(1, 2) @ rotations - np.eye(3)).max(axis=(1, 2))
    wrong = np.flatnonzero((off > NORM_TOLERANCE) | (np.linalg.det(rotations) < 0))
    if len(wrong):
        raise InvalidArgumentError(
            f"{argument}: expected rotation matrices (RᵀR = I, det R = 1), got {rotations[wrong[0]].tolist()} in row "
            f"{wrong[0]}; use pinocchio.exp3 or pinocchio.rpy.rpyToMatrix"
        )
