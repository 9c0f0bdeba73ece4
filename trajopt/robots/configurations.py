"""Reference configurations of a robot by name."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trajopt.errors import unknown_name
from trajopt.types import Reals


class Configurations(dict[str, Reals]):
    """Configurations by name; the error for an unknown name lists the valid names."""

    def __missing__(self, name: str) -> Reals:
        raise unknown_name("configuration", name, self)


def reference_configurations(model: pin.Model) -> dict[str, Reals]:
    """Reference configurations of a model by name."""
    return Configurations({entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations})
