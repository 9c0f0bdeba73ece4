"""Ready closed loops: a controller, a plant, disturbances, and a report.

    case = trajopt.problems.mpc.load("cart-pole-balance")
    log = case.simulate()
    print(case.report(log))

Importing this package builds nothing and loads no robot; a closed loop is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.problems.registry import Registry

MODULES = {
    "arm-tracking": "trajopt.problems.mpc.arm",
    "cart-pole-balance": "trajopt.problems.mpc.cart_pole",
    "drive-obstacles": "trajopt.problems.mpc.drive",
    "drive-scans": "trajopt.problems.mpc.drive_scans",
    "quadrotor-gates": "trajopt.problems.mpc.quadrotor",
    "quadruped-trot-mpc": "trajopt.problems.mpc.quadruped",
}
"""Module of each closed loop."""

if TYPE_CHECKING:
    from trajopt.problems.mpc.case import MPCCase
else:
    __getattr__, __dir__ = lazy(__name__, MODULES.values())

__all__ = ["MPCCase", "describe", "load", "names"]

_LOOPS: Registry[MPCCase] = Registry("closed loop", MODULES)
names, describe, load = _LOOPS.names, _LOOPS.describe, _LOOPS.load

explain_calls(__name__)
