"""Random configurations of a robot within the limits of its joints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trajopt.types import Reals

TURN, SLIDE = np.pi, 1.0  # range of a coordinate without limits, to both sides [rad], [m]


def random_configurations(model: pin.Model, count: int, seed: int = 0) -> Reals:
    """Configurations (count, nq), evenly distributed within limits; a free flyer at the root stays where it is.

    Args:
        model: The model.
        count: Number of configurations.
        seed: Seed of the generator.
    """
    rng = np.random.default_rng(seed)
    neutral = pin.neutral(model)
    moves = rng.uniform(-TURN, TURN, (count, model.nv))
    if model.njoints > 1 and model.joints[1].shortname() == "JointModelFreeFlyer":
        moves[:, :6] = 0.0
    rows = np.array([pin.integrate(model, neutral, move) for move in moves]).reshape(count, model.nq)
    for joint in list(model.joints)[1:]:
        if joint.nq == joint.nv == 1:
            column = joint.idx_q
            away = SLIDE if joint.shortname().startswith("JointModelP") else TURN
            low, high = model.lowerPositionLimit[column], model.upperPositionLimit[column]
            low, high = (low if abs(low) < 1e3 else -away), (high if abs(high) < 1e3 else away)
            rows[:, column] = rng.uniform(min(low, high), max(low, high), count)
    return rows
