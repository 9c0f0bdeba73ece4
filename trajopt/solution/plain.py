"""Conversion of a description to JSON and arrays, and back."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.between_knots import ViolatedBetween
from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.legs import Foot, LeggedMotion
from trajopt.analysis.lines import Line
from trajopt.analysis.obstacles import Obstacle
from trajopt.analysis.reached import Reached
from trajopt.analysis.relief import Relief
from trajopt.analysis.step_errors import StepError
from trajopt.robots import Robot, Shape
from trajopt.robots.skeleton import Skeleton, Solid
from trajopt.types import Reals

_KINDS = (
    *(ConstraintRows, Foot, LeggedMotion, Line, Obstacle, Reached, Relief, Shape, Skeleton, Solid),
    *(StepError, ViolatedBetween),
)
_CLASSES = {cls.__name__: cls for cls in _KINDS}
_LOG = logging.getLogger(__name__)


def pack(value: Any, arrays: dict[str, Reals]) -> Any:
    """Converts a value to a tree for JSON. Arrays go to `arrays`, and the tree holds their names.

    Args:
        value: A number, text, None, array, sequence, mapping with text keys, robot, or data class of `_KINDS`.
        arrays: Arrays by name so far; new ones are added.
    """
    if isinstance(value, np.ndarray):
        name = f"description/{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Robot):
        text = value.model.saveToString()
        return {"robot": value.name, "model": text, "more": pack([value.shapes, value.distances], arrays)}
    if isinstance(value, Mapping):
        return {"mapping": {key: pack(item, arrays) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [pack(item, arrays) for item in value]
    if type(value).__name__ in _CLASSES:
        fields = {f.name: pack(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
        return {"class": type(value).__name__, "fields": fields}
    return value.item() if isinstance(value, np.generic) else value


def unpack(tree: Any, arrays: Mapping[str, Reals]) -> Any:
    """Inverse of `pack`: returns the value of a tree; sequences become tuples.

    A robot that the installed Pinocchio cannot read becomes None. Fields that a class no longer has are ignored. A
    field that is added to a class later needs a default, so that older files can be read.
    """
    if isinstance(tree, list):
        return tuple(unpack(item, arrays) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "mapping" in tree:
        return {key: unpack(item, arrays) for key, item in tree["mapping"].items()}
    if "robot" in tree:
        return _robot(tree["robot"], tree["model"], *unpack(tree.get("more", []), arrays))
    kind = _CLASSES[tree["class"]]
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: unpack(item, arrays) for name, item in tree["fields"].items() if name in names})


def _robot(
    name: str, text: str, shapes: Sequence[Shape] = (), distances: Mapping[str, tuple[float, float]] | None = None
) -> Robot | None:
    model = pin.Model()
    try:
        model.loadFromString(text)
    except Exception as error:  # Pinocchio raises it for a file of a later Pinocchio version
        _LOG.warning("robot %r of the file cannot be read by the installed version of Pinocchio: %s", name, error)
        return None
    return Robot(model, name=name, shapes=shapes, distances=distances)
