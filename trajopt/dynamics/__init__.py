"""Rigid-body algorithms as CasADi expressions of a pinocchio.Model."""

import warnings
from typing import Any

from trajopt import lie
from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.objects.calls import explain_export

__all__ = ["RobotExpressions", "SmoothFriction"]


def __getattr__(name: str) -> Any:
    """Deprecated names from revision 2720678, which are now in `trajopt.lie`."""
    if name not in lie.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is now trajopt.lie.{name}", DeprecationWarning, stacklevel=2)
    return getattr(lie, name)


explain_export(__name__, "SmoothFriction")  # expressions are built in inner loops, which do not pay for it
