"""Single rigid bodies on a free joint, and their momentum and energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.types import Reals

MASS, RADIUS = 1.0, 0.1  # [kg], [m]


def body(
    joint: Any = None,
    *,
    inertia: tuple[float, float, float] = (0.004, 0.004, 0.004),
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gravity: bool = True,
) -> pin.Model:
    """A body of 1 kg with the frame "body"; by default a solid ball of radius 0.1 m on a free flyer.

    Args:
        joint: Pinocchio's joint.
        inertia: Principal moments about the centre of mass [kg m²].
        centre: Centre of mass in the axes of the joint [m].
        gravity: Whether it falls.
    """
    model = pin.Model()
    model.name = "body"
    index = model.addJoint(0, pin.JointModelFreeFlyer() if joint is None else joint, pin.SE3.Identity(), "base")
    model.appendBodyToJoint(index, pin.Inertia(MASS, np.array(centre), np.diag(inertia)), pin.SE3.Identity())
    model.addFrame(pin.Frame("body", index, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    if not gravity:
        model.gravity = pin.Motion.Zero()
    return model


def linear_momentum(model: pin.Model, x: Reals) -> Reals:
    """Momentum (3,) [kg m/s] of a state (nx,) in world axes."""
    data = model.createData()
    return np.array(pin.computeCentroidalMomentum(model, data, x[: model.nq], x[model.nq :]).linear)


def energy(model: pin.Model, x: Reals) -> float:
    """Kinetic and potential energy of a state (nx,) [J]."""
    data = model.createData()
    q, v = x[: model.nq], x[model.nq :]
    return float(pin.computeKineticEnergy(model, data, q, v) + pin.computePotentialEnergy(model, data, q))


def world_velocity(x: Reals) -> Reals:
    """Velocity (3,) [m/s] of the centre of a body on a free flyer, in world axes."""
    return np.array(pin.Quaternion(x[3:7]).matrix() @ x[7:10])
