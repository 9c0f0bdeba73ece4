"""Closed loops that are ready to run: a controller, a plant, disturbances, and a report of what matters.

    case = trajopt.problems.mpc.load("cart-pole-balance")
    log = case.simulate()
    print(case.report(log))

Importing this package builds nothing and loads no robot.
"""

from __future__ import annotations

from trajopt.model.calls import explain_calls
from trajopt.problems.mpc import arm, cart_pole, drive, drive_scans, quadrotor, quadruped
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.registry import Registry

__all__ = ["MPCCase", "describe", "load", "names"]

_LOOPS: Registry[MPCCase] = Registry(
    "closed loop", (arm.FAMILY, cart_pole.FAMILY, drive.FAMILY, drive_scans.FAMILY, quadrotor.FAMILY, quadruped.FAMILY)
)
names, describe, load = _LOOPS.names, _LOOPS.describe, _LOOPS.load

explain_calls(__name__)
