"""Weights of joints in inverse kinematics: how dear their motion is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trajopt.activations.weighted_quadratic import ActivationModelWeightedQuad
from trajopt.checks import as_numbers, check_mapping
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.ik.fixed import hold
from trajopt.ik.tasks import TaskModel
from trajopt.residuals import ResidualModelState
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

MOTION = "motion"
"""Name of the cost of the way from the start."""
REFERENCE = f"{MOTION}.reference"


def joint_weights(state: StateMultibody, weights: Mapping[str, Any] | None, fixed: Iterable[str]) -> Reals | None:
    """Weight of each tangent coordinate (nv,), 1 for joints without one; None for None.

    Args:
        state: State of the robot.
        weights: Weights by name of a joint, > 0: a number, or one for each of its tangent coordinates.
        fixed: Names of joints that do not move, which have no weight.

    Raises:
        UnknownNameError: The robot has no joint of this name.
        InvalidArgumentError: A weight has the wrong size, is not finite and > 0, or belongs to a fixed joint.
    """
    if weights is None:
        return None
    given = check_mapping("weights", weights, 'pass {"panda_joint4": 10.0}')
    joints, held = {joint.label: joint for joint in joint_spaces(state.model)}, set(fixed)
    result = np.ones(state.nv)
    for name, value in given.items():
        if name not in joints:
            raise unknown_name("weights: joint", name, list(joints))
        argument, nv = f"weights[{name!r}]", joints[name].space.nv
        expected = "a number > 0" if nv == 1 else f"a number > 0, or {nv} of them"
        array = as_numbers(argument, value, expected)
        if array.shape not in ((), (nv,)) or not np.all((array > 0) & np.isfinite(array)):
            raise InvalidArgumentError(f"{argument}: expected {expected}, got {shown(value)}")
        if name in held:
            raise InvalidArgumentError(f"{argument}: expected a joint that moves, got one of fixed; leave it out")
        result[joints[name].v] = array
    return result


def solver_model(
    model: TaskModel, fixed: Mapping[str, tuple[float, ...]], weights: Mapping[str, Any] | None
) -> TaskModel:
    """Tasks with fixed joints, and with the cost ½ Σ wᵢ (q ⊖ start)ᵢ² if joints have weights.

    Args:
        model: The tasks.
        fixed: Coordinates of joints that do not move.
        weights: Weights by name of a joint; None for no such cost.

    Raises:
        UnknownNameError: The robot has no joint of this name.
        InvalidArgumentError: Weights are invalid as in `joint_weights`.
        DuplicateNameError: There is a cost "motion".
    """
    state, values = model.state, joint_weights(model.state, weights, fixed)
    if values is None:
        return TaskModel(model.constraints, model.costs, tuple(fixed)) if fixed else model
    costs = CostStack(state)
    for term in model.costs.terms:
        costs.add(term.name, term.residual, float(term.weight.default), term.activation)
    start = state.at_rest(hold(state, fixed, state.zero()[: state.nq]))
    way = ResidualModelState(state, start, elements=range(state.nv))
    costs.add(MOTION, way, 1.0, ActivationModelWeightedQuad(values))
    return TaskModel(model.constraints, costs, tuple(fixed))


def metric(weights: Reals | None, nv: int) -> Reals:
    """Weights (nv,) of the coordinates of a step, with the geometric mean 1, because only their ratios count."""
    if weights is None:
        return np.ones(nv)
    return np.asarray(np.exp(np.log(weights) - np.log(weights).mean()))
