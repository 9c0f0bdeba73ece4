"""Boxes, spheres and capsules as entries of JSON and YAML files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.robots.box import Box
from trajopt.robots.round_bodies import Capsule, Sphere

KINDS: dict[str, tuple[type[Box | Sphere | Capsule], tuple[str, ...]]] = {
    "box": (Box, ("size", "placement")),
    "sphere": (Sphere, ("radius", "center")),
    "capsule": (Capsule, ("radius", "start", "end")),
}
"""Class and arguments of each type of obstacle."""


def entry_of(body: Box | Sphere | Capsule) -> dict[str, Any]:
    """Type and arguments of a body in the world; `body_of` reads it."""
    kind = next(kind for kind, (own, _) in KINDS.items() if isinstance(body, own))
    values = {name: getattr(body, name) for name in KINDS[kind][1]}
    if isinstance(body, Box):
        values["placement"] = entry_placement(body.placement)
    return {"type": kind, **{name: np.asarray(value).tolist() for name, value in values.items()}}


def entry_placement(placement: Any) -> list[float]:
    """Position and quaternion xyzw (7,) of a placement (3, 4)."""
    turn = pin.Quaternion(np.asarray(placement)[:, :3]).coeffs()
    return [*np.asarray(placement)[:, 3].tolist(), *turn.tolist()]


def body_of(entry: dict[str, Any]) -> Box | Sphere | Capsule:
    """The body of an entry.

    Raises:
        LookupError, TypeError or InvalidArgumentError: It is no entry of a body.
    """
    values = dict(entry)
    made, arguments = KINDS[values.pop("type")]
    return made(values.pop(arguments[0], None), **values)
