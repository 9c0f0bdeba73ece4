"""Numerical values from the expressions of a configuration space, used where Pinocchio is not accurate enough.

Measured errors of Pinocchio 4.1: the angle of a planar rotation comes from an arc cosine (1e-9 off at π - 1e-9); the
translation of a planar joint is divided by the angle (8e-8 off at an angle of 1e-9); the Jacobians of exponential and
logarithm of rotations and poses suffer from cancellation between angles of 5e-5 and 1e-2 (4e-9 off at 2e-4). Numerical
differentiation and the tests need more accurate values.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import casadi as ca
from casadi import SX

from trajopt.states.joint_spaces import JointSpace
from trajopt.states.spaces import CircleSpace, ConfigurationSpace, PlanarPoseSpace, PoseSpace, RotationSpace
from trajopt.types import Reals

SpaceOperation = Literal["integrate", "difference", "jintegrate", "jdifference"]

_NEEDED: dict[SpaceOperation, tuple[type[ConfigurationSpace], ...]] = {
    "integrate": (PlanarPoseSpace,),
    "difference": (PlanarPoseSpace, CircleSpace),
    "jintegrate": (PlanarPoseSpace, RotationSpace, PoseSpace),
    "jdifference": (PlanarPoseSpace, RotationSpace, PoseSpace),
}


def joints_to_replace(joints: tuple[JointSpace, ...]) -> dict[SpaceOperation, tuple[JointSpace, ...]]:
    """Joints, by operation, whose values from Pinocchio `evaluate` has to replace."""
    return {name: tuple(j for j in joints if isinstance(j.space, spaces)) for name, spaces in _NEEDED.items()}


def evaluate(space: ConfigurationSpace, operation: SpaceOperation, a: Reals, b: Reals) -> tuple[Reals, ...]:
    """Evaluates an operation for one joint: returns one vector (as a column) or two matrices."""
    return tuple(value.full() for value in _function(space, operation).call([a, b]))


@cache
def _function(space: ConfigurationSpace, operation: SpaceOperation) -> ca.Function:
    a = SX.sym("a", space.nq)
    b = SX.sym("b", space.nv if operation.endswith("integrate") else space.nq)
    result = getattr(space, operation)(a, b)
    return ca.Function(operation, [a, b], list(result) if isinstance(result, tuple) else [result])
