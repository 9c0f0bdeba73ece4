"""Check that a robot has the masses and inertias that forward dynamics need."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import base_joints

_LEAST = 1e-12  # smaller eigenvalues of the mass matrix, scaled to a unit diagonal, count as zero [-]
_CURE = "give the link behind it a mass and an inertia, or lock the joint: robot.lock_joints(...)"


def check_masses(model: pin.Model, cure: str = _CURE) -> None:
    """Checks that the mass matrix is positive definite at a generic configuration.

    Args:
        model: The model, nv >= 1.
        cure: Advice that ends the message about a joint that moves no inertia.

    Raises:
        InvalidArgumentError: The mass matrix is singular; the message names a joint, or a root link without mass.
    """
    q = pin.integrate(model, pin.neutral(model), np.sin(1.0 + 2.3 * np.arange(model.nv)))
    data = model.createData()
    upper = np.triu(pin.crba(model, data, q))
    scales = np.sqrt(np.maximum(np.diag(upper), 0.0))  # light fingers on a heavy base are valid
    weights = 1.0 / np.where(scales > 0.0, scales, 1.0)
    sizes, directions = np.linalg.eigh((upper + np.triu(upper, 1).T) * np.outer(weights, weights))
    if sizes[0] > _LEAST:
        return
    base = base_joints(model)
    if base and model.inertias[base].mass == 0.0:
        raise InvalidArgumentError(
            f"link {root_link(model)!r}: expected a mass > 0, since {model.names[base]!r} lets it move, got 0; give "
            "it a mass and an inertia, or fix it (base='fixed', floating_base=False)"
        )
    column = int(np.abs(directions[:, 0]).argmax())
    joint = next(i for i in range(1, model.njoints) if model.idx_vs[i] <= column < model.idx_vs[i] + model.nvs[i])
    raise InvalidArgumentError(
        f"joint {model.names[joint]!r}: expected inertia behind each of its motions, got one without; {cure}"
    )


def root_link(model: pin.Model) -> str:
    """Name of the root link, or of its joint if the model has no such frame."""
    base = base_joints(model)
    links = [f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == base]
    return str(links[0] if links else model.names[base])
