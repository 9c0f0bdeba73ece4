"""Numbers from a space's own expressions, where Pinocchio's are not accurate enough.

Measured with Pinocchio 4.1: the angle of a planar rotation comes from an arc cosine (1e-9 off at π - 1e-9); the
translation of a planar joint is divided by the angle (8e-8 off at an angle of 1e-9); the Jacobians of exponential and
logarithm of rotations and poses cancel between angles of 5e-5 and 1e-2 (4e-9 off at 2e-4). Derivatives by
differences, and tests of ours, need better.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import casadi as ca
from casadi import SX

from trajopt.states.joint_spaces import JointSpace
from trajopt.states.spaces import CircleSpace, ConfigurationSpace, PlanarPoseSpace, PoseSpace, RotationSpace
from trajopt.types import Reals

Operation = Literal["integrate", "difference", "jintegrate", "jdifference"]

_NEEDED: dict[Operation, tuple[type[ConfigurationSpace], ...]] = {
    "integrate": (PlanarPoseSpace,),
    "difference": (PlanarPoseSpace, CircleSpace),
    "jintegrate": (PlanarPoseSpace, RotationSpace, PoseSpace),
    "jdifference": (PlanarPoseSpace, RotationSpace, PoseSpace),
}


def joints_to_replace(joints: tuple[JointSpace, ...]) -> dict[Operation, tuple[JointSpace, ...]]:
    """For each operation, the joints whose numbers are to be taken from here."""
    return {name: tuple(j for j in joints if isinstance(j.space, spaces)) for name, spaces in _NEEDED.items()}


def evaluate(space: ConfigurationSpace, operation: Operation, a: Reals, b: Reals) -> tuple[Reals, ...]:
    """The operation's results for one joint: a vector, or a pair of matrices."""
    return tuple(value.full() for value in _function(space, operation).call([a, b]))


@cache
def _function(space: ConfigurationSpace, operation: Operation) -> ca.Function:
    a = SX.sym("a", space.nq)
    b = SX.sym("b", space.nv if operation.endswith("integrate") else space.nq)
    result = getattr(space, operation)(a, b)
    return ca.Function(operation, [a, b], list(result) if isinstance(result, tuple) else [result])
