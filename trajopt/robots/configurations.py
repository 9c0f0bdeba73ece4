"""Reference configurations of a robot by name, and the check of a configuration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.robots.placements import NORM_TOLERANCE
from trajopt.types import Reals


class Configurations(dict[str, Reals]):
    """Configurations by name; the error for an unknown name lists the valid names."""

    def __missing__(self, name: str) -> Reals:
        raise unknown_name("configuration", name, self)


def reference_configurations(model: pin.Model) -> dict[str, Reals]:
    """Reference configurations of a model by name."""
    return Configurations({entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations})


def check_configuration(model: pin.Model, argument: str, q: npt.ArrayLike) -> Reals:
    """Checks a configuration of a model and returns it (nq,)."""
    cure = f"a configuration of {model.name} is x[:{model.nq}] of a state x"
    checked = check_array(argument, q, (model.nq,), cure=cure)
    if not pin.isNormalized(model, checked, NORM_TOLERANCE):
        raise InvalidArgumentError(
            f"{argument}: expected rotations with coordinates of norm 1 (within {NORM_TOLERANCE}), got {checked}; "
            "use pinocchio.normalize(robot.model, q)"
        )
    return checked
