"""Plain data as JSON and arrays: what a file keeps of a description."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.legs import Foot, LeggedMotion
from trajopt.analysis.lines import Line
from trajopt.analysis.reached import Reached
from trajopt.robots import Robot, Shape
from trajopt.robots.skeleton import Skeleton, Solid
from trajopt.types import Reals

_KINDS = (ConstraintRows, Foot, LeggedMotion, Line, Reached, Shape, Skeleton, Solid)
_CLASSES = {cls.__name__: cls for cls in _KINDS}
_LOG = logging.getLogger(__name__)


def pack(value: Any, arrays: dict[str, Reals]) -> Any:
    """A value as a tree for JSON, with its arrays, which are added to `arrays`, by their names.

    Args:
        value: Numbers, text, None, arrays, sequences, mappings by text, robots, and the data classes of this module.
        arrays: The arrays so far.
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
    """The inverse of `pack`; sequences become tuples. A robot that this Pinocchio cannot read becomes None.

    Fields that a class no longer has are left out; one that a class gets later needs a default, for older files.
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
    known = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: unpack(item, arrays) for name, item in tree["fields"].items() if name in known})


def _robot(
    name: str, text: str, shapes: Sequence[Shape] = (), distances: Mapping[str, tuple[float, float]] | None = None
) -> Robot | None:
    model = pin.Model()
    try:
        model.loadFromString(text)
    except Exception as error:  # Pinocchio's own, of a file by a later version of it
        _LOG.warning("the robot %r of the file cannot be read by this version of Pinocchio: %s", name, error)
        return None
    return Robot(model, name=name, shapes=shapes, distances=distances)
