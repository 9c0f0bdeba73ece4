"""Valid arguments of articulations, and objects to call methods on: a robot declared in code."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.articulations.built import crane, tethered
from tests.fuzz.worlds import World
from trajopt.articulations import ArticulationBuilder, generalized_to_maximal

_AXES = ("x", "y", "z", "-x", (0.0, 0.6, 0.8), [1, 2, 3])


def _builder(w: World, rng: Random) -> ArticulationBuilder:
    """Links "one", which has a joint, "two" and "three"."""
    builder = ArticulationBuilder()
    for link in ("one", "two", "three"):
        builder.add_sphere(builder.add_link(link), 0.1)
    builder.add_free("world", "one")
    if rng.random() < 0.5:
        builder.add_ball("one", "two")
        builder.add_revolute("two", "three")
    return builder


def _point(w: World, rng: Random) -> Any:
    return np.array([rng.uniform(-1, 1) for _ in range(3)])


def _axis(w: World, rng: Random) -> Any:
    return rng.choice(_AXES)


def _pair(w: World, rng: Random) -> Any:
    return [*rng.sample(("x", "y", "z"), 2)]


def _anchor(w: World, rng: Random) -> Any:
    return rng.choice([None, _point(w, rng), pin.SE3(pin.exp3(_point(w, rng)), _point(w, rng))])


def _sixes(w: World, rng: Random) -> Any:
    return np.array([[rng.uniform(-1, 1) for _ in range(6)] for _ in range(2)])


def _q(w: World, rng: Random) -> Any:
    return np.array([rng.uniform(-1, 1) for _ in range(4)])


def _configurations(w: World, rng: Random) -> Any:
    return rng.choice([None, {"home": {"one_joint": [0, 0, 0, 0, 0, 0, 1]}}])


def _maximal(number: int) -> Callable[[World, Random], Any]:
    return lambda w, rng: generalized_to_maximal(crane(), _q(w, rng), _q(w, rng))[number]


_TAKING_ROBOTS = ("body_names", "generalized_to_maximal", "joint_table", "maximal_to_generalized", "velocity_convert",
                  "effort_convert")  # fmt: skip
_TAKING_STATES = ("generalized_to_maximal", "velocity_convert", "effort_convert")

_ADDED = ("link", "frame", "box", "sphere", "capsule", "cylinder", "revolute", "prismatic", "d6", "universal", "planar",
          "ball", "free", "distance", "fixed")  # fmt: skip
_BY_ARGUMENT: dict[str, Callable[[World, Random], Any]] = {
    "name": lambda w, rng: rng.choice(["new", "newer"]),
    "parent": lambda w, rng: rng.choice(["world", "one"]),
    "child": lambda w, rng: rng.choice(["two", "three"]),
    "link": lambda w, rng: rng.choice(["one", "two"]),
    "axis": _axis,
    "axes": _pair,
    "linear": _pair,
    "angular": _pair,
    "lower": lambda w, rng: 0.1,
    "upper": lambda w, rng: 0.9,
    "X_p": _anchor,
    "X_c": _anchor,
    "placement": _anchor,
    "size": lambda w, rng: (0.1, 0.2, 0.3),
    "center": _point,
    "start": _point,
    "end": _point,
    "color": lambda w, rng: rng.choice([None, "tab:blue"]),
}

ARTICULATED: dict[str, Callable[[World, Random], Any]] = {
    **{f"{name}.robot": lambda w, rng: crane() for name in _TAKING_ROBOTS},
    **{f"{name}.{letter}": _q for name in _TAKING_STATES for letter in ("q", "v", "tau")},
    **{f"{name}.{kind}": lambda w, rng: rng.choice(["newton", "pinocchio"])
       for name in ("twist_convert", "wrench_convert", "velocity_convert", "effort_convert")
       for kind in ("source", "target")},
    **{f"{name}.poses": lambda w, rng: np.tile([1.0, 2, 3, 0, 0, 0.6, 0.8], (2, 1))
       for name in ("twist_convert", "wrench_convert")},
    "convention": lambda w, rng: rng.choice(["newton", "pinocchio"]),
    "maximal_to_generalized.poses": _maximal(0),
    "maximal_to_generalized.twists": _maximal(1),
    "maximal_to_generalized.tolerance": lambda w, rng: None,
    "twist_convert.twists": _sixes,
    "wrench_convert.wrenches": _sixes,
    "quaternions": lambda w, rng: np.array([[0.0, 0.6, 0.8, 0.0]]),
    "apply_free_joint_wrench.robot": lambda w, rng: tethered().robot,
    "apply_free_joint_wrench.q": lambda w, rng: tethered().zero()[: tethered().nq],
    "apply_free_joint_wrench.wrench": lambda w, rng: _sixes(w, rng)[0],
    "apply_free_joint_wrench.joint": lambda w, rng: rng.choice([None, "buoy_joint"]),
    "Axis.direction": _axis,
    "Axis.lower": lambda w, rng: -1.0,
    **{f"ArticulationBuilder.add_{kind}.{argument}": value
       for kind in _ADDED for argument, value in _BY_ARGUMENT.items()},
    "ArticulationBuilder.add_planar.angular": _axis,
    "ArticulationBuilder.add_link.mass": lambda w, rng: 1.0,
    "ArticulationBuilder.add_link.inertia": lambda w, rng: rng.choice([None, (0.1, 0.1, 0.1), np.eye(3)]),
    "ArticulationBuilder.add_link.com": lambda w, rng: rng.choice([None, _point(w, rng)]),
    "ArticulationBuilder.build.name": lambda w, rng: "robot",
    "ArticulationBuilder.build.configurations": _configurations,
    "ResidualModelJointDistance.state": lambda w, rng: tethered(),
    "ResidualModelJointDistance.joints": lambda w, rng: rng.choice([None, "buoy_joint", ["ball_joint"]]),
    "Robot.shapes": lambda w, rng: (),
    "Robot.distances": lambda w, rng: None,
}  # fmt: skip

FIXED_ARTICULATED: dict[str, Callable[[World, Random], Any]] = {
    "ArticulationBuilder": _builder,
    "Shape": lambda w, rng: crane().shapes[rng.randrange(3)],
    "ResidualModelJointDistance": lambda w, rng: trajopt.ResidualModelJointDistance(tethered()),
}
