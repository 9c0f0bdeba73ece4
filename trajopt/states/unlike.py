"""Words for what makes two states different that print the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
import pinocchio as pin

from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody

_INERTIAL = ["rotorInertia", "armature", "friction", "damping", "jointPlacements", "gravity"]
_CURE = (
    "; a mass, friction or placement that changes with the knot is a parameter of one robot, "
    'Robot.with_parameters("NAME.mass"), with problem.set_parameter("robot.NAME.mass", value, knots=...)'
)


def unlike(state: StateAbstract, other: StateAbstract) -> str:
    """Returns the first difference in words, with what to do about robots of other masses; empty without one."""
    for name, pair in _parts(state, other):
        here, there = (str(np.asarray(each).tolist()) if isinstance(each, np.ndarray) else str(each) for each in pair)
        if here != there:
            robots = isinstance(state, StateMultibody) and isinstance(other, StateMultibody)
            return f": their {name} differ, {here} and {there}{_CURE if robots else ''}"
    return ""


def _parts(state: StateAbstract, other: StateAbstract) -> Iterator[tuple[str, tuple[object, object]]]:
    """Pairs of what two states consist of, by name."""
    for a, b in zip_longest(state.tangent_names, other.tangent_names):
        yield "names of coordinates", (a, b)
    for side in ("lower", "upper"):
        yield f"{side} bounds", (getattr(state, side), getattr(other, side))
    if isinstance(state, StateMultibody) and isinstance(other, StateMultibody):
        yield "robots' parameters", (list(state.robot.parameters), list(other.robot.parameters))
        yield from _of_models(state.model, other.model)


def _of_models(model: pin.Model, other: pin.Model) -> Iterator[tuple[str, tuple[object, object]]]:
    for joint, a, b in zip(model.names, model.inertias, other.inertias, strict=False):
        yield f"masses [kg] on joint {joint!r}", (f"{a.mass:g}", f"{b.mass:g}")
        yield f"centres of mass [m] on joint {joint!r}", (a.lever, b.lever)
        yield f"inertias [kg m²] on joint {joint!r}", (a.inertia, b.inertia)
    for name in _INERTIAL:
        yield f"robots' {name}", tuple(str(getattr(each, name)) for each in (model, other))  # type: ignore[misc]
    yield "frames", tuple(str([frame.name for frame in each.frames]) for each in (model, other))  # type: ignore[misc]
